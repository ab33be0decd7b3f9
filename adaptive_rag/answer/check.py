"""Checks a chat model's draft: its links, markers and claims, and whether it says that it does not know."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from adaptive_rag.answer.citations import Claim, add_markers, cite, first_sentences, read_markers
from adaptive_rag.answer.claims import CitedSentences, is_held, read_tokens, stated_words
from adaptive_rag.answer.faults import find_fault
from adaptive_rag.answer.links import keep_own_links, own_addresses
from adaptive_rag.answer.passage_statements import read_statements
from adaptive_rag.answer.passages import text_at
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.answer.wording import UNITS
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.optional import attempt
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Citation
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.visible import plain, visible
from adaptive_rag.text.words import terms

# A claim below this support strength is about something else than its passages. The strength is the mean of
# its cosine with the nearest sentence and the share of its stated words that the passages contain. In
# `benchmarks.grounding`, one of 71 true sentences is below it.
SUPPORTED = 0.45
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

Passage = tuple[Candidate, Sentences]

# Maximum number of sentences that are checked, since each is embedded and compared with every passage. No
# style asks for a tenth as many.
MAX_SENTENCES = 100


@dataclass(frozen=True)
class Grounding:
    """How well the documents that an answer cites support it."""

    share: float  # supported claims / claims; 0 for an answer without claims
    unsupported: list[str]  # the claims without support, in order
    reasons: list[str]  # the reason for each unsupported claim
    off: bool = False  # whether no claim is near anything in its documents


def ground(
    claims: Sequence[Claim],
    vectors: Vectors,
    documents: Sequence[Candidate],
    sentences: Sequence[Sentences],
    asked: str = "",
) -> Grounding:
    """Check each claim of an answer against the documents it cites, taken together.

    A claim without a marker is checked against all documents that the answer cites. A claim fails where it is
    far from every sentence, or where `faults.find_fault` finds something that the documents do not say.

    Args:
        claims: the claims from `citations.read_markers`.
        vectors: their unit vectors, shape (len(claims), dimension).
        documents: the documents in the order in which the prompt numbered them.
        sentences: the sentences of each document.
        asked: the question and the user's situation, whose words need no passage.
    """
    shown = list(zip(documents, sentences, strict=True))
    everywhere = sorted({marker for claim in claims for marker in claim.markers})
    unsupported: list[str] = []
    reasons: list[str] = []
    off = True
    for claim, vector in zip(claims, vectors, strict=True):
        cited = [shown[marker - 1] for marker in claim.markers or everywhere]
        fault = _fault(claim, vector, cited, asked) if cited else "it cites no passage"
        off = off and support_strength(claim, vector, cited or shown) < SUPPORTED
        if fault:
            unsupported.append(claim.text)
            reasons.append(fault)
    share = (len(claims) - len(unsupported)) / len(claims) if claims else 0.0
    return Grounding(share, unsupported, reasons, off)


def support_strength(claim: Claim, vector: Vectors, passages: Sequence[Passage]) -> float:
    """Return how near the passages together are to a claim, 0 to 1, whether or not they confirm it."""
    cosine = max(
        (float(cosines(s.vectors, vector[None]).max()) for _, s in passages if len(s.spans)), default=0.0
    )
    wanted = stated_words(plain(claim.text)) - UNITS.keys()
    held = {term for document, _ in passages for term in terms(plain(document["text"]))}
    # "£79.90.": a claim of only numbers is left to the check of numbers.
    words = sum(is_held(word, held) for word in wanted) / len(wanted) if wanted else bool(terms(claim.text))
    return 0.5 * cosine + 0.5 * words


@dataclass(frozen=True)
class Review:
    """The result of checking a draft."""

    # every marker as [n]; unknown markers are removed, missing ones added where a passage supports the claim
    text: str
    citations: list[Citation]
    grounding: Grounding
    stands: bool  # False where there are no claims, or none is supported or near what the passages say
    knows: bool  # False where the draft says that the passages do not hold the answer
    unknown: list[int]  # marker numbers without a passage
    removed: list[str]  # addresses of removed links and images, which are not the documents' own
    left_out: int = 0  # number of sentences left out because they exceed MAX_SENTENCES


def review_draft(draft: str, request: AnswerRequest, encode: Callable[[Sequence[str]], Vectors]) -> Review:
    """Check a draft against the documents in its prompt.

    Args:
        draft: the model's text.
        request: the request, with its documents in the order in which the prompt numbered them.
        encode: embeds texts into unit vectors, with the model that embedded the request's sentences.
    """
    draft, left_out = first_sentences(visible(draft), MAX_SENTENCES)
    draft, removed = keep_own_links(draft, own_addresses(request.documents))
    marked = read_markers(draft, len(request.documents))
    claims, text = marked.claims, marked.text
    # A draft that cites a passage answers at least a part, even if it says that it does not know the rest.
    cites = any(claim.markers for claim in claims)
    denies = not cites and (marked.absences > 0 or _DONT_KNOW.search(text) is not None)
    if denies or not claims:
        return Review(text, [], Grounding(0.0, [], []), False, not denies, marked.unknown, removed, left_out)
    vectors = encode([claim.text for claim in [*claims, *marked.others]])
    added = attempt("check", partial(_find_markers, claims, vectors, request), dict[int, int]())
    text = add_markers(text, {claims[index].place: number for index, number in added.items()})
    claims = [replace(c, markers=(added[i],)) if i in added else c for i, c in enumerate(claims)]
    # A sentence without a claim gets a citation only where no claim cites the same passage, so that every
    # marker has one.
    led = {marker for claim in claims for marker in claim.markers}
    others = [replace(c, markers=tuple(m for m in c.markers if m not in led)) for c in marked.others]
    checked = vectors[: len(claims)]
    unchecked = Grounding(0.0, [], [])
    check = partial(ground, claims, checked, request.documents, request.sentences, _asked(request))
    grounding = attempt("check", check, unchecked)
    return Review(
        text,
        cite([*claims, *others], vectors, request.documents, request.sentences),
        grounding,
        grounding.share > 0 or not grounding.off,
        True,
        marked.unknown,
        removed,
        left_out,
    )


def _asked(request: AnswerRequest) -> str:
    return f"{request.question} {request.situation}"


def _find_markers(claims: Sequence[Claim], vectors: Vectors, request: AnswerRequest) -> dict[int, int]:
    """Return, for each claim without a marker, the first passage that supports it; both as numbers.

    Small models forget the markers, although their sentences may be supported by a passage.
    """
    found: dict[int, int] = {}
    shown = list(enumerate(zip(request.documents, request.sentences, strict=True), start=1))
    asked = _asked(request)
    for index, claim in enumerate(claims):
        if not claim.markers and terms(plain(claim.text)):
            supporting = (n for n, passage in shown if not _fault(claim, vectors[index], [passage], asked))
            if (number := next(supporting, None)) is not None:
                found[index] = number
    return found


def _fault(claim: Claim, vector: Vectors, passages: Sequence[Passage], asked: str) -> str:
    """Return why the passages do not support a claim; "" where they do."""
    # The model read the plain text of the documents, so plain texts are compared.
    text = plain(claim.text)
    if not terms(text):
        return ""  # "Yes [1]." has no content word to compare
    strength = support_strength(claim, vector, passages)
    if strength < SUPPORTED:
        return f"no sentence of the passages is close enough ({strength:.2f} of {SUPPORTED})"
    return find_fault(text, _evidence(passages, asked))


def _evidence(passages: Sequence[Passage], asked: str) -> CitedSentences:
    read = [
        plain(text_at(document, start, end))
        for document, sentences in passages
        for start, end in sentences.spans.tolist()
    ]
    titles = " ".join(f"{document['source']} {document['section'] or ''}" for document, _ in passages)
    own = read_tokens(plain(asked))
    known = {token.key for token in [*own, *read_tokens(plain(titles))]}
    statements = [s for document, sentences in passages for s in read_statements(document, sentences)]
    return CitedSentences([read_tokens(sentence) for sentence in read], known, statements, own)
