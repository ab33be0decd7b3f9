"""OCR with rapidocr, which no other file imports (extra `ocr`): a picture of text becomes lines.

Its models (PP-OCRv6) are part of its wheel. They find the lines, tell which way up they are, and read them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.errors import import_extra
from adaptive_rag.ingest.allowance import ask_for
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.lines import Line
from adaptive_rag.ingest.reading_order import sort_by_reading_order

# The most pages of one file that are read with OCR, and the limits in seconds and bytes for each page. A page
# takes 4 s on one core of 2024, and 430 MB.
MAX_PAGES = 300
_PAGE_SECONDS, _PAGE_MEMORY = 60.0, 700_000_000
# In pixels: a page of A4 at 170 dpi. A larger picture was not read better, and 200 dpi took a third longer.
MAX_SIDE = 2000
# In pixels: no letter is as low, and a line of pixels cannot be reduced further.
_MIN_SIDE = 8
# In pixels: lines are found in a picture of this size. Letters of 6 points on A4 were still found at 960, in
# half the time of 1280. A single line on a page that was not found at 960 was found at 736.
_DETECTION_SIDES = (960, 736)
# A reading with less confidence is a stain or a drawing.
_MIN_CONFIDENCE = 0.5
# The most lines that are read both ways up, and the lead of one way, in letters, that settles it.
_MAX_ORIENTATION_LINES, _SUFFICIENT_LEAD = 7, 8
# In heights of the usual line: a smaller difference comes from the letters in a line, not from its type size.
_MAX_HEIGHT_DIFFERENCE = 0.25
# The type size as a share of a line's height, which includes some white above and below the letters.
_TYPE_SIZE = 0.75
_Picture = NDArray[np.uint8]
_Points = NDArray[np.float64]


def note_unread(builder: TextBuilder, pictures: int) -> None:
    """Add a note if a file has more pictures of text than are read."""
    if pictures > MAX_PAGES:
        unread = f"{pictures - MAX_PAGES:,} of {pictures:,} pictures"
        builder.notes.append(f"{unread} were not read, since a file may have {MAX_PAGES}: split it")


def read_picture(picture: _Picture, scale: float, *, body_size: float = 0.0) -> list[Line]:
    """Read a picture as lines in reading order, whichever way up it is.

    Args:
        picture: shape (height, width, 3), as blue, green and red; a side longer than MAX_SIDE is of no use.
        scale: points per pixel, for the bounding boxes of the lines.
        body_size: the type size of the usual line, in points; 0 measures it.

    Raises:
        MissingExtraError: rapidocr is not installed.
    """
    if min(picture.shape[:2]) < _MIN_SIDE:
        return []
    ask_for(_PAGE_SECONDS, _PAGE_MEMORY)
    boxes = _find_boxes(picture)
    if not len(boxes):
        return []
    picture, boxes, known_readings = _turn_upright(picture, boxes)
    readings = (
        known_readings.get(index) or _read_line(_cut_out(picture, box)) for index, box in enumerate(boxes)
    )
    lines = [
        (box, reading)
        for box, reading in zip(boxes, readings, strict=True)
        if reading.confidence >= _MIN_CONFIDENCE
    ]
    return sort_by_reading_order(_make_lines(lines, scale, body_size)) if lines else []


class _Reading(NamedTuple):
    text: str
    confidence: float


@functools.cache
def _engine() -> Any:
    """Return the OCR engine, whose models are loaded once."""
    rapidocr = import_extra("rapidocr", extra="ocr", purpose="Reading pictures of text")
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": MAX_SIDE,
            "Det.limit_type": "max",
            "Det.limit_side_len": max(_DETECTION_SIDES),
            # Lines of one batch are padded to the longest one, which takes memory and saves no time.
            "Rec.rec_batch_num": 1,
        }
    )


def _find_boxes(picture: _Picture) -> _Points:
    """Return the corners of each line, shape (lines, 4, 2), clockwise from the top left, as (x, y)."""
    import cv2

    for side in _DETECTION_SIDES:
        ratio = min(1.0, side / max(picture.shape))
        reduced = cv2.resize(picture, None, fx=ratio, fy=ratio, interpolation=cv2.INTER_AREA)
        boxes = _engine()(reduced, use_det=True, use_cls=False, use_rec=False).boxes
        if boxes is not None and len(boxes):
            corners: _Points = np.asarray(boxes, dtype=np.float64) / ratio
            return corners
    return np.zeros((0, 4, 2))


def _turn_upright(picture: _Picture, boxes: _Points) -> tuple[_Picture, _Points, dict[int, _Reading]]:
    """Turn a page by quarter turns until its longest lines are upright; also return the readings of these.

    Text that is the wrong way up is read with low confidence. The model of rapidocr for this is not used: it
    took 4 of 45 public pictures for upside down that were not.
    """
    by_length = sorted(range(len(boxes)), key=lambda index: -max(_box_size(boxes[index])))
    longest = by_length[:_MAX_ORIENTATION_LINES]
    if median(height / width for width, height in (_box_size(boxes[index]) for index in longest)) > 1:
        picture, boxes = _turn_quarter(picture, boxes)
    readings: dict[int, _Reading] = {}
    turned_readings: dict[int, _Reading] = {}
    lead = 0.0
    for index in longest:
        line = _cut_out(picture, boxes[index])
        readings[index] = _read_line(line)
        turned_readings[index] = _read_line(np.ascontiguousarray(np.rot90(line, 2)))
        lead += _count_confident_letters(readings[index]) - _count_confident_letters(turned_readings[index])
        if abs(lead) > _SUFFICIENT_LEAD:
            break
    if lead >= 0:
        return picture, boxes, readings
    return *_turn_quarter(*_turn_quarter(picture, boxes)), turned_readings


def _count_confident_letters(reading: _Reading) -> float:
    """Return the number of letters, weighted by the reading's confidence above that of a stain."""
    weight = max(0.0, reading.confidence - _MIN_CONFIDENCE) / (1 - _MIN_CONFIDENCE)
    return weight * len("".join(reading.text.split()))


