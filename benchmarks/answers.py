"""Measures what a reader gets without a chat model: the answer, where it begins, and when there is none.

    python -m benchmarks.answers DATA [--limit N] [--cache FOLDER] [--save answers.jsonl]

DATA is a folder of data sets. Each question is asked of its own documents, of the same documents without
the passages that hold its answer, and of another data set's. `adaptive` is the graph as it is, `standard`
the four nearest passages by vector with the same local answers, and `nearest` the sentences of adaptive's
passages that are nearest to the question, in as many words. Prints a Markdown table, each figure with its
95 % bootstrap interval.
"""

from __future__ import annotations

import argparse
import json
import re
import string
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from adaptive_rag.answer.passages import text_at
from adaptive_rag.evaluation.arms import ARMS, Bench, Result
from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.evaluation.datasets import Dataset, Question, limited, load_dataset
from adaptive_rag.evaluation.metrics import ranked_ids
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.run import open_bench
from adaptive_rag.evaluation.statistics import intervals
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.rank.stances import LABELS
from adaptive_rag.source import ChunkSource, Sentences, Vectors
from adaptive_rag.state import Candidate
from adaptive_rag.text.markers import strip_markers
from adaptive_rag.text.phrases import english
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.words import terms

SETS = ("factual_squad", "analytical_clapnq", "contextual_sharc", "opinion_perspectrum")
ARMS_MEASURED = ("standard", "adaptive")
NEAREST = "nearest"
STANDARD_K = 4
# Of what a question is asked of: its documents, those without what answers it, documents on other things.
WHOLE, WITHOUT_GOLD, ELSEWHERE = "whole", "without gold", "elsewhere"
# The next data set's documents hold nothing on this one's questions.
OTHER = dict(zip(SETS, SETS[1:] + SETS[:1], strict=True))

