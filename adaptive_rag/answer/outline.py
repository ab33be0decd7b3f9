"""The outline of a passage: its paragraphs, and the heading above each."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from adaptive_rag.state import Chunk

# Maximum number of characters of a heading.
LONGEST_HEADING = 80

# "5. Term" right above "5.1 The lease begins" is a separate paragraph.
_ABOVE_CLAUSE = r"(?P<clause>\d{1,2})\.?[ \t]+[A-Z][^\n]{0,75}[^\s.,;:!|](?=\n[ \t]*(?P=clause)\.1\b)"
# "**May I work from home?**" on a separate line, right above the text that it heads
_BOLD_LINE = r"\*\*[^*\n]{2,80}\*\*[ \t]*(?=\n)"
_PARAGRAPH = re.compile(
    rf"#{{1,6}} [^\n]*|{_BOLD_LINE}|{_ABOVE_CLAUSE}|\S(?:[^\n]|\n(?![ \t]*\n|#{{1,6}} |{_BOLD_LINE}))*"
)
# "## Staff", "# rowkit", "7. Changes to the flat", "Sick leave", "How do I pay?"; not "- Keep it dry",
# "Tank | 5 litres" or "Call us:"
_HEADING = re.compile(
    r"(?:#{1,6}\s+(?=[a-z])|(?:#{1,6}\s+)?(?:\d{1,2}(?:\.\d{1,2})*\.?\s+)?(?=[A-Z]))"
    r"(?P<title>\w[^\n|:]*[^\s.,;:!|*])"
)
_BOLD = re.compile(r"^\*\*([^*\n]+)\*\*$")
_NUMBER = re.compile(r"\d")


class Paragraph(NamedTuple):
    """A paragraph of a passage."""

    start: int  # in the offsets of the passage's span
    heading: str  # the nearest heading above it; "" where none is known
    heads: bool  # whether it is itself a heading


def read_outline(passage: Chunk) -> list[Paragraph]:
    """Return the paragraphs of a passage in order, as separated by blank lines and marked headings."""
    text = passage["text"]
    section = (passage["section"] or "").rpartition(" > ")[2].strip()
    # A section that begins inside the passage is not the heading of the text before it.
    heading = "" if section in text else section
    pieces = list(_PARAGRAPH.finditer(text))
    outline = list[Paragraph]()
    below_bold = False
    for piece, follower in zip_longest(pieces, pieces[1:]):
        line = _HEADING.fullmatch(_BOLD.sub(r"\1", piece[0].rstrip()))
        # "1. Unplug it" above "2. Open the lid" is a list item.
        numbered = follower and _NUMBER.match(piece[0]) and _NUMBER.match(follower[0])
        item = numbered and not piece["clause"]
        # The paragraph below a bold line is its text, however short: "Behind hall 2"
        text_of_bold = below_bold and not piece[0].startswith(("#", "**"))
        heads = bool(line and follower and not item and not text_of_bold and len(piece[0]) <= LONGEST_HEADING)
        below_bold = heads and bool(_BOLD.match(piece[0].rstrip()))
        if line and heads:
            heading = line["title"]
        outline.append(Paragraph(passage["start"] + piece.start(), heading, heads))
    return outline


def paragraph_at(outline: Sequence[Paragraph], start: int) -> int:
    """Return the index of the paragraph that contains a position."""
    return max(0, bisect_right(outline, start, key=lambda paragraph: paragraph.start) - 1)
