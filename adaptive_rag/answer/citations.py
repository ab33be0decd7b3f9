"""The markers of a chat model's answer: read, checked, and turned into citations of sentences."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.answer.passages import cite_span, text_at
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Citation
from adaptive_rag.text.markers import ASKED_FOR, write_marker
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.visible import plain
from adaptive_rag.text.words import terms

_RANGE = re.compile(r"(\d+)\s*[–—-]\s*\^?(\d+)|(\d+)")
_NOT_A_CLAIM = re.compile(
    r"^(?:\W*$|#+ .*|\*\*[^*]+\*\*:?$|.*:$|.*\?[\"'”’*]*$|(?:in (?:summary|conclusion|short)|overall)\W*$"
    # the last sentence that the prompt for opinions asks for
    r"|(?:the )?(?:disagreement|dispute|debate) (?:turns on|comes down to|rests on)\b)",
    re.IGNORECASE,
)
# A sentence that says what the passages do not hold claims nothing that they could: "It is not said who holds
# this view.", "Why it bears the title is not stated.", "No price is given." Not: "Alcohol is not sold here."
_TOLD = r"(?:said|stated|listed|explained|mentioned|specified|described|discussed|addressed|argued|reported)"
_KNOWN = rf"(?:{_TOLD}|known|given|told|named|provided|covered|clear|found|indicated|shown|available)"
_TELL = (
    r"(?:say|state|tell|hold|give|mention|name|list|explain|specify|describe|address|contain|provide|include|"
    r"answer|discuss|cover)"
)
_ABSENCE = re.compile(
    rf"\b(?:is|are|was|were|be) (?:\w+ly )?not (?:\w+ly )?{_TOLD}\b"
    rf"|\bit (?:is|remains|was) (?:\w+ly )?(?:not|un)[ -]?(?:\w+ly )?{_KNOWN}\b"
    rf"|^(?:and |but )?(?:nothing|nobody|none|neither|no) .*\b(?:is|are|was|were) (?:\w+ly )?{_KNOWN}\b"
    r"|\bnothing is (?:said|stated|given|known)\b"
    r"|\bcan(?:not|'t| not) be (?:told|said|answered|determined|inferred)\b"
    r"|\b(?:passages?|documents?|texts?|sources?|remarks?|excerpts?) (?:given |shown |here )?"
    rf"(?:do|does|did)(?:n't| not) (?:\w+ )?{_TELL}\b"
    r"|^I (?:do not|don't|cannot|can't|could not|couldn't) (?:know|tell|say|find|determine|answer)\b",
    re.IGNORECASE,
)
# The same without a marker, where a plainer word is enough: "The term of office is not given."
_UNTOLD = re.compile(
    rf"\bnot (?:\w+ )?{_KNOWN}\b|\b(?:unclear|unknown|left open|leaves? open)\b", re.IGNORECASE
)
# How a claim is matched to a sentence: by their cosine, and by the share of the claim's words found there.
MEANING, WORDS = 0.6, 0.4


@dataclass(frozen=True)
class Claim:
    """One sentence of an answer, without its markers, and the documents it cites (counted from 1)."""

    text: str
    markers: tuple[int, ...]


@dataclass(frozen=True)
class MarkedAnswer:
    """An answer with its markers in one form."""

    text: str  # every marker as `write_marker` has it, without the unknown ones
    claims: list[Claim]  # the sentences that state something; headings and questions are left out
    absences: int  # sentences that say what the passages do not hold
    unknown: list[int]  # numbers that no document has, in the order in which they were written


def read_markers(answer: str, documents: int) -> MarkedAnswer:
    """Read the markers of an answer, drop the unknown ones and bring the others into one form.

    A marker belongs to the sentence that it follows, whether it stands before or after the full stop.
    """
    clean, at, unknown = _without_markers(answer, documents)
    spans = _sentences(clean)
    # A marker in front of the first sentence counts for it.
    ends = [end for _, end in spans]
    owned: list[list[int]] = [[] for _ in spans]
    for position, numbers in at:
        if spans:
            index = min(bisect_left(ends, position), len(spans) - 1)
            owned[index] += [number for number in numbers if number not in owned[index]]
    text, last = [], 0
    claims, absences = [], 0
    for (start, end), markers in zip(spans, owned, strict=True):
        text.append(clean[last:end] + (" " if markers else "") + "".join(map(write_marker, markers)))
        last = end
        sentence = " ".join(clean[start:end].split())
        if _ABSENCE.search(sentence.replace("’", "'")) or (not markers and _UNTOLD.search(sentence)):
            absences += 1
        elif not _NOT_A_CLAIM.match(sentence):
            claims.append(Claim(sentence, tuple(markers)))
    return MarkedAnswer("".join([*text, clean[last:]]).strip(), claims, absences, unknown)


def first_sentences(answer: str, most: int) -> tuple[str, int]:
    """Return an answer's first sentences with their markers, and how many more it has."""
    spans = _sentences(answer)
    if len(spans) <= most:
        return answer, 0
    return answer[: spans[most][0]], len(spans) - most


