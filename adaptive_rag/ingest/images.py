"""The image loader: text in photos and scans, page by page for a TIFF with several pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.layout import Survey
from adaptive_rag.ingest.ocr import MAX_PAGES, MAX_SIDE, note_unread, read_picture
from adaptive_rag.ingest.paragraphs import ParagraphWriter

# A pixel takes 4 bytes of memory, and 3 more if the file has another form. A JPEG is decoded at a half, a
# quarter or an eighth of its size; the limit applies to the decoded size.
_MAX_PIXELS = 40_000_000
_PAGE_HEIGHT = 842  # in points: the assumed length of a picture's longer side


def load_image(path: Path, builder: TextBuilder) -> None:
    """Write the text shown in an image into `builder`."""
    with _open_image(path) as image:
        # In other formats, several frames are an animation.
        page_count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        pages = []
        for index in range(min(page_count, MAX_PAGES)):
            pixels = _decode(image, index)
            lines = read_picture(pixels, _PAGE_HEIGHT / max(pixels.shape))
            if lines:
                pages.append((index + 1 if page_count > 1 else None, lines))
    if not pages:
        raise IndexingError("shows no words that can be read")
    survey = Survey()
    for _, lines in pages:
        survey.add(lines)
    bodies = ((number, survey.without_running_heads(lines)) for number, lines in pages)
    ParagraphWriter(builder, survey, {}).write(bodies)
    note_unread(builder, page_count)


@contextmanager
def _open_image(path: Path) -> Iterator[Any]:
    """Open an image of any size; Pillow's limit does not know that a JPEG is decoded at a smaller size."""
    from PIL import Image, UnidentifiedImageError

    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with Image.open(path, formats=("PNG", "JPEG", "TIFF", "WEBP")) as image:
            yield image
    except UnidentifiedImageError as error:
        raise IndexingError("is damaged, or no image of the kind that its name says. Save it anew") from error
    finally:
        Image.MAX_IMAGE_PIXELS = limit


def _decode(image: Any, index: int) -> NDArray[np.uint8]:
    """Return a page in the form that the models need: reduced, on white, with channels blue, green, red."""
    from PIL import Image

    try:
        image.seek(index)
        image.draft("RGB", (MAX_SIDE, MAX_SIDE))
        if image.width * image.height > _MAX_PIXELS:
            limit = f"{_MAX_PIXELS // 1_000_000} million"
            raise IndexingError(
                f"has {image.width:,} x {image.height:,} pixels, and up to {limit} are read. Make it smaller"
            )
        if image.mode.startswith("I"):  # 16 bits of grey, which Pillow would cut off at 255
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        picture = image.convert("RGBA")
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise IndexingError(
            "is damaged: its picture is incomplete or cannot be decoded. Save it anew"
        ) from error
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    canvas = Image.new("RGBA", picture.size, "white")
    canvas.alpha_composite(picture)
    return np.ascontiguousarray(np.asarray(canvas.convert("RGB"))[:, :, ::-1])
