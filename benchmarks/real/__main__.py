"""Measure answers without a chat model about real documents, compared with those of standard retrieval.

    python -m benchmarks.real SOURCES [--half test] [--cache FOLDER] [--save FILE]

The public document sets of `sets.json` are fetched with git into the folder SOURCES (about 200 MB).
`questions.jsonl` has 25 questions about each set, written by a person who had seen no answer, with phrases of
the documents that a right answer contains. Answers may be looked at for only half of the sets; for the test
half, this script prints only counts and refuses to save answers. `standard` reads the four nearest passages
by vector and answers in the same way. The script prints a Markdown table, each figure with its 95 % bootstrap
interval.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from adaptive_rag.context import Context
from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.index import Index
from adaptive_rag.state import ROUTED_TYPES
from adaptive_rag.text.markers import strip_markers
from benchmarks.answers import first_sentence, format_mean

HERE = Path(__file__).parent
HALVES = ("look", "test")
ARMS: Mapping[str, Mapping[str, Any]] = {
    "adaptive": {},
    "standard": {"route": "factual", "k": 4, "without": {"fusion", "rerank", "enhance", "window", "hedge"}},
}
# Words of an answer that can be read at a glance.
SHORT_ANSWER_WORDS = 80
BINS = 5

_WORD = re.compile(r"[^\W_]+")

Row = dict[str, Any]


@dataclass(frozen=True)
class AnsweredRow:
    """A question with the answer of one arm."""

    row: Row
    arm: str
    answer: str
    outcome: str
    confidence: float | None
    evidence_read: bool
    """Whether the passages that were read contain all of the evidence."""
    ms: float


Condition: TypeAlias = Callable[[AnsweredRow], bool]


def read_sets(half: str) -> dict[str, dict[str, str]]:
    """Return the document sets of a half, by name."""
    sets: dict[str, dict[str, str]] = json.loads((HERE / "sets.json").read_text("utf-8"))
    return {name: document_set for name, document_set in sets.items() if document_set["half"] == half}


def read_questions(name: str) -> list[Row]:
    """Return the questions about a document set."""
    lines = (HERE / "questions.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["set"] == name]


def open_index(name: str, document_set: Mapping[str, str], sources: Path, cache: Path) -> Index:
    """Return the index of a document set; fetch the documents and make the index if it does not exist."""

    def documents() -> Iterator[tuple[str, bytes]]:
        repository, commit = sources / name, document_set["commit"]
        if not repository.exists():
            repository.mkdir(parents=True)
            git(repository, "init", "-q")
            address = f"https://github.com/{name.replace('+', '/')}"
            git(repository, "fetch", "-q", "--depth", "1", address, commit)
        for path in paths_at(repository, commit):
            if re.fullmatch(document_set["files"], path):
                yield path, git(repository, "show", f"{commit}:{path}")

    return open_documents(cache / "real" / name, documents())


def open_documents(folder: Path, documents: Iterable[tuple[str, bytes]]) -> Index:
    """Return the index in a folder; write the documents, paths with contents, if it does not exist."""
    if not (folder / "index").exists():
        shutil.rmtree(folder, ignore_errors=True)
        for path, content in documents:
            file = folder / "documents" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    # Even if the index exists: the run that made it may have been interrupted.
    Index.build(folder / "documents", folder / "index")
    return Index.open(folder / "index")


def paths_at(repository: Path, commit: str) -> list[str]:
    """Return the paths of all files of a commit."""
    return git(repository, "ls-tree", "-r", "--name-only", "-z", commit).decode().split("\0")


def git(repository: Path, *command: str) -> bytes:
    """Return what a git command in a repository prints."""
    return subprocess.run(["git", "-C", str(repository), *command], stdout=subprocess.PIPE, check=True).stdout


def ask(graph: Any, index: Index, row: Row, arm: str) -> AnsweredRow:
    """Ask one question by one arm."""
    history = [
        {"role": "user" if speaker == "user" else "agent", "text": text} for speaker, text in row["before"]
    ]
    state = {"question": row["question"], "user_context": row["situation"] or "", "history": history}
    started = time.perf_counter()
    output = graph.invoke(state, context=Context(index=index, **ARMS[arm]))
    ms = 1000 * (time.perf_counter() - started)
    decisions = [decision for record in output["trace"] for decision in record.get("decisions", ())]
    is_closest = any(decision["what"] == "closest" for decision in decisions)
    outcome = "refusal" if output["abstained"] else "closest" if is_closest else "answer"
    passages = " ".join(document["text"] for document in output["documents"])
    evidence_read = contains_evidence(passages, row["evidence"])
    return AnsweredRow(row, arm, output["answer"], outcome, output["confidence"], evidence_read, ms)


def contains_evidence(text: str, points: Sequence[Sequence[str]]) -> bool:
    """Return whether a text contains each point of a question's evidence, in one of its wordings."""
    words = normalise(text)
    return bool(points) and all(any(normalise(wording) in words for wording in point) for point in points)