def cite(
    claims: Sequence[Claim],
    vectors: Vectors,
    documents: Sequence[Candidate],
    sentences: Sequence[Sentences],
) -> list[Citation]:
    """Quote, for every marker of every claim, the sentence of the cited document that supports it best.

    The vectors are the claims', unit length, shape (len(claims), dimension); markers count the documents.
    """
    found: dict[tuple[int, int, int], Citation] = {}
    for claim, vector in zip(claims, vectors, strict=True):
        for marker in claim.markers:
            document = documents[marker - 1]
            start, end = _closest_span(claim, vector, document, sentences[marker - 1])
            found.setdefault((marker, start, end), cite_span(document, marker, start, end))
    return list(found.values())


def support(claim: Claim, vector: Vectors, document: Candidate, sentences: Sentences) -> Vectors:
    """Score how well each sentence of a document supports a claim; shape (sentences,)."""
    wanted = set(terms(plain(claim.text)))
    # The model read the plain text; spans count in the document's own.
    words = [
        len(wanted & set(terms(plain(text_at(document, start, end))))) / len(wanted) if wanted else 0.0
        for start, end in sentences.spans.tolist()
    ]
    scores = MEANING * cosines(sentences.vectors, vector[None])[:, 0] + WORDS * np.array(words)
    return np.asarray(scores, dtype=np.float32)


def _closest_span(
    claim: Claim, vector: Vectors, document: Candidate, sentences: Sentences
) -> tuple[int, int]:
    """Return the span of the sentence that supports a claim best; the whole document's where it has none."""
    if not len(sentences.spans):
        return document["start"], document["end"]
    start, end = sentences.spans[int(np.argmax(support(claim, vector, document, sentences)))]
    return max(int(start), document["start"]), min(int(end), document["end"])


def _without_markers(answer: str, documents: int) -> tuple[str, list[tuple[int, list[int]]], list[int]]:
    """Return the answer without markers, where each stood, and the unknown numbers."""
    pieces: list[str] = []
    at: list[tuple[int, list[int]]] = []
    unknown: list[int] = []
    length = last = 0
    for match in ASKED_FOR.finditer(answer):
        piece = answer[last : match.start()]
        pieces.append(piece)
        length += len(piece)
        last = match.end()
        numbers = _expand(match["numbers"], documents)
        unknown += [number for number in numbers if not 1 <= number <= documents]
        known = [number for number in numbers if 1 <= number <= documents]
        if known:
            at.append((length, known))
    pieces.append(answer[last:])
    return "".join(pieces), at, list(dict.fromkeys(unknown))


def _expand(numbers: str, documents: int) -> list[int]:
    """List the numbers of one marker; a range is cut where the documents end, plus one to report."""
    listed: list[int] = []
    for first, last, single in _RANGE.findall(numbers):
        if single:
            listed.append(int(single))
        elif int(first) <= int(last):
            listed += range(int(first), min(int(last), max(documents, int(first)) + 1) + 1)
        else:
            listed += [int(first), int(last)]
    return listed


def _sentences(text: str) -> list[tuple[int, int]]:
    """Split an answer line by line, so that a heading or list item never joins its neighbour."""
    spans: list[tuple[int, int]] = []
    for line in re.finditer(r"[^\n]+", text):
        spans += sentence_spans(line.group(), line.start())
    return spans
