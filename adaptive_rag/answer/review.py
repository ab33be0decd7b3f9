"""The check of a chat model's draft: markers, citations, grounding, and whether it admits not to know."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from adaptive_rag.answer.citations import Claim, cite, read_markers
from adaptive_rag.answer.grounding import ground
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.state import Citation

_MATERIAL = r"(?:passages?|documents?|context|text|sources?|information|excerpts?|material)"
_DONT_KNOW = re.compile(
    rf"\bI (?:don['’]?t|do not|cannot|can['’]?t|am unable to|could not|couldn['’]?t) "
    rf"(?:know|answer|find|say|tell|determine)\b"
    rf"|\b(?:the |these )?(?:given |provided |above )?{_MATERIAL} (?:do|does|did)(?:n['’]?t| not) "
    rf"(?:hold|contain|mention|provide|include|say|state|specify|answer|give)\b"
    rf"|\bno (?:relevant )?(?:information|answer|mention)\b.{{0,40}}\b(?:{_MATERIAL}|found|available|given)\b"
    rf"|\bnot (?:mentioned|stated|given|specified|provided|found) in the {_MATERIAL}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Review:
    """A draft after its check."""

    text: str  # every marker as [n]; unknown ones gone, missing ones added where a passage supports the claim
    citations: list[Citation]
    grounding: float  # share of the claims that a cited passage supports
    knows: bool  # False where the draft says that the passages do not hold the answer
    unknown: list[int]  # markers that no passage has
    unsupported: list[str]  # claims without support
    reasons: list[str]  # why, one for each of them


def review_draft(draft: str, request: AnswerRequest, encode: Callable[[Sequence[str]], Vectors]) -> Review:
    """Check a draft against the documents that its prompt showed.

    Args:
        draft: what the model wrote.
        request: with the documents in the order in which the prompt numbered them.
        encode: gives the unit vectors of texts, comparable to those of the request's sentences.
    """
    marked = read_markers(draft, len(request.documents))
    claims, text = marked.claims, marked.text
    if not marked.unknown and _unmarked(draft) == _unmarked(text):
        # Every marker was sound: what was streamed is what stays.
        text = draft.strip()
    if not claims or _admits(text, claims):
        return Review(text, [], 0.0, bool(claims) and not _admits(text, claims), marked.unknown, [], [])
    vectors = encode([claim.text for claim in claims])
    claims, text = _attribute(claims, text, vectors, request)
    grounding = ground(claims, vectors, request.documents, request.sentences)
    return Review(
        text,
        cite(claims, vectors, request.documents, request.sentences),
        grounding.share,
        True,
        marked.unknown,
        grounding.unsupported,
        grounding.reasons,
    )


def _unmarked(text: str) -> str:
    return "".join(re.sub(r"\[\d{1,4}\]", "", text).split())


def _admits(text: str, claims: Sequence[Claim]) -> bool:
    """Say whether the draft answers nothing; one that cites a passage answers a part at least."""
    return not any(claim.markers for claim in claims) and _DONT_KNOW.search(text) is not None


def _attribute(
    claims: Sequence[Claim], text: str, vectors: Vectors, request: AnswerRequest
) -> tuple[list[Claim], str]:
    """Add the marker of the first passage that supports a claim to the claims that carry none.

    Small models forget the markers; what they wrote may still stand in a passage.
    """
    attributed: list[Claim] = []
    for i, claim in enumerate(claims):
        if not claim.markers and (number := _supporter(claim, vectors[i : i + 1], request)) is not None:
            text = text.replace(claim.text, f"{claim.text} [{number}]", 1)
            claim = replace(claim, markers=(number,))
        attributed.append(claim)
    return attributed, text


def _supporter(claim: Claim, vector: Vectors, request: AnswerRequest) -> int | None:
    for number in range(1, len(request.documents) + 1):
        alone = replace(claim, markers=(number,))
        if ground([alone], vector, request.documents, request.sentences).share == 1:
            return number
    return None