# A line of an answer that heads others.
HEADING = re.compile(r"^(?:\*\*(?P<head>[^*]+)\*\*|#+ (?P<title>.+))$")
# The side of aspects whose views stand under a heading.
SIDE_OF_HEADING = {LABELS["for"]: "support", LABELS["against"]: "undermine"}
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True)
class Asked:
    """One question, asked one way."""

    dataset: str
    type: str
    id: str
    arm: str
    where: str
    question: str
    answer: str
    refused: bool
    answered: bool
    """Whether an answer is given, and not the closest passages, which are said to be no answer."""
    words: int
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Without:
    """A source in which some chunks are not found, as though they had never been there."""

    source: ChunkSource
    hidden: frozenset[str]  # names of passages

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Search, and leave out what is hidden."""
        found = self.source.search(queries, limit=limit + len(self.hidden))
        return [[c for c in each if ranked_ids([c])[0] not in self.hidden] for each in found]

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks."""
        return self.source.vectors(ids)

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk."""
        return self.source.sentences(ids)


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask everything, print the table, and save the answers where a file is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--limit", type=int, help="ask a sample of so many questions a data set")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for the indexes")
    parser.add_argument("--save", type=Path, help="file for every answer, a JSON object a line")
    given = parser.parse_args(arguments)
    asked = list(ask_all(given.data, given.sets, given.limit, given.cache))
    if given.save:
        given.save.write_text("".join(json.dumps(asdict(one)) + "\n" for one in asked))
    print(format_rows(summarise(asked)))


def ask_all(data: Path, names: Sequence[str], limit: int | None, cache: Path) -> Iterator[Asked]:
    """Ask every question of the named data sets in every way."""
    opened = {
        name: open_bench(load_dataset(data / name), cache, RunSettings(answers=True))
        for name in dict.fromkeys([*names, *(OTHER[name] for name in names)])
    }
    for name in names:
        dataset, bench = opened[name]
        for question in limited(dataset, limit, seed=0).questions:
            yield from ask(dataset, question, bench, opened[OTHER[name]][1])


def ask(dataset: Dataset, question: Question, bench: Bench, elsewhere: Bench) -> Iterator[Asked]:
    """Ask one question of each arm, of its documents, of those without its gold, and of other ones."""
    # As deep as an answer reads by itself; the depth of a ranking's measures is another thing.
    own = replace(bench, k=None, settings=bench.settings)
    sources = {
        WHOLE: bench.source,
        WITHOUT_GOLD: Without(bench.source, frozenset(question.gold)),
        ELSEWHERE: elsewhere.source,
    }
    for where, source in sources.items():
        for arm in ARMS_MEASURED:
            depth = STANDARD_K if arm == "standard" else None
            result = ARMS[arm].run(question, replace(own, source=source, k=depth))
            yield _asked(dataset, question, arm, where, result)
            if where == WHOLE and arm == "adaptive" and question.type == "analytical" and result.answer:
                words = len(_plain_words(result.answer))
                told = " ".join(nearest_sentences(question.text, result.documents, source, words))
                yield _asked(dataset, question, NEAREST, where, replace(result, answer=told, citations=[]))


def _asked(dataset: Dataset, question: Question, arm: str, where: str, result: Result) -> Asked:
    answer = result.answer or ""
    figures = dict(measure(question, result)) if where == WHOLE else {}
    return Asked(
        dataset=dataset.name,
        type=str(question.type),
        id=question.id,
        arm=arm,
        where=where,
        question=question.text,
        answer=answer,
        refused=result.abstained,
        answered=not result.abstained and not answer.startswith(f"**{english()['closest']}"),
        words=len(_plain_words(answer)),
        figures=figures,
    )


def measure(question: Question, result: Result) -> Iterator[tuple[str, float]]:
    """Measure an answer by what its type of question needs; a refusal has none of it."""
    answer = "" if result.abstained else result.answer or ""
    match question.type:
        case "factual" if question.reference:
            yield "gold answer in the answer", float(holds(answer, question.reference))
            yield "in its first sentence", float(holds(first_sentence(answer), question.reference))
        case "analytical" if question.reference:
            yield "content of the reference", covered(answer, question.reference)
        case "contextual":
            names = [ranked_name(citation, result.documents) for citation in result.citations]
            quoted = [
                (name in question.gold, citation["quote"])
                for name, citation in zip(names, result.citations, strict=True)
                if not result.abstained
            ]
            yield "gold passage quoted", float(any(gold for gold, _ in quoted))
            yield "first sentence from it", float(bool(quoted) and quoted[0][0])
            if quoted:
                lengths = [(gold, len(quote.split())) for gold, quote in quoted]
                total = sum(length for _, length in lengths)
                yield "words not from it", sum(n for gold, n in lengths if not gold) / total
        case "opinion":
            held = {side_of_aspect(a) for names in question.aspects.values() for a in names}
            names = {ranked_name(c, result.documents) for c in result.citations}
            quoted_sides = {side_of_aspect(a) for name in names for a in question.aspects.get(name, ())}
            if len(held) == 2:
                yield "both sides quoted", float(not result.abstained and len(quoted_sides) == 2)
            shown = list(sides_shown(answer, result.citations))
            judged = [
                (head, side_of_aspect(aspects[0]))
                for head, citation in shown
                if (aspects := question.aspects.get(ranked_name(citation, result.documents)))
            ]
            if judged:
                yield "under a side", sum(head is not None for head, _ in judged) / len(judged)
            if heads := [head == side for head, side in judged if head]:
                yield "of these under the right one", sum(heads) / len(heads)


def sides_shown(
    answer: str, citations: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield each citation with the side under whose heading an answer quotes it; None where under none."""
    side: str | None = None
    for line in answer.splitlines():
        if found := HEADING.match(line):
            side = SIDE_OF_HEADING.get((found["head"] or "").lower())
        yield from ((side, citation) for citation in citations if citation["quote"] in line)


def ranked_name(citation: Mapping[str, Any], documents: Sequence[Candidate]) -> str:
    """Return the name of the passage that a citation quotes, as judgements name it."""
    for document in documents:
        within = document["start"] <= citation["start"] < document["end"]
        if within and document["source"] == citation["source"]:
            return ranked_ids([document])[0]
    return ""


