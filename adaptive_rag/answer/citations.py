"""Reads and checks the markers of a chat model's answer, and turns them into citations of sentences."""

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
    r"\W*$|.*\?[\"'”’*]*$|(?:in (?:summary|conclusion|short)|overall)\W*$"
    # the final sentence that the prompt for opinions asks for
    r"|(?:the )?(?:disagreement|dispute|debate) (?:turns on|comes down to|rests on)\b",
    re.IGNORECASE,
)
# A sentence that says what the passages do not contain makes no claim: "It is not said who holds this view.",
# "Why it bears the title is not stated.", "No price is given." Not: "Alcohol is not sold here."
_TOLD = r"(?:said|stated|listed|explained|mentioned|specified|described|discussed|addressed|argued|reported)"
_KNOWN = rf"(?:{_TOLD}|known|given|told|named|provided|covered|clear|found|indicated|shown|available)"
_TELL = (
    r"(?:say|state|tell|hold|give|mention|name|list|explain|specify|describe|address|contain|provide|include|"
    r"answer|discuss|cover)"
)
_MATERIAL = r"(?:passages?|documents?|texts?|sources?|remarks?|excerpts?|context|information|material)"
_CANNOT = r"I (?:do not|don't|cannot|can't|could not|couldn't|am unable to|am not able to)"
_ABSENCE = re.compile(
    rf"\b(?:is|are|was|were|be) (?:\w+ly )?not (?:\w+ly )?{_TOLD}\b"
    rf"|\bit (?:is|remains|was) (?:\w+ly )?(?:not|un)[ -]?(?:\w+ly )?{_KNOWN}\b"
    rf"|^(?:and |but )?(?:nothing|nobody|none|neither|no) .*\b(?:is|are|was|were) (?:\w+ly )?{_KNOWN}\b"
    r"|\bnothing is (?:said|stated|given|known)\b"
    r"|\bcan(?:not|'t| not) be (?:told|said|answered|determined|inferred)\b"
    rf"|\b{_MATERIAL} (?:given |shown |here )?(?:do|does|did)(?:n't| not) (?:\w+ )?{_TELL}\b"
    rf"|^{_CANNOT} (?:know|tell|say|find|determine|answer|have (?:enough|sufficient|any))\b",
    re.IGNORECASE,
)
# The same in a sentence without a marker, where less is enough: "The term of office is not given.", "Sorry, I
# don't have enough information.", "Das steht nicht in den Dokumenten."
_UNTOLD = re.compile(
    rf"\bnot (?:\w+ )?{_KNOWN}\b|\b(?:unclear|unknown|left open|leaves? open)\b"
    rf"|\b{_CANNOT} (?:know|tell|say|find|determine|answer|help|have)\b|\bI(?: am|'m) not sure\b"
    r"|\b(?:not enough|insufficient) (?:\w+ )?(?:information|context|details?)\b"
    rf"|\bno (?:\w+ )?(?:information|answer|mention)\b.{{0,40}}\b(?:{_MATERIAL}|found|given)\b"
    r"|\bnicht (?:in|aus) de[nmr] (?:Dokument|Text|Passage|Quelle|Unterlage)|\b(?:weiß|kann) ich nicht\b",
    re.IGNORECASE,
)
# "1. ", "- ", "> - ": the number of a list item need not occur in the passages. ": " remains of "[^1]: ".
_LINE_OPENS = re.compile(r"^(?:(?:[-*+•>:]|\d{1,3}[.)])\s+)+")
# The "|" that closes a table row, and the backslash that breaks a line.
_ROW_END, _LINE_BREAK = re.compile(r"\s*(?<!\\)\|\s*$"), re.compile(r"(?<!\\)\\\s*$")
# The fences of a code block, with its language, and the ticks around code in a line.
_CODE_SIGNS = re.compile(r"^[ \t]*(?:```+|~~~+)[\w+#.-]*|`+", re.MULTILINE)
# Weights for matching a claim to a sentence: their cosine, and the share of the claim's words in the
# sentence.
MEANING, WORDS = 0.6, 0.4


