"""Finds the speaker of a sentence in a passage, from a label, a header, a signature or a heading."""

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
# Words before a colon that are not names.
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
_PARAGRAPH_BREAK = re.compile(r"\n[ \t]*\n")
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
# A line "column: value" of a row, and the columns that name its author.
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
        breaks = list(_PARAGRAPH_BREAK.finditer(text))
        self._starts = [0, *(gap.end() for gap in breaks)]  # of the paragraphs
        self._ends = [*(gap.start() for gap in breaks), len(text)]
        self._turns = _find_turns(text)
        self._posts = _find_posts(text, self._starts)
        self._salutations = [match.start() for match in _SALUTATION.finditer(text)]
        self._attributed_quotes = [
            (match.start(), match.end(), match["group"] or match["name"])
            for match in _ATTRIBUTED.finditer(text)
        ]
        self._author = author_of(passage)
        self._signatures: dict[tuple[int, int], str | None] = {}
        self._chunks = chunks_of(passage)

    def speaker_at(self, start: int, text: str) -> str | None:
        """Return the speaker of a sentence according to the text; None where the text names none.

        Args:
            start: where the sentence starts, in the offsets of the passage's span.
            text: the sentence.
        """
        return attempt("speakers", partial(self._find_speaker, start, text), None)

    def _find_speaker(self, start: int, text: str) -> str | None:
        offset = start - self._passage["start"]
        paragraph = self._starts[self._paragraph_at(offset)]
        return (
            self._author
            or self._attributed_speaker(offset, offset + len(text))
            or _last_label(self._turns, paragraph, offset)
            or _last_label(self._posts, 0, offset)
            or self._letter_writer(offset)
            or self._speaker_in_heading(start, text)
        )

    def _attributed_speaker(self, start: int, end: int) -> str | None:
        quotes = self._attributed_quotes
        return next((name for first, last, name in quotes if first < end and start < last), None)

    def _letter_writer(self, offset: int) -> str | None:
        """Return who signed the letter that contains the sentence."""
        key = self._paragraph_at(offset), bisect_right(self._salutations, max(offset, 0))
        if key not in self._signatures:
            self._signatures[key] = self._find_signature(*key)
        return self._signatures[key]

    def _find_signature(self, paragraph: int, salutations: int) -> str | None:
        """Return who signed the letter that a paragraph belongs to, from the lines below the letter.

        A letter with several paragraphs must begin with a salutation.

        Args:
            paragraph: the index of the paragraph.
            salutations: how many salutations come before the sentence.
        """
        before = self._salutations[:salutations]
        for index in range(paragraph, len(self._starts)):
            text = self._text[self._starts[index] : self._ends[index]]
            if index > paragraph and (not before or _SALUTATION.match(text)):
                return None
            signed = _SIGNED.search(text) if _SALUTATION.match(text) else None
            if signed and _PERSON.match(signed["name"]):
                return signed["name"]
            lines = text.strip().splitlines()
            name = _name_in_signature(lines)
            if name and (len(lines) > 1 or index > paragraph):
                letter_start = before[-1] if before else self._starts[paragraph]
                letter = self._text[letter_start : self._ends[index]]
                is_letter = bool(self._salutations) or in_first_person(_QUOTED.sub("", letter))
                return name if is_letter else None
        return None

    def _speaker_in_heading(self, start: int, text: str) -> str | None:
        """Return the person in the heading above a sentence, if the text below is in the first person."""
        end = start + len(text)
        containing = (chunk for chunk in self._chunks if chunk["start"] <= start and end <= chunk["end"])
        chunk = next(containing, self._chunks[-1])
        section = (chunk["section"] or "").rpartition(" > ")[2].strip()
        heading: str | None = None
        below = offset = chunk["start"]
        for line in text_at(chunk, chunk["start"], start).splitlines(keepends=True):
            stripped = line.strip()
            if _HEADING_MARK.match(stripped) or (section and stripped == section):
                heading, below = _HEADING_MARK.sub("", stripped), offset + len(line)
            offset += len(line)
        if heading is None and section not in chunk["text"]:
            heading = section  # the section began before the chunk
        if not heading or len(heading) > LONGEST_NAME or not _PERSON.match(heading):
            return None
        words = text_at(chunk, below, chunk["end"])
        if next_heading := re.search(r"^#{1,6}\s", words, re.MULTILINE):
            words = words[: next_heading.start()]
        # "Machine Learning" may stand above "how we live", so a name alone needs "I".
        speaks = in_first_person if "," in heading else SAYS_I.search
        return heading if speaks(_QUOTED.sub("", words)) else None

    def _paragraph_at(self, offset: int) -> int:
        return bisect_right(self._starts, max(offset, 0)) - 1


