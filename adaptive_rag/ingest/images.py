"""The image loader: text in photos and scans, page by page for a TIFF with several pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.layout import Survey
from adaptive_rag.ingest.ocr import LONGEST_SIDE, MOST_PAGES, note_unread, read_picture
from adaptive_rag.ingest.paragraphs import ParagraphWriter

# In memory a pixel takes 4 bytes, and 3 more if it is not stored in this form. A JPEG is decoded at a half, a
# quarter or an eighth of its size; the limit applies to the decoded size.
_MOST_PIXELS = 40_000_000
_PAGE_HEIGHT = 842  # in points: the assumed length of a picture's longer side


def load_image(path: Path, builder: TextBuilder) -> None:
    """Write the text shown in an image into `builder`."""
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(path, formats=("PNG", "JPEG", "TIFF", "WEBP"))
    except UnidentifiedImageError as error:
        raise IndexingError("is damaged, or no image of the kind that its name says. Save it anew") from error
    with image:
        # In other formats, several frames are an animation.
        pages = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        read = []
        for at in range(min(pages, MOST_PAGES)):
            pixels = _decode(image, at)
            lines = read_picture(pixels, _PAGE_HEIGHT / max(pixels.shape))
            if lines:
                read.append((at + 1 if pages > 1 else None, lines))
    if not read:
        raise IndexingError("shows no words that can be read")
    survey = Survey()
    for _, lines in read:
        survey.add(lines)
    ParagraphWriter(builder, survey, {}).write((number, survey.body(lines)) for number, lines in read)
    note_unread(builder, pages)


def _decode(image: Any, at: int) -> NDArray[np.uint8]:
    """Return a page in the form that the models need: reduced, on white, with channels blue, green, red."""
    from PIL import Image

    try:
        image.seek(at)
        image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
        if image.width * image.height > _MOST_PIXELS:
            most = f"{_MOST_PIXELS // 1_000_000} million"
            raise IndexingError(
                f"has {image.width:,} x {image.height:,} pixels, and up to {most} are read. Make it smaller"
            )
        whole = image.convert("RGBA")
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise IndexingError("is damaged: its picture breaks off or makes no sense. Save it anew") from error
    whole.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    white = Image.new("RGBA", whole.size, "white")
    white.alpha_composite(whole)
    return np.ascontiguousarray(np.asarray(white.convert("RGB"))[:, :, ::-1])
