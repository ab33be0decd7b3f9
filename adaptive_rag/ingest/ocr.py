"""OCR with rapidocr, which no other file imports (extra `ocr`): a picture of text becomes lines.

Its models (PP-OCRv6) are part of its wheel. They find the lines, tell which way up they are, and read them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.errors import import_extra
from adaptive_rag.ingest.allowance import ask_for
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.layout import Line
from adaptive_rag.ingest.reading_order import in_reading_order

# The most pages of one file that are read with OCR, and the limits for each page. A page takes 4 s on one
# core of 2024, and 430 MB.
MOST_PAGES = 300
_SECONDS, _MEMORY = 60.0, 700_000_000
# In pixels: a page of A4 at 170 dpi. A larger picture was not read better, and 200 dpi took a third longer.
LONGEST_SIDE = 2000
# Lines are found in a reduced picture: letters of 6 points on A4 were still found at 960 pixels, in half the
# time of 1280. A single line on a page that was not found at 960 was found at 736.
_SIDES_TO_FIND = (960, 736)
# A reading with less confidence is a stain or a drawing.
_LEAST_SURE = 0.5
# The most lines that are read both ways up, and the lead, in letters read with confidence, that is enough.
_ASKED, _ENOUGH = 7, 8
# In heights of the usual line: with a smaller difference the type size is the same, but the ascenders differ.
_SAME_TYPE = 0.25
# The type size as a share of a line's height, which includes some white above and below the letters.
_TYPE_SIZE = 0.75
_Picture = NDArray[np.uint8]
_Points = NDArray[np.float64]


def note_unread(builder: TextBuilder, pictures: int) -> None:
    """Note that a file holds more pictures of text than are read."""
    if pictures > MOST_PAGES:
        left = f"{pictures - MOST_PAGES:,} of {pictures:,} pictures"
        builder.notes.append(f"{left} were not read, since a file may have {MOST_PAGES}: split it")


def read_picture(picture: _Picture, scale: float, *, body_size: float = 0.0) -> list[Line]:
    """Read a picture as lines in reading order, whichever way up it is.

    Args:
        picture: shape (height, width, 3), as blue, green and red; a size beyond LONGEST_SIDE is of no use.
        scale: points per pixel, for the bounding boxes of the lines.
        body_size: the type size to give to the usual line, in points; 0 measures it.

    Raises:
        MissingExtraError: rapidocr is not installed.
    """
    ask_for(_SECONDS, _MEMORY)
    boxes = _find_lines(picture)
    if not len(boxes):
        return []
    picture, boxes, known = _upright(picture, boxes)
    read = (known.get(at) or _read_line(_cut_out(picture, box)) for at, box in enumerate(boxes))
    readings = (_Found(box, *reading) for box, reading in zip(boxes, read, strict=True))
    sure = [one for one in readings if one.confidence >= _LEAST_SURE]
    return in_reading_order(_to_lines(sure, scale, body_size)) if sure else []


class _Reading(NamedTuple):
    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class _Found:
    box: _Points
    text: str
    confidence: float


@functools.cache
def _engine() -> Any:
    rapidocr = import_extra("rapidocr", extra="ocr", purpose="Reading pictures of text")
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": LONGEST_SIDE,
            "Det.limit_type": "max",
            "Det.limit_side_len": max(_SIDES_TO_FIND),
            # Lines that are read together are padded to the longest: that takes more memory and saves no
            # time.
            "Rec.rec_batch_num": 1,
        }
    )


def _find_lines(picture: _Picture) -> _Points:
    """Return the corners of each line, shape (lines, 4, 2), clockwise from the top left, as (x, y)."""
    import cv2

    for side in _SIDES_TO_FIND:
        ratio = min(1.0, side / max(picture.shape))
        small = cv2.resize(picture, None, fx=ratio, fy=ratio, interpolation=cv2.INTER_AREA)
        boxes = _engine()(small, use_det=True, use_cls=False, use_rec=False).boxes
        if boxes is not None and len(boxes):
            corners: _Points = np.asarray(boxes, dtype=np.float64) / ratio
            return corners
    return np.zeros((0, 4, 2))


def _upright(picture: _Picture, boxes: _Points) -> tuple[_Picture, _Points, dict[int, _Reading]]:
    """Turn a page by quarter turns until its longest lines are upright; also return the readings of these.

    rapidocr has a model that tells which way up a line is. It is not used: it took 4 of 45 public pictures
    for upside down that were not. Text that is read the wrong way up is read with low confidence.
    """
    longest = sorted(range(len(boxes)), key=lambda at: -max(_size(boxes[at])))[:_ASKED]
    if median(height / width for width, height in (_size(boxes[at]) for at in longest)) > 1:
        picture, boxes = _turn(picture, boxes)
    upright: dict[int, _Reading] = {}
    turned: dict[int, _Reading] = {}
    lead = 0.0
    for at in longest:
        line = _cut_out(picture, boxes[at])
        upright[at], turned[at] = _read_line(line), _read_line(np.ascontiguousarray(np.rot90(line, 2)))
        lead += _sure_letters(upright[at]) - _sure_letters(turned[at])
        if abs(lead) > _ENOUGH:
            break
    if lead >= 0:
        return picture, boxes, upright
    return *_turn(*_turn(picture, boxes)), turned


def _sure_letters(reading: _Reading) -> float:
    """Return the number of letters read, weighted by confidence; those as unsure as a stain count 0."""
    surely = max(0.0, reading.confidence - _LEAST_SURE) / (1 - _LEAST_SURE)
    return surely * len("".join(reading.text.split()))


def _turn(picture: _Picture, boxes: _Points) -> tuple[_Picture, _Points]:
    """Turn a picture and its boxes by a quarter, counter-clockwise."""
    turned = np.stack([boxes[..., 1], picture.shape[1] - boxes[..., 0]], axis=-1)
    # The former top right corner is now the top left one.
    return np.ascontiguousarray(np.rot90(picture)), np.roll(turned, -1, axis=1)


def _size(box: _Points) -> tuple[float, float]:
    """Return the width and height of a box."""
    return math.dist(box[0], box[1]), math.dist(box[1], box[2])


def _cut_out(picture: _Picture, box: _Points) -> _Picture:
    """Return a line as a picture of its own, made level if it was not."""
    import cv2

    width, height = (max(1, round(side)) for side in _size(box))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(box.astype(np.float32), corners)
    line = cv2.warpPerspective(
        picture, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(line, dtype=np.uint8)


def _read_line(line: _Picture) -> _Reading:
    """Return the text of a line, and the confidence of the reading."""
    read = _engine()(line, use_det=False, use_cls=False, use_rec=True)
    text = " ".join(read.txts or ()).strip()
    return _Reading(text, float(min(read.scores)) if text else 0.0)


def _to_lines(readings: Sequence[_Found], scale: float, body_size: float) -> list[Line]:
    """Level a skewed page, and give lines of about the same height one type size."""
    widest = sorted((one.box for one in readings), key=lambda box: -_size(box)[0])[: len(readings) // 2 + 1]
    slope = median(math.atan2(*(box[1] - box[0])[::-1]) for box in widest)
    turn = np.array([[math.cos(slope), -math.sin(slope)], [math.sin(slope), math.cos(slope)]])
    usual = median(_size(one.box)[1] for one in readings for _ in one.text)
    lines = []
    for one in readings:
        height = _size(one.box)[1]
        height = usual if abs(height - usual) < _SAME_TYPE * usual else height
        level = (one.box @ turn) * scale
        x0, x1 = sorted((level[[0, 3], 0].mean(), level[[1, 2], 0].mean()))
        middle, half = level[:, 1].mean(), height * scale / 2
        size = (body_size or _TYPE_SIZE * usual * scale) * height / usual
        box = x0, middle - half, x1, middle + half
        lines.append(Line([one.text], *box, size, bold=False, confidence=one.confidence))
    return lines