def normalise(text: str) -> str:
    """Return the words of a text in lower case, without markers, markup and punctuation."""
    without_links = re.sub(r"\]\([^)]*\)", "]", strip_markers(text))
    return f" {' '.join(_WORD.findall(without_links.casefold()))} "


def measure(answers: Sequence[AnsweredRow]) -> Iterator[tuple[str, str, list[float]]]:
    """Yield the cells of the table: the measure, the arm, and the values of its questions."""
    for arm in ARMS:
        of_arm = [answer for answer in answers if answer.arm == arm]
        answerable = [answer for answer in of_arm if answer.row["answerable"]]
        unanswerable = [answer for answer in of_arm if not answer.row["answerable"]]

        def values(condition: Condition, group: Sequence[AnsweredRow] = answerable) -> list[float]:
            return [float(condition(answer)) for answer in group]

        yield "evidence among what is read", arm, values(lambda answer: answer.evidence_read)
        yield "evidence in an answer", arm, values(_is_answered)
        yield (
            f"evidence in an answer of at most {SHORT_ANSWER_WORDS} words",
            arm,
            values(_is_answered_shortly),
        )
        for kind in ROUTED_TYPES:
            of_kind = [answer for answer in answerable if answer.row["type"] == kind]
            yield f"- {kind}", arm, values(_is_answered, of_kind)
        yield "first point in the first sentence", arm, values(_begins_with_first_point)
        yield "evidence in an answer or in closest passages", arm, values(_is_evidence_shown)
        for name, group in (("answerable", answerable), ("unanswerable", unanswerable)):
            for outcome in ("answer", "closest", "refusal"):
                yield f"{name}: {outcome}", arm, [float(answer.outcome == outcome) for answer in group]


def _is_evidence_shown(answer: AnsweredRow) -> bool:
    return answer.outcome != "refusal" and contains_evidence(answer.answer, answer.row["evidence"])


def _is_answered(answer: AnsweredRow) -> bool:
    return answer.outcome == "answer" and _is_evidence_shown(answer)


def _is_answered_shortly(answer: AnsweredRow) -> bool:
    return _is_answered(answer) and len(answer.answer.split()) <= SHORT_ANSWER_WORDS


def _begins_with_first_point(answer: AnsweredRow) -> bool:
    first_point = answer.row["evidence"][:1]
    return _is_answered(answer) and contains_evidence(first_sentence(answer.answer), first_point)


def calibration_error(answers: Sequence[AnsweredRow]) -> float:
    """Return the expected calibration error of the confidence, in bins of equal counts (Naeini et al. 2015).

    The confidence is taken as the probability that an answer, or the closest passages, contain the evidence.
    """
    pairs = sorted(
        (answer.confidence, _is_evidence_shown(answer)) for answer in answers if answer.confidence is not None
    )
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
        parser.error("answers of the test half must not be looked at: leave out --save")
    graph, answers = build_graph().compile(), list[AnsweredRow]()
    for name, document_set in read_sets(options.half).items():
        if options.sets and name not in options.sets:
            continue
        index = open_index(name, document_set, options.sources, options.cache)
        answers += [ask(graph, index, row, arm) for row in read_questions(name) for arm in ARMS]
    rows = defaultdict[str, dict[str, list[float]]](dict)
    for name, arm, values in measure(answers):
        rows[name][arm] = values
    print(f"| {options.half} half | n | {' | '.join(ARMS)} |\n|---|--:|{'---|' * len(ARMS)}")
    for name, by_arm in rows.items():
        cells = " | ".join(format_mean(by_arm[arm]) for arm in ARMS)
        print(f"| {name} | {len(by_arm['adaptive'])} | {cells} |")
    of_arm = {arm: [answer for answer in answers if answer.arm == arm] for arm in ARMS}
    errors = [f"{calibration_error(of_arm[arm]):.3f}" for arm in ARMS]
    print(f"| calibration error of the confidence | {len(answers) // len(ARMS)} | {' | '.join(errors)} |")
    times = [f"{np.median([answer.ms for answer in of_arm[arm]]):.0f}" for arm in ARMS]
    print(f"| milliseconds, median | | {' | '.join(times)} |")
    if options.save:
        lines = (
            {
                **answer.row,
                "arm": answer.arm,
                "given": answer.answer,
                "outcome": answer.outcome,
                "confidence": answer.confidence,
                "read": answer.evidence_read,
            }
            for answer in answers
        )
        options.save.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


if __name__ == "__main__":
    main()
