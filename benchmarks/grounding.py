"""Measures the check of a chat model's drafts: true sentences accepted, falsified ones caught.

    python -m benchmarks.grounding PATH [--show train] [--markers missing]

PATH is a JSONL file with one draft a line: the passages that its prompt showed, its sentences with a label
each, and falsified copies of true ones. A falsified sentence is checked in its draft, in the true one's
place. Drafts are halved by a hash of `_id`; rules are made by reading the train half. As small models do, the
drafts can be given without markers, or each marker with the number of the next passage.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_rag.answer.check import Review, review_draft
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.answer.styles import STYLES
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.models.reader import load_reader
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.sentences import sentence_spans

Record = Mapping[str, Any]
HALVES = ("train", "dev")
MARKERS = ("kept", "missing", "wrong")


def half_of(id_: str) -> str:
    """Return the half that a draft belongs to."""
    return HALVES[int(hashlib.sha256(id_.encode()).hexdigest(), 16) % 2]


def passages_of(texts: Mapping[str, str]) -> tuple[list[Candidate], list[Sentences]]:
    """Return passages by their names, with their sentences."""
    documents: list[Candidate] = []
    sentences: list[Sentences] = []
    for number, text in texts.items():
        spans = sentence_spans(text)
        sentences.append(
            Sentences(
                np.array(spans, dtype=np.int64).reshape(-1, 2),
                load_minilm().encode([text[start:end] for start, end in spans]),
            )
        )
        documents.append(
            Candidate(
                id=number, source=number, page=None, section=None, start=0, end=len(text), text=text,
                metadata={}, scores={}, labels=[],
            )
        )  # fmt: skip
    return documents, sentences


def request_of(record: Record) -> AnswerRequest:
    """Return the request whose passages the draft's prompt showed."""
    shown = dict(sorted(record["passages"].items(), key=lambda item: int(item[0])))
    documents, sentences = passages_of(shown)
    return AnswerRequest(
        question=record["question"],
        style=STYLES[record["type"]],
        documents=documents,
        sentences=sentences,
        question_vector=load_minilm().encode([record["question"]])[0],
        situation=record.get("user_context", ""),
        reader=load_reader(),
    )


def remark(record: Record, markers: str) -> Record:
    """Return a draft with its markers kept, missing or wrong."""
    if markers == "kept":
        return record
    passages = len(record["passages"])

    def changed(sentence: Record) -> Record:
        wrong = [marker % passages + 1 for marker in sentence["markers"]]
        return {**sentence, "markers": wrong if markers == "wrong" else []}

    return {**record, **{part: [*map(changed, record[part])] for part in ("sentences", "corrupted")}}


def labelled(record: Record) -> Iterator[tuple[str, bool]]:
    """Yield the labelled sentences of a draft, and whether each is true of its passages."""
    for sentence in record["sentences"]:
        if sentence["label"] in ("supported", "unsupported"):
            yield sentence["text"], sentence["label"] == "supported"
    for false in record["corrupted"]:
        yield false["text"], False


def draft_of(sentences: Sequence[Record]) -> str:
    """Write a draft of sentences, each with its markers."""
    return "\n".join(s["text"] + "".join(f" [{marker}]" for marker in s["markers"]) for s in sentences)


def complaint(review: Review, text: str) -> str | None:
    """Return why the check calls a sentence unsupported; None where it accepts it."""
    if not review.knows:
        return "the draft is taken for an admission not to know"
    pairs = zip(review.grounding.unsupported, review.grounding.reasons, strict=True)
    return next((reason for claim, reason in pairs if claim in text or text in claim), None)


def verdicts(record: Record) -> Iterator[tuple[str, str, str | None]]:
    """Yield each sentence's row of the table, its text, and the check's complaint."""
    request, encode = request_of(record), load_minilm().encode
    sentences = record["sentences"]
    review = review_draft(draft_of(sentences), request, encode)
    held = any(s["label"] == "supported" for s in sentences)
    if held:
        yield "good drafts replaced", record["reply"], review.flaw or None
    for sentence in sentences:
        yield sentence["label"], sentence["text"], complaint(review, sentence["text"])
    for false in record["corrupted"]:
        changed = [*sentences[: false["of"]], false, *sentences[false["of"] + 1 :]]
        review = review_draft(draft_of(changed), request, encode)
        yield false["kind"], false["text"], complaint(review, false["text"])


def main() -> None:
    """Print a table of both halves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--show", choices=HALVES, help="print the errors of this half")
    parser.add_argument("--markers", choices=MARKERS, default="kept")
    arguments = parser.parse_args()
    counts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: {half: [] for half in HALVES})
    for line in arguments.path.read_text(encoding="utf-8").splitlines():
        record = remark(json.loads(line), arguments.markers)
        half = half_of(record["_id"])
        for row, text, why in verdicts(record):
            counts[row][half].append(why is not None)
            true = row in ("supported", "absence", "structure", "good drafts replaced")
            if half == arguments.show and true == (why is not None):
                print(f"{row}: {text}\n    {why or 'accepted'}")
            if not true:
                counts["all falsified"][half].append(why is not None)
    print(f"{'share called unsupported':28}{'train':>14}{'dev':>14}")
    for row, halves in sorted(counts.items()):
        cells = (f"{sum(found) / max(len(found), 1):.2f} of {len(found)}" for found in halves.values())
        print(f"{row:28}" + "".join(f"{cell:>14}" for cell in cells))


if __name__ == "__main__":
    main()
