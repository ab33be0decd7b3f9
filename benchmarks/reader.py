"""Measures the reader on the passages that retrieval returns, beside the embedding alone.

    python -m benchmarks.reader --sources FOLDER [--part test] [--limit N] [--reader SPEC] [--cache FOLDER]
    python -m benchmarks.reader --grounding REPLIES/grounding.jsonl --public DATA/factual_squad

FOLDER holds the public documents (`python -m training.reader.sources FOLDER`). The documents of each set of
a part are indexed, and each question of the examples is searched for: what of it is among the five passages
nearest by vector and the five nearest by words is read; of a public set, the five by vector. Prints a
Markdown table, each figure with its 95 % bootstrap interval; of the test part nothing else. "embedding" is
the sentence nearest to the question. A sentence is right that holds the one the answer stands in.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.evaluation.datasets import load_dataset
from adaptive_rag.evaluation.metrics import ranked_ids
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.run import open_bench
from adaptive_rag.evaluation.statistics import intervals
from adaptive_rag.index import Index
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.models.reader import load_reader
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.reading import Passage, Reader, passage_of
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.vectors import Vectors, cosines
from benchmarks.answers import SourceWithout, contains
from benchmarks.grounding import labelled
from training.reader.examples import query_of, read_examples
from training.reader.found import read_found
from training.reader.public import SELQA, read_articles
from training.reader.readings import passage_of as passage_of_row
from training.reader.sources import Row, is_public, read_sources

READ = 5
REFUSED = 0.80
# The support from which on a claim is accepted: on the development part, beside two other passages of the
# same documents, .82 of the true ones reach it and .15 of the falsified.
SUPPORTED = 0.4
# Of a public document set the files that examples are from, and others beside them, up to so many.
MOST_FILES = 60
# Words of the first sentences in which the points of an answer are counted.
MOST_WORDS = 100
ARMS = READER, EMBEDDING = "reader", "embedding"


@dataclass(frozen=True)
class Asked:
    """A question of the examples, the passages that were found, and what answers in each."""

    set: str
    question: str
    passages: list[Passage]
    found: list[Candidate]
    sentences: list[Sentences]
    vector: Vectors
    gold: list[list[int]]
    """Of each passage the sentences that hold the answer's."""
    kind: str
    """What a near miss misses by; "" where the documents answer."""


@dataclass
class Samples:
    """What is averaged: of each row and arm a value a question."""

    rows: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, row: str, arm: str, value: float) -> None:
        """Add a value."""
        self.rows.setdefault(row, defaultdict(list))[arm].append(float(value))

    def lines(self) -> list[str]:
        """Return the rows as lines of a Markdown table."""
        return [line(name, values) for name, values in self.rows.items()]


def line(name: str, values: Mapping[str, Sequence[float]]) -> str:
    """Return a row as a line of a Markdown table."""
    cells = [_cell(values.get(arm, [])) for arm in ARMS]
    return f"| {name} | {len(values[READER])} | {' | '.join(cells)} |"


def ask_all(part: str, sources: Path, cache: Path, limit: int | None) -> Iterator[Asked]:
    """Search for the questions of a part in the documents of their sets."""
    rows = defaultdict[str, list[Row]](list)
    for row in read_examples(part, sources):
        rows[row["set"]].append(row)
    asked = [(row, about) for of in rows.values() for row in of for about in (*row["qa"], *row["no"])]
    random.Random(29).shuffle(asked)
    for name, of in rows.items():
        index = open_documents(name, of, sources, cache)
        for row, about in asked[:limit]:
            if row["set"] == name:
                yield ask(index, row, about)


def open_documents(name: str, rows: Sequence[Row], sources: Path, cache: Path) -> Index:
    """Return the index of a document set, made where it is not there yet."""
    folder = cache / "reader" / name
    if not (folder / "index").exists():
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in documents_of(name, rows, sources):
            file = folder / "documents" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
    # Also where one is there: it may be of a run that was interrupted.
    Index.build(folder / "documents", folder / "index")
    return Index.open(folder / "index")


