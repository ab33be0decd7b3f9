"""Reads the markers of a chat model's answer, and turns them into citations of sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.answer.passages import cite_span, text_at
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Citation
from adaptive_rag.text.markdown import find_in_prose, verbatim_spans
from adaptive_rag.text.markers import LOOSE_MARKER, write_marker
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.tables import is_row, is_rule
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.visible import plain
from adaptive_rag.text.words import terms

_RANGE = re.compile(r"(\d+)\s*[–—-]\s*\^?(\d+)|(\d+)")
_HEADING = re.compile(r"#+ .*|\*\*[^*]+\*\*:?$")
_NOT_A_CLAIM = re.compile(
    r"\W*$|.*\?[\"'”’*]*$|(?:in (?:summary|conclusion|short)|overall|sure|certainly|of course)\W*$"
    # the final sentence that the prompt for opinions asks for
    r"|(?:the )?(?:disagreement|dispute|debate) (?:turns on|comes down to|rests on)\b",
    re.IGNORECASE,
)
# A sentence that says what the passages do not contain makes no claim: "It is not said who holds this view.",
# "Why it bears the title is not stated.", "No price is given." Not: "Alcohol is not sold here."
_REPORTED = (
    r"(?:said|stated|listed|explained|mentioned|specified|described|discussed|addressed|argued|reported)"
)
_KNOWN = rf"(?:{_REPORTED}|known|given|told|named|provided|covered|clear|found|indicated|shown|available)"
_TELL = (
    r"(?:say|state|tell|hold|give|mention|name|list|explain|specify|describe|address|contain|provide|include|"
    r"answer|discuss|cover)"
)
_MATERIAL = r"(?:passages?|documents?|texts?|sources?|remarks?|excerpts?|context|information|material)"
_CANNOT = r"I (?:do not|don't|cannot|can't|could not|couldn't|am unable to|am not able to)"
_ABSENCE = re.compile(
    rf"\b(?:is|are|was|were|be) (?:\w+ly )?not (?:\w+ly )?{_REPORTED}\b"
    rf"|\bit (?:is|remains|was) (?:\w+ly )?(?:not|un)[ -]?(?:\w+ly )?{_KNOWN}\b"
    rf"|^(?:and |but )?(?:nothing|nobody|none|neither|no) .*\b(?:is|are|was|were) (?:\w+ly )?{_KNOWN}\b"
    r"|\bnothing is (?:said|stated|given|known)\b"
    r"|\bcan(?:not|'t| not) be (?:told|said|answered|determined|inferred)\b"
    rf"|\b{_MATERIAL} (?:given |shown |here )?(?:do|does|did)(?:n't| not) (?:\w+ )?{_TELL}\b"
    rf"|^{_CANNOT} (?:know|tell|say|find|determine|answer|have (?:enough|sufficient|any))\b",
    re.IGNORECASE,
)
# The same in a sentence without a marker, where vaguer wording is enough: "The term of office is not given.",
# "Sorry, I don't have enough information.", "Das steht nicht in den Dokumenten."
_VAGUE_ABSENCE = re.compile(
    rf"\bnot (?:\w+ )?{_KNOWN}\b|\b(?:unclear|unknown|left open|leaves? open)\b"
    rf"|\b{_CANNOT} (?:know|tell|say|find|determine|answer|have)\b|\bI(?: am|'m) not sure\b"
    r"|\b(?:not enough|insufficient) (?:\w+ )?(?:information|context|details?)\b"
    rf"|\bno (?:\w+ )?(?:information|answer|mention)\b.{{0,40}}\b(?:{_MATERIAL}|found|given)\b"
    r"|\bnicht (?:in|aus) de[nmr] (?:Dokument|Text|Passage|Quelle|Unterlage)|\b(?:weiß|kann) ich nicht\b",
    re.IGNORECASE,
)
# "1. ", "- ", "> - ": the number of a list item need not occur in the passages. ": " remains of "[^1]: ".
_LINE_START = re.compile(r"^(?:(?:[-*+•>:]|\d{1,3}[.)])\s+)+")
# The "|" that closes a table row, and the backslash that breaks a line.
_ROW_END, _LINE_BREAK = re.compile(r"\s*(?<!\\)\|\s*$"), re.compile(r"(?<!\\)\\\s*$")
# The fences of a code block, with its language, and the backticks around code in a line.
_CODE_MARKS = re.compile(r"^[ \t]*(?:```+|~~~+)[\w+#.-]*|`+", re.MULTILINE)
# Weights for matching a claim to a sentence: their cosine, and the share of the claim's words in it.
MEANING, WORDS = 0.6, 0.4


@dataclass(frozen=True)
class Claim:
    """A sentence of an answer without its markers, and the numbers of the documents it cites, from 1."""

    text: str
    markers: tuple[int, ...]
    place: int = 0  # offset in the answer's text where another marker would be inserted


@dataclass(frozen=True)
class MarkedAnswer:
    """An answer with its markers in a uniform format."""

    text: str  # the answer with its markers in the format of `write_marker`, without unknown ones
    claims: list[Claim]  # the sentences that state something; headings and questions are left out
    others: list[Claim]  # sentences with a marker but without a claim: "Install it like this [1]:"
    absences: int  # number of sentences that say what the passages do not contain
    opens_with_absence: bool  # whether the first sentence is one of them
    unknown: list[int]  # numbers without a document, in the order in which they occur


@dataclass(frozen=True)
class _Mark:
    """Adjacent markers in an answer."""

    offset: int  # in the answer without markers
    numbers: list[int]  # the numbers for which there is a document
    text: str  # the text that replaces them


def read_markers(answer: str, documents: int) -> MarkedAnswer:
    """Read the markers of an answer, drop the unknown ones and write the others in a uniform format.

    A marker belongs to the sentence that it follows, whether it comes before or after the full stop. At the
    start of a line it belongs to the sentence after it, and on a separate line to the sentence above. Code,
    formulas and addresses contain no markers and make no claims; neither does the header row of a table.
    """
    bare, marks, unknown = _without_markers(answer.strip(), documents)
    spans = _split_sentences(bare)
    markers_of: list[list[int]] = [[] for _ in spans]
    places = [_marker_place(bare, start, end) for start, end in spans]
    for mark in marks:
        if spans:
            owner = _owner(mark.offset, bare, spans)
            markers = markers_of[owner]
            markers += [number for number in mark.numbers if number not in markers]
            places[owner] = mark.offset if mark.text else places[owner]
    claims, lead_ins, others, absences = list[Claim](), list[Claim](), list[Claim](), 0
    opens_with_absence = False
    for (start, end), markers, place in zip(spans, markers_of, places, strict=True):
        sentence = _LINE_START.sub("", " ".join(bare[start:end].split()))
        # Another marker is inserted beside those that the sentence has.
        place += sum(len(m.text) for m in marks if m.offset < place or (markers and m.offset == place))
        claim = Claim(sentence, tuple(markers), place)
        straight = sentence.replace("’", "'")
        if _ABSENCE.search(straight) or (not markers and _VAGUE_ABSENCE.search(straight)):
            absences += 1
            opens_with_absence = opens_with_absence or not (claims or others)
            others.append(claim)
        elif _NOT_A_CLAIM.match(sentence) or _is_header_row(bare, start):
            others.append(claim)
        elif sentence.endswith(":") or _HEADING.match(sentence):
            lead_ins.append(claim)
        else:
            claims.append(claim)
    if not claims and not absences:
        claims, lead_ins = _claim_from_lead_ins(bare, lead_ins, marks), []
    others = [claim for claim in [*lead_ins, *others] if claim.markers]
    text = _insert_marks(bare, marks).rstrip()
    return MarkedAnswer(text, claims, others, absences, opens_with_absence, unknown)


def _claim_from_lead_ins(text: str, lead_ins: Sequence[Claim], marks: Sequence[_Mark]) -> list[Claim]:
    """Return the claim of an answer that is only a bold line, or code with the line that introduces it.

    "**26 days**", "Install it with:" above "pip install tidecast"; not "## Answer".
    """
    lead_ins = [claim for claim in lead_ins if not claim.text.startswith("#")]
    code = _CODE_MARKS.sub(" ", "\n".join(text[start:end] for start, end in verbatim_spans(text)))
    words = " ".join([*(claim.text for claim in lead_ins), *code.split()])
    if not any(map(str.isalnum, words)):
        return []
    markers = dict.fromkeys(number for mark in marks for number in mark.numbers)
    place = lead_ins[0].place if lead_ins else len(_insert_marks(text, marks).rstrip())
    return [Claim(words, tuple(markers), place)]


def add_markers(answer: str, added: Mapping[int, int]) -> str:
    """Insert markers into the text of a `MarkedAnswer`; behind a block of code, on a line of their own.

    `added` has the numbers of the documents by the `place` of each claim.
    """
    for place in sorted(added, reverse=True):
        gap = "\n" if answer[:place].endswith(("```", "~~~")) else " "
        answer = f"{answer[:place]}{gap}{write_marker(added[place])}{answer[place:]}"
    return answer


def first_sentences(answer: str, most: int) -> tuple[str, int]:
    """Return the first sentences of an answer with their markers, and the number of the remaining ones."""
    spans = _split_sentences(answer)
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

    The vectors are the unit vectors of the claims, shape (len(claims), dimension); marker n cites
    `documents[n - 1]`.
    """
    citations: dict[tuple[int, int, int], Citation] = {}
    for claim, vector in zip(claims, vectors, strict=True):
        for marker in claim.markers:
            document = documents[marker - 1]
            start, end = _closest_span(claim, vector, document, sentences[marker - 1])
            citations.setdefault((marker, start, end), cite_span(document, marker, start, end))
    return list(citations.values())


