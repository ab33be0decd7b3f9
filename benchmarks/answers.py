"""Measure the answers without a chat model: their content, their first sentences, and their refusals.

    python -m benchmarks.answers DATA [--limit N] [--cache FOLDER] [--save answers.jsonl]

DATA is a folder of data sets. Each question is asked of three sources: its own documents, the same documents
without the passages that hold its answer, and the documents of another data set. The arms are `adaptive` (the
graph with its defaults), `standard` (the four nearest passages by vector, answered in the same local way) and
`nearest` (the sentences of adaptive's passages that are nearest to the question, in as many words as
adaptive's answer has). The script prints a Markdown table; each figure has its 95 % bootstrap interval.
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
# The sources of a question: its documents, the same without its gold passages, and those of another set.
ALL_PASSAGES, WITHOUT_GOLD, OTHER_DOCUMENTS = "whole", "without gold", "elsewhere"
# Data set -> the one whose documents hold nothing about its questions.
NEXT_SET = dict(zip(SETS, SETS[1:] + SETS[:1], strict=True))

# A heading within an answer, such as "**Arguments against**" or "## Risks".
HEADING_LINE = re.compile(r"^(?:\*\*(?P<head>[^*]+)\*\*|#+ (?P<title>.+))$")
# Heading -> the stance of the aspects that belong under it.
SIDE_OF_HEADING = {LABELS["for"]: "support", LABELS["against"]: "undermine"}
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True)
class AskedQuestion:
    """The answer to one question by one arm from one source."""

    dataset: str
    type: str
    id: str
    arm: str
    where: str
    question: str
    answer: str
    refused: bool
    answered: bool
    """Whether the reply is an answer, neither a refusal nor the closest passages."""
    words: int
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceWithout:
    """A source whose searches never return some passages."""

    source: ChunkSource
    hidden: frozenset[str]  # ids of passages, as the data set names them

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Search, and leave out the hidden passages."""
        results = self.source.search(queries, limit=limit + len(self.hidden))
        return [
            [candidate for candidate in candidates if ranked_ids([candidate])[0] not in self.hidden]
            for candidates in results
        ]

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks."""
        return self.source.vectors(ids)

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk."""
        return self.source.sentences(ids)


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask all questions, print the table, and save the answers if a file is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--limit", type=int, help="ask a sample of so many questions a data set")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for the indexes")
    parser.add_argument("--save", type=Path, help="file for every answer, a JSON object a line")
    options = parser.parse_args(arguments)
    answers = list(ask_all(options.data, options.sets, options.limit, options.cache))
    if options.save:
        options.save.write_text("".join(json.dumps(asdict(answer)) + "\n" for answer in answers))
    print(format_rows(summarise(answers)))


def ask_all(data: Path, names: Sequence[str], limit: int | None, cache: Path) -> Iterator[AskedQuestion]:
    """Ask every question of the named data sets, by every arm and of every source."""
    benches = {
        name: open_bench(load_dataset(data / name), cache, RunSettings(answers=True))
        for name in dict.fromkeys([*names, *(NEXT_SET[name] for name in names)])
    }
    for name in names:
        dataset, bench = benches[name]
        other_source = benches[NEXT_SET[name]][1].source
        for question in limited(dataset, limit, seed=0).questions:
            yield from ask(dataset, question, bench, other_source)


def ask(
    dataset: Dataset, question: Question, bench: Bench, other_source: ChunkSource
) -> Iterator[AskedQuestion]:
    """Ask one question by each arm, of each of the three sources."""
    sources = {
        ALL_PASSAGES: bench.source,
        WITHOUT_GOLD: SourceWithout(bench.source, frozenset(question.gold)),
        OTHER_DOCUMENTS: other_source,
    }
    for where, source in sources.items():
        for arm in ARMS_MEASURED:
            # Without k, an answer reads as many passages as it does by default.
            k = STANDARD_K if arm == "standard" else None
            result = ARMS[arm].run(question, replace(bench, source=source, k=k))
            yield _make_record(dataset, question, arm, where, result)
            if (
                where == ALL_PASSAGES
                and arm == "adaptive"
                and question.type == "analytical"
                and result.answer
            ):
                words = len(_plain_words(result.answer))
                sentences = nearest_sentences(question.text, result.documents, source, words)
                result = replace(result, answer=" ".join(sentences), citations=[])
                yield _make_record(dataset, question, NEAREST, where, result)


