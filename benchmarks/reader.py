"""Measure the reader on the passages that retrieval returns, compared with the embedding model alone.

    python -m benchmarks.reader --sources FOLDER [--part test] [--limit N] [--reader SPEC] [--cache FOLDER]
    python -m benchmarks.reader --grounding REPLIES/grounding.jsonl --public DATA/factual_squad

FOLDER holds the public documents (`python -m training.reader.sources FOLDER`). The documents of each set of a
part are indexed, and each question of the examples is searched for. The reader reads the five passages
nearest by vector and the five nearest by words; for a public set, only the five by vector. The arm
"embedding" takes the sentence nearest to the question. A sentence is right if it contains the sentence with
the answer. The script prints only a Markdown table, each figure with its 95 % bootstrap interval.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.evaluation.datasets import load_dataset
from adaptive_rag.evaluation.metrics import ranked_ids
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.run import open_bench
from adaptive_rag.index import Index
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.models.reader import load_reader
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.reading import Passage, Reader, passage_of
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.vectors import Vectors, cosines
from benchmarks.answers import SourceWithout, contains, format_mean
from benchmarks.grounding import labelled
from benchmarks.real import __main__ as real
from training.reader.examples import query_of, read_examples
from training.reader.found import read_found
from training.reader.public import SELQA, read_articles
from training.reader.readings import passage_of as passage_of_row
from training.reader.sources import Row, is_public, read_sources
from training.reader.stances import passages_of, read_stances

PASSAGES_READ = 5
REFUSAL_SHARE = 0.80
# A claim with at least this support is accepted. On the development part, .84 of the true claims and .20 of
# the falsified ones reach it.
SUPPORT_THRESHOLD = 0.4
# Files that are indexed of a public document set: those of the examples, and others up to this number.
MAX_FILES = 60
# Points of an answer are counted in the first sentences, up to this number of words.
MAX_WORDS = 100
ARMS = READER, EMBEDDING = "reader", "embedding"


@dataclass(frozen=True)
class AskedQuestion:
    """A question of the examples, its passages, and the sentences that answer it."""

    set: str
    question: str
    passages: list[Passage]
    candidates: list[Candidate]
    """The passages as search returned them."""
    sentences: list[Sentences]
    vector: Vectors
    gold: list[list[int]]
    """For each passage, the numbers of the sentences that contain the answering one."""
    kind: str
    """How an unanswerable question differs from what the documents say; "" if they answer it."""


@dataclass
class Samples:
    """The values behind the figures: row -> arm -> one value per question."""

    rows: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, row: str, arm: str, value: float) -> None:
        """Add a value."""
        self.rows.setdefault(row, defaultdict(list))[arm].append(float(value))

    def lines(self) -> list[str]:
        """Return the rows as lines of a Markdown table."""
        return [format_row(name, values) for name, values in self.rows.items()]


def format_row(name: str, values: Mapping[str, Sequence[float]]) -> str:
    """Return a row as a line of a Markdown table."""
    cells = [format_mean(values.get(arm, []), digits=3) for arm in ARMS]
    return f"| {name} | {len(values[READER])} | {' | '.join(cells)} |"


def ask_all(part: str, sources: Path, cache: Path, limit: int | None) -> Iterator[AskedQuestion]:
    """Search for the questions of a part in the documents of their sets."""
    rows_of = defaultdict[str, list[Row]](list)
    for row in read_examples(part, sources):
        rows_of[row["set"]].append(row)
    examples = [
        (row, example) for rows in rows_of.values() for row in rows for example in (*row["qa"], *row["no"])
    ]
    random.Random(29).shuffle(examples)
    for name, rows in rows_of.items():
        index = open_documents(name, rows, sources, cache)
        for row, example in examples[:limit]:
            if row["set"] == name:
                yield ask(index, row, example)


def open_documents(name: str, rows: Sequence[Row], sources: Path, cache: Path) -> Index:
    """Return the index of a document set; make it if it does not exist."""
    return real.open_documents(cache / "reader" / name, documents_of(name, rows, sources))


def documents_of(name: str, rows: Sequence[Row], sources: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file of a set; those of an invented one are made of passages."""
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
    example_files = sorted({row["source"] for row in rows})
    kinds = {(path.split("/")[0], Path(path).suffix) for path in example_files}
    others = [
        path
        for path in real.paths_at(repository, commit)
        if (path.split("/")[0], Path(path).suffix) in kinds and path not in example_files
    ]
    random.Random(29).shuffle(others)
    for path in [*example_files, *others][: max(MAX_FILES, len(example_files))]:
        yield path, real.git(repository, "show", f"{commit}:{path}")