@dataclass(frozen=True)
class Claim:
    """A sentence of an answer without its markers, and the numbers of the documents it cites, from 1."""

    text: str
    markers: tuple[int, ...]
    place: int = 0  # offset in the answer's text for an additional marker


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

    at: int  # their offset in the answer without markers
    numbers: list[int]  # the numbers for which there is a document
    text: str  # the text that replaces them


def read_markers(answer: str, documents: int) -> MarkedAnswer:
    """Read the markers of an answer, drop the unknown ones and write the others in a uniform format.

    A marker belongs to the sentence that it follows, whether it comes before or after the full stop. At the
    start of a line it belongs to the sentence after it, and on a separate line to the sentence above. Code,
    formulas and addresses contain no markers and make no claims; neither does the header row of a table.
    """
    clean, marks, unknown = _without_markers(answer.strip(), documents)
    spans = _sentences(clean)
    owned: list[list[int]] = [[] for _ in spans]
    for mark in marks:
        if spans:
            owner = owned[_owner(mark.at, clean, spans)]
            owner += [number for number in mark.numbers if number not in owner]
    claims, leads, others, absences = list[Claim](), list[Claim](), list[Claim](), 0
    opens_with_absence = False
    for (start, end), markers in zip(spans, owned, strict=True):
        sentence = _LINE_OPENS.sub("", " ".join(clean[start:end].split()))
        place = _place(clean, start, end)
        place += sum(len(mark.text) for mark in marks if mark.at < place)
        claim = Claim(sentence, tuple(markers), place)
        spelt = sentence.replace("’", "'")
        if _ABSENCE.search(spelt) or (not markers and _UNTOLD.search(spelt)):
            absences += 1
            opens_with_absence = opens_with_absence or not (claims or others)
            others.append(claim)
        elif _NOT_A_CLAIM.match(sentence) or _names_columns(clean, start):
            others.append(claim)
        elif sentence.endswith(":") or _HEADING.match(sentence):
            leads.append(claim)
        else:
            claims.append(claim)
    if not claims and not absences:
        claims, leads = _claim_of_leads(clean, leads, marks), []
    others = [claim for claim in [*leads, *others] if claim.markers]
    text = _with_marks(clean, marks).rstrip()
    return MarkedAnswer(text, claims, others, absences, opens_with_absence, unknown)


def _claim_of_leads(text: str, leads: Sequence[Claim], marks: Sequence[_Mark]) -> list[Claim]:
    """Return the claim of an answer that is only a bold line, or code with the line that introduces it.

    "**26 days**", "Install it with:" above "pip install tidecast"; not "## Answer".
    """
    leads = [lead for lead in leads if not lead.text.startswith("#")]
    code = _CODE_SIGNS.sub(" ", "\n".join(text[start:end] for start, end in verbatim_spans(text)))
    said = " ".join(f"{' '.join(lead.text for lead in leads)} {code}".split())
    if not any(map(str.isalnum, said)):
        return []
    markers = dict.fromkeys(number for mark in marks for number in mark.numbers)
    place = leads[0].place if leads else len(_with_marks(text, marks).rstrip())
    return [Claim(said, tuple(markers), place)]


def add_markers(answer: str, added: Mapping[int, int]) -> str:
    """Insert markers into an answer; behind a block of code, they go on a line of their own.

    Args:
        answer: the text of a `MarkedAnswer`.
        added: the numbers of the documents by the `place` of each claim.
    """
    for place in sorted(added, reverse=True):
        gap = "\n" if answer[:place].endswith(("```", "~~~")) else " "
        answer = f"{answer[:place]}{gap}{write_marker(added[place])}{answer[place:]}"
    return answer


