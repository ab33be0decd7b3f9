"""Reads names that end in a label: "Room 12", "House B", "v2.4", "E31", "the outage of 3 March 2024".

A question that names one thing of a kind is not answered by what is said about another: "Room 14", "House C".
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from adaptive_rag.answer.word_lists import MONTHS, WEEKDAYS
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem

# "E31", "KR-5001", "KR-F2", "T86-2419"
_CODE = r"[^\W\d_]{1,6}(?:-[^\W\d_]{1,3})?-?\d[\w-]*(?:\.\d+)*"
# "12", "2.4.0", "12a", a code, or "B"; not "3,000", "10:30", "5%", the start of "2024-03-14", or "I"
_LABEL = re.compile(rf"(?:\d+(?:\.\d+)*[a-z]?|{_CODE}|[A-HJ-Z])(?!\w|[.,:'’]\d|[ \xa0]?[%€$£°]|-\d+-)")
# In a question, a letter may be a small one: "house b".
_SMALL_LETTER = re.compile(r"[b-hj-z](?![\w'’.-])")
_BEFORE_LABEL = re.compile(r"(?<![^\W_])(?:([^\W\d_]{2,})[\s\xa0]{1,2}(?=\w)|([^\W\d_]{2,})(?=\d))")
_CODES = re.compile(rf"(?<![\w.-]){_CODE}")
_RANGE = re.compile(r"\s?[-–—]\s?|\s(?:to|through|bis)\s")
_JOINT = re.compile(r"\s?[,/&]\s?(?:(?:and|or|und|oder)\s)?|,?\s(?:and|or|und|oder)\s")
# What makes a number one end of a range: "since version 4", "level 3 and above", "4.x"
_OPEN_BEFORE = re.compile(
    r"(?:\b(?:since|from|until|to|before|after|than|above|below|over|under|least|most)|[<>≤≥])\s?(?:the\s)?$",
    re.I,
)
_OPEN_AFTER = re.compile(
    r"\+|\.x|,?\s(?:(?:and|or)\s)?(?:later|newer|older|earlier|above|below|higher|lower|upwards?|onwards?)\b|"
    r"\s(?:and|or)\s(?:up|on)\b"
)
_MONTH_NAMES = [*calendar.month_name[1:], *calendar.month_abbr[1:]]
_MONTH = rf"(?P<month>{'|'.join(_MONTH_NAMES)}|Sept)\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_DATES = [
    re.compile(r"(?<![\w-])(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)"),
    re.compile(rf"(?<![\w.]){_DAY} (?:of )?{_MONTH}(?:,? (?P<year>\d{{4}}))?", re.IGNORECASE),
    re.compile(rf"\b{_MONTH} {_DAY}\b(?:,? (?P<year>\d{{4}}))?", re.IGNORECASE),
]
# "2024-09-07", and with the day first "07.09.2024" and "7/9/2024"
_DATE_IN_NUMBERS = re.compile(
    r"(?<![\w-])(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)|"
    r"(?<![\w./-])(?P<first>\d{1,2})[./](?P<second>\d{1,2})[./](?P<last>\d{4})(?![\d])"
)
_WEEKDAY = rf"(?:{'|'.join(calendar.day_name)})"
_BEFORE_DATE = re.compile(
    rf"([^\W\d_]{{2,}}),?\s(?:(?:on|of|from|dated)\s)?(?:the\s)?(?:{_WEEKDAY},?\s)?$", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMBER = re.compile(r"\d+")
# In characters: what is looked at in front of a name.
_BEFORE = 60
# The words that name nothing.
_NO_NAMES = STOP_WORDS | ASKING_WORDS | MONTHS | WEEKDAYS


@dataclass(frozen=True)
class Label:
    """A number, letter, code or date that tells one thing from others of its kind."""

    text: str

    @cached_property
    def kind(self) -> str:
        """Return what the labels of a kind share: their form and, of codes, the first letters."""
        if self.text.count("-") == 2 and self.text.replace("-", "").isdigit():
            return "date"
        if self.text[0].isdigit():
            return "year" if _YEAR.fullmatch(self.text) else "number"
        number = _NUMBER.search(self.text)
        return self.text[: number.start()].replace("-", "").casefold() if number else "letter"

    def matches(self, other: Label) -> bool:
        """Return whether two labels are of one thing, or of a thing and its part: 4 and 4.1."""
        if self.kind == "date":
            return other.kind == "date" and all(
                one == another or not (int(one) and int(another))
                for one, another in zip(self.text.split("-"), other.text.split("-"), strict=True)
            )
        return all(one == another for one, another in zip(self._parts, other._parts, strict=False))

    def is_between(self, first: Label, last: Label) -> bool:
        """Return whether the label is in a range."""
        return self.kind == first.kind == last.kind and first._order <= self._order <= last._order

    @cached_property
    def _parts(self) -> list[str]:
        """Return its parts: "KR-5001" equals "kr5001", "E05" equals "E5", and "7b" is a part of "7"."""
        return [part.lstrip("0") or "0" for part in re.findall(r"\d+|[^\W\d_]+", self.text.casefold())]

    @property
    def _order(self) -> tuple[int, ...]:
        return tuple(map(int, _NUMBER.findall(self.text))) or (ord(self.text[0].upper()),)


@dataclass(frozen=True)
class Mention:
    """A name in a text, or several that share their word: "Rooms 12 and 14", "Houses A to D"."""

    word: str
    """The stem of the word before the label; "" for a code."""
    kind: str
    ranges: tuple[tuple[Label, Label], ...]
    start: int
    end: int
    is_open: bool = False
    """Whether it names a range with only one end: "from version 4 on"."""

    def includes(self, label: Label) -> bool:
        """Return whether it names the thing with a label."""
        return self.is_open or any(
            label.matches(first) or label.matches(last) or label.is_between(first, last)
            for first, last in self.ranges
        )


@lru_cache(maxsize=1024)
def find_mentions(text: str, *, small_letters: bool = False) -> tuple[Mention, ...]:
    """Return the names in a text that end in a label; `small_letters` is for a question: "house b"."""
    dates = (_read_date(text, match) for pattern in _DATES for match in pattern.finditer(text))
    return (*_find_names(text, small_letters), *_find_codes(text), *dates)


def _find_names(text: str, small_letters: bool) -> Iterator[Mention]:
    end = 0
    for match in _BEFORE_LABEL.finditer(text):
        word = (match[1] or match[2]).lower()
        if match.start() < end or word in _NO_NAMES:
            continue  # "House C" in "House A to House C" is read with the first
        if mention := _read_labels(text, word, match.start(), match.end(), small_letters):
            end = mention.end
            yield mention


def _find_codes(text: str) -> Iterator[Mention]:
    end = 0
    for match in _CODES.finditer(text):
        if match.start() >= end and (mention := _read_labels(text, "", match.start(), match.start(), False)):
            end = mention.end
            yield mention


def _read_labels(text: str, word: str, start: int, position: int, small: bool) -> Mention | None:
    """Return the mention whose labels begin at a position; None if there is none."""
    ranges, is_range, end = list[tuple[Label, Label]](), False, position
    while match := _LABEL.match(text, position) or (_SMALL_LETTER.match(text, position) if small else None):
        label = Label(match[0].upper() if len(match[0]) == 1 else match[0])
        if ranges and ranges[0][0].kind != label.kind:
            break
        first = ranges.pop()[0] if is_range else label
        ranges.append((first, label))
        end = match.end()
        is_range = bool(joint := _RANGE.match(text, end))
        joint = joint or _JOINT.match(text, end)
        if not joint:
            break
        position = joint.end()
        if word and text[position : position + len(word) + 1].lower() == f"{word} ":
            position += len(word) + 1  # "House A to House E"
    if not ranges:
        return None
    if word and ranges[0][0].kind not in ("number", "year", "letter"):
        # A code is a name without the word before it, but "Vitamin B12" is not vitamin D.
        letters = [Label(first.text[0].upper()) for first, _ in ranges if first.text[1].isdigit()]
        same = tuple((letter, letter) for letter in letters)
        return Mention(stem(word), "letter", same, start, end) if same else None
    is_open = ranges[0][0].kind == "number" and (
        _OPEN_BEFORE.search(text[max(0, start - _BEFORE) : start]) or _OPEN_AFTER.match(text, end)
    )
    return Mention(stem(word), ranges[0][0].kind, tuple(ranges), start, end, bool(is_open))


def write_dates_as(question: str, texts: Iterable[str]) -> str:
    """Return a question with its dates in numbers where the texts have them so: "2024-09-07" for "7 Sept".

    The reader does not see that the two are one.
    """
    dates = [match for pattern in _DATES[1:] for match in pattern.finditer(question)]
    if not dates:
        return question
    in_numbers = {
        match[0]: _label_in_numbers(match) for text in texts for match in _DATE_IN_NUMBERS.finditer(text)
    }
    for match in sorted(dates, key=lambda match: match.start(), reverse=True):
        label = _date_label(match)
        if written := next((date for date, other in in_numbers.items() if other.matches(label)), None):
            question = f"{question[: match.start()]}{written}{question[match.end() :]}"
    return question


def dates_in(text: str) -> list[Label]:
    """Return the dates in a text, in words or in numbers."""
    in_words = (_date_label(match) for pattern in _DATES[1:] for match in pattern.finditer(text))
    return [*in_words, *map(_label_in_numbers, _DATE_IN_NUMBERS.finditer(text))]


def _date_label(match: re.Match[str]) -> Label:
    month = match["month"]
    number = int(month) if month.isdigit() else _MONTH_NAMES.index(month.capitalize()[:3]) % 12 + 1
    return Label(f"{match['year'] or 0}-{number}-{int(match['day'])}")


def _label_in_numbers(match: re.Match[str]) -> Label:
    year, month, day = (
        match.group("year", "month", "day") if match["year"] else match.group("last", "second", "first")
    )
    return Label(f"{year}-{int(month)}-{int(day)}")


def _read_date(text: str, match: re.Match[str]) -> Mention:
    """Return a date with the word before it: "the outage of 3 March 2024"."""
    offset = max(0, match.start() - _BEFORE)
    before = _BEFORE_DATE.search(text[offset : match.start()])
    word = before[1].lower() if before else ""
    is_name = before is not None and word not in _NO_NAMES
    label = _date_label(match)
    start = offset + before.start() if before and is_name else match.start()
    is_open = bool(re.match(r"\s?(?:to|until|[-–—])\s", text[match.end() : match.end() + 8]))
    return Mention(stem(word) if is_name else "", "date", ((label, label),), start, match.end(), is_open)
