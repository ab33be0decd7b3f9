"""The check of a chat model's draft: links, markers and claims, and whether it admits not to know."""

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

# Below this mean of two figures a claim is about something else than its passages: its cosine with the
# nearest sentence, and the share of the words it states that they hold. `benchmarks.grounding`: of 71 true
# sentences one lies below it.
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

# Each sentence is embedded and compared with every passage; no style asks for a tenth of these.
MAX_SENTENCES = 100


@dataclass(frozen=True)
class Grounding:
    """How much of an answer rests on the documents that it cites."""

    share: float  # supported claims / claims; 0 for an answer that claims nothing
    unsupported: list[str]  # the claims without support, in order
    reasons: list[str]  # why, one for each of them
    off: bool = False  # no claim is near anything that its documents say


def ground(
    claims: Sequence[Claim],
    vectors: Vectors,
    documents: Sequence[Candidate],
    sentences: Sequence[Sentences],
    asked: str = "",
) -> Grounding:
    """Check each claim of an answer against the documents it cites, taken together.

    A claim without a marker is checked against all documents that the answer cites. A claim fails
    where it is far from every sentence, or where `faults.find_fault` finds something that they do not say.

    Args:
        claims: of `citations.read_markers`.
        vectors: their vectors, unit length, shape (len(claims), dimension).
        documents: in the order in which the prompt numbered them.
        sentences: one for each document.
        asked: the question and what is known of the asker; its words need no passage.
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
    """Return how near passages together are to a claim, 0 to 1, without regard to what they say of it."""
    cosine = max(
        (float(cosines(s.vectors, vector[None]).max()) for _, s in passages if len(s.spans)), default=0.0
    )
    wanted = stated_words(plain(claim.text)) - UNITS.keys()
    held = {term for document, _ in passages for term in terms(plain(document["text"]))}
    # "£79.90.": a claim of numbers alone is left to their check.
    words = sum(is_held(word, held) for word in wanted) / len(wanted) if wanted else bool(terms(claim.text))
    return 0.5 * cosine + 0.5 * words


@dataclass(frozen=True)
class Review:
    """A draft after its check."""

    # every marker as [n]: unknown ones gone, missing ones added where a passage supports the claim
    text: str
    citations: list[Citation]
    grounding: Grounding
    stands: bool  # False for a stub, and where no claim is supported or near what the passages say
    knows: bool  # False where the draft says that the passages do not hold the answer
    unknown: list[int]  # markers that no passage has
    removed: list[str]  # addresses of its links and images that are none of the documents'
    left_out: int = 0  # sentences beyond those that are checked


def review_draft(draft: str, request: AnswerRequest, encode: Callable[[Sequence[str]], Vectors]) -> Review:
    """Check a draft against the documents that its prompt showed.

    Args:
        draft: what the model wrote.
        request: with the documents in the order in which the prompt numbered them.
        encode: returns the unit vectors of texts, of the model that embedded the request's sentences.
    """
    draft, left_out = first_sentences(visible(draft), MAX_SENTENCES)
    draft, removed = keep_own_links(draft, own_addresses(request.documents))
    marked = read_markers(draft, len(request.documents))
    claims, text = marked.claims, marked.text
    # A draft that cites a passage answers a part at least, whatever it says it does not know.
    cites = any(claim.markers for claim in claims)
    denies = not cites and (marked.absences > 0 or _DONT_KNOW.search(text) is not None)
    if denies or not claims:
        return Review(text, [], Grounding(0.0, [], []), False, not denies, marked.unknown, removed, left_out)
    vectors = encode([claim.text for claim in [*claims, *marked.others]])
    added = attempt("check", partial(_find_markers, claims, vectors, request), dict[int, int]())
    text = add_markers(text, {claims[index].place: number for index, number in added.items()})
    claims = [replace(c, markers=(added[i],)) if i in added else c for i, c in enumerate(claims)]
    # What claims nothing is quoted where nothing else is of its passage: each marker leads somewhere.
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
    """Return, for each claim without a marker, the first passage that supports it; both by their numbers.

    Small models forget the markers; what they wrote may still stand in a passage.
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
    """Say why passages do not support a claim; return "" where they do."""
    # The model read the plain text of the documents, so all is compared as plain text.
    text = plain(claim.text)
    if not terms(text):
        return ""  # "Yes [1]." holds no word to compare
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
