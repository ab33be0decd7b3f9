"""Writes and reads the markers of an answer, such as "[1]".

Brackets in code, in a formula or in an address are not markers: `items[1]` is an index.
"""

import re
from collections import Counter
from collections.abc import Iterator

from adaptive_rag.text.markdown import find_in_prose, sub_in_prose

# The brackets around a marker's number, and those that replace them around a document's own numbers.
BRACKETS, OTHERS = "[]", "()"
_OPENS, _CLOSES = map(re.escape, BRACKETS)
MARKER = re.compile(rf"{_OPENS}\d+{_CLOSES}")
# "[1]", "[1, 2]", "[1-3]", "[^1]", "[Passage 2]", "【1†source】": what models write when asked for "[n]".
ASKED_FOR = re.compile(
    r"(?<![^\S\n])(?P<blanks>[^\S\n]*+)(?:\[|【)\s*+\^?"
    r"(?:(?:passage|passages|source|sources|document|doc|ref|citation)s?\.?\s*+#?\s*+)?"
    r"(?P<numbers>\d{1,6}(?:\s*(?:[,;&–—-]|and)\s*\^?\d{1,6})*)(?:†[^\]】]{0,40})?\s*(?:\]|】)(?!\()",
    re.IGNORECASE,
)
_IN_A_DOCUMENT = re.compile(
    rf"{_OPENS}(?P<inside>\s*\^?(?:(?:passage|source|document|doc)\s*)?\d[\d\s,;–—-]*){_CLOSES}",
    re.IGNORECASE,
)
# The same after something with an index: "items[1]", "rows[0][1]", "f(x)[1]".
_OF_AN_INDEX = re.compile(rf"(?<=[\w\])]){_IN_A_DOCUMENT.pattern}", re.IGNORECASE)
_BACKTICKS = re.compile(r"`+")
_WITH_BLANKS = re.compile(rf"(?<!\s)\s*+{MARKER.pattern}")


def write_marker(number: int) -> str:
    """Return the marker of the nth passage, counted from 1."""
    return f"{BRACKETS[0]}{number}{BRACKETS[1]}"


def iter_markers(text: str) -> Iterator[re.Match[str]]:
    """Yield the markers of an answer, in the order of the text."""
    return iter(find_in_prose(MARKER, text))


def number_of(marker: str) -> int:
    """Return the number of a marker."""
    return int(re.sub(r"\D", "", marker))


def find_markers(text: str) -> list[int]:
    """Return the numbers of the markers in an answer, in the order of the text."""
    return [number_of(match[0]) for match in iter_markers(text)]


def strip_markers(text: str) -> str:
    """Remove the markers of an answer and the blanks before them."""
    return sub_in_prose(_WITH_BLANKS, lambda match: "", text)


def hides_marker(text: str) -> bool:
    """Tell whether Markdown may read a marker after a text as code or as an address.

    "a ``` b" opens code, which ends if a later text contains another "```"; "a ``b`` c" does not.
    After "[name]:", what follows is read as the address of a link.
    """
    opened = "".join(f" {run}" for run, times in Counter(_BACKTICKS.findall(text)).items() if times % 2)
    followed = f"{text} {write_marker(1)}{opened}"
    may_hide = opened or text.lstrip().startswith("[")
    return bool(may_hide) and all(match.start() != len(text) + 1 for match in iter_markers(followed))


def respell_markers(text: str) -> str:
    """Return a document's text with other brackets around everything that looks like a marker of ours."""
    return sub_in_prose(_IN_A_DOCUMENT, _in_other_brackets, text)


def respell_for_model(text: str) -> str:
    """Do the same for a model that may read code as prose: in code, only the brackets of an index stay.

    In code, `items[1]` stays as it is, but "# as they say [1]" does not.
    """
    in_prose = {match.start() for match in find_in_prose(_OF_AN_INDEX, text)}
    indexes = {match.start() for match in _OF_AN_INDEX.finditer(text)} - in_prose
    return _IN_A_DOCUMENT.sub(lambda m: m[0] if m.start() in indexes else _in_other_brackets(m), text)


def _in_other_brackets(match: re.Match[str]) -> str:
    return f"{OTHERS[0]}{match['inside']}{OTHERS[1]}"
