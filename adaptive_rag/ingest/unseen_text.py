"""Text of a PDF page that a reader does not see: white on white, transparent, or too small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adaptive_rag.ingest.lines import contains_centre

Box = tuple[float, float, float, float]
# A text, and where it is in small steps of its size.
_Place = tuple[str, int, int]

# Of 255, for red, green and blue: darker text counts as visible, whatever is behind it.
_MIN_BRIGHTNESS = 230
# Of 255: text of a lower opacity may be invisible.
_MIN_ALPHA = 26
# In points, and as a divisor of the page's shorter side: type smaller than both is too small to see.
_MIN_SIZE, _MIN_SIZE_DIVISOR = 1.0, 400
_MAX_SIDE = 1600  # in pixels: the longer side of the rendering in which text is looked up
# Of 255, the least difference that the eye can see; and the least share of a box that its letters fill.
_MIN_CONTRAST, _MIN_FILLED = 12, 0.03


class VisibleText:
    """The text of a page without the spans that a reader does not see."""

    def __init__(self, page: Any, flags: int) -> None:
        self._page = page
        self._flags = flags
        blocks = page.get_text("dict", flags=flags)["blocks"]
        self._hidden = _find_hidden_boxes(page, blocks)
        self.hidden_words = sum(
            len(span["text"].split()) for span in _spans(blocks) if span["bbox"] in self._hidden
        )
        self.blocks = self._drop_hidden(blocks)
        self._words: list[Any] | None = None

    def letters(self) -> list[dict[str, Any]]:
        """Return the blocks, lines and spans of the page, with the position of each letter."""
        return self._drop_hidden(self._page.get_text("rawdict", flags=self._flags)["blocks"])

    def words(self, clip: Box) -> list[Any]:
        """Return the words within a box, each with its position."""
        if self._words is None:
            words = self._page.get_text("words", flags=self._flags)
            drawn: set[_Place] = set()
            self._words = [
                word
                for word in words
                if not any(contains_centre(box, word) for box in self._hidden)
                and not _is_drawn_again(word[4], word[:4], drawn)
            ]
        return [word for word in self._words if contains_centre(clip, word)]

    def _drop_hidden(self, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Remove the hidden spans from blocks, and those that are drawn again, and return the blocks."""
        drawn: set[_Place] = set()
        for line in (line for block in blocks for line in block.get("lines", ())):
            line["spans"] = [
                span
                for span in line["spans"]
                if span["bbox"] not in self._hidden
                and not _is_drawn_again(
                    span.get("text") or "".join(char["c"] for char in span["chars"]), span["bbox"], drawn
                )
            ]
        return blocks


def _is_drawn_again(text: str, box: Box, drawn: set[_Place]) -> bool:
    """Return whether a text is drawn close to its last place, which makes it look bold.

    That is less than a fifth of its height and half of its width away, so that the second "l" of "all" is not
    lost where each letter is drawn by itself. Its place and those around it are added to `drawn`.
    """
    step = max(0.25, min(0.1 * (box[3] - box[1]), 0.25 * (box[2] - box[0])))
    x, y = (round(position / step) for position in box[:2])
    if (text, x, y) in drawn and text.strip():
        return True
    drawn.update((text, x + right, y + down) for right in (-1, 0, 1) for down in (-1, 0, 1))
    return False


def _spans(blocks: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (span for block in blocks for line in block.get("lines", ()) for span in line["spans"])


def _find_hidden_boxes(page: Any, blocks: Sequence[dict[str, Any]]) -> set[Box]:
    """Return the boxes of the spans that a reader does not see.

    A span whose colour may make it invisible is looked up in a rendering of the page: if its box has only one
    colour, no letter is visible. Transparent text on a picture is what OCR read from that picture, and counts
    as visible.
    """
    spans = list(_spans(blocks))
    width, height = page.rect.width, page.rect.height
    too_small = {
        span["bbox"]
        for span in spans
        if _letter_size(span) < min(_MIN_SIZE, min(width, height) / _MIN_SIZE_DIVISOR)
    }
    faint = [span["bbox"] for span in spans if span["text"].strip() and _is_faint(span)]
    transparent = {span["bbox"] for span in spans if span.get("alpha", 255) < _MIN_ALPHA}
    if transparent and any(kind == "fill-image" for kind, _ in page.get_bboxlog()):
        faint = [box for box in faint if box not in transparent]
    return too_small | _find_plain_boxes(page, faint)


def _letter_size(span: dict[str, Any]) -> float:
    """Return the size of letters; a font may have its own scale, which only the boxes show."""
    x0, y0, x1, y1 = span["bbox"]
    return float(max(span["size"], min(x1 - x0, y1 - y0)))


def _is_faint(span: dict[str, Any]) -> bool:
    color = span["color"]
    darkest = min(color >> 16 & 255, color >> 8 & 255, color & 255)
    return bool(darkest >= _MIN_BRIGHTNESS or span.get("alpha", 255) < _MIN_ALPHA)


def _find_plain_boxes(page: Any, boxes: Sequence[Box]) -> set[Box]:
    """Return the boxes that have only one colour in a rendering of the page."""
    if not boxes:
        return set()
    import numpy as np

    zoom = _MAX_SIDE / max(page.rect.width, page.rect.height, 1)
    pixmap = page.get_pixmap(dpi=max(1, round(72 * min(zoom, 1))), alpha=False)
    pixels = (
        np.frombuffer(pixmap.samples, np.uint8)
        .reshape(pixmap.height, pixmap.width, pixmap.n)
        .astype(np.int16)
    )
    scale = pixmap.width / max(page.rect.width, 1)
    origin = page.rect.x0, page.rect.y0, page.rect.x0, page.rect.y0
    plain = set()
    for box in boxes:
        x0, y0, x1, y1 = (
            max(0, round((position - start) * scale)) for position, start in zip(box, origin, strict=True)
        )
        inside = pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)].reshape(-1, pixmap.n)
        if not len(inside):  # the box is outside the page
            plain.add(box)
            continue
        contrast = np.abs(inside - np.median(inside, axis=0)).max(axis=1)
        if (contrast > _MIN_CONTRAST).mean() < _MIN_FILLED:
            plain.add(box)
    return plain