def first_sentences(answer: str, most: int) -> tuple[str, int]:
    """Return the first sentences of an answer with their markers, and the number of the remaining ones."""
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

    The vectors are the unit vectors of the claims, shape (len(claims), dimension); marker n cites
    `documents[n - 1]`.
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
    # The model read the plain text, but spans refer to the document's own text.
    words = [
        len(wanted & set(terms(plain(text_at(document, start, end))))) / len(wanted) if wanted else 0.0
        for start, end in sentences.spans.tolist()
    ]
    scores = MEANING * cosines(sentences.vectors, vector[None])[:, 0] + WORDS * np.array(words)
    return np.asarray(scores, dtype=np.float32)


def _closest_span(
    claim: Claim, vector: Vectors, document: Candidate, sentences: Sentences
) -> tuple[int, int]:
    """Return the span of the sentence that supports a claim best; without sentences, the whole document."""
    if not len(sentences.spans):
        return document["start"], document["end"]
    start, end = sentences.spans[int(np.argmax(support(claim, vector, document, sentences)))]
    return max(int(start), document["start"]), min(int(end), document["end"])


def _without_markers(answer: str, documents: int) -> tuple[str, list[_Mark], list[int]]:
    """Return the answer without markers, the marks to insert in their place, and the unknown numbers."""
    clean, last = "", 0
    marks: list[_Mark] = []
    unknown: list[int] = []
    for match in find_in_prose(LOOSE_MARKER, answer):
        clean += answer[last : match.start()]
        last = match.end()
        numbers = list(dict.fromkeys(_expand(match["numbers"], documents)))
        unknown += [number for number in numbers if not 1 <= number <= documents]
        known = [number for number in numbers if 1 <= number <= documents]
        # "[1][1]" repeats the number.
        if marks and marks[-1].at == len(clean):
            known = [number for number in known if number not in marks[-1].numbers]
        text = match["blanks"] + "".join(map(write_marker, known)) if known else ""
        if not known and (not clean or clean[-1] == "\n"):
            last += len(answer[last:]) - len(answer[last:].lstrip(" \t"))
        marks.append(_Mark(len(clean), known, text))
    return clean + answer[last:], marks, list(dict.fromkeys(unknown))


def _with_marks(clean: str, marks: Sequence[_Mark]) -> str:
    pieces, last = [], 0
    for mark in marks:
        pieces += [clean[last : mark.at], mark.text]
        last = mark.at
    return "".join([*pieces, clean[last:]])


def _owner(at: int, text: str, spans: Sequence[tuple[int, int]]) -> int:
    """Return the index of the sentence that a marker belongs to, by the marker's position."""
    begin, stop = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = [n for n, (start, end) in enumerate(spans) if end > begin and (stop < 0 or start < stop)]
    before = [n for n in line if spans[n][0] < at]
    above = [n for n, (_, end) in enumerate(spans) if end <= at]
    return before[-1] if before else line[0] if line else above[-1] if above else 0


def _place(text: str, start: int, end: int) -> int:
    """Return where to insert a marker for a sentence; in a table row, it goes into the last cell."""
    closing = _ROW_END if is_row(text[start:end]) else _LINE_BREAK
    return start + len(closing.sub("", text[start:end]))


def _names_columns(text: str, start: int) -> bool:
    """Tell whether a sentence is the header row of a table, with the rule below it."""
    _, *below = text[start:].split("\n", 2)
    return bool(below) and is_rule(below[0].lstrip("> \t"))


def _expand(numbers: str, documents: int) -> list[int]:
    """Return the numbers of one marker; a range ends one after the last document, which is then reported."""
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
    """Split an answer into sentences line by line, so that a heading or list item never joins its neighbour.

    No sentence ends inside code, a formula or an address, or lies completely inside one.
    """
    spans: list[tuple[int, int]] = []
    verbatim = verbatim_spans(text)
    for line in re.finditer(r"[^\n]+", text):
        for start, end in sentence_spans(line.group(), line.start()):
            around = next((held for held in verbatim if held[0] <= start < held[1]), None)
            if around and spans and spans[-1][1] > around[0]:
                spans[-1] = (spans[-1][0], end)
            elif around is None or end > around[1]:
                spans.append((start, end))
    return spans
