"""The sentences of the documents that may stand in an answer, each once, with their exact spans."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from adaptive_rag.answer.passages import parts_at, ranks_of, section_at
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.words import terms

_BULLET = re.compile(r"^(?:[-*•‣▪◦·–—]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)])\s+")
_LABEL = re.compile(r"^(?:A|Answer)\s*:\s*", re.I)
_END = re.compile(r"[.!…][\"'”’)\]»*_]*(?:\s*\[\d+\])*$|[.!]$")
_OPENING = re.compile(r"^[\"'“‘(\[|*_]*[^\W_]")
_CONTENTS = re.compile(
    r"(?:\.\s?){4,}|(?:…|\.{2,})\s*\d*\s*$|^\s*(?:chapter|section|part)\s+[\dIVXLC]+\b.{0,60}$|"
    r"^(?:\d+\s+)?\d+(?:\.\d+)+\s+[A-Z][^.!?]*$",
    re.IGNORECASE,
)
_REFERRING = re.compile(
    r"^[\"“‘(]?(?:it|its|this|that|these|those|they|their|he|his|she|her|such|both|another|others|here|"
    r"there(?! (?:is|are|was|were|used|had|has|have|will|can|may)\b)|then|thus|hence|therefore|however|"
    r"moreover|furthermore|nevertheless|also|but|yet|so|and|or|as a result|for (?:example|instance)|"
    r"the (?:latter|former|same|second|others?|following)|(?:all|some|most|each|one|among) (?:of )?these|"
    r"(?:all|most|part) of (?:this|it|them)|in addition|additionally|consequently|conversely|"
    r"(?:for|in|by|of|to|with|from) (?:this|these|that|those|it|him|her|them)|on the other hand|"
    r"according to (?:him|her|them))\b",
    re.IGNORECASE,
)
# "AI enhances their precision": the word referred to stands in the sentence before.
_EARLY_REFERENCE = re.compile(r"^\w[\w-]* \w+ (?:its|their|them|this|these|those|such|his|her|both)\b", re.I)
_FRAGMENT = re.compile(
    r"^(?:yes|no|at|in|on|from|to|by|about|until|since|because|they|it|he|she|\d+)\b", re.I
)
# Under this length a sentence that refers back cannot be understood alone; above it, it carries itself.
_REFERRING_WORDS = 40


@dataclass(frozen=True, eq=False)
class Quotable:
    """One sentence of a document, verbatim."""

    document: int  # index into the request's documents
    rank: int  # of its chunk among all that were found, from 1
    position: int  # index among the document's sentences
    start: int
    end: int
    text: str
    vector: Vectors
    terms: tuple[str, ...]  # stems of the content words, with repeats
    quality: float  # 1 a full sentence, 0.5 a readable piece, 0 not fit to be shown
    opens: bool  # the first of its source or of a question's answer: nothing before it belongs to it
    continues: bool  # a later one of a question's answer: the answer is one thought

    @property
    def refers_back(self) -> bool:
        """Tell whether the sentence needs its predecessor to be understood."""
        if self.opens or self.continues:
            return self.continues
        refers = _REFERRING.match(self.text) or _EARLY_REFERENCE.match(self.text)
        return bool(refers) and len(self.text.split()) <= _REFERRING_WORDS


def collect(request: AnswerRequest) -> list[Quotable]:
    """Return the documents' sentences in document order, each span of a source once.

    Overlapping chunks share sentences: the copy in the better-ranked chunk stays, unless a chunk border
    cut it. Of a question with its answer only the answer is quoted, but both are compared.
    """
    kept: dict[tuple[str, int], list[Quotable]] = {}
    for index, (document, rank) in enumerate(
        zip(request.documents, ranks_of(request.documents), strict=True)
    ):
        others = kept.setdefault((document["source"], _text_of_source(request, index)), [])
        for quotable in _quotables(index, rank, document, request.sentences[index]):
            # What is kept of a source never overlaps and is in order, so that one look finds the rivals.
            at = bisect_right(others, quotable.start, key=lambda other: other.end)
            rival = others[at] if at < len(others) and others[at].start < quotable.end else None
            if rival is None:
                others.insert(at, quotable)
            elif rival.end - rival.start < quotable.end - quotable.start and rival.quality < quotable.quality:
                others[at] = quotable
                while at + 1 < len(others) and others[at + 1].start < quotable.end:
                    del others[at + 1]
    return sorted(
        (quotable for group in kept.values() for quotable in group), key=lambda q: (q.document, q.position)
    )


def _text_of_source(request: AnswerRequest, index: int) -> int:
    """Tell which text a document's spans count in: 0 its source's, otherwise one of its own.

    Documents of an app's own retriever may all start at 0 though they are different parts of one source.
    """
    document = request.documents[index]
    for other in request.documents[:index]:
        start, end = max(document["start"], other["start"]), min(document["end"], other["end"])
        if document["source"] == other["source"] and start < end:
            mine, theirs = (d["text"][start - d["start"] : end - d["start"]] for d in (document, other))
            if mine != theirs:
                return index
    return 0


def _quotables(index: int, rank: int, document: Candidate, sentences: Sentences) -> Iterator[Quotable]:
    """Trim each sentence to what a reader should see and judge it; skip those of which nothing is left."""
    answer = _answer_start(document)
    asked = [i for i, (_, end) in enumerate(sentences.spans.tolist()) if answer and end <= answer]
    asked_terms = terms(document["text"][: (answer or document["start"]) - document["start"]])
    for position, (start, end) in enumerate(sentences.spans.tolist()):
        start, end = max(start, document["start"], answer or 0), min(end, document["end"])
        text = document["text"][start - document["start"] : end - document["start"]]
        heading = _leading_heading(text, section_at(document, start, end))
        text, start = text[heading:], start + heading
        bullet = _leading_bullet(text)
        text, start = text[bullet:], start + bullet
        start, text = start + len(text) - len(text.lstrip()), text.strip()
        if not any(character.isalnum() for character in text):
            continue
        opens = start == (answer or 0)
        vector = np.asarray(sentences.vectors[position], dtype=np.float32)
        if asked:
            # "Yes, until nine." is understood through the question that it answers.
            vector = vector + np.asarray(sentences.vectors[asked], dtype=np.float32).mean(axis=0)
            vector = vector / np.linalg.norm(vector)
        yield Quotable(
            document=index,
            rank=min((part["rank"] for part in parts_at(document, start, start + len(text))), default=rank),
            position=position,
            start=start,
            end=start + len(text),
            text=text,
            vector=vector,
            terms=(*asked_terms, *terms(text)),
            quality=_quality_of_answer(text, opens) if answer else _quality(text, in_list=bullet > 0),
            opens=opens,
            continues=bool(answer) and not opens,
        )


def _answer_start(document: Candidate) -> int | None:
    """Return where the answer of a question-answer chunk begins; None for any other chunk."""
    if document["metadata"].get("kind") != "qa":
        return None
    answer = document["metadata"].get("answer")
    at = document["text"].rfind(answer) if isinstance(answer, str) and answer else -1
    if at < 0:
        # A long answer is cut into several chunks; only the first one holds the question.
        question = str(document["metadata"].get("question", ""))
        at = len(question) if question and document["text"].startswith(question) else 0
    return document["start"] + at


def _leading_heading(text: str, section: str | None) -> int:
    """Return the length of a heading that the splitter left in front of a sentence."""
    first, newline, rest = text.partition("\n")
    rest = rest.lstrip()
    if newline and rest and len(first) < 80 and not re.search(r"[.,;:!?\-–]\s*$", first):
        capitals = [word[0].isupper() for word in re.findall(r"[^\W\d_]{4,}", first)]
        if rest[0].isupper() and capitals and all(capitals):
            return len(text) - len(rest)
    heading = (section or "").strip().rpartition(" > ")[2]
    if heading and text.startswith(heading) and re.match(r"\s+[A-Z]", text[len(heading) :]):
        return len(heading)
    return 0


def _leading_bullet(text: str) -> int:
    """Return the length of a list's bullet or number, or of the "A:" of an answer."""
    stripped = text.lstrip()
    mark = _BULLET.match(stripped) or _LABEL.match(stripped)
    return len(text) - len(stripped) + (mark.end() if mark else 0)


