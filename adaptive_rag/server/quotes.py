"""Finds quoted words in a text that has changed since, or that is displayed in another form."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from adaptive_rag.index.sources import join_chunks
from adaptive_rag.state import Chunk

# Characters of a quote, at most, and of the text that is searched at once.
LONGEST_QUOTE, WINDOW = 4000, 1_000_000
_LETTER = re.compile(r"[^\W_]")


class Quote(NamedTuple):
    """Words, and their former or expected position in a text."""

    words: str
    start: int
    # Prefer any position after `start` to those before it, for example if only the page is known.
    is_after: bool = False

    def distance(self, span: Span) -> tuple[bool, int]:
        """Return the distance of a span from the expected position, as a key for sorting."""
        return self.is_after and span.start < self.start, abs(span.start - self.start)


class Span(NamedTuple):
    """A part of a text."""

    start: int
    end: int


def find_quotes(chunks: Sequence[Chunk], quotes: Sequence[Quote]) -> list[Span | None]:
    """Return the span of each quote in a text, or None; of several spans, the nearest to its start.

    Only letters and digits are compared, ignoring case: hyphens, line ends and signs may differ between a
    text and its display on a page.
    """
    spans: list[Span | None] = [None] * len(quotes)
    searched = [_extract_letters(quote.words)[0] for quote in quotes]
    length = chunks[-1]["end"] if chunks and any(searched) else 0
    for offset in range(0, length, WINDOW):
        text = join_chunks(chunks, offset, min(length, offset + WINDOW + 4 * LONGEST_QUOTE))
        letters, positions = _extract_letters(text)
        for number, (words, quote) in enumerate(zip(searched, quotes, strict=True)):
            if not words:
                continue
            expected = bisect_left(positions, quote.start - offset)
            # The nearest match before the expected position, and the nearest from there on.
            before = _find_last(letters[: max(0, expected - 1 + len(words))], words)
            for index in (before, letters.find(words, expected)):
                if index < 0:
                    continue
                span = Span(offset + positions[index], offset + positions[index + len(words) - 1] + 1)
                best = spans[number]
                if best is None or quote.distance(span) < quote.distance(best):
                    spans[number] = span
    return spans


def _find_last(text: str, words: str) -> int:
    """Return what `str.rfind` returns, which unlike `str.find` can take time for each letter of the words."""
    index = text[::-1].find(words[::-1])
    return index if index < 0 else len(text) - index - len(words)


def _extract_letters(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits of a text in lower case, and the position of each."""
    lowered = text.replace("İ", "I").lower()  # the only letter that becomes two in lower case
    positions = [match.start() for match in _LETTER.finditer(lowered)]
    return "".join([lowered[position] for position in positions]), positions
