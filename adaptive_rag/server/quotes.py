"""Finds quoted words in a text that has changed since, or that is displayed in another form."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from adaptive_rag.index.sources import join_chunks
from adaptive_rag.state import Chunk

# The most characters of a quote, and how many of a text are searched at once.
LONGEST_QUOTE, STEP = 4000, 1_000_000
_LETTER = re.compile(r"[^\W_]")


class Quote(NamedTuple):
    """Words, and their former or likely place."""

    words: str
    start: int
    # Prefer any place after the start to those before it, for example if only the page is known.
    is_after: bool = False

    def distance(self, span: Span) -> tuple[bool, int]:
        """Return the distance of a place from the likely one."""
        return self.is_after and span.start < self.start, abs(span.start - self.start)


class Span(NamedTuple):
    """A part of a text."""

    start: int
    end: int


def find_quotes(chunks: Sequence[Chunk], quotes: Sequence[Quote]) -> list[Span | None]:
    """Return where each quote is in a text; of several places the nearest to its start.

    Only letters and digits are compared, whatever their case: the hyphens, line ends and marks between them
    differ between a text and what a page shows of it.
    """
    found: list[Span | None] = [None] * len(quotes)
    wanted = [_letters(quote.words)[0] for quote in quotes]
    whole = chunks[-1]["end"] if chunks and any(wanted) else 0
    for begin in range(0, whole, STEP):
        text = join_chunks(chunks, begin, min(whole, begin + STEP + 4 * LONGEST_QUOTE))
        letters, places = _letters(text)
        for number, (words, quote) in enumerate(zip(wanted, quotes, strict=True)):
            if not words:
                continue
            likely = bisect_left(places, quote.start - begin)
            # the nearest place before the likely one, and the nearest from there on
            before = letters.rfind(words, 0, max(0, likely - 1 + len(words)))
            for at in (before, letters.find(words, likely)):
                if at < 0:
                    continue
                span = Span(begin + places[at], begin + places[at + len(words) - 1] + 1)
                known = found[number]
                if known is None or quote.distance(span) < quote.distance(known):
                    found[number] = span
    return found


def _letters(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits of a text in lower case, and where each is."""
    lowered = text.replace("İ", "I").lower()  # the one letter that is two in lower case
    places = [match.start() for match in _LETTER.finditer(lowered)]
    return "".join([lowered[place] for place in places]), places
