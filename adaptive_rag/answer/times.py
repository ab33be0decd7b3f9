"""Reads the date or version that a text speaks for, from its heading, name, metadata or first lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import NamedTuple

from adaptive_rag.state import Chunk
from adaptive_rag.text.suffixes import suffixes_of

# The names of months in English and German, in full or short
_MONTH = (
    r"(?:Jan(?:uary?)?|Feb(?:ruary?)?|Mar(?:ch)?|März|Apr(?:il)?|Ma[iy]|Jun[ei]?|Jul[iy]?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?)\b\.?"
)
_YEAR, _DAY = r"(?:19|20)\d\d", r"[0-3]?\d"
# "2024-05-14", "2024-05", "20240514"; "14 May 2024", "May 14, 2024", "May 2024"; "14.05.2024"
_DATE = re.compile(
    rf"(?<![\d.,])(?:(?P<y1>{_YEAR})(?:(?P<dash>[-_.])(?P<m1>0[1-9]|1[0-2])(?:(?P=dash)(?P<d1>{_DAY}))?"
    rf"|(?P<m2>0[1-9]|1[0-2])(?P<d2>[0-3]\d))(?!\d)|"
    rf"(?:(?P<d3>{_DAY})(?:st|nd|rd|th|\.)? )?(?P<m3>{_MONTH}) (?:(?P<d4>{_DAY})(?:st|nd|rd|th)?, )?"
    rf"(?P<y3>{_YEAR})\b|(?P<d5>{_DAY})\.(?P<m5>0?[1-9]|1[0-2])\.(?P<y5>{_YEAR})\b)"
)
_BARE_YEAR = re.compile(rf"(?<![\d.,€$£])(?P<y1>{_YEAR})(?!\d| ?[%€]|[.,]\d)")
# "v2.3", "Rev. 4", "version 3.1", and a heading "2.4.0"; not "Version 2021"
_VERSION = re.compile(
    rf"(?<![^\W_])(?:v|ver|version|rev|revision|release)[ ._]*(?P<number>(?!{_YEAR})\d+(?:\.\d+)*)(?![^\W_])|"
    rf"\A\W*(?P<heading>\d+\.\d+\.(?!{_YEAR})\d+)(?![\w.])",
    re.IGNORECASE,
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_GERMAN = {"mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
# Words of a name that tell the state of a document, not its content
_STATE_WORDS = frozenset(
    "final draft archive archived old new current latest copy signed version rev revision release v of from "
    "superseded replaced obsolete outdated expired withdrawn previous "
    "alt neu fassung stand vom".split()
)
_BRACKETS, _COPY = re.compile(r"\([^()]*\)"), re.compile(r"\(\d+\)")
# In office files and PDFs, the date is often that of the template or the export.
_WEAK_METADATA = suffixes_of(
    *("PDF", "Word", "PowerPoint", "older PowerPoint", "Excel", "older Excel", "binary Excel"),
    *("OpenDocument text", "OpenDocument spreadsheet", "OpenDocument presentation"),
)


# In characters: how much of the beginning of a text tells its time and whether it is a version.
HEAD = 300


class Time(NamedTuple):
    """The date or version that a text speaks for."""

    date: tuple[int, ...]  # year, month and day, as far as they are known
    version: tuple[int, ...]
    shown: str  # as the text has it

    def is_after(self, other: Time) -> bool:
        """Return whether it is later; not where that is unknown, as for May 2024 and 2024."""
        for own, others in ((self.date, other.date), (self.version, other.version)):
            if own and others:
                shared = min(len(own), len(others))
                return own[:shared] > others[:shared]
        return False


def read_time(text: str, *, years: bool = True) -> Time | None:
    """Return the first date and version of a text, such as "2.4.0 - 2026-03-14"; None where it has neither.

    `years`: whether a year alone is a date; in running text, it is often something else.
    """
    date = _DATE.search(text) or (_BARE_YEAR.search(text) if years else None)
    version = _VERSION.search(text)
    if date is None and version is None:
        return None
    numbers = (version["number"] or version["heading"]).split(".") if version else []
    shown = (date or version)[0].strip()  # type: ignore[index]
    return Time(_read_date(date) if date else (), tuple(map(int, numbers)), shown)


def _read_date(match: re.Match[str]) -> tuple[int, ...]:
    parts = {name[0]: value for name, value in match.groupdict().items() if value and name != "dash"}
    month = parts.get("m", "").lower()
    short = _GERMAN.get(month[:3], month[:3])
    numbers = [parts["y"], str(_MONTHS.index(short) + 1) if short in _MONTHS else month, parts.get("d")]
    return tuple(int(number) for number in numbers if number)


def name_without_time(name: str, *, brackets: bool = True) -> str:
    """Return a title or path in lower case, without dates, versions and words of its state.

    "House Rules 2021" and "House_Rules_2024_final" are both "house rules". `brackets`: whether the name keeps
    what it has in brackets, as in "Minutes (extraordinary)".
    """
    for pattern in (_COPY if brackets else _BRACKETS, _DATE, _BARE_YEAR, _VERSION):
        name = pattern.sub(" ", name)
    return " ".join(word for word in re.findall(r"[^\W_]+", name.lower()) if word not in _STATE_WORDS)


def title_of(source: str) -> str:
    """Return the name of a document's file, as it is read: "House Rules 2024 final"."""
    return PurePath(source).stem.replace("_", " ")


def time_of_document(passage: Chunk, first_text: Callable[[str], str]) -> Time | None:
    """Return the time that a document speaks for; None where nothing says it.

    It is in the file's name, in the metadata, in the first lines, or in the name of the folder.
    """
    source, date = passage["source"], passage["metadata"].get("date")
    is_weak = PurePath(source).suffix.lower() in _WEAK_METADATA
    times = [read_time(title_of(source))]
    if isinstance(date, str) and not is_weak:
        times.append(read_time(date))
    times += [read_time(first_text(source)[:HEAD], years=False), read_time(PurePath(source).parent.name)]
    known = [time for time in times if time]
    dated = next((time for time in known if time.date), None)
    versioned = next((time for time in known if time.version), None)
    if dated and versioned:
        return dated._replace(version=versioned.version)
    return dated or versioned