def _name_in_signature(lines: Sequence[str]) -> str | None:
    """Return the name in the signature that ends a paragraph: "Ann Lee", above "Mill Lane"."""
    block = list[str]()
    for line in reversed(lines[-SIGNATURE_LINES:]):
        stripped = _SIGNATURE_DASH.sub("", line).strip()
        if len(stripped) > LONGEST_NAME or stripped[-1:] in (*".:;?!", ""):
            break
        block.insert(0, stripped)
    return next((line for line in block if _PERSON.match(line)), None)


def _last_label(labels: Sequence[tuple[int, str | None]], first: int, last: int) -> str | None:
    """Return the last label that starts between two offsets: of a turn, a mail or a post."""
    between = [label for start, label in labels if first <= start <= last]
    return between[-1] if between else None


def author_of(passage: Candidate) -> str | None:
    """Return who wrote the text of a row, such as a review; None where there is no text, or no row.

    The author is the value of a column such as "author", or else that of the first column if the text is in
    the first person.
    """
    if "row" not in passage["metadata"] or passage["metadata"].get("kind") == "qa":
        return None
    cells = [(cell["column"], cell["value"]) for cell in _CELL.finditer(passage["text"])]
    written = " ".join(value for _, value in cells if len(value.split()) >= WRITTEN)
    author = next((value for column, value in cells if _AUTHOR.search(column)), None)
    return author or cells[0][1] if written and (author or in_first_person(written)) else None


def _find_turns(text: str) -> list[tuple[int, str | None]]:
    """Return the start of each turn of a text, and its label if it is a person."""
    turns = list(TURN.finditer(text))
    names = Counter(turn["name"] for turn in turns)
    # "Annual Leave: Staff get 25 days." and "Late Fees: We charge 2 pounds." are no conversation.
    is_conversation = any(
        SAYS_I.search(_PARAGRAPH_BREAK.split(text[turn.end() :], maxsplit=1)[0]) for turn in turns
    )
    return [
        (
            turn.start(),
            _read_label(turn, text, is_conversation=is_conversation, recurs=names[turn["name"]] > 1),
        )
        for turn in turns
    ]


def _read_label(turn: re.Match[str], text: str, *, is_conversation: bool, recurs: bool) -> str | None:
    """Return the label of a turn if it is a person.

    A person has a title, or a full name where anybody says "I", or one name that recurs; or else says "I".
    """
    name = turn["name"]
    if _NO_NAME.fullmatch(name):
        return None
    words = text[turn.end() :].split("\n", 1)[0].strip()
    # "- Mrs Callender: decision on smartphones, by 28 November" is a task in a list.
    if turn[0].lstrip().startswith(("-", "*", "•")) and words[:1].islower() and words[-1].isalnum():
        return None
    is_person = _TITLED.match(name) or (is_conversation if " " in name else recurs) or SAYS_I.search(words)
    return turn["label"] if is_person else None


def _find_posts(text: str, paragraphs: list[int]) -> list[tuple[int, str]]:
    """Return the start and the author of each mail or post.

    Two headers like "Lunch (12:30)" are not enough: without stars, at least half of the posts must be in the
    first person.

    Args:
        text: the text of the passage.
        paragraphs: where its paragraphs start.
    """
    headers = [(mail.start(), mail.end(), mail["name"]) for mail in _MAIL.finditer(text)]
    rated = [bold for bold in BOLD_LABEL.finditer(text) if STARS.search(bold["label"])]
    headers += [(bold.start(), bold.end(), name) for bold in rated if (name := _read_header(bold["label"]))]
    has_stars = bool(rated)
    for start in paragraphs:
        line = text[start:].split("\n", 1)[0]
        is_known = any(header_start == start for header_start, *_ in headers)
        if not is_known and len(line) < LONGEST_HEADER and (name := _read_header(line)):
            headers.append((start, start + len(line), name))
            has_stars = has_stars or bool(STARS.search(line))
    if len(headers) < 2:
        return []
    headers.sort()
    ends = [*(start for start, *_ in headers[1:]), len(text)]
    in_first = sum(in_first_person(text[below:end]) for (_, below, _), end in zip(headers, ends, strict=True))
    is_discussion = has_stars or 2 * in_first >= len(headers)
    return [(start, name) for start, _, name in headers] if is_discussion else []


def _read_header(line: str) -> str | None:
    """Return the author from a post's header: "5 stars, Anneke V., January".

    "Valid from 1 May 2026." is a sentence and "10 Plan 2030" a heading; both give None.
    """
    stars = STARS.search(line)
    if not stars and not _WHEN.search(line):
        return None
    without_date = _WHEN.sub(" | ", STARS.sub(" | ", line))
    parts = [part.strip(' \t"“”:#*_-') for part in _PARTS.sub("|", without_date).split("|")]
    names = [part for part in parts if any(map(str.isalpha, part))]
    if not names or len(names[0].split()) > NAME_WORDS or re.match(r"\d+\s", names[0]):
        return None
    return None if line.rstrip()[-1:] in ("?!;" if stars else ".?!;") else names[0]