def _closest_span(
    claim: Claim, vector: Vectors, document: Candidate, sentences: Sentences
) -> tuple[int, int]:
    """Return the span of the sentence that supports a claim best; without sentences, the whole document."""
    if not len(sentences.spans):
        return document["start"], document["end"]
    claim_terms = set(terms(plain(claim.text)))
    # The model read the plain text, but spans refer to the document's own text.
    shares = [
        len(claim_terms & set(terms(plain(text_at(document, start, end))))) / max(1, len(claim_terms))
        for start, end in sentences.spans.tolist()
    ]
    scores = MEANING * cosines(sentences.vectors, vector[None])[:, 0] + WORDS * np.array(shares)
    start, end = sentences.spans[int(np.argmax(scores.astype(np.float32)))]
    return max(int(start), document["start"]), min(int(end), document["end"])


def _without_markers(answer: str, documents: int) -> tuple[str, list[_Mark], list[int]]:
    """Return the answer without markers, the marks to insert in their place, and the unknown numbers."""
    bare, last = "", 0
    marks: list[_Mark] = []
    unknown: list[int] = []
    for match in find_in_prose(LOOSE_MARKER, answer):
        bare += answer[last : match.start()]
        last = match.end()
        numbers = list(dict.fromkeys(_expand(match["numbers"], documents)))
        unknown += [number for number in numbers if not 1 <= number <= documents]
        known = [number for number in numbers if 1 <= number <= documents]
        # "[1][1]" repeats the number.
        if marks and marks[-1].offset == len(bare):
            known = [number for number in known if number not in marks[-1].numbers]
        text = match["blanks"] + "".join(map(write_marker, known)) if known else ""
        if not known and (not bare or bare[-1] == "\n"):
            last += len(answer[last:]) - len(answer[last:].lstrip(" \t"))
        marks.append(_Mark(len(bare), known, text))
    return bare + answer[last:], marks, list(dict.fromkeys(unknown))


