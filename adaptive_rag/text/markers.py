"""The markers of an answer, such as "[1]": how they are written, and how they are read."""

import re

# What stands around a marker's number, and what takes its place around a document's own numbers.
BRACKETS, OTHERS = "[]", "()"
_OPENS, _CLOSES = map(re.escape, BRACKETS)
MARKER = re.compile(rf"{_OPENS}\d+{_CLOSES}")
# "[1]", "[1, 2]", "[1-3]", "[^1]", "[Passage 2]", "【1†source】": what models write when asked for "[n]".
ASKED_FOR = re.compile(
    r"(?<!\s)\s*+(?:\[|【)\s*+\^?"
    r"(?:(?:passage|passages|source|sources|document|doc|ref|citation)s?\.?\s*+#?\s*+)?"
    r"(?P<numbers>\d{1,6}(?:\s*(?:[,;&–—-]|and)\s*\^?\d{1,6})*)(?:†[^\]】]{0,40})?\s*(?:\]|】)(?!\()",
    re.IGNORECASE,
)
_IN_A_DOCUMENT = re.compile(
    rf"{_OPENS}(?P<inside>\s*\^?(?:(?:passage|source|document|doc)\s*)?\d[\d\s,;–—-]*){_CLOSES}",
    re.IGNORECASE,
)


def write_marker(number: int) -> str:
    """Return the marker of the nth passage, counted from 1."""
    return f"{BRACKETS[0]}{number}{BRACKETS[1]}"


def find_markers(text: str) -> list[int]:
    """Return the numbers of the markers in an answer, in the order of the text."""
    return [int(re.sub(r"\D", "", marker)) for marker in MARKER.findall(text)]


def strip_markers(text: str) -> str:
    """Return an answer without its markers and the blanks before them."""
    return re.sub(rf"(?<!\s)\s*+{MARKER.pattern}", "", text)


def respell_markers(text: str) -> str:
    """Return a document's text with what could pass for a marker of ours in other brackets."""
    return _IN_A_DOCUMENT.sub(rf"{OTHERS[0]}\g<inside>{OTHERS[1]}", text)
