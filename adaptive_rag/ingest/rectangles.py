"""The rectangles of a citation's quote on the pages of its PDF, computed from the file on request."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.archives import unpacked
from adaptive_rag.ingest.lines import bounding_box
from adaptive_rag.ingest.pdf import open_pdf
from adaptive_rag.ingest.read import extract_text
from adaptive_rag.state import Citation


class Rectangle(NamedTuple):
    """Part of a line on a page: points from the page's upper left corner, as PyMuPDF counts them."""

    page: int
    x0: float
    y0: float
    x1: float
    y1: float


class _Word(NamedTuple):
    letters: str
    line: tuple[int, int, int]
    """The page, the block on it and the line in the block."""
    box: tuple[float, float, float, float]


def locate(citation: Citation, path: str | Path) -> list[Rectangle]:
    """Return the rectangles of a citation's quote in its PDF, one for each line or cell, in reading order.

    If a quote occurs several times on a page, its span shows which one is meant. Text that was read from a
    picture or an attached file has no words on the page, and no rectangles.

    Args:
        citation: a citation of the document at `path`.
        path: the path of the PDF; in an archive, in the form that `extract_text` accepts.

    Raises:
        ConfigurationError: the file is not a PDF, or the citation has no page in it.
        IndexingError: it cannot be read; the message says why.
    """
    path = Path(path).expanduser()
    page = citation["page"]
    if path.suffix.lower() != ".pdf" or page is None:
        raise ConfigurationError(f"Only a quote from a page of a PDF has rectangles; got {str(path)!r}.")
    if "attachment" in citation["place"]:
        return []
    with unpacked(path) as file, open_pdf(file) as document:
        words = [word for number in (page, page + 1) for word in _find_words(document, number)]
    letters = _Letters([word.letters for word in words])
    quote = _split_words(citation["quote"])
    earlier = 0
    if len(letters.find_all("".join(quote))) > 1:
        text = extract_text(path)
        page_start = next((mark.start for mark in text.pages if mark.number == page), 0)
        before = _Letters(_split_words(text.text[page_start : citation["start"]]))
        earlier = len(before.find_all("".join(quote)))
    quote_words = (words[index] for index in letters.find_words(quote, earlier))
    lines = groupby(quote_words, key=lambda word: word.line)
    return [Rectangle(line[0], *bounding_box(word.box for word in group)) for line, group in lines]


class _Letters:
    """The letters of words without the characters between them, and where each word starts and ends."""

    def __init__(self, words: Sequence[str]) -> None:
        self._text = "".join(words)
        ends = list(accumulate(map(len, words)))
        self._ends = {*ends}
        self._starts = {0, *ends}
        self._word_numbers = [number for number, word in enumerate(words) for _ in word]

    def find_all(self, letters: str) -> list[int]:
        """Return the positions at which letters occur as whole words; if there are none, all positions."""
        positions, position = [], self._text.find(letters) if letters else -1
        while position >= 0:
            positions.append(position)
            position = self._text.find(letters, position + 1)
        whole = [start for start in positions if start in self._starts and start + len(letters) in self._ends]
        return whole or positions

    def find_words(self, quote: Sequence[str], earlier: int) -> list[int]:
        """Return the indexes of the words that make up a quote, in its order.

        The quote is matched piece by piece, each time with the longest beginning of what is left, since
        columns, tables and page ends split a sentence. If a piece occurs several times, the first one after
        the last match counts. `earlier` is how often the whole quote occurs on the page before this place.
        """
        positions = self.find_all("".join(quote))
        minimum = positions[earlier] if earlier < len(positions) else 0
        matched: list[int] = []
        while quote:
            count, start = self._find_longest_prefix(quote, minimum)
            if count:
                minimum = start + sum(map(len, quote[:count]))
                matched += range(self._word_numbers[start], self._word_numbers[minimum - 1] + 1)
            quote = quote[max(1, count) :]
        return list(dict.fromkeys(matched))

    def _find_longest_prefix(self, quote: Sequence[str], minimum: int) -> tuple[int, int]:
        """Return how many first words of a quote occur together, and where: from `minimum` on if possible."""
        count, start = 0, -1
        for length in range(1, len(quote) + 1):
            positions = self.find_all("".join(quote[:length]))
            if not positions:
                break
            count = length
            start = next((position for position in positions if position >= minimum), positions[0])
        return count, start


def _find_words(document: Any, number: int) -> Iterator[_Word]:
    """Yield the words of a page that have letters or digits; none if there is no such page."""
    for page in islice(document, number - 1, number):
        for x0, y0, x1, y1, text, block, line, _ in page.get_text("words"):
            if letters := _normalize(text):
                yield _Word(letters, (number, block, line), (x0, y0, x1, y1))


def _split_words(text: str) -> list[str]:
    return [letters for word in text.split() if (letters := _normalize(word))]


def _normalize(word: str) -> str:
    """Return the letters and digits of a word, with ligatures as separate letters, in lower case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", word))).casefold()
