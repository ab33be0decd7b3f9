"""Text of a PDF page that a reader does not see: white on white, transparent, or too small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Box = tuple[float, float, float, float]

# Of 255, for red, green and blue: darker text counts as visible, whatever is behind it.
_LEAST_BRIGHT = 230
_LEAST_OPAQUE = 26
# In points, and as a divisor of the page's shorter side: type smaller than both is too small to see.
_SMALLEST, _SPECK = 1.0, 400
_LONGEST_SIDE = 1600  # in pixels: the longest side of the rendering that is examined
# Of 255, the difference that the eye can tell; and the least part of a box that letters fill.
_APART, _LEAST_FILLED = 12, 0.03


class SeenText:
    """The text of a page without the spans that a reader does not see."""

    def __init__(self, page: Any, flags: int) -> None:
        self._page = page
        self._flags = flags
        blocks = page.get_text("dict", flags=flags)["blocks"]
        self._hidden = _hidden_boxes(page, blocks)
        self.hidden_words = sum(
            len(span["text"].split()) for span in _spans(blocks) if self._hides(span["bbox"])
        )
        self.blocks = self._seen(blocks)
        self._words: list[Any] | None = None

    def letters(self) -> list[dict[str, Any]]:
        """Return the blocks, lines and spans of the page, with the position of each letter."""
        return self._seen(self._page.get_text("rawdict", flags=self._flags)["blocks"])

    def words(self, clip: Box) -> list[Any]:
        """Return the words within a box, each with its position."""
        if self._words is None:
            words = self._page.get_text("words", flags=self._flags)
            self._words = [word for word in words if not any(_holds(box, word) for box in self._hidden)]
        return [word for word in self._words if _holds(clip, word)]

    def _seen(self, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for line in (line for block in blocks for line in block.get("lines", ())) if self._hidden else ():
            line["spans"] = [span for span in line["spans"] if not self._hides(span["bbox"])]
        return blocks

    def _hides(self, box: Box) -> bool:
        return box in self._hidden


def _spans(blocks: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (span for block in blocks for line in block.get("lines", ()) for span in line["spans"])


def _holds(box: Box, word: Sequence[Any]) -> bool:
    x, y = (word[0] + word[2]) / 2, (word[1] + word[3]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _hidden_boxes(page: Any, blocks: Sequence[dict[str, Any]]) -> set[Box]:
    """Return the boxes of the spans that a reader does not see.

    A span that may be invisible because of its colour is looked up in a rendering of the page: if its box has
    only one colour, no letter is visible. Transparent text on a picture is the text read from that picture,
    and counts as visible.
    """
    spans = list(_spans(blocks))
    width, height = page.rect.width, page.rect.height
    specks = {span["bbox"] for span in spans if _size(span) < min(_SMALLEST, min(width, height) / _SPECK)}
    faint = [span["bbox"] for span in spans if span["text"].strip() and _is_faint(span)]
    if not faint:
        return specks
    transparent = {span["bbox"] for span in spans if span.get("alpha", 255) < _LEAST_OPAQUE}
    if transparent and any(kind == "fill-image" for kind, _ in page.get_bboxlog()):
        faint = [box for box in faint if box not in transparent]
    return specks | _of_one_colour(page, faint)


def _size(span: dict[str, Any]) -> float:
    """Return the size of letters; a font may have its own scale, which only the boxes show."""
    x0, y0, x1, y1 = span["bbox"]
    return float(max(span["size"], min(x1 - x0, y1 - y0)))


def _is_faint(span: dict[str, Any]) -> bool:
    color = span["color"]
    darkest = min(color >> 16 & 255, color >> 8 & 255, color & 255)
    return bool(darkest >= _LEAST_BRIGHT or span.get("alpha", 255) < _LEAST_OPAQUE)


def _of_one_colour(page: Any, boxes: Sequence[Box]) -> set[Box]:
    """Return the boxes that have only one colour in a rendering of the page."""
    import numpy as np

    if not boxes:
        return set()
    zoom = _LONGEST_SIDE / max(page.rect.width, page.rect.height, 1)
    drawn = page.get_pixmap(dpi=max(1, round(72 * min(zoom, 1))), alpha=False)
    pixels = (
        np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width, drawn.n).astype(np.int16)
    )
    scale = drawn.width / max(page.rect.width, 1)
    plain = set()
    for box in boxes:
        x0, y0, x1, y1 = (
            max(0, round((each - edge) * scale)) for each, edge in zip(box, _corner(page), strict=True)
        )
        inside = pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)].reshape(-1, drawn.n)
        apart = np.abs(inside - np.median(inside, axis=0)).max(axis=1) > _APART if len(inside) else inside
        if not len(inside) or apart.mean() < _LEAST_FILLED:
            plain.add(box)
    return plain


def _corner(page: Any) -> Box:
    x, y = page.rect.x0, page.rect.y0
    return x, y, x, y