def side_of_aspect(aspect: str) -> str:
    """Return the side of an aspect such as "support/c12"."""
    return aspect.partition("/")[0]


def holds(answer: str, reference: str) -> bool:
    """Tell whether an answer holds the reference, but for case, punctuation and articles."""
    wanted = _normalised(reference)
    return bool(wanted) and f" {wanted} " in f" {_normalised(answer)} "


def first_sentence(answer: str) -> str:
    """Return an answer's first sentence without its marker; a heading is none."""
    for line in strip_markers(answer).splitlines():
        text = line.strip()
        if text and not HEADING.match(text):
            spans = sentence_spans(text)
            return text[slice(*spans[0])] if spans else text
    return ""


def covered(answer: str, reference: str) -> float:
    """Return the share of the reference's content words that the answer holds."""
    wanted = set(terms(reference))
    return len(wanted & set(terms(answer))) / len(wanted) if wanted else 0.0


def nearest_sentences(
    question: str, documents: Sequence[Candidate], source: ChunkSource, words: int
) -> list[str]:
    """Return the sentences with the highest cosine to the question, until they have so many words."""
    [vector] = load_minilm().encode([question])
    found: list[tuple[float, str]] = []
    for document, held in zip(documents, source.sentences([d["id"] for d in documents]), strict=True):
        similar = cosines(held.vectors, vector[None])[:, 0] if len(held.spans) else np.zeros(0)
        texts = (text_at(document, start, end) for start, end in held.spans.tolist())
        found += zip(similar.tolist(), texts, strict=True)
    chosen: list[str] = []
    for _, text in sorted(found, reverse=True):
        if sum(len(one.split()) for one in chosen) >= words:
            break
        if text not in chosen:
            chosen.append(text)
    return chosen


def summarise(asked: Sequence[Asked]) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Return the samples of each row by (data set, measure) and arm."""
    rows: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in asked:
        for name, figure in one.figures.items():
            rows[one.dataset, name][one.arm].append(figure)
        if one.arm == NEAREST:
            continue
        if one.where == WHOLE:
            if not one.refused:
                rows[one.dataset, "words, median"][one.arm].append(one.words)
            rows[one.dataset, "refused"][one.arm].append(one.refused)
            rows[one.dataset, "answered"][one.arm].append(one.answered)
        else:
            rows[one.dataset, f"refused, {one.where}"][one.arm].append(one.refused)
            rows["all", f"refused, {one.where}"][one.arm].append(one.refused)
            rows[one.dataset, f"answered, {one.where}"][one.arm].append(one.answered)
            rows["all", f"answered, {one.where}"][one.arm].append(one.answered)
    return rows


def format_rows(rows: Mapping[tuple[str, str], Mapping[str, Sequence[float]]]) -> str:
    """Return the rows as a Markdown table."""
    arms = (*ARMS_MEASURED, NEAREST)
    lines = [f"| data | measure | n | {' | '.join(arms)} |", f"|---|---|--:|{'---|' * len(arms)}"]
    for (dataset, measured), samples in rows.items():
        cells = (_cell(measured, samples[arm]) if samples.get(arm) else "" for arm in arms)
        count = max(len(values) for values in samples.values())
        lines.append(f"| {dataset} | {measured} | {count} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(measured: str, values: Sequence[float]) -> str:
    if "median" in measured:
        return f"{median(values):.0f}"
    [[low, high]] = intervals([values])
    return f"{np.mean(values):.2f} [{low:.2f}, {high:.2f}]"


def _normalised(text: str) -> str:
    plain = strip_markers(text).lower().translate(str.maketrans("", "", string.punctuation + "“”‘’"))
    return " ".join(_ARTICLES.sub(" ", plain).split())


def _plain_words(answer: str) -> list[str]:
    return strip_markers(answer).split()


if __name__ == "__main__":
    main()
