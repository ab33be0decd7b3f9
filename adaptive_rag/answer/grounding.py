"""The last check of an answer: which of its sentences a cited document supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.answer.citations import Claim, support, text_of
from adaptive_rag.answer.request import cosines
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.words import negated, numbers, terms

# A claim counts as supported from this mean of its cosine with the closest sentence and the share of its
# content words that the document holds. Where the sentences of people's reference answers (CLAP NQ, 74
# questions) were held against the passage they were written from, 99 % passed; against the best other
# passage found for the same question, 4 %. Freely worded answers lie between 0.65 and 0.95.
SUPPORTED = 0.55


@dataclass(frozen=True)
class Grounding:
    """How much of an answer rests on the documents that it cites."""

    share: float  # supported claims / claims; 0 for an answer that claims nothing
    unsupported: list[str]  # the claims without support, in order
    reasons: list[str]  # why, one for each of them


def ground(
    claims: Sequence[Claim],
    vectors: Vectors,
    documents: Sequence[Candidate],
    sentences: Sequence[Sentences],
) -> Grounding:
    """Check each claim of an answer against the documents it cites.

    A claim without a marker is checked against all documents that the answer cites. A claim fails
    where it is far from every sentence, where it holds a number that the document does not, or where
    it denies what the closest sentence asserts, or the reverse.

    Args:
        claims: of `citations.read_markers`.
        vectors: their vectors, unit length, shape (len(claims), dimension).
        documents: in the order in which the prompt numbered them.
        sentences: one for each document.
    """
    everywhere = sorted({marker for claim in claims for marker in claim.markers})
    unsupported: list[str] = []
    reasons: list[str] = []
    for claim, vector in zip(claims, vectors, strict=True):
        cited = claim.markers or everywhere
        faults = [_fault(claim, vector, documents[marker - 1], sentences[marker - 1]) for marker in cited]
        if "" not in faults:
            unsupported.append(claim.text)
            reasons.append(faults[0] if faults else "it cites no passage")
    share = (len(claims) - len(unsupported)) / len(claims) if claims else 0.0
    return Grounding(share, unsupported, reasons)


def _fault(claim: Claim, vector: Vectors, document: Candidate, sentences: Sentences) -> str:
    """Say why a document does not support a claim, or nothing where it does."""
    missing = sorted(numbers(claim.text) - numbers(document["text"]))
    if missing:
        return f"the passage does not hold the number {', '.join(missing)}"
    strength = support_strength(claim, vector, document, sentences)
    if strength < SUPPORTED:
        return f"no sentence of the passage is close enough ({strength:.2f} of {SUPPORTED})"
    closest = int(np.argmax(support(claim, vector, document, sentences)))
    if negated(claim.text) != negated(text_of(document, sentences.spans[closest].tolist())):
        return "the closest sentence of the passage says the opposite"
    return ""


def support_strength(claim: Claim, vector: Vectors, document: Candidate, sentences: Sentences) -> float:
    """Return how strongly a document supports a claim, 0 to 1, numbers and negation aside."""
    if not len(sentences.spans):
        return 0.0
    wanted, held = set(terms(claim.text)), set(terms(document["text"]))
    words = len(wanted & held) / len(wanted) if wanted else 0.0
    return 0.5 * float(cosines(sentences.vectors, vector).max()) + 0.5 * words
