"""Documents, sentences, vectors and a scripted reader, for the answering tests."""

import re
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.answer.styles import STYLES
from adaptive_rag.index import Index
from adaptive_rag.source import Sentences
from adaptive_rag.text.reading import PassageReading, Reading, Side, Support
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.words import terms
from tests.conftest import make_candidate

DIMENSION = 256
SIDES = {
    "for": Side(0.02, 0.96, 0.02),
    "against": Side(0.96, 0.02, 0.02),
    "leans for": Side(0.1, 0.3, 0.6),
    "leans against": Side(0.3, 0.1, 0.6),
}


def vector(text):
    """Embed a text as the unit sum of its content words' fixed random directions."""
    total = np.zeros(DIMENSION)
    for term in terms(text):
        total += np.random.default_rng(zlib.crc32(term.encode())).standard_normal(DIMENSION)
    norm = np.linalg.norm(total)
    return np.asarray(total / norm if norm else np.eye(1, DIMENSION)[0], dtype=np.float32)


def vectors(texts):
    return np.stack([vector(text) for text in texts]) if len(texts) else np.zeros((0, DIMENSION), np.float32)


def candidate(text, *, source="made.txt", start=0, labels=(), metadata=None):
    plain = make_candidate(f"{source}:{start}", text, start=start, source=source, dense=0.5, sparse=1.0)
    return {**plain, "labels": list(labels), "metadata": metadata or {}}


def build_index(folder: Path, documents: Mapping[str, str]) -> Index:
    """Index texts, given by the names of their files, in a folder of their own."""
    (folder / "documents").mkdir()
    for name, text in documents.items():
        (folder / "documents" / name).write_text(text, "utf-8")
    Index.build(folder / "documents", folder / "index")
    return Index.open(folder / "index")


def sentences_of(document):
    spans = sentence_spans(document["text"], document["start"])
    texts = [document["text"][a - document["start"] : b - document["start"]] for a, b in spans]
    return Sentences(spans=np.array(spans, dtype=np.int64).reshape(-1, 2), vectors=vectors(texts))


class ScriptedReader:
    """Says of each sentence, claim and side what the test wants; keeps what it was asked.

    `answers` gives the chance of each sentence that holds a text, `sides` its side, and `supported` are the
    claims that passages support.
    """

    def __init__(
        self, answers: Mapping[str, float] = {}, *, sides: Mapping[str, str] = {}, supported=()
    ) -> None:
        self.answers, self.sides, self.supported = answers, sides, supported
        self.asked: list[str] = []

    def read(self, question, passages):
        self.asked.append(question)
        found = []
        for passage in passages:
            spans = sentence_spans(passage.text)
            scores = np.array([self._chance(passage.text[a:b]) for a, b in spans])
            found.append(PassageReading(spans, scores, float(scores.sum()), 0.0))
        return Reading(found, min(1.0, sum(each.answers for each in found)))

    def check(self, claims, passages):
        return [
            Support(0.9, 0.05, 0.05) if claim in self.supported else Support(0.1, 0.7, 0.2)
            for claim in claims
        ]

    def side(self, proposal, passages):
        self.asked.append(proposal)
        return [
            [(span, self._side(passage.text[slice(*span)])) for span in sentence_spans(passage.text)]
            for passage in passages
        ]

    def _chance(self, text):
        return next((chance for part, chance in self.answers.items() if part in text), 0.0)

    def _side(self, text):
        side = next((side for part, side in self.sides.items() if part in text), "")
        return SIDES.get(side, Side(0.05, 0.05, 0.9))


def request(question, documents, answers=None, *, style=STYLES["factual"], reader=None, **more):
    return AnswerRequest(
        question=question,
        style=style,
        documents=documents,
        sentences=[sentences_of(document) for document in documents],
        question_vector=vector(question),
        reader=reader or ScriptedReader(answers or {}),
        **more,
    )


def scored_texts(asked):
    """Return the sentences that have a score above 0."""
    scored = asked.scored
    return [each.text for each, score in zip(scored.sentences, scored.scores, strict=True) if score > 0]


def without_markers(answer):
    """Return the sentences of an extracted answer: headings and markers taken off."""
    body = "\n".join(line for line in answer.text.splitlines() if not line.startswith("**"))
    return [part.strip() for part in re.split(r"\s*\[\d+\]\s*", body) if part.strip()]


CHANGES = {
    "2.4.0 - 2026-03-14": "Exports are written as Parquet files.",
    "2.3.0 - 2025-12-01": "The editor has a dark theme at last.",
    "Unreleased": "The editor has a light theme again.",
}


def sections(texts):
    """Return a document with a section for each heading."""
    text, starts = "", {}
    for heading, body in texts.items():
        starts[str(len(text))] = heading
        text += f"## {heading}\n\n### Notes\n\n- {body}\n\n"
    return candidate(text, metadata={"section_starts": starts})