def ask(index: Index, row: Row, example: Mapping[str, Any]) -> AskedQuestion:
    """Search for the question of an example, and find the sentence with its answer in the passages."""
    query = query_of(example)
    [candidates] = index.search([query], limit=PASSAGES_READ)
    [vector] = load_minilm().encode([query])
    return AskedQuestion(
        set=row["set"],
        question=query,
        passages=[passage_of(candidate) for candidate in candidates],
        candidates=candidates,
        sentences=index.sentences([candidate["id"] for candidate in candidates]),
        vector=vector,
        gold=[sentences_with_quote(candidate["text"], example.get("s")) for candidate in candidates],
        kind=example.get("kind", ""),
    )


def sentences_with_quote(text: str, quote: str | None) -> list[int]:
    """Return the numbers of the sentences of a passage that contain a quote, or most of it."""
    start = text.find(quote) if quote else -1
    if not quote or start < 0:
        return []
    end = start + len(quote)
    return [
        number
        for number, (first, last) in enumerate(sentence_spans(text))
        if min(end, last) - max(start, first) > 0.5 * min(len(quote), last - first)
    ]


def judge(asked: AskedQuestion, reader: Reader) -> dict[str, tuple[bool, float]]:
    """Return, for each arm, whether the sentence that it puts first is right, and its confidence."""
    top_sentences = {
        READER: top_read_sentence(asked.question, asked.passages, reader),
        EMBEDDING: nearest_sentence(asked.candidates, asked.sentences, asked.vector),
    }
    return {arm: (_is_right(asked, top), top.confidence) for arm, top in top_sentences.items()}


def _is_right(asked: AskedQuestion, top: TopSentence) -> bool:
    """Return whether a sentence begins within one of the gold sentences of its passage."""
    if not asked.passages:
        return False
    spans = sentence_spans(asked.passages[top.passage].text)
    return any(spans[number][0] <= top.start < spans[number][1] for number in asked.gold[top.passage])


class TopSentence(NamedTuple):
    """The sentence that is put first: its passage, its position there, and the confidence that it answers."""

    passage: int
    start: int
    confidence: float


def top_read_sentence(question: str, passages: Sequence[Passage], reader: Reader) -> TopSentence:
    """Return the sentence that the reader puts first."""
    reading = reader.read(question, passages)
    scored = [
        (float(score), number, start)
        for number, passage in enumerate(reading.passages)
        for (start, _), score in zip(passage.spans, passage.scores, strict=True)
    ]
    _, number, start = max(scored, key=lambda item: item[0], default=(0.0, 0, 0))
    return TopSentence(number, start, reading.answered)


def nearest_sentence(
    passages: Sequence[Candidate], sentences: Sequence[Sentences], question: Vectors
) -> TopSentence:
    """Return the sentence whose vector is nearest to the question's."""
    scored = [
        (float(cosine), number, int(span[0]) - passage["start"])
        for number, (passage, its_sentences) in enumerate(zip(passages, sentences, strict=True))
        for span, cosine in zip(
            its_sentences.spans, cosines(its_sentences.vectors, question[None])[:, 0], strict=True
        )
    ]
    cosine, number, start = max(scored, key=lambda item: item[0], default=(0.0, 0, 0))
    return TopSentence(number, start, cosine)


def measure_questions(questions: Sequence[AskedQuestion], reader: Reader) -> list[str]:
    """Return the table's rows on questions."""
    samples, times = Samples(), list[float]()
    # The confidence of each arm, in answerable questions whose answer was read, and in near misses by kind.
    answerable = defaultdict[str, list[float]](list)
    near_misses = defaultdict[str, list[float]](list)
    by_kind = Samples()
    for asked in questions:
        started = time.perf_counter()
        reader.read(asked.question, asked.passages)
        times.append((time.perf_counter() - started) / max(1, len(asked.passages)))
        if not asked.kind:
            samples.add("answer among the passages that are read", READER, any(asked.gold))
        for arm, (is_right, confidence) in judge(asked, reader).items():
            if asked.kind:
                near_misses[arm].append(confidence)
                by_kind.add(asked.kind, arm, confidence)
            elif any(asked.gold):
                samples.add("answering sentence first, answer read", arm, is_right)
                answerable[arm].append(confidence)
    thresholds = {arm: float(np.quantile(values, REFUSAL_SHARE)) for arm, values in near_misses.items()}

    def is_refused(values: Mapping[str, Sequence[float]]) -> dict[str, list[bool]]:
        return {arm: [value <= thresholds[arm] for value in values[arm]] for arm in values}

    cells = " | ".join(auc_cell(answerable[arm], near_misses[arm]) for arm in ARMS)
    counts = f"{len(answerable[READER])} and {len(near_misses[READER])}"
    return [
        *samples.lines(),
        f"| answered or not, AUC | {counts} | {cells} |",
        format_row(
            f"wrongly refused where {REFUSAL_SHARE:.0%} of near misses are refused", is_refused(answerable)
        ),
        *(
            format_row(f"refused there: {kind}", is_refused(values))
            for kind, values in sorted(by_kind.rows.items())
        ),
        f"| milliseconds a passage, median | {len(times)} | {1000 * float(np.median(times)):.1f} | |",
    ]


