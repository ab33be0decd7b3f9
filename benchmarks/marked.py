"""Measure what answers quote of the sentences that were marked in passages of whole document sets.

    python -m benchmarks.marked [--sources FOLDER] [--sets A,B] [--questions N] [--without PART]

Answers questions of the part "unread" of `training/reader/found.jsonl.xz`, about document sets that the
shipped reader was not trained on, each from the passages that were found for it, without a chat model or a
search. So it shows what the steps after the search are worth: run it with and without a part (`names`,
`versions`, `speakers`, ...). With the folder of the public documents (`python -m training.reader.sources
FOLDER`), it also asks about these. The script prints a Markdown table, by the type that a question's author
had in mind, each mean with its 95 % bootstrap interval and the number of questions:

- wrong: an answer quotes no marked sentence, or there is none
- brier: the squared error of the confidence, as the probability that a marked sentence is quoted
- best: the sentence that answers first is quoted
- points: the share of the marked sentences that are quoted
- exact: the share of the quoted characters that are marked, or needed by a marked sentence
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from langgraph.graph import StateGraph

from adaptive_rag.context import Context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.nodes import generate
from adaptive_rag.state import Chunk, State, to_candidate
from benchmarks.answers import format_mean
from training.reader.found import read_found
from training.reader.sources import Row

OUTCOMES = ("answer", "closest", "refusal")
MEASURES = ("wrong", "brier", "best", "points", "exact", "words", *OUTCOMES)
# In characters. A passage begins at a multiple of it, so that none is joined with another.
PASSAGE_LENGTH = 1_000_000
# The share of a marked sentence that must be quoted.
QUOTED = 0.8


def chunks_of(row: Row) -> list[Chunk]:
    """Return the passages of a question as chunks that are far from each other."""
    return [
        Chunk(
            id=passage["id"],
            source=passage["source"],
            page=None,
            section=passage["section"] or None,
            start=number * PASSAGE_LENGTH,
            end=number * PASSAGE_LENGTH + len(passage["text"]),
            text=passage["text"],
            metadata={"title": passage["title"]} if passage["title"] else {},
        )
        for number, passage in enumerate(row["read"])
    ]


def answer(row: Row, without: Iterable[str] = ()) -> Mapping[str, Any]:
    """Answer a question from its passages by the step of every strategy that answers."""
    chunks = chunks_of(row)
    state = {
        "question": row["q"],
        "query_type": row["type"],
        "documents": [to_candidate(chunk, {}) for chunk in chunks],
        "implied_context": row["sit"],
        "trace": [],
    }
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("generate", generate)
    graph.set_entry_point("generate")
    graph.set_finish_point("generate")
    return graph.compile().invoke(
        state, context=Context(index=MemoryIndex(chunks), without=frozenset(without))
    )


def measure(row: Row, output: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of an answer."""
    quoted, marked = set[int](), set[int]()
    for citation in output["citations"] if not output["abstained"] else ():
        quoted |= set(range(citation["start"], citation["end"]))
    for place in (*row["points"], *row["beside"]):
        marked |= characters_at(place)
    is_quoted = [len(quoted & characters_at(p)) >= QUOTED * len(characters_at(p)) for p in row["points"]]
    figures = {"wrong": float(output["outcome"] == "answer" and not any(is_quoted))}
    if output["confidence"] is not None:
        figures["brier"] = (output["confidence"] - any(is_quoted)) ** 2
    ending = ", unanswerable" if row["told"] == "no" else ""
    figures |= {f"{name}{ending}": float(output["outcome"] == name) for name in OUTCOMES}
    if row["told"] == "no":
        return figures
    figures |= {
        "best": float(is_quoted[row["points"].index(row["best"])]),
        "points": sum(is_quoted) / len(is_quoted),
    }
    if quoted:
        figures |= {"exact": len(quoted & marked) / len(quoted), "words": len(output["answer"].split())}
    return figures


def characters_at(place: Sequence[int]) -> set[int]:
    """Return the characters of a marked sentence, counted as citations are."""
    passage, start, end = place
    return set(range(passage * PASSAGE_LENGTH + start, passage * PASSAGE_LENGTH + end))


def draw_questions(sources: Path | None, sets: Sequence[str], count: int) -> Iterator[Row]:
    """Yield some of the questions about document sets, in a random order that is always the same."""
    rows = [row for row in read_found("unread", sources) if not sets or row["set"] in sets]
    yield from random.Random(29).sample(rows, min(count, len(rows)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer the questions and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--sets", default="")
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--without", default="")
    options = parser.parse_args(arguments)
    sets = options.sets.split(",") if options.sets else []
    without = [part for part in options.without.split(",") if part]
    samples = defaultdict[str, dict[str, list[float]]](lambda: defaultdict(list))
    for row in draw_questions(options.sources, sets, options.questions):
        for name, value in measure(row, answer(row, without)).items():
            samples[name][row["type"]].append(value)
            samples[name]["all"].append(value)
    types = sorted({type_ for values in samples.values() for type_ in values} - {"all"})
    print(f"| | {' | '.join(['all', *types])} |\n|---|{'---|' * (1 + len(types))}")
    for name in (*MEASURES, *(f"{name}, unanswerable" for name in OUTCOMES)):
        of_types = [samples[name][type_] for type_ in ("all", *types)]
        cells = (f"{format_mean(values)} ({len(values)})" for values in of_types)
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
