"""Measure the check of a chat model's drafts: how many true sentences it accepts, and how many false ones.

    python -m benchmarks.grounding PATH [--show train] [--markers missing]

PATH is a JSONL file with one draft per line: the passages of its prompt, its sentences with their labels, and
falsified copies of true sentences. A falsified sentence is checked within its draft, in place of the true
one. A hash of `_id` splits the drafts into two halves; rules are made by reading the train half. The drafts
can also be checked with the faults of small models: without markers, or with each marker one too high.
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
    """Return passages, with their names as ids, and the sentences of each."""
    documents: list[Candidate] = []
    sentences: list[Sentences] = []
    for name, text in texts.items():
        spans = sentence_spans(text)
        sentences.append(
            Sentences(
                np.array(spans, dtype=np.int64).reshape(-1, 2),
                load_minilm().encode([text[start:end] for start, end in spans]),
            )
        )
        documents.append(
            Candidate(
                id=name, source=name, page=None, section=None, start=0, end=len(text), text=text,
                metadata={}, scores={}, labels=[],
            )
        )  # fmt: skip
    return documents, sentences


def request_of(record: Record) -> AnswerRequest:
    """Return the request for a draft, with the passages of its prompt."""
    passages = dict(sorted(record["passages"].items(), key=lambda item: int(item[0])))
    documents, sentences = passages_of(passages)
    return AnswerRequest(
        question=record["question"],
        style=STYLES[record["type"]],
        documents=documents,
        sentences=sentences,
        question_vector=load_minilm().encode([record["question"]])[0],
        situation=record.get("user_context", ""),
        reader=load_reader(),
    )


def change_markers(record: Record, markers: str) -> Record:
    """Return a draft with its markers kept, removed or wrong."""
    if markers == "kept":
        return record
    passages = len(record["passages"])

    def change(sentence: Record) -> Record:
        wrong = [marker % passages + 1 for marker in sentence["markers"]]
        return {**sentence, "markers": wrong if markers == "wrong" else []}

    return {**record, **{part: [*map(change, record[part])] for part in ("sentences", "corrupted")}}


def labelled(record: Record) -> Iterator[tuple[str, bool]]:
    """Yield the labelled sentences of a draft, and whether the passages support each."""
    for sentence in record["sentences"]:
        if sentence["label"] in ("supported", "unsupported"):
            yield sentence["text"], sentence["label"] == "supported"
    for falsified in record["corrupted"]:
        yield falsified["text"], False


def join_draft(sentences: Sequence[Record]) -> str:
    """Return a draft of sentences, each with its markers."""
    return "\n".join(
        sentence["text"] + "".join(f" [{marker}]" for marker in sentence["markers"]) for sentence in sentences
    )


def find_complaint(review: Review, text: str) -> str | None:
    """Return why the check calls a sentence unsupported; None if it accepts the sentence."""
    if not review.knows:
        return "the draft is taken for an admission not to know"
    pairs = zip(review.grounding.unsupported, review.grounding.reasons, strict=True)
    return next((reason for claim, reason in pairs if claim in text or text in claim), None)


def verdicts(record: Record) -> Iterator[tuple[str, str, str | None]]:
    """Yield the row of the table, the text and the check's complaint (or None) of each sentence."""
    request, encode = request_of(record), load_minilm().encode
    sentences = record["sentences"]
    review = review_draft(join_draft(sentences), request, encode)
    if any(sentence["label"] == "supported" for sentence in sentences):
        yield "good drafts replaced", record["reply"], review.flaw or None
    for sentence in sentences:
        yield sentence["label"], sentence["text"], find_complaint(review, sentence["text"])
    for falsified in record["corrupted"]:
        position = falsified["of"]
        changed = [*sentences[:position], falsified, *sentences[position + 1 :]]
        review = review_draft(join_draft(changed), request, encode)
        yield falsified["kind"], falsified["text"], find_complaint(review, falsified["text"])


def main() -> None:
    """Print a table of both halves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--show", choices=HALVES, help="print the errors of this half")
    parser.add_argument("--markers", choices=MARKERS, default="kept")
    arguments = parser.parse_args()
    counts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: {half: [] for half in HALVES})
    for line in arguments.path.read_text(encoding="utf-8").splitlines():
        record = change_markers(json.loads(line), arguments.markers)
        half = half_of(record["_id"])
        for row, text, complaint in verdicts(record):
            is_rejected = complaint is not None
            counts[row][half].append(is_rejected)
            is_true = row in ("supported", "absence", "structure", "good drafts replaced")
            if half == arguments.show and is_true == is_rejected:
                print(f"{row}: {text}\n    {complaint or 'accepted'}")
            if not is_true:
                counts["all falsified"][half].append(is_rejected)
    print(f"{'share called unsupported':28}{'train':>14}{'dev':>14}")
    for row, halves in sorted(counts.items()):
        cells = (
            f"{sum(rejections) / max(len(rejections), 1):.2f} of {len(rejections)}"
            for rejections in halves.values()
        )
        print(f"{row:28}" + "".join(f"{cell:>14}" for cell in cells))


if __name__ == "__main__":
    main()
