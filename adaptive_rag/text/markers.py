"""Writes and reads the markers of an answer, such as "[1]".

Brackets in code, in formulas and in addresses are not markers: `items[1]` has an index.
"""

import re
from collections import Counter
from collections.abc import Iterator

from adaptive_rag.text.markdown import find_in_prose, sub_in_prose

# The brackets of markers, and those that replace them in a document's own text.
BRACKETS, OTHER_BRACKETS = "[]", "()"
_OPENS, _CLOSES = map(re.escape, BRACKETS)
MARKER = re.compile(rf"{_OPENS}\d+{_CLOSES}")
# What models write instead of "[1]": "[1, 2]", "[1-3]", "[^1]", "[Passage 2]", "【1†source】".
LOOSE_MARKER = re.compile(
    r"(?<![^\S\n])(?P<blanks>[^\S\n]*+)(?:\[|【)\s*+\^?"
    r"(?:(?:passage|passages|source|sources|document|doc|ref|citation)s?\.?\s*+#?\s*+)?"
    r"(?P<numbers>\d{1,6}(?:\s*(?:[,;&–—-]|and)\s*\^?\d{1,6})*)(?:†[^\]】]{0,40})?\s*(?:\]|】)(?!\()",
    re.IGNORECASE,
)
# What looks like a marker in a document: "[1]", "[source 2]", "[3-5]".
_DOCUMENT_MARKER = re.compile(
    rf"{_OPENS}(?P<inside>\s*\^?(?:(?:passage|source|document|doc)\s*)?\d[\d\s,;–—-]*){_CLOSES}",
    re.IGNORECASE,
)
# The same as the index of something: "items[1]", "rows[0][1]", "f(x)[1]".
_INDEX = re.compile(rf"(?<=[\w\])]){_DOCUMENT_MARKER.pattern}", re.IGNORECASE)
_BACKTICKS = re.compile(r"`+")
_MARKER_WITH_BLANKS = re.compile(rf"(?<!\s)\s*+{MARKER.pattern}")


def write_marker(number: int) -> str:
    """Return the marker of the passage with this number, counted from 1."""
    return f"{BRACKETS[0]}{number}{BRACKETS[1]}"


def iter_markers(text: str) -> Iterator[re.Match[str]]:
    """Return the matches of the markers of an answer, in the order of the text."""
    return iter(find_in_prose(MARKER, text))


def number_of(marker: str) -> int:
    """Return the number of a marker."""
    return int(re.sub(r"\D", "", marker))


def find_markers(text: str) -> list[int]:
    """Return the numbers of the markers in an answer, in the order of the text."""
    return [number_of(match[0]) for match in iter_markers(text)]


def strip_markers(text: str) -> str:
    """Remove the markers of an answer and the blanks before them."""
    return sub_in_prose(_MARKER_WITH_BLANKS, lambda match: "", text)


def hides_marker(text: str) -> bool:
    """Return whether Markdown may read a marker that follows a text as code or as an address.

    "a ``` b" opens code, which ends at the next "```" in a later text; "a ``b`` c" does not. After "[name]:",
    Markdown expects an address.
    """
    unclosed = "".join(f" {run}" for run, count in Counter(_BACKTICKS.findall(text)).items() if count % 2)
    if not unclosed and not text.lstrip().startswith("["):
        return False
    with_marker = f"{text} {write_marker(1)}{unclosed}"
    return all(match.start() != len(text) + 1 for match in iter_markers(with_marker))


def respell_markers(text: str) -> str:
    """Replace the brackets around everything in a document's text that looks like one of our markers."""
    return sub_in_prose(_DOCUMENT_MARKER, _replace_brackets, text)


def respell_for_model(text: str) -> str:
    """Do what `respell_markers` does, and in code too, except for indexes.

    A model may read code as prose: `items[1]` stays as it is, but the comment "# as they say [1]" does not.
    """
    in_prose = {match.start() for match in find_in_prose(_INDEX, text)}
    indexes = {match.start() for match in _INDEX.finditer(text)} - in_prose
    return _DOCUMENT_MARKER.sub(lambda m: m[0] if m.start() in indexes else _replace_brackets(m), text)


def _replace_brackets(match: re.Match[str]) -> str:
    return f"{OTHER_BRACKETS[0]}{match['inside']}{OTHER_BRACKETS[1]}"
