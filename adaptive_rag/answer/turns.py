"""Finds where people begin and end to speak in a text: at labels, and where others are reported on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from adaptive_rag.answer.speakers import CAPITALISED, INSERTED, REPORT, SAYS_I, TITLE, TURN, surname
from adaptive_rag.text.speech import ROLES_AND_NAMES, may_be_name, small_words
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS

_TITLED = re.compile(rf"{TITLE}\s")
_TITLED_NAME = re.compile(rf"\b{TITLE}[ \n](?:{CAPITALISED} )?(?P<surname>{CAPITALISED})(?P<colon>:\s)?")
# The start of a sentence, or of a part of one after a semicolon.
_SENTENCE_START = re.compile(r"(?:\A|(?<=[.!?…;”\"’)])\s{1,3}|\n\s{0,3})(?=\S)")
# The result in minutes: "It was agreed to wait.", "The motion is carried.", "Rejected (3 to 5)."
_RESULT = re.compile(
    r"(?:(?:It|The (?:amendment|motion|proposal)) (?:is|was) |The meeting )?"
    r"(?:adopted|agreed|carried|decided|deferred|passed|postponed|rejected|resolved)\b",
    re.IGNORECASE,
)
_TIME = re.compile(r"[ \t]*(?:[-*•] )?\[[^\]\d]*\d")
_CLOSING_MARKS = {"“": "”", '"': '"', "„": "“", "«": "»"}
PARAGRAPH_BREAK = re.compile(r"\n[ \t]*\n")
# Minimum number of words after a surname that is known from another text: not "Price: 4.20" for "Mr Price".
SPOKEN = 3
# Minimum share of the labels of two words whose text says "I", in a conversation: all in the debate of
# `benchmarks.typed_questions`, a third in a list such as "Sick Pay: I am sorry, four weeks."
PERSONAL = 0.5
# Words that begin sentences: "However: the wall is old."
_NO_NAMES = (STOP_WORDS | ASKING_WORDS) - ROLES_AND_NAMES


class SpeakerTurn(NamedTuple):
    """Where somebody begins to speak, up to the next turn in the paragraph."""

    start: int
    speaker: str | None  # None where the text does not tell who speaks
    # who speaks again after a report, in a sentence that says "I"
    resumes: str | None = None


class _Label(NamedTuple):
    """A label before a text: "Ms Dray: "."""

    start: int
    text_start: int
    name: str
    label: str  # the name with its description: "Ann Dray (chair)"
    said: str  # the text up to the next label or the end of the paragraph
    begins_line: bool
    has_bullet: bool
    has_time: bool  # whether a time in brackets stands before it


def read_turns(
    text: str, paragraphs: Sequence[int], people: Collection[str], *, is_letter: bool
) -> list[SpeakerTurn]:
    """Return the turns of a text in order.

    A turn ends at the next label, at the quotation mark that closes it, and at a sentence that reports on
    somebody or tells the result of the discussion. Who wrote a letter may begin paragraphs with "First:". An
    answer or note that somebody inserted is a turn.
    `paragraphs`: where the paragraphs start; `people`: the surnames of people in the passages.
    """
    labels = list(_read_labels(text))
    speakers = _name_speakers(text, labels, people, is_letter=is_letter)
    paragraph_of = partial(bisect_right, paragraphs)
    quotes = {label.start: _end_of_quote(text, label) for label in labels}
    unquoted = Counter(paragraph_of(i) for i, speaker in speakers.items() if speaker and not quotes[i])
    for label in labels if is_letter else ():
        if not label.begins_line and not quotes[label.start] and unquoted[paragraph_of(label.start)] == 1:
            speakers[label.start] = None  # the words after one label in a letter may be the writer's again
    counts = Counter(paragraph_of(start) for start, speaker in speakers.items() if speaker)
    ends = [(end, None, False) for end in quotes.values() if end]
    known = {*people, *map(surname, filter(None, speakers.values()))}
    names = {label.text_start for label in labels}
    names |= {note.end() for note in INSERTED.finditer(text)}
    # "we thank Mr Holt: he mended it" may be a label.
    stray = [
        name.start() for name in _TITLED_NAME.finditer(text) if name["colon"] and name.end() not in names
    ]
    ends += [(start, None, False) for start in stray]
    sentences = (start.end() for start in _SENTENCE_START.finditer(text))
    reports = [
        (start, None, True)
        for start in sentences
        if reported_person(text, known, start) or _RESULT.match(text, start)
    ]
    notes = [(start, name, False) for start, _, name in find_insertions(text) if name]
    turns, current, last_paragraph = list[SpeakerTurn](), None, 0
    events = [*ends, *notes, *((*turn, False) for turn in speakers.items()), *reports]
    for start, speaker, is_report in sorted(events, key=itemgetter(0)):
        paragraph = paragraph_of(start)
        if paragraph != last_paragraph or not is_report:
            current = speaker
        last_paragraph = paragraph
        turns.append(SpeakerTurn(start, speaker, current if is_report and counts[paragraph] == 1 else None))
    return turns


def find_insertions(text: str) -> list[tuple[int, int, str | None]]:
    """Return the start and end of each answer or note that somebody inserted in a text, and their name.

    Its paragraph ends it. "Today's answer: " has no name: a word alone must be a name elsewhere ("Dear Ann").
    """
    insertions = list[tuple[int, int, str | None]]()
    for match in INSERTED.finditer(text):
        name = match["name"] or match["owner"]
        is_name = match["name"] or " " in name or re.search(rf"(?<=[a-z,:] ){re.escape(name)}\b", text)
        gap = PARAGRAPH_BREAK.search(text, match.end())
        insertions.append((match.start(), gap.start() if gap else len(text), name if is_name else None))
    return insertions


def _read_labels(text: str) -> Iterator[_Label]:
    matches = list(TURN.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    for match, end in zip(matches, ends, strict=False):
        said = PARAGRAPH_BREAK.split(text[match.end() : end], maxsplit=1)[0].strip()
        begins_line = text[match.start() - 1 : match.start()] in {"", "\n"}
        yield _Label(
            match.start(),
            match.end(),
            match["name"],
            match["label"],
            said,
            begins_line,
            has_bullet=match[0].lstrip()[:2] in {"- ", "* ", "• "},
            has_time=bool(_TIME.match(match[0])),
        )


def _end_of_quote(text: str, label: _Label) -> int | None:
    """Return where the words after a label end if they stand in quotation marks."""
    closing = _CLOSING_MARKS.get(text[label.text_start])
    if closing is None or (end := label.said.find(closing, 1)) < 0:
        return None
    after = label.said[end + 1 : end + 3]
    return label.text_start + end + 1 + len(after) - len(after.lstrip(".,;!?"))


def _name_speakers(
    text: str, labels: Sequence[_Label], people: Collection[str], *, is_letter: bool
) -> dict[int, str | None]:
    """Return the speaker of each label by its offset; None for a label that is no person.

    A person has a title, a time before the name, a full name in a conversation, or one name that recurs or is
    that of a person with a title; or else says "I".
    """
    counts, words, own_people = Counter(label.name for label in labels), small_words(text), people_in(text)
    possible = {label.name for label in labels if _can_be_name(label.name, words)}
    # "Annual Leave: Staff get 25 days." and "Late Fees: We charge 2 pounds." are no conversation.
    full = [
        bool(SAYS_I.search(label.said)) for label in labels if " " in label.name and label.name in possible
    ]
    is_conversation = not is_letter and any(full) and sum(full) >= PERSONAL * len(full)
    speakers = dict[int, str | None]()
    for label in labels:
        name, line = label.name, label.said.split("\n", 1)[0]
        is_person = bool(_TITLED.match(name)) or (label.has_time and name in possible)
        if not is_person and name in possible and " " in name:
            is_person = is_conversation
        elif not is_person and name in possible:
            may_say_i = label.begins_line and not is_letter and name[1:].islower() and not line[:1].isdigit()
            is_known = name in own_people or (name in people and len(line.split()) >= SPOKEN)
            is_person = counts[name] > 1 or is_known or bool(may_say_i and SAYS_I.search(line))
        # "- Mrs Callender: decision on smartphones, by 28 November" is a task in a list.
        is_task = label.has_bullet and line[:1].islower() and line[-1:].isalnum()
        if is_person and not is_task:
            speakers[label.start] = " ".join(label.label.split())
        elif label.label == name:  # not "However, one thing is clear:"
            speakers[label.start] = None
    return speakers


def _can_be_name(name: str, words: Collection[str]) -> bool:
    is_plain = not re.search(r"\d", name) and name.split()[0].lower() not in _NO_NAMES
    return is_plain and may_be_name(name, words)


def reported_person(text: str, people: Collection[str], start: int) -> str | None:
    """Return the person on whom a sentence that starts at `start` reports: "Ms Dray" in "Ms Dray says that".

    `people` are the surnames of people, who may be named without a title.
    """
    report = REPORT.match(text, start)
    return report["name"] if report and (report["title"] or report["surname"] in people) else None


def people_in(text: str) -> set[str]:
    """Return the surnames of the people in a text who have a title: "Holt" for "Mr Holt"."""
    return {name["surname"] for name in _TITLED_NAME.finditer(text)}