def measure_found(rows: Sequence[Row], reader: Reader) -> list[str]:
    """Return the table's rows on questions of whole document sets, with the passages found for each."""
    samples, answerable, unanswerable = Samples(), list[float](), list[float]()
    for row in rows:
        reading = reader.read(query_of(row), [passage_of_row(passage) for passage in row["read"]])
        if row["told"] == "no":
            unanswerable.append(reading.answered)
            continue
        answerable.append(reading.answered)
        points = {(passage, start) for passage, start, _ in row["points"]}
        ranked = sorted(
            (-float(score), number, start, end)
            for number, passage in enumerate(reading.passages)
            for (start, end), score in zip(passage.spans, passage.scores, strict=True)
        )
        sentences = [(passage, start) for _, passage, start, _ in ranked]
        lengths = accumulate(
            len(row["read"][passage]["text"][start:end].split()) for _, passage, start, end in ranked
        )
        within_limit = sum(length <= MAX_WORDS for length in lengths)
        samples.add("whole sets: a point first", READER, sentences[0] in points)
        samples.add(f"whole sets: a point first, {row['type']}", READER, sentences[0] in points)
        for name, count in (
            ("whole sets: points among as many first", len(points)),
            (f"whole sets: points in the first {MAX_WORDS} words", within_limit),
        ):
            samples.add(name, READER, len(points.intersection(sentences[:count])) / len(points))
    threshold = float(np.quantile(unanswerable, REFUSAL_SHARE))
    counts = f"{len(answerable)} and {len(unanswerable)}"
    refusals = format_row(
        f"whole sets: wrongly refused where {REFUSAL_SHARE:.0%} of the unanswered are refused",
        {READER: [value <= threshold for value in answerable]},
    )
    auc = f"| whole sets: answered or not, AUC | {counts} | {auc_cell(answerable, unanswerable)} | |"
    return [*samples.lines(), auc, refusals]


def auc_cell(answerable: Sequence[float], unanswerable: Sequence[float]) -> str:
    """Return how often an answerable question has the higher score, with its bootstrap interval."""
    rng = np.random.default_rng(29)
    high, low = np.asarray(answerable), np.asarray(unanswerable)

    def auc(positives: np.ndarray, negatives: np.ndarray) -> float:
        ordered = np.sort(negatives)
        # Ties count half.
        below = np.searchsorted(ordered, positives, "left") + np.searchsorted(ordered, positives, "right")
        return float(np.mean(below) / (2 * len(ordered)))

    resampled = [auc(rng.choice(high, len(high)), rng.choice(low, len(low))) for _ in range(500)]
    lower, upper = np.quantile(resampled, (0.025, 0.975))
    return f"{auc(high, low):.3f} [{lower:.3f}, {upper:.3f}]"


def measure_claims(rows: Sequence[Row], reader: Reader) -> list[str]:
    """Return the table's rows on claims, each checked against its passage."""
    samples = Samples()
    for row in rows:
        claims = [(text, "true") for text in row["true"]]
        claims += [(falsified["t"], falsified["kind"]) for falsified in row["false"]]
        passage = Passage(row["text"], row["title"], row["section"])
        verdicts = reader.check([text for text, _ in claims], [passage])
        for (_, kind), verdict in zip(claims, verdicts, strict=True):
            is_accepted = verdict.supported >= SUPPORT_THRESHOLD
            if kind == "true":
                samples.add("claims, true accepted", READER, is_accepted)
            else:
                samples.add("claims, falsified caught", READER, not is_accepted)
                samples.add(f"claims, caught: {kind}", READER, not is_accepted)
    return samples.lines()


