"""Measures answers without a chat model to real documents, beside standard retrieval with the same answers.

    python -m benchmarks.real SOURCES [--half test] [--cache FOLDER] [--save FILE]

SOURCES receives the public document sets of `sets.json` (git; some 200 MB). Of each, 25 questions stand in
`questions.jsonl`, written by somebody who had seen no answer, with phrases of the documents that a right
answer holds. Half of the sets are for looking at; of the others this prints counts alone, and refuses to save
answers. `standard` is the four nearest passages by vector. Prints a Markdown table, each figure with its 95 %
bootstrap interval.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_rag.context import Context
from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.evaluation.statistics import intervals
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.index import Index
from adaptive_rag.text.markers import strip_markers
from benchmarks.answers import first_sentence

HERE = Path(__file__).parent
HALVES = ("look", "test")
ARMS: Mapping[str, Mapping[str, Any]] = {
    "adaptive": {},
    "standard": {"route": "factual", "k": 4, "without": {"fusion", "rerank", "enhance", "window", "hedge"}},
}
# Words of an answer that one reads at a glance.
SHORT = 80
BINS = 5

_WORD = re.compile(r"[^\W_]+")

Row = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """What was given to a question."""

    row: Row
    arm: str
    answer: str
    outcome: str
    confidence: float | None
    read: bool
    """Whether the passages that were read hold all of the evidence."""
    ms: float


def read_sets(half: str) -> dict[str, dict[str, str]]:
    """Return the document sets of a half."""
    sets: dict[str, dict[str, str]] = json.loads((HERE / "sets.json").read_text("utf-8"))
    return {name: one for name, one in sets.items() if one["half"] == half}


def read_questions(name: str) -> list[Row]:
    """Return the questions to a document set."""
    lines = (HERE / "questions.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["set"] == name]


def open_index(name: str, one: Mapping[str, str], sources: Path, cache: Path) -> Index:
    """Return the index of a document set; fetched and made where it is not there."""
    folder = cache / "real" / name
    if not (folder / "index").exists():
        repository = sources / name
        if not repository.exists():
            repository.mkdir(parents=True)
            address = f"https://github.com/{name.replace('+', '/')}"
            for command in (["init", "-q"], ["fetch", "-q", "--depth", "1", address, one["commit"]]):
                subprocess.run(["git", "-C", str(repository), *command], check=True)
        shutil.rmtree(folder, ignore_errors=True)
        listed = _git(repository, "ls-tree", "-r", "--name-only", "-z", one["commit"]).decode().split("\0")
        for path in listed:
            if re.fullmatch(one["files"], path):
                file = folder / "documents" / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(_git(repository, "show", f"{one['commit']}:{path}"))
    # Also where one is there: it may be of a run that was interrupted.
    Index.build(folder / "documents", folder / "index")
    return Index.open(folder / "index")


def _git(repository: Path, *command: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *command], capture_output=True, check=True).stdout


def ask(graph: Any, index: Index, row: Row, arm: str) -> Given:
    """Ask one question."""
    history = [{"role": "user" if who == "user" else "agent", "text": text} for who, text in row["before"]]
    asked = {"question": row["question"], "user_context": row["situation"] or "", "history": history}
    began = time.perf_counter()
    output = graph.invoke(asked, context=Context(index=index, **ARMS[arm]))
    ms = 1000 * (time.perf_counter() - began)
    decisions = [d for record in output["trace"] for d in record.get("decisions", ())]
    closest = any(d["what"] == "closest" for d in decisions)
    outcome = "refusal" if output["abstained"] else "closest" if closest else "answer"
    read = " ".join(document["text"] for document in output["documents"])
    return Given(
        row, arm, output["answer"], outcome, output["confidence"], holds_evidence(read, row["evidence"]), ms
    )


def holds_evidence(text: str, points: Sequence[Sequence[str]]) -> bool:
    """Tell whether a text holds each point of a question's evidence, in one of its wordings."""
    plain = as_compared(text)
    return bool(points) and all(any(as_compared(phrase) in plain for phrase in each) for each in points)