def _insert_marks(text: str, marks: Sequence[_Mark]) -> str:
    pieces, last = [], 0
    for mark in marks:
        pieces += [text[last : mark.offset], mark.text]
        last = mark.offset
    return "".join([*pieces, text[last:]])


def _owner(offset: int, text: str, spans: Sequence[tuple[int, int]]) -> int:
    """Return the index of the sentence that a marker belongs to, by the marker's position."""
    line_start, line_end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
    on_line = [
        i for i, (start, end) in enumerate(spans) if end > line_start and (line_end < 0 or start < line_end)
    ]
    before = [i for i in on_line if spans[i][0] < offset]
    above = [i for i, (_, end) in enumerate(spans) if end <= offset]
    return before[-1] if before else on_line[0] if on_line else above[-1] if above else 0


def _marker_place(text: str, start: int, end: int) -> int:
    """Return where to insert a marker for a sentence; in a table row, it goes into the last cell."""
    line_end = _ROW_END if is_row(text[start:end]) else _LINE_BREAK
    return start + len(line_end.sub("", text[start:end]))


def _is_header_row(text: str, start: int) -> bool:
    """Return whether a sentence is the header row of a table, with the rule below it."""
    _, *below = text[start:].split("\n", 2)
    return bool(below) and is_rule(below[0].lstrip("> \t"))


def _expand(numbers: str, documents: int) -> list[int]:
    """Return the numbers of one marker; a range ends one after the last document, which is then reported."""
    expanded: list[int] = []
    for first, last, single in _RANGE.findall(numbers):
        if single:
            expanded.append(int(single))
        elif int(first) <= int(last):
            expanded += range(int(first), min(int(last), max(documents, int(first)) + 1) + 1)
        else:
            expanded += [int(first), int(last)]
    return expanded


def _split_sentences(text: str) -> list[tuple[int, int]]:
    """Split an answer into sentences line by line, so that a heading or list item never joins its neighbour.

    No sentence ends inside code, a formula or an address, or lies completely inside one.
    """
    spans: list[tuple[int, int]] = []
    verbatim = verbatim_spans(text)
    for line in re.finditer(r"[^\n]+", text):
        for start, end in sentence_spans(line.group(), line.start()):
            around = next((span for span in verbatim if span[0] <= start < span[1]), None)
            if around and spans and spans[-1][1] > around[0]:
                spans[-1] = (spans[-1][0], end)
            elif around is None or end > around[1]:
                spans.append((start, end))
    return spans