def measure_sides(rows: Iterable[Row], reader: Reader, name: str = "side of a sentence") -> list[str]:
    """Return the table's row on sides: whether a sentence is for or against a proposal."""
    samples = Samples()
    for row in rows:
        passage = Passage(row["text"], row["title"], row["section"])
        for example in row["sides"]:
            [sentences] = reader.side(example["proposal"], [passage])
            numbers = sentences_with_quote(row["text"], example["s"])
            if numbers and numbers[0] < len(sentences):
                side = ("against", "for", "neither")[int(np.argmax(sentences[numbers[0]][1]))]
                samples.add(name, READER, side == example["side"])
    return samples.lines()


def measure_drafts(path: Path, reader: Reader) -> list[str]:
    """Return the table's rows on a chat model's labelled sentences, each checked against its passages."""
    samples = Samples()
    for record in map(json.loads, path.read_text("utf-8").splitlines()):
        passages = sorted(record["passages"].items(), key=lambda item: int(item[0]))
        sentences = list(labelled(record))
        verdicts = reader.check([text for text, _ in sentences], [Passage(text) for _, text in passages])
        for (_, is_true), verdict in zip(sentences, verdicts, strict=True):
            name = "drafts, true accepted" if is_true else "drafts, falsified caught"
            samples.add(name, READER, (verdict.supported >= SUPPORT_THRESHOLD) == is_true)
    return samples.lines()


def measure_public(path: Path, cache: Path, reader: Reader) -> list[str]:
    """Return the table's rows on a public data set whose questions have a reference answer.

    Each question is asked of its documents, and of the same documents without the passages that answer it.
    """
    dataset, bench = open_bench(load_dataset(path), cache, RunSettings())
    is_right, answerable, unanswerable = (defaultdict[str, list[float]](list) for _ in range(3))
    for question in dataset.questions:
        [vector] = load_minilm().encode([question.text])
        for source in (bench.source, SourceWithout(bench.source, frozenset(question.gold))):
            candidates = source.search([question.text], limit=PASSAGES_READ)[0][:PASSAGES_READ]
            sentences = source.sentences([candidate["id"] for candidate in candidates])
            passages = [passage_of(candidate) for candidate in candidates]
            top_sentences = {
                READER: top_read_sentence(question.text, passages, reader),
                EMBEDDING: nearest_sentence(candidates, sentences, vector),
            }
            if source is not bench.source:
                for arm, top in top_sentences.items():
                    unanswerable[arm].append(top.confidence)
                continue
            if set(question.gold).isdisjoint(ranked_ids(candidates)):
                continue
            for arm, top in top_sentences.items():
                answerable[arm].append(top.confidence)
                text = candidates[top.passage]["text"]
                sentence = next(text[a:b] for a, b in sentence_spans(text) if a <= top.start < b)
                is_right[arm].append(contains(sentence, str(question.reference)))
    cells = " | ".join(auc_cell(answerable[arm], unanswerable[arm]) for arm in ARMS)
    counts = f"{len(answerable[READER])} and {len(unanswerable[READER])}"
    return [
        format_row(f"{dataset.name}: reference in the first sentence", is_right),
        f"| {dataset.name}: answered or not, AUC | {counts} | {cells} |",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--part", choices=("development", "test"), default="development")
    parser.add_argument("--limit", type=int, help="number of questions, and of passages, in a sample")
    parser.add_argument("--reader", help="'onnx:PATH'; the shipped one by default")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for the indexes")
    parser.add_argument("--grounding", type=Path, help="JSONL of a chat model's labelled sentences")
    parser.add_argument("--public", type=Path, help="a public data set with reference answers")
    options = parser.parse_args(arguments)
    reader = load_reader(options.reader)
    print(f"| {options.part} part | n | {READER} | {EMBEDDING} |\n|---|--:|---|---|")
    if options.grounding or options.public:
        if options.grounding:
            print("\n".join(measure_drafts(options.grounding, reader)))
        if options.public:
            print("\n".join(measure_public(options.public, options.cache, reader)))
        return
    rows = list(read_examples(options.part, options.sources))
    random.Random(29).shuffle(rows)
    for line in measure_claims(rows[: options.limit], reader) + measure_sides(rows, reader):
        print(line, flush=True)
    subjects = read_stances(options.part)
    passages = chain.from_iterable(passages_of(subject, random.Random(1)) for subject in subjects)
    print("\n".join(measure_sides(passages, reader, "side, of opposite proposals")), flush=True)
    questions = list(ask_all(options.part, options.sources, options.cache, options.limit))
    print("\n".join(measure_questions(questions, reader)))
    print("\n".join(measure_found(list(read_found(options.part, options.sources)), reader)))


if __name__ == "__main__":
    main()
