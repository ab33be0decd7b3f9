"""Documents, sentences and vectors made of plain text, for the answering tests."""

import re
import zlib

import numpy as np

from adaptive_rag.answer.request import AnswerRequest, Aspect
from adaptive_rag.answer.styles import STYLES
from adaptive_rag.source import Sentences
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.words import terms

DIMENSION = 256


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
    return {
        "id": f"{source}:{start}",
        "source": source,
        "page": None,
        "section": None,
        "start": start,
        "end": start + len(text),
        "text": text,
        "metadata": metadata or {},
        "scores": {"dense": 0.5, "sparse": 1.0},
        "labels": list(labels),
    }


def sentences_of(document):
    spans = sentence_spans(document["text"], document["start"])
    texts = [document["text"][a - document["start"] : b - document["start"]] for a, b in spans]
    return Sentences(spans=np.array(spans, dtype=np.int64).reshape(-1, 2), vectors=vectors(texts))


def request(
    question, documents, *, style=STYLES["factual"], aspects=(), user_context="", said="", asked_before=""
):
    return AnswerRequest(
        question=question,
        style=style,
        documents=documents,
        sentences=[sentences_of(document) for document in documents],
        question_vector=vector(question),
        aspects=[Aspect(label, vector(label)) for label in aspects],
        user_context=user_context,
        said=[said] if said else [],
        asked_before=asked_before,
        context_vector=vector(user_context) if user_context else None,
    )


def without_markers(answer):
    """Return the sentences of an extracted answer: headings and markers taken off."""
    body = "\n".join(line for line in answer.text.splitlines() if not line.startswith("**"))
    return [part.strip() for part in re.split(r"\s*\[\d+\]\s*", body) if part.strip()]
