"""Word's numbering: the numbers that Word shows before headings and list items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

DEEPEST = 8  # Word's levels are 0 to 8
_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix"}
_ROMAN |= {5: "v", 4: "iv", 1: "i"}
# Word does not count further in Roman numerals or letters either.
_LARGEST = 5000
_ABSTRACT_ID, _LEVEL = qn("w:abstractNumId"), qn("w:ilvl")
# The formats that are not decimal, as HTML and OpenDocument name them, and Word's names for them.
SHORT_FORMATS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
# The marker of a list item without a number.
BULLET = "-"


@dataclass(frozen=True)
class _Level:
    """The settings of one level of a list."""

    kind: str
    """The number format, as the file names it: "decimal", "lowerLetter", "bullet"."""
    text: str
    """A template such as "%1.%2)": the first level's number, a full stop, the second level's, a bracket."""
    start: int
    restart: int | None
    """The deepest level, from 1, whose items restart the numbers; None for every level above this one."""
    legal: bool
    """Whether the numbers of all levels are shown as decimal numbers."""
    style: str | None
    """The style whose paragraphs are on this level."""


class Numbering:
    """Counts the numbered paragraphs of a document, in order (ECMA-376, part 1, section 17.9)."""

    def __init__(self, root: Any | None) -> None:
        """Read the lists that `word/numbering.xml` defines; None if the document has none."""
        elements = list(root) if root is not None else []
        abstract = {each.get(_ABSTRACT_ID): each for each in elements if each.tag == qn("w:abstractNum")}
        by_style = {_value(element, "w:styleLink"): element for element in abstract.values()}
        self._lists: dict[str, tuple[Any, dict[int, _Level]]] = {}
        self._counts: dict[Any, dict[int, int]] = {}
        self._starts: dict[str, dict[int, int]] = {}  # of restarting lists, until their first item
        for element in elements:
            key = _value(element, "w:abstractNumId")
            if element.tag != qn("w:num") or key not in abstract:
                continue
            linked = _value(abstract[key], "w:numStyleLink")
            levels = dict(_read_levels(by_style.get(linked, abstract[key]) if linked else abstract[key]))
            starts = {}
            for override in element.findall(qn("w:lvlOverride")):
                levels |= _read_levels(override)
                if start := _value(override, "w:startOverride"):
                    starts[int(override.get(_LEVEL))] = int(start)
            number = element.get(qn("w:numId"))
            self._lists[number] = key, levels
            self._starts[number] = starts

    def depth_of(self, number: str, style: str | None) -> int:
        """Return the level of a list that a paragraph style belongs to."""
        _, levels = self._lists.get(number, (None, {}))
        return next((depth for depth, level in levels.items() if style and level.style == style), 0)

    def count(self, number: str, depth: int) -> str:
        """Count a paragraph of a list, and return its marker: "4.2", "a)", or "-" for a bullet."""
        key, levels = self._lists.get(number, (None, {}))
        level = levels.get(depth)
        if level is None:
            return BULLET
        counts = self._counts.setdefault(key, {})
        for start_depth, start in self._starts.pop(number, {}).items():
            counts[start_depth] = start - 1
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in range(depth + 1, DEEPEST + 1):
            restart = levels[deeper].restart if deeper in levels else None
            if depth < (deeper if restart is None else restart):
                counts.pop(deeper, None)
        if level.kind == "bullet":
            return BULLET

        def format_level(match: re.Match[str]) -> str:
            other_depth = int(match[1]) - 1
            other = levels.get(other_depth, level)
            kind = "decimal" if level.legal else other.kind
            return write_number(counts.get(other_depth, other.start), kind)

        return re.sub(r"%([1-9])", format_level, level.text).strip()


def _read_levels(element: Any) -> Iterator[tuple[int, _Level]]:
    """Yield the levels that a list or an override defines, each with its number from 0."""
    for each in element.findall(qn("w:lvl")):
        restart = _value(each, "w:lvlRestart")
        yield (
            int(each.get(_LEVEL)),
            _Level(
                kind=_value(each, "w:numFmt") or "decimal",
                text=_value(each, "w:lvlText") or "",
                start=int(_value(each, "w:start") or 0),
                restart=int(restart) if restart else None,
                legal=each.find(qn("w:isLgl")) is not None,
                style=_value(each, "w:pStyle"),
            ),
        )


def _value(element: Any, name: str) -> str | None:
    setting = element.find(qn(name))
    return setting.get(qn("w:val")) if setting is not None else None


def write_number(number: int, kind: str) -> str:
    """Write a number in a format of the file; in digits if the format or the number has no other form."""
    if kind == "none":
        return ""
    if kind == "decimalZero":
        return f"{number:02}"
    if not 0 < number < _LARGEST:
        return str(number)
    if kind.endswith("Letter"):  # after "z" comes "aa", then "bb"
        written = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif kind.endswith("Roman"):
        written = _write_roman(number)
    else:
        return str(number)
    return written.upper() if kind.startswith("upper") else written


def _write_roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN.items():
        count, number = divmod(number, value)
        written += letters * count
    return written