def _make_record(dataset: Dataset, question: Question, arm: str, where: str, result: Result) -> AskedQuestion:
    answer = result.answer or ""
    figures = dict(measure(question, result)) if where == ALL_PASSAGES else {}
    return AskedQuestion(
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
    """Yield the measures of an answer that suit its type of question; a refusal scores zero."""
    answer = "" if result.abstained else result.answer or ""
    match question.type:
        case "factual" if question.reference:
            yield "gold answer in the answer", float(contains(answer, question.reference))
            yield "in its first sentence", float(contains(first_sentence(answer), question.reference))
        case "analytical" if question.reference:
            yield "content of the reference", content_overlap(answer, question.reference)
        case "contextual":
            yield from _measure_contextual(question, result)
        case "opinion":
            yield from _measure_opinion(question, result, answer)


def _measure_contextual(question: Question, result: Result) -> Iterator[tuple[str, float]]:
    """Measure how much of an answer is quoted from the gold passages."""
    citations = [] if result.abstained else result.citations
    is_gold = [passage_id(citation, result.documents) in question.gold for citation in citations]
    yield "gold passage quoted", float(any(is_gold))
    yield "first sentence from it", float(bool(is_gold) and is_gold[0])
    if citations:
        lengths = [len(citation["quote"].split()) for citation in citations]
        other = sum(length for gold, length in zip(is_gold, lengths, strict=True) if not gold)
        yield "words not from it", other / sum(lengths)


def _measure_opinion(question: Question, result: Result, answer: str) -> Iterator[tuple[str, float]]:
    """Measure whether both sides are quoted, and whether quotes stand under the heading of their side."""
    all_sides = {side_of_aspect(aspect) for aspects in question.aspects.values() for aspect in aspects}
    aspects_of = [
        question.aspects.get(passage_id(citation, result.documents), ()) for citation in result.citations
    ]
    quoted_sides = {side_of_aspect(aspect) for aspects in aspects_of for aspect in aspects}
    if len(all_sides) == 2:
        yield "both sides quoted", float(not result.abstained and len(quoted_sides) == 2)
    sides = [
        (heading_side, side_of_aspect(aspects[0]))
        for heading_side, citation in heading_sides(answer, result.citations)
        if (aspects := question.aspects.get(passage_id(citation, result.documents)))
    ]
    if sides:
        yield "under a side", sum(heading_side is not None for heading_side, _ in sides) / len(sides)
    if matches := [heading_side == side for heading_side, side in sides if heading_side]:
        yield "of these under the right one", sum(matches) / len(matches)


def heading_sides(
    answer: str, citations: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield each quoted citation with the side of the heading above it; None without such a heading."""
    side: str | None = None
    for line in answer.splitlines():
        if heading := HEADING_LINE.match(line):
            side = SIDE_OF_HEADING.get((heading["head"] or "").lower())
        yield from ((side, citation) for citation in citations if citation["quote"] in line)


def passage_id(citation: Mapping[str, Any], documents: Sequence[Candidate]) -> str:
    """Return the id of the passage that a citation quotes, as the data set names it; "" if there is none."""
    for document in documents:
        is_inside = document["start"] <= citation["start"] < document["end"]
        if is_inside and document["source"] == citation["source"]:
            return ranked_ids([document])[0]
    return ""


def side_of_aspect(aspect: str) -> str:
    """Return the side of an aspect, such as "support" for "support/c12"."""
    return aspect.partition("/")[0]


def contains(answer: str, reference: str) -> bool:
    """Return whether an answer contains the reference, regardless of case, punctuation and articles."""
    words = _normalised(reference)
    return bool(words) and f" {words} " in f" {_normalised(answer)} "


def first_sentence(answer: str) -> str:
    """Return an answer's first sentence that is not a heading, without its marker."""
    for line in strip_markers(answer).splitlines():
        text = line.strip()
        if text and not HEADING_LINE.match(text):
            spans = sentence_spans(text)
            return text[slice(*spans[0])] if spans else text
    return ""


def content_overlap(answer: str, reference: str) -> float:
    """Return the share of the reference's content words that the answer contains."""
    expected = set(terms(reference))
    return len(expected & set(terms(answer))) / len(expected) if expected else 0.0


def nearest_sentences(
    question: str, documents: Sequence[Candidate], source: ChunkSource, words: int
) -> list[str]:
    """Return the sentences with the highest cosine to the question, until they have that many words."""
    [vector] = load_minilm().encode([question])
    scored: list[tuple[float, str]] = []
    by_document = source.sentences([document["id"] for document in documents])
    for document, sentences in zip(documents, by_document, strict=True):
        scores = cosines(sentences.vectors, vector[None])[:, 0] if len(sentences.spans) else np.zeros(0)
        texts = (text_at(document, start, end) for start, end in sentences.spans.tolist())
        scored += zip(scores.tolist(), texts, strict=True)
    chosen: list[str] = []
    for _, text in sorted(scored, reverse=True):
        if sum(len(sentence.split()) for sentence in chosen) >= words:
            break
        if text not in chosen:
            chosen.append(text)
    return chosen


def summarise(answers: Sequence[AskedQuestion]) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Return the samples of each row of the table: (data set, measure) -> arm -> values."""
    rows: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        for measure_name, figure in answer.figures.items():
            rows[answer.dataset, measure_name][answer.arm].append(figure)
        if answer.arm == NEAREST:
            continue
        if answer.where == ALL_PASSAGES:
            if not answer.refused:
                rows[answer.dataset, "words, median"][answer.arm].append(answer.words)
            rows[answer.dataset, "refused"][answer.arm].append(answer.refused)
            rows[answer.dataset, "answered"][answer.arm].append(answer.answered)
            continue
        for outcome in ("refused", "answered"):
            for dataset in (answer.dataset, "all"):
                rows[dataset, f"{outcome}, {answer.where}"][answer.arm].append(getattr(answer, outcome))
    return rows


def format_rows(rows: Mapping[tuple[str, str], Mapping[str, Sequence[float]]]) -> str:
    """Return the rows as a Markdown table."""
    arms = (*ARMS_MEASURED, NEAREST)
    lines = [f"| data | measure | n | {' | '.join(arms)} |", f"|---|---|--:|{'---|' * len(arms)}"]
    for (dataset, measure_name), samples in rows.items():
        format_values = format_median if "median" in measure_name else format_mean
        cells = (format_values(samples.get(arm, ())) for arm in arms)
        count = max(len(values) for values in samples.values())
        lines.append(f"| {dataset} | {measure_name} | {count} | {' | '.join(cells)} |")
    return "\n".join(lines)


def format_median(values: Sequence[float]) -> str:
    """Return the median; "" without values."""
    return f"{median(values):.0f}" if values else ""


def format_mean(values: Sequence[float], digits: int = 2) -> str:
    """Return the mean with its 95 % bootstrap interval; "" without values."""
    if not values:
        return ""
    [[low, high]] = intervals([values])
    return f"{np.mean(values):.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _normalised(text: str) -> str:
    plain = strip_markers(text).lower().translate(str.maketrans("", "", string.punctuation + "“”‘’"))
    return " ".join(_ARTICLES.sub(" ", plain).split())


def _plain_words(answer: str) -> list[str]:
    return strip_markers(answer).split()


if __name__ == "__main__":
    main()