def as_compared(text: str) -> str:
    """Return the words of a text, without marks, markup and case."""
    without_links = re.sub(r"\]\([^)]*\)", "]", strip_markers(text))
    return f" {' '.join(_WORD.findall(without_links.casefold()))} "


def figures(given: Sequence[Given]) -> Iterator[tuple[str, str, list[float]]]:
    """Yield each row of the table: what is measured, of which arm, and its samples."""
    for arm in ARMS:
        own = [one for one in given if one.arm == arm]
        answerable = [one for one in own if one.row["answerable"]]
        others = [one for one in own if not one.row["answerable"]]
        yield "evidence among what is read", arm, [float(one.read) for one in answerable]
        yield "evidence in an answer", arm, [float(_answers(one)) for one in answerable]
        short = [float(_answers(one) and len(one.answer.split()) <= SHORT) for one in answerable]
        yield f"evidence in an answer of at most {SHORT} words", arm, short
        for kind in ("factual", "analytical", "opinion", "contextual"):
            yield f"- {kind}", arm, [float(_answers(one)) for one in answerable if one.row["type"] == kind]
        first = [
            float(_answers(one) and holds_evidence(first_sentence(one.answer), one.row["evidence"][:1]))
            for one in answerable
        ]
        yield "first point in the first sentence", arm, first
        yield (
            "evidence in an answer or in closest passages",
            arm,
            [
                float(one.outcome != "refusal" and holds_evidence(one.answer, one.row["evidence"]))
                for one in answerable
            ],
        )
        for outcome in ("answer", "closest", "refusal"):
            yield f"answerable: {outcome}", arm, [float(one.outcome == outcome) for one in answerable]
        for outcome in ("answer", "closest", "refusal"):
            yield f"unanswerable: {outcome}", arm, [float(one.outcome == outcome) for one in others]


def _answers(one: Given) -> bool:
    return one.outcome == "answer" and holds_evidence(one.answer, one.row["evidence"])


def calibration_error(given: Sequence[Given]) -> float:
    """Return the expected calibration error of the confidence, in bins of equal counts (Naeini et al. 2015).

    What it should say is whether the passages that were read hold the evidence.
    """
    pairs = sorted((one.confidence, one.read) for one in given if one.confidence is not None)
    bins = [part for part in np.array_split(np.array(pairs, dtype=float), BINS) if len(part)]
    return float(sum(len(part) * abs(part[:, 0].mean() - part[:, 1].mean()) for part in bins) / len(pairs))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path)
    parser.add_argument("--half", choices=HALVES, default="look")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for the indexes")
    parser.add_argument("--save", type=Path, help="file for every answer, a JSON object a line")
    options = parser.parse_args(arguments)
    if options.save and options.half == "test":
        parser.error("nobody reads answers of the test half: leave out --save")
    graph, given = build_graph().compile(), list[Given]()
    for name, one in read_sets(options.half).items():
        if options.sets and name not in options.sets:
            continue
        index = open_index(name, one, options.sources, options.cache)
        given += [ask(graph, index, row, arm) for row in read_questions(name) for arm in ARMS]
    rows = defaultdict[str, dict[str, list[float]]](dict)
    for measured, arm, samples in figures(given):
        rows[measured][arm] = samples
    print(f"| {options.half} half | n | {' | '.join(ARMS)} |\n|---|--:|{'---|' * len(ARMS)}")
    for measured, of in rows.items():
        print(f"| {measured} | {len(of['adaptive'])} | {' | '.join(_cell(of[arm]) for arm in ARMS)} |")
    errors = [f"{calibration_error([one for one in given if one.arm == arm]):.3f}" for arm in ARMS]
    print(f"| calibration error of the confidence | {len(given) // len(ARMS)} | {' | '.join(errors)} |")
    times = [f"{np.median([one.ms for one in given if one.arm == arm]):.0f}" for arm in ARMS]
    print(f"| milliseconds, median | | {' | '.join(times)} |")
    if options.save:
        lines = (
            {
                **one.row,
                "arm": one.arm,
                "given": one.answer,
                "outcome": one.outcome,
                "confidence": one.confidence,
                "read": one.read,
            }
            for one in given
        )
        options.save.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ""
    [[low, high]] = intervals([np.asarray(values)])
    return f"{np.mean(values):.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