def documents_of(name: str, rows: Sequence[Row], sources: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a document set; those of an invented one are put together of its passages."""
    if name == SELQA:
        yield from read_articles(sources)
        return
    if not is_public(rows[0]):
        files = defaultdict[str, list[str]](list)
        for row in rows:
            heading = f"# {row['title']}\n\n" if row["source"] not in files else ""
            section = f"## {row['section']}\n\n" if row["section"] else ""
            files[row["source"]].append(f"{heading}{section}{row['text']}\n")
        for path, parts in files.items():
            yield f"{Path(path).stem}.md", "\n".join(parts).encode()
        return
    repository, commit = sources / name, read_sources()[name]["commit"]

    def git(*command: str) -> bytes:
        return subprocess.run(
            ["git", "-C", str(repository), *command], capture_output=True, check=True
        ).stdout

    own = sorted({row["source"] for row in rows})
    kinds = {(path.split("/")[0], Path(path).suffix) for path in own}
    listed = git("ls-tree", "-r", "--name-only", "-z", commit).decode().split("\0")
    others = [path for path in listed if (path.split("/")[0], Path(path).suffix) in kinds and path not in own]
    random.Random(29).shuffle(others)
    for path in [*own, *others][: max(MOST_FILES, len(own))]:
        yield path, git("show", f"{commit}:{path}")


def ask(index: Index, row: Row, about: Mapping[str, Any]) -> Asked:
    """Search for a question and see where the sentence with its answer was found."""
    query = query_of(about)
    [found] = index.search([query], limit=READ)
    held = index.sentences([candidate["id"] for candidate in found])
    gold = [holding(candidate["text"], about.get("s")) for candidate in found]
    [vector] = load_minilm().encode([query])
    passages = [passage_of(candidate) for candidate in found]
    return Asked(row["set"], query, passages, found, held, vector, gold, about.get("kind", ""))


def holding(text: str, quote: str | None) -> list[int]:
    """Return which sentences of a passage hold a quote, or most of it."""
    start = text.find(quote) if quote else -1
    if not quote or start < 0:
        return []
    end = start + len(quote)
    return [
        at
        for at, (first, last) in enumerate(sentence_spans(text))
        if min(end, last) - max(start, first) > 0.5 * min(len(quote), last - first)
    ]


def judge(asked: Asked, reader: Reader) -> dict[str, tuple[bool, float]]:
    """Return of each arm whether the sentence that it puts first is right, and how sure it is."""
    chosen = {
        READER: best_read(asked.question, asked.passages, reader),
        EMBEDDING: nearest(asked.found, asked.sentences, asked.vector),
    }
    right = [
        (which, sentence_spans(asked.passages[which].text)[at])
        for which, of in enumerate(asked.gold)
        for at in of
    ]
    return {
        arm: (any(which == of and first <= start < last for of, (first, last) in right), one.sure)
        for arm, one in chosen.items()
        for which, start in [(one.passage, one.start)]
    }


class First(NamedTuple):
    """The sentence that is put first: its passage, where it begins in it, and how sure it answers."""

    passage: int
    start: int
    sure: float


def best_read(question: str, passages: Sequence[Passage], reader: Reader) -> First:
    """Return the sentence that the reader puts first."""
    reading = reader.read(question, passages)
    scored = [
        (float(score), which, start)
        for which, passage in enumerate(reading.passages)
        for (start, _), score in zip(passage.spans, passage.scores, strict=True)
    ]
    _, which, start = max(scored, key=lambda each: each[0], default=(0.0, 0, 0))
    return First(which, start, reading.answered)


def nearest(passages: Sequence[Candidate], sentences: Sequence[Sentences], question: Vectors) -> First:
    """Return the sentence whose vector is nearest to the question's."""
    scored = [
        (float(cosine), which, int(span[0]) - passage["start"])
        for which, (passage, held) in enumerate(zip(passages, sentences, strict=True))
        for span, cosine in zip(held.spans, cosines(held.vectors, question[None])[:, 0], strict=True)
    ]
    cosine, which, start = max(scored, key=lambda each: each[0], default=(0.0, 0, 0))
    return First(which, start, cosine)


def measure_questions(asked: Sequence[Asked], reader: Reader) -> list[str]:
    """Return the table's rows on questions."""
    told, missed, times = Samples(), Samples(), list[float]()
    for one in asked:
        began = time.perf_counter()
        reader.read(one.question, one.passages)
        times.append((time.perf_counter() - began) / max(1, len(one.passages)))
        if not one.kind:
            told.add("answer among the passages that are read", READER, any(one.gold))
        for arm, (first, sure) in judge(one, reader).items():
            if one.kind:
                missed.add("all", arm, sure)
                missed.add(one.kind, arm, sure)
            elif any(one.gold):
                told.add("answering sentence first, answer read", arm, first)
                told.add("sure", arm, sure)
    sure = told.rows.pop("sure")
    every = missed.rows.pop("all")
    bounds = {arm: float(np.quantile(values, REFUSED)) for arm, values in every.items()}

    def refused(values: Mapping[str, Sequence[float]]) -> dict[str, list[bool]]:
        return {arm: [value <= bounds[arm] for value in values[arm]] for arm in values}

    cells = " | ".join(auc_cell(sure[arm], every[arm]) for arm in ARMS)
    return [
        *told.lines(),
        f"| answered or not, AUC | {len(sure[READER])} and {len(every[READER])} | {cells} |",
        line(f"wrongly refused where {REFUSED:.0%} of near misses are refused", refused(sure)),
        *(line(f"refused there: {kind}", refused(values)) for kind, values in sorted(missed.rows.items())),
        f"| milliseconds a passage, median | {len(times)} | {1000 * float(np.median(times)):.1f} | |",
    ]


def measure_found(rows: Sequence[Row], reader: Reader) -> list[str]:
    """Return the table's rows on questions of whole document sets, with the passages found for each."""
    samples, told, missed = Samples(), list[float](), list[float]()
    for row in rows:
        reading = reader.read(query_of(row), [passage_of_row(passage) for passage in row["read"]])
        if row["told"] == "no":
            missed.append(reading.answered)
            continue
        told.append(reading.answered)
        points = {(which, start) for which, start, _ in row["points"]}
        ranked = sorted(
            (-float(score), which, start, end)
            for which, passage in enumerate(reading.passages)
            for (start, end), score in zip(passage.spans, passage.scores, strict=True)
        )
        first = [(which, start) for _, which, start, _ in ranked]
        lengths = accumulate(len(row["read"][at]["text"][a:b].split()) for _, at, a, b in ranked)
        within = sum(length <= MOST_WORDS for length in lengths)
        samples.add("whole sets: a point first", READER, first[0] in points)
        samples.add(f"whole sets: a point first, {row['type']}", READER, first[0] in points)
        samples.add(
            "whole sets: points among as many first",
            READER,
            len(points.intersection(first[: len(points)])) / len(points),
        )
        samples.add(
            f"whole sets: points in the first {MOST_WORDS} words",
            READER,
            len(points.intersection(first[:within])) / len(points),
        )
    counts, bound = f"{len(told)} and {len(missed)}", float(np.quantile(missed, REFUSED))
    refused = line(
        f"whole sets: wrongly refused where {REFUSED:.0%} of the unanswered are refused",
        {READER: [value <= bound for value in told]},
    )
    auc = f"| whole sets: answered or not, AUC | {counts} | {auc_cell(told, missed)} | |"
    return [*samples.lines(), auc, refused]


def auc_cell(told: Sequence[float], missed: Sequence[float]) -> str:
    """Return how often an answered question has the higher score, with its interval by resampling both."""
    draw = np.random.default_rng(29)
    high, low = np.asarray(told), np.asarray(missed)

    def auc(answered: np.ndarray, others: np.ndarray) -> float:
        order = np.sort(others)
        below = np.searchsorted(order, answered, "left") + np.searchsorted(order, answered, "right")
        return float(np.mean(below) / (2 * len(order)))

    drawn = [auc(draw.choice(high, len(high)), draw.choice(low, len(low))) for _ in range(500)]
    first, last = np.quantile(drawn, (0.025, 0.975))
    return f"{auc(high, low):.3f} [{first:.3f}, {last:.3f}]"


def measure_claims(rows: Sequence[Row], reader: Reader) -> list[str]:
    """Return the table's rows on claims, each checked against its passage."""
    samples = Samples()
    for row in rows:
        claims = [(text, "true") for text in row["true"]] + [(of["t"], of["kind"]) for of in row["false"]]
        said = reader.check(
            [text for text, _ in claims], [Passage(row["text"], row["title"], row["section"])]
        )
        for (_, kind), verdict in zip(claims, said, strict=True):
            yes, true = verdict.supported >= SUPPORTED, kind == "true"
            samples.add("claims, true accepted" if true else "claims, falsified caught", READER, yes == true)
            if not true:
                samples.add(f"claims, caught: {kind}", READER, not yes)
    return samples.lines()


def measure_sides(rows: Sequence[Row], reader: Reader) -> list[str]:
    """Return the table's row on sides: of sentences toward proposals, each in its passage."""
    samples = Samples()
    for row in rows:
        passage = Passage(row["text"], row["title"], row["section"])
        for sided in row["sides"]:
            [read] = reader.side(sided["proposal"], [passage])
            held = holding(row["text"], sided["s"])
            if held and held[0] < len(read):
                side = ("against", "for", "neither")[int(np.argmax(read[held[0]][1]))]
                samples.add("side of a sentence", READER, side == sided["side"])
    return samples.lines()


def measure_drafts(path: Path, reader: Reader) -> list[str]:
    """Return the table's rows on a chat model's sentences, labelled, each checked against its passages."""
    samples = Samples()
    for record in map(json.loads, path.read_text("utf-8").splitlines()):
        shown = [
            Passage(text) for _, text in sorted(record["passages"].items(), key=lambda item: int(item[0]))
        ]
        told = list(labelled(record))
        for (_, true), verdict in zip(told, reader.check([text for text, _ in told], shown), strict=True):
            name = "drafts, true accepted" if true else "drafts, falsified caught"
            samples.add(name, READER, (verdict.supported >= SUPPORTED) == true)
    return samples.lines()


def measure_public(path: Path, cache: Path, reader: Reader) -> list[str]:
    """Return the table's rows on a set of the public data whose questions have a reference answer.

    Each question is asked of its documents, and of the same ones without the passages that hold its answer.
    """
    dataset, bench = open_bench(load_dataset(path), cache, RunSettings())
    right, told, missed = (defaultdict[str, list[float]](list) for _ in range(3))
    for question in dataset.questions:
        [vector] = load_minilm().encode([question.text])
        for source in (bench.source, SourceWithout(bench.source, frozenset(question.gold))):
            found = source.search([question.text], limit=READ)[0][:READ]
            held = source.sentences([candidate["id"] for candidate in found])
            chosen = {
                READER: best_read(question.text, [passage_of(candidate) for candidate in found], reader),
                EMBEDDING: nearest(found, held, vector),
            }
            whole = source is bench.source
            if whole and not set(question.gold) & {ranked_ids([candidate])[0] for candidate in found}:
                continue
            for arm, one in chosen.items():
                (told if whole else missed)[arm].append(one.sure)
                if whole:
                    text = found[one.passage]["text"]
                    sentence = next(text[a:b] for a, b in sentence_spans(text) if a <= one.start < b)
                    right[arm].append(contains(sentence, str(question.reference)))
    arms = (READER, EMBEDDING)
    cells = {arm: auc_cell(told[arm], missed[arm]) for arm in arms}
    counts = f"{len(told[READER])} and {len(missed[READER])}"
    return [
        line(f"{dataset.name}: reference in the first sentence", {arm: right[arm] for arm in arms}),
        f"| {dataset.name}: answered or not, AUC | {counts} | {cells[READER]} | {cells[EMBEDDING]} |",
    ]


def _cell(values: Sequence[float]) -> str:
    if not len(values):
        return ""
    [[low, high]] = intervals([np.asarray(values, dtype=float)])
    return f"{np.mean(values):.3f} [{low:.3f}, {high:.3f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--part", choices=("development", "test"), default="development")
    parser.add_argument("--limit", type=int, help="a sample of so many questions, and of passages")
    parser.add_argument("--reader", help="'onnx:PATH'; the shipped one by default")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for the indexes")
    parser.add_argument("--grounding", type=Path, help="JSONL of a chat model's labelled sentences")
    parser.add_argument("--public", type=Path, help="a public data set with reference answers")
    given = parser.parse_args(arguments)
    reader = load_reader(given.reader)
    print(f"| {given.part} part | n | {READER} | {EMBEDDING} |\n|---|--:|---|---|")
    if given.grounding or given.public:
        if given.grounding:
            print("\n".join(measure_drafts(given.grounding, reader)))
        if given.public:
            print("\n".join(measure_public(given.public, given.cache, reader)))
        return
    rows = list(read_examples(given.part, given.sources))
    random.Random(29).shuffle(rows)
    some = rows[: given.limit]
    for line in measure_claims(some, reader) + measure_sides(rows, reader):
        print(line, flush=True)
    asked = list(ask_all(given.part, given.sources, given.cache, given.limit))
    print("\n".join(measure_questions(asked, reader)))
    print("\n".join(measure_found(list(read_found(given.part, given.sources)), reader)))


if __name__ == "__main__":
    main()
