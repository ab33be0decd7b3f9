"""The rectangles of a citation's quote on the pages of its PDF, computed from the file on request."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.archives import unpacked
from adaptive_rag.ingest.layout import around
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

    If a quote occurs several times on a page, its span tells which one is meant. Text read from a picture or
    from an attached file has no words on the page, and no rectangle.

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
        words = [word for number in (page, page + 1) for word in _words(document, number)]
    letters = _Letters([word.letters for word in words])
    quote = _letters_of(citation["quote"])
    earlier = 0
    if len(letters.places("".join(quote))) > 1:
        text = extract_text(path)
        begin = next((each.start for each in text.pages if each.number == page), 0)
        before = _Letters(_letters_of(text.text[begin : citation["start"]]))
        earlier = len(before.places("".join(quote)))
    lines = groupby((words[at] for at in letters.find(quote, earlier)), key=lambda word: word.line)
    return [Rectangle(line[0], *around(word.box for word in held)) for line, held in lines]


class _Letters:
    """The letters of words without the characters between them, and the start and end of each word."""

    def __init__(self, words: Sequence[str]) -> None:
        self._text = "".join(words)
        ends = list(accumulate(map(len, words)))
        self._ends = {*ends}
        self._starts = {0, *ends}
        self._owners = [number for number, word in enumerate(words) for _ in word]

    def places(self, letters: str) -> list[int]:
        """Return the positions of letters as whole words; if there are none, all their positions."""
        positions, at = [], self._text.find(letters) if letters else -1
        while at >= 0:
            positions.append(at)
            at = self._text.find(letters, at + 1)
        whole = [at for at in positions if at in self._starts and at + len(letters) in self._ends]
        return whole or positions

    def find(self, quote: Sequence[str], earlier: int) -> list[int]:
        """Return the indexes of the words that make up a quote, in its order.

        The quote is matched piece by piece, each time with the longest beginning of what is left: columns,
        tables and page ends split a sentence. If a piece occurs several times, the first one after the last
        match counts.

        Args:
            quote: the letters of each of its words.
            earlier: how often the whole quote occurs on the page before this occurrence.
        """
        places = self.places("".join(quote))
        at = places[earlier] if earlier < len(places) else 0
        matched: list[int] = []
        while quote:
            count, place = self._longest(quote, at)
            if count:
                at = place + sum(map(len, quote[:count]))
                matched += range(self._owners[place], self._owners[at - 1] + 1)
            quote = quote[max(1, count) :]
        return list(dict.fromkeys(matched))

    def _longest(self, quote: Sequence[str], at: int) -> tuple[int, int]:
        """Return how many first words of a quote occur together, and where: after `at` if possible."""
        count, place = 0, -1
        for more in range(1, len(quote) + 1):
            places = self.places("".join(quote[:more]))
            if not places:
                break
            count, place = more, next((each for each in places if each >= at), places[0])
        return count, place


def _words(document: Any, number: int) -> Iterator[_Word]:
    """Yield the words of a page that have letters or digits."""
    for page in islice(document, number - 1, number):
        for x0, y0, x1, y1, text, block, line, _ in page.get_text("words"):
            if letters := _letters(text):
                yield _Word(letters, (number, block, line), (x0, y0, x1, y1))


def _letters_of(text: str) -> list[str]:
    return [letters for word in text.split() if (letters := _letters(word))]


def _letters(word: str) -> str:
    """Return the letters and digits of a word, with ligatures as separate letters, in lower case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", word))).casefold()