def _quality_of_answer(text: str, opens: bool) -> float:
    """Judge a sentence of an answer, which may be short; "At nine." says little without its question."""
    return 0.6 if opens and _FRAGMENT.match(text) else max(_quality(text), 0.6)


def _quality(text: str, *, in_list: bool = False) -> float:
    """Judge whether a text reads as a sentence: 1 it does, 0.5 it can be read, 0 it is none."""
    words = re.findall(r"[^\W\d_]+", text)
    letters = sum(map(str.isalpha, text))
    if (
        text.startswith("#")
        or len(words) < 2
        or len(re.findall(r"\w+", text)) < 3
        or letters < 0.55 * len(text)
        or text.endswith("?")
        or _CONTENTS.search(text)
    ):
        return 0.0
    opening = text.lstrip("\"'“‘([|*_")
    # "49 the method of exhaustion.": a page number, and the rest of a sentence; "231 people came." is one.
    numbered = re.match(r"\d+\s+(?:the|an?|of|in|and|or|to|is|was|by|for|with|that|which)\b", opening)
    starts_low = opening[:1].islower() or opening.startswith("Where ") or bool(numbered)
    capitals = sum(word[0].isupper() for word in words if len(word) > 2)
    if not _END.search(text):
        # A line of a list may lack its full stop; a heading has capitals or a number and no verb to speak of.
        heading = len(words) < 14 and capitals > 0.6 * sum(len(word) > 3 for word in words)
        if heading or re.match(r"\d+\s", opening) or text.endswith((":", ",", ";")):
            return 0.0
        return 0.5 if in_list and not starts_low else 0.2
    if len(words) < 8 and capitals == sum(len(word) > 2 for word in words) > 1:
        return 0.2  # "The School of Pythagoras.": a running head
    shouted = sum(word.isupper() and len(word) > 1 for word in words) > 0.6 * len(words)
    if starts_low or shouted or re.match(r"[A-Z]{3,}[A-Z. ]*:", opening) or not _OPENING.match(text):
        return 0.2
    # A word of 26 letters is several that lost their blanks.
    if max(map(len, words)) > 25:
        return 0.5
    return 1.0 if len(words) > 5 else 0.7 if len(words) > 3 else 0.6