def _turn_quarter(picture: _Picture, boxes: _Points) -> tuple[_Picture, _Points]:
    """Turn a picture and its boxes by 90 degrees, counter-clockwise."""
    turned = np.stack([boxes[..., 1], picture.shape[1] - boxes[..., 0]], axis=-1)
    # The former top right corner is now the top left one.
    return np.ascontiguousarray(np.rot90(picture)), np.roll(turned, -1, axis=1)


def _box_size(box: _Points) -> tuple[float, float]:
    """Return the width and height of a box."""
    return math.dist(box[0], box[1]), math.dist(box[1], box[2])


def _cut_out(picture: _Picture, box: _Points) -> _Picture:
    """Return the picture of one line, made level."""
    import cv2

    width, height = (max(1, round(side)) for side in _box_size(box))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(box.astype(np.float32), corners)
    line = cv2.warpPerspective(
        picture, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(line, dtype=np.uint8)


def _read_line(line: _Picture) -> _Reading:
    """Return the text of a line, and the confidence of the reading."""
    result = _engine()(line, use_det=False, use_cls=False, use_rec=True)
    text = " ".join(result.txts or ()).strip()
    return _Reading(text, float(min(result.scores)) if text else 0.0)


def _make_lines(readings: Sequence[tuple[_Points, _Reading]], scale: float, body_size: float) -> list[Line]:
    """Return lines that are level even on a skewed page; those of about the same height get one type size."""
    by_width = sorted((box for box, _ in readings), key=lambda box: -_box_size(box)[0])
    widest = by_width[: len(readings) // 2 + 1]
    slope = median(math.atan2(*(box[1] - box[0])[::-1]) for box in widest)
    rotation = np.array([[math.cos(slope), -math.sin(slope)], [math.sin(slope), math.cos(slope)]])
    usual_height = median(_box_size(box)[1] for box, reading in readings for _ in reading.text)
    lines = []
    for points, reading in readings:
        height = _box_size(points)[1]
        if abs(height - usual_height) < _MAX_HEIGHT_DIFFERENCE * usual_height:
            height = usual_height
        corners = (points @ rotation) * scale
        x0, x1 = sorted((corners[[0, 3], 0].mean(), corners[[1, 2], 0].mean()))
        middle, half = corners[:, 1].mean(), height * scale / 2
        size = (body_size or _TYPE_SIZE * usual_height * scale) * height / usual_height
        box = x0, middle - half, x1, middle + half
        lines.append(Line([reading.text], *box, size, bold=False, confidence=reading.confidence))
    return lines
