"""Finds the speaker of a sentence in a passage, from a label, a header, a signature or a heading."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import cache, partial

from adaptive_rag.answer.passages import chunks_of, text_at
from adaptive_rag.answer.posts import LETTER, MARKED_LINE, find_posts, sender_of, unsaid_spans
from adaptive_rag.answer.speakers import (
    CAPITALISED,
    FULL_NAME,
    SAYS_I,
    TURN,
    bare_name,
    in_first_person,
    surname,
)
from adaptive_rag.answer.turns import (
    PARAGRAPH_BREAK,
    SpeakerTurn,
    find_insertions,
    people_in,
    read_turns,
    reported_person,
)
from adaptive_rag.optional import attempt
from adaptive_rag.state import Candidate

# "Kind regards", "Yours Sincerely," and the like, above or before the name in a signature
_CLOSING = (
    r"(?:(?:Kind(?:est)?|Best|Warm(?:est)?|Many|Yours|With|Sincerely|Respectfully)\b[A-Za-z ]{0,25}|"
    r"Thanks|Thank [Yy]ou|Cheers)"
)
# "Dr Amrita Solanki, engineer to the council", "Tansy Hill (15)", "Ann and Bo Lee", "Ann Lee   Bo Lee"; not
# "Dear Editor,", "Kind Regards,"
_PERSON = re.compile(
    rf"^(?!(?:Dear|Hello|Hi|{_CLOSING})\b)(?:{CAPITALISED} (?:and|&) )?{FULL_NAME}"
    rf"(?:,(?!$)| \(|$|(?:[ \t]{{2,}}| (?:and|&) ){FULL_NAME})"
)
_BEFORE_NAME = re.compile(rf"[*_]*(?:{_CLOSING},?\s+|[Bb]y )?")
# "*by Ann Lee, audit committee*", below a heading
_BYLINE = re.compile(r"\s{0,4}[*_]{0,2}[Bb]y (?P<name>[^*_\n]{3,80}?)[*_]{0,2}[ \t]*\n")
_HEADING_MARK = re.compile(r"^#{1,6}\s+")
_HEADING_LINE = re.compile(r"^#{1,6}\s", re.MULTILINE)
_SIGNATURE_DASH = re.compile(r"^[ \t]*(?:[-–—]+[ \t]*)?")
_SALUTATION = re.compile(r"^[ \t]*(?:Sir|Madam|Sirs|Dear|To the [Ee]ditor|Hello|Hi)\b", re.MULTILINE)
# "Sir, ... I call it a theft. Ann Lee, baker": the signature after the last sentence of a letter
_SIGNED = re.compile(
    rf"(?<=[a-z\d)”\"’'])[.?!][”\"’)]* +(?:{_CLOSING}, )?"
    r"(?P<name>[A-Z](?:[^.?!\n]|(?<=\b[A-Z])\.|(?<=\b(?:Mr|Ms|Mx|Dr))\.|(?<=\bMrs)\.){1,70})\s*\Z"
)
# What a paragraph between two letters begins with: a rule, or the header of the next one
_NEXT_LETTER = re.compile(r"[ \t]*(?:[-=_*~][ \t]*){3,}$|From:", re.MULTILINE)
# A paragraph of one name that may be a signature: "Ann"; not "Yours"
_FIRST_NAME = re.compile(rf"(?!{_CLOSING}\b){CAPITALISED}")
_QUOTED = re.compile(r"[“\"][^”\"\n]*[”\"]")
# "“Too loud.” (Design)", "“Too loud.” – Ana Ruiz": a quote followed by the speaker's group or name
_ATTRIBUTED = re.compile(
    rf"[“\"][^“”\"\n]{{12,600}}[”\"][ \t]*(?:\((?P<group>[A-Z][^()\n\d]{{1,60}})\)|"
    rf"[-–—][ \t]*(?P<name>{CAPITALISED}[^.;:\n]{{0,60}})$)",
    re.MULTILINE,
)
# A line "column: value" of a row, and the columns that name its author.
_CELL = re.compile(r"^(?P<column>[^:\n]+): (?P<value>[^\n]+)$", re.MULTILINE)
_AUTHOR = re.compile(
    r"\b(?:author|client|customer|guest|participant|respondent|reviewer|sender|user|visitor|writer)\b",
    re.IGNORECASE,
)
_RATING = re.compile(r"\b(?:rating|stars?)\b", re.IGNORECASE)
# Minimum number of words of a cell that counts as a text.
WRITTEN = 10
# Maximum number of characters of a heading or line that may be a name.
LONGEST_NAME = 80
# Maximum number of lines of a signature: the name, the office, the address.
SIGNATURE_LINES = 3


class Contributions:
    """The speakers and authors in a passage, which is read once and queried for each sentence."""

    def __init__(self, passage: Candidate, people: Collection[str] = ()) -> None:
        """Read a passage; `people` are the surnames of people in the other passages."""
        text = passage["text"]
        self._passage = passage
        self._text = text
        breaks = list(PARAGRAPH_BREAK.finditer(text))
        self._starts = [0, *(gap.end() for gap in breaks)]  # of the paragraphs
        self._ends = [*(gap.start() for gap in breaks), len(text)]
        self._salutations = [match.start() for match in _SALUTATION.finditer(text)]
        self._sender = sender_of(passage)
        is_letter = bool(self._sender or LETTER.search(text))
        turns = read_turns(text, self._starts, people, is_letter=is_letter)
        # The name of a column is no speaker: "Review: I waited an hour."
        cells = {cell.start() for cell in _CELL.finditer(text)} if "row" in passage["metadata"] else set()
        self._turns = [SpeakerTurn(turn.start, None) if turn.start in cells else turn for turn in turns]
        self._people = {*people, *people_in(text), *(surname(t.speaker) for t in self._turns if t.speaker)}
        is_mail = bool(self._sender or passage["metadata"].get("quoted"))
        self._posts = find_posts(text, self._starts, is_mail=is_mail)
        unclear = [(start, end) for start, end, name in find_insertions(text) if not name]
        self._unsaid = [*unsaid_spans(text), *unclear]  # spans without a known speaker
        self._attributed_quotes = [
            (match.start(), match.end(), match["group"] or match["name"])
            for match in _ATTRIBUTED.finditer(text)
        ]
        self._row = author_of(passage)
        self._author = None if self._row and self._row.isdigit() else self._row
        self._signature_of = cache(self._find_signature)
        self._chunks = chunks_of(passage)
        self._headings = cache(lambda number: _Headings(self._chunks[number]))

    def speaker_at(self, start: int, end: int) -> str | None:
        """Return the speaker of a sentence according to the text; None where the text names none.

        `start` and `end` are offsets of the passage's span.
        """
        return attempt("speakers", partial(self._find_speaker, start, end), None)

    def _find_speaker(self, start: int, end: int) -> str | None:
        offset, last = start - self._passage["start"], end - self._passage["start"]
        speaker = (
            self._author
            or self._attributed_speaker(offset, last)
            or self._labelled_speaker(offset, last)
            or next((author for post, author in reversed(self._posts) if post <= offset), None)
            or (None if self._is_marked(offset) else self._letter_writer(offset) or self._sender)
            or self._speaker_in_heading(start, end)
        )
        is_said = not any(start <= offset < end for start, end in self._unsaid)
        return speaker if is_said and not _is_signature(self._text[max(offset, 0) : last], speaker) else None

    def holder_at(self, start: int, end: int) -> str | None:
        """Return whose view a sentence holds according to the text; None where it does not tell.

        That is its speaker, or the person whom it reports on, as in "Ms Dray says that the lift is too slow",
        or the nameless author of a row, as a number. What a speaker says about others is not their view.
        """
        if speaker := self.speaker_at(start, end):
            return speaker
        offset = start - self._passage["start"]
        turn = self._turn_at(offset, end - self._passage["start"])
        reported = reported_person(self._text, self._people, max(offset, 0))
        return (None if turn and turn.resumes else reported) or self._row

    def _labelled_speaker(self, offset: int, end: int) -> str | None:
        turn = self._turn_at(offset, end)
        if turn is None or turn.start > offset:
            return None  # another turn begins within the sentence
        return turn.speaker or (turn.resumes if SAYS_I.search(self._text, max(offset, 0), end) else None)

    def _turn_at(self, offset: int, end: int) -> SpeakerTurn | None:
        """Return the last turn in the paragraph that begins before the end of a sentence."""
        paragraph = self._starts[self._paragraph_at(offset)]
        return next((turn for turn in reversed(self._turns) if paragraph <= turn.start < end), None)

    def _is_marked(self, offset: int) -> bool:
        """Return whether a position is in a line of another mail."""
        line = self._text.rfind("\n", 0, max(offset, 0)) + 1
        return bool(MARKED_LINE.match(self._text, line))

    def _attributed_speaker(self, start: int, end: int) -> str | None:
        quotes = self._attributed_quotes
        return next((name for first, last, name in quotes if first < end and start < last), None)

    def _letter_writer(self, offset: int) -> str | None:
        """Return who signed the letter that contains the sentence."""
        salutations = bisect_right(self._salutations, max(offset, 0))
        return self._signature_of(self._paragraph_at(offset), salutations)

    def _find_signature(self, paragraph: int, salutations: int) -> str | None:
        """Return who signed the letter that a paragraph belongs to, from the lines below the letter.

        A letter with several paragraphs must begin with a salutation; `salutations` counts those before the
        sentence.
        """
        before = self._salutations[:salutations]
        for index in range(paragraph, len(self._starts)):
            text = self._text[self._starts[index] : self._ends[index]]
            is_other = (
                _SALUTATION.match(text) or _NEXT_LETTER.match(text) or _FIRST_NAME.fullmatch(text.strip())
            )
            if index > paragraph and (is_other or not before):
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

    def _speaker_in_heading(self, start: int, end: int) -> str | None:
        containing = (
            i for i, chunk in enumerate(self._chunks) if chunk["start"] <= start and end <= chunk["end"]
        )
        return self._headings(next(containing, len(self._chunks) - 1)).speaker_at(start)

    def _paragraph_at(self, offset: int) -> int:
        return bisect_right(self._starts, max(offset, 0)) - 1


class _Headings:
    """The headings of a chunk with the people in them, each sought once for all sentences below."""

    def __init__(self, chunk: Candidate) -> None:
        self._start = chunk["start"]
        self._text = text_at(chunk, self._start, chunk["end"])
        self._section = (chunk["section"] or "").rpartition(" > ")[2].strip()
        # The headings, and where the text below each begins. The first one stands above the chunk.
        self._headings = [self._section if self._section not in self._text else ""]
        self._below = [0]
        end = 0
        for line in self._text.splitlines(keepends=True):
            end += len(line)
            if heading := self._heading_in(line):
                self._headings.append(heading)
                self._below.append(end)
        self._person_in = cache(
            lambda number: self._find_speaker(self._headings[number], self._below[number])
        )

    def speaker_at(self, start: int) -> str | None:
        """Return the person in the last heading above a sentence."""
        offset = max(start - self._start, 0)
        line = self._text.rfind("\n", 0, offset) + 1
        if heading := self._heading_in(self._text[line:offset]):  # "# Ann Lee, baker. I call it a theft."
            return self._find_speaker(heading, offset)
        return self._person_in(bisect_right(self._below, offset) - 1)

    def _heading_in(self, line: str) -> str:
        line = line.strip()
        mark = _HEADING_MARK.match(line)
        return line[mark.end() :] if mark else line if line == self._section else ""

    def _find_speaker(self, heading: str, below: int) -> str | None:
        """Return the person in a heading, or in the line "by Ann Lee" below it.

        The text below must be in the first person.
        """
        byline = _BYLINE.match(self._text, below)
        name = byline["name"] if heading and byline else heading
        if not name or len(name) > LONGEST_NAME or not _PERSON.match(name):
            return None
        next_heading = _HEADING_LINE.search(self._text, below)
        words = self._text[below : next_heading.start() if next_heading else None]
        # "Machine Learning" may stand above "how we live", so a name alone needs "I".
        speaks = in_first_person if byline or "," in name else SAYS_I.search
        return name if speaks(_QUOTED.sub("", words)) else None


def _name_in_signature(lines: Sequence[str]) -> str | None:
    """Return the name in the signature that ends a paragraph: "Ann Lee", above "Mill Lane"."""
    block = list[str]()
    for line in reversed(lines[-SIGNATURE_LINES:]):
        stripped = _SIGNATURE_DASH.sub("", line).strip()
        if len(stripped) > LONGEST_NAME or stripped[-1:] in (*".:;?!", ""):
            break
        block.insert(0, stripped)
    name = next((line for line in block if _PERSON.match(line)), None)
    return name and re.sub(r"[ \t]{2,}", " and ", name)


def _is_signature(text: str, speaker: str | None) -> bool:
    """Return whether a text begins with its speaker's name, as a signature and a byline do."""
    before = _BEFORE_NAME.match(text)
    name = bare_name(speaker or "")
    return bool(before and name and text.startswith(name, before.end()) and not TURN.match(text))


def author_of(passage: Candidate) -> str | None:
    """Return who wrote the text of a row, such as a review; None where there is no text, or no row.

    The author is the value of a column such as "author", or else that of the first column if the text is in
    the first person. An author without a name is the row's number.
    """
    row = passage["metadata"].get("row")
    if row is None or passage["metadata"].get("kind") == "qa":
        return None
    cells = [(cell["column"], cell["value"]) for cell in _CELL.finditer(passage["text"])]
    written = " ".join(value for _, value in cells if len(value.split()) >= WRITTEN)
    author = next((value for column, value in cells if _AUTHOR.search(column)), None)
    if (
        written
        and not author
        and (in_first_person(written) or any(_RATING.search(name) for name, _ in cells))
    ):
        # A date or a number names nobody.
        author = str(row) if re.search(r"\d", cells[0][1]) else cells[0][1]
    return author if written else None
