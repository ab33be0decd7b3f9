"""Finds who says a sentence of a passage, from a label, a header, a signature or a heading."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import partial

from adaptive_rag.answer.passages import chunks_of, text_at
from adaptive_rag.answer.speakers import (
    BOLD_LABEL,
    CAPITALISED,
    FULL_NAME,
    SAYS_I,
    STARS,
    TITLE,
    TURN,
    in_first_person,
)
from adaptive_rag.optional import attempt
from adaptive_rag.state import Candidate

# "Kind regards", "Yours Sincerely," and the like, above or before the name in a signature
_CLOSING = (
    r"(?:(?:Kind(?:est)?|Best|Warm(?:est)?|Many|Yours|With|Sincerely|Respectfully)\b[A-Za-z ]{0,25}|"
    r"Thanks|Thank [Yy]ou|Cheers)"
)
# "Dr Amrita Solanki, engineer to the council", "Tansy Hill (15)"; not "Dear Editor,", "Kind Regards,"
_PERSON = re.compile(rf"^(?!(?:Dear|Hello|Hi|{_CLOSING})\b){FULL_NAME}(?:,(?!$)| \(|$)")
_HEADING_MARK = re.compile(r"^#{1,6}\s+")
# Single words before a colon that are not names.
_NO_NAME = re.compile(
    r"notes?|examples?|warning|tip|hint|summary|conclusion|question|answer|subject|date|present|sources?|"
    r"title|author|topic|results?|total|price|address|email|phone|location|remark",
    re.IGNORECASE,
)
_TITLED = re.compile(rf"{TITLE} ")
_SIGNATURE_DASH = re.compile(r"^[ \t]*(?:[-–—]+[ \t]*)?")
_SALUTATION = re.compile(r"^[ \t]*(?:Sir|Madam|Sirs|Dear|To the [Ee]ditor|Hello|Hi)\b", re.MULTILINE)
# "Sir, ... I call it a theft. Ann Lee, baker": the signature after the last sentence of a letter
_SIGNED = re.compile(
    rf"(?<=[a-z\d)”\"’'])[.?!][”\"’)]* +(?:{_CLOSING}, )?"
    r"(?P<name>[A-Z](?:[^.?!\n]|(?<=\b[A-Z])\.|(?<=\b(?:Mr|Ms|Dr))\.|(?<=\bMrs)\.){1,70})\s*\Z"
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_QUOTED = re.compile(r"[“\"][^”\"\n]*[”\"]")
# "From: Ravi Menon <ravi@mill.example>", above another header line of a mail
_MAIL = re.compile(
    r"^From:[ \t]*(?P<name>[^<\n(]*[^<\n( \t])[ \t]*(?:[<(][^\n]*)?\n(?=(?:To|Cc|Date|Sent|Subject):)",
    re.MULTILINE,
)
# The time of a post: "3 Nov 2023, 20:40", "2 days ago".
_WHEN = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{4}(?:-\d\d-\d\d)?\b|\b\w+ \w+ ago\b|"
    r"\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b"
    r"(?: \d{1,2}\b)?",
)
# Separators in a header, and words before or after a name.
_PARTS = re.compile(
    r"[\[\](){}|·•,;–—]|\s-\s|\b(?:posted|written|reviewed|review|by|on|at|wrote|said)\b:?", re.IGNORECASE
)
# A header is shorter than this, in characters, and a name in it has at most this many words.
LONGEST_HEADER, NAME_WORDS = 80, 4
# "“Too loud.” (Design)", "“Too loud.” – Ana Ruiz": a quote followed by the speaker's group or name
_ATTRIBUTED = re.compile(
    rf"[“\"][^“”\"\n]{{12,600}}[”\"][ \t]*(?:\((?P<group>[A-Z][^()\n\d]{{1,60}})\)|"
    rf"[-–—][ \t]*(?P<name>{CAPITALISED}[^.;:\n]{{0,60}})$)",
    re.MULTILINE,
)
# A row of a file, in lines of "column: value", and the columns that name its author.
_CELL = re.compile(r"^(?P<column>[^:\n]+): (?P<value>[^\n]+)$", re.MULTILINE)
_AUTHOR = re.compile(
    r"\b(?:author|customer|guest|participant|respondent|reviewer|sender|user|visitor|writer)\b", re.IGNORECASE
)
# Minimum number of words of a cell that counts as a text.
WRITTEN = 10
# Maximum number of characters of a heading or line that may be a name.
LONGEST_NAME = 80
# Maximum number of lines of a signature: the name, the office, the address.
SIGNATURE_LINES = 3


class Contributions:
    """The speakers and authors in a passage, which is read once and queried for each sentence."""

    def __init__(self, passage: Candidate) -> None:
        text = passage["text"]
        self._passage = passage
        self._text = text
        breaks = list(_PARAGRAPH.finditer(text))
        self._begins = [0, *(gap.end() for gap in breaks)]
        self._ends = [*(gap.start() for gap in breaks), len(text)]
        self._turns = _labels(text)
        self._salutations = [found.start() for found in _SALUTATION.finditer(text)]
        self._posts = _posts(text, self._begins)
        self._attributed = [
            (found.start(), found.end(), found["group"] or found["name"])
            for found in _ATTRIBUTED.finditer(text)
        ]
        self._author = author_of(passage)
        self._signed: dict[tuple[int, int], str | None] = {}
        self._chunks = chunks_of(passage)

    def speaker_at(self, start: int, text: str) -> str | None:
        """Return who says a sentence according to the text; None where the text does not tell.

        Args:
            start: where the sentence starts, in the offsets of the passage's span.
            text: the sentence.
        """
        return attempt("speakers", partial(self._speaker_at, start, text), None)

    def _speaker_at(self, start: int, text: str) -> str | None:
        at = start - self._passage["start"]
        paragraph = self._begins[self._paragraph(at)]
        return (
            self._author
            or next(
                (name for start, end, name in self._attributed if start < at + len(text) and at < end), None
            )
            or _last(self._turns, paragraph, at)
            or _last(self._posts, 0, at)
            or self._signer(at)
            or self._headed(start, text)
        )

    def _signer(self, at: int) -> str | None:
        """Return who signed the letter that contains the sentence."""
        place = self._paragraph(at), bisect_right(self._salutations, max(at, 0))
        if place not in self._signed:
            self._signed[place] = self._signature(*place)
        return self._signed[place]

    def _signature(self, number: int, greeted: int) -> str | None:
        """Return who signed the letter that a paragraph belongs to, from the line after the letter.

        A letter with several paragraphs must begin with a salutation.

        Args:
            number: the number of the paragraph.
            greeted: how many salutations come before the sentence.
        """
        text, begin = self._text, self._begins[number]
        before = self._salutations[:greeted]
        for later in range(number, len(self._begins)):
            paragraph = text[self._begins[later] : self._ends[later]]
            if later > number and (not before or _SALUTATION.match(paragraph)):
                return None
            lines = paragraph.strip().splitlines()
            signed = _SIGNED.search(paragraph) if _SALUTATION.match(paragraph) else None
            if signed and _PERSON.match(signed["name"]):
                return signed["name"]
            name = _signer_in(lines)
            if name and (len(lines) > 1 or later > number):
                body = text[before[-1] if before else begin : self._ends[later]]
                of_letters = bool(self._salutations) or in_first_person(_QUOTED.sub("", body))
                return name if of_letters else None
        return None

    def _headed(self, start: int, text: str) -> str | None:
        """Return the person in the heading above a sentence, if the text below is in the first person."""
        end = start + len(text)
        whole = (chunk for chunk in self._chunks if chunk["start"] <= start and end <= chunk["end"])
        chunk = next(whole, self._chunks[-1])
        section = (chunk["section"] or "").rpartition(" > ")[2].strip()
        heading: str | None = None
        begin = position = chunk["start"]
        for line in text_at(chunk, chunk["start"], start).splitlines(keepends=True):
            bare = line.strip()
            if _HEADING_MARK.match(bare) or (section and bare == section):
                heading, begin = _HEADING_MARK.sub("", bare), position + len(line)
            position += len(line)
        if heading is None and section not in chunk["text"]:
            # The section began before the chunk.
            heading = section
        if not heading or len(heading) > LONGEST_NAME or not _PERSON.match(heading):
            return None
        spoken = text_at(chunk, begin, chunk["end"])
        following = re.search(r"^#{1,6}\s", spoken, re.MULTILINE)
        spoken = spoken[: following.start()] if following else spoken
        # "Machine Learning" may stand above "how we live".
        speaks = in_first_person if "," in heading else SAYS_I.search
        return heading if speaks(_QUOTED.sub("", spoken)) else None

    def _paragraph(self, at: int) -> int:
        return bisect_right(self._begins, max(at, 0)) - 1


def _signer_in(lines: Sequence[str]) -> str | None:
    """Return the name in the signature that ends a paragraph: "Ann Lee", above "Mill Lane"."""
    block = list[str]()
    for line in reversed(lines[-SIGNATURE_LINES:]):
        bare = _SIGNATURE_DASH.sub("", line).strip()
        if len(bare) > LONGEST_NAME or bare[-1:] in (*".:;?!", ""):
            break
        block.insert(0, bare)
    return next((line for line in block if _PERSON.match(line)), None)


def _last(labels: Sequence[tuple[int, str | None]], first: int, at: int) -> str | None:
    """Return the last label between two positions: the speaker of a turn, the author of a mail or post."""
    found = [label for start, label in labels if first <= start <= at]
    return found[-1] if found else None


def author_of(passage: Candidate) -> str | None:
    """Return who wrote the text of a row, such as a review; None where there is no text, or no row.

    The author is the value of a column such as "author", or else that of the first column if the text is in
    the first person.
    """
    if "row" not in passage["metadata"] or passage["metadata"].get("kind") == "qa":
        return None
    cells = [(cell["column"], cell["value"]) for cell in _CELL.finditer(passage["text"])]
    written = " ".join(value for _, value in cells if len(value.split()) >= WRITTEN)
    named = next((value for column, value in cells if _AUTHOR.search(column)), None)
    return named or cells[0][1] if written and (named or in_first_person(written)) else None


def _labels(text: str) -> list[tuple[int, str | None]]:
    """Return the start of each turn of a text, and its label if it is a person."""
    turns = list(TURN.finditer(text))
    names = Counter(turn["name"] for turn in turns)
    # "Annual Leave: Staff get 25 days." and "Late Fees: We charge 2 pounds." are no talk.
    talk = any(SAYS_I.search(_PARAGRAPH.split(text[turn.end() :], maxsplit=1)[0]) for turn in turns)
    return [(turn.start(), _label(turn, text, talk=talk, recurs=names[turn["name"]] > 1)) for turn in turns]


def _label(turn: re.Match[str], text: str, *, talk: bool, recurs: bool) -> str | None:
    """Return the label of a turn if it is a person.

    It is one with a title, with a full name where anybody says "I", or with one name that says "I" or recurs.
    """
    name = turn["name"]
    if _NO_NAME.fullmatch(name):
        return None
    said = text[turn.end() :].split("\n", 1)[0].strip()
    # "- Mrs Callender: decision on smartphones, by 28 November" is a task in a list.
    if turn[0].lstrip().startswith(("-", "*", "•")) and said[:1].islower() and said[-1].isalnum():
        return None
    known = _TITLED.match(name) or (talk if " " in name else recurs)
    return turn["label"] if known or SAYS_I.search(said) else None


def _posts(text: str, begins: list[int]) -> list[tuple[int, str]]:
    """Return the start and the author of each mail or post.

    Two headers like "Lunch (12:30)" are not enough: without stars, at least half of the posts must be in the
    first person.

    Args:
        text: the text of the passage.
        begins: where its paragraphs begin.
    """
    found = [(mail.start(), mail.end(), mail["name"]) for mail in _MAIL.finditer(text)]
    rated = [bold for bold in BOLD_LABEL.finditer(text) if STARS.search(bold["label"])]
    found += [(bold.start(), bold.end(), name) for bold in rated if (name := _read_header(bold["label"]))]
    stars = bool(rated)
    for begin in begins:
        line = text[begin:].split("\n", 1)[0]
        known = any(start == begin for start, *_ in found)
        if not known and len(line) < LONGEST_HEADER and (name := _read_header(line)):
            found.append((begin, begin + len(line), name))
            stars = stars or bool(STARS.search(line))
    if len(found) < 2:
        return []
    found.sort()
    ends = [*(start for start, *_ in found[1:]), len(text)]
    spoken = sum(in_first_person(text[head[1] : end]) for head, end in zip(found, ends, strict=True))
    return [(start, name) for start, _, name in found] if stars or 2 * spoken >= len(found) else []


def _read_header(line: str) -> str | None:
    """Return the author from a post's header: "5 stars, Anneke V., January".

    "Valid from 1 May 2026." is a sentence and "10 Plan 2030" a heading; both give None.
    """
    stars = STARS.search(line)
    if not stars and not _WHEN.search(line):
        return None
    bare = _WHEN.sub(" | ", STARS.sub(" | ", line))
    parts = [part.strip(' \t"“”:#*_-') for part in _PARTS.sub("|", bare).split("|")]
    names = [part for part in parts if any(letter.isalpha() for letter in part)]
    if not names or len(names[0].split()) > NAME_WORDS or re.match(r"\d+\s", names[0]):
        return None
    return None if line.rstrip()[-1:] in ("?!;" if stars else ".?!;") else names[0]
