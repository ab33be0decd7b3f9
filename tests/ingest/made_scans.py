"""Pages of text drawn as pictures at 150 dpi, as a scanner makes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pymupdf
from numpy.typing import NDArray

DPI = 150
HARBOUR = (
    "The harbour of Tidewick was dredged in 1987 to a depth of 7.5 metres. Since then ferries of up to 120 "
    "metres may enter at every tide, though the harbour master asks them to wait when the wind blows "
    "stronger than 8 from the north-east. The quay is lit by 24 lamps, which are turned off at midnight."
)
BIRDS = (
    "Seagulls nest on the roofs of the old warehouses from April to July. They may not be disturbed, and so "
    "no roof is mended in that time. In 2019 the council counted 412 nests, a third more than ten years "
    "before. Bins are locked at night, which keeps the birds away from the market."
)
TITLE = "A Report on the Harbour and its Birds"
PRICES = [
    ("Item", "Length", "Price"),
    ("Hinge", "12 cm", "£4.20"),
    ("Rope", "20 m", "£15.75"),
    ("Bolt", "8 cm", "£1.10"),
]


def page_in_columns(document: pymupdf.Document) -> pymupdf.Page:
    """Add a page with a title over two columns, and a table below them."""
    page = document.new_page()
    page.insert_text((60, 80), TITLE, fontsize=18, fontname="helv")
    page.insert_textbox((60, 110, 290, 400), HARBOUR, fontsize=10, fontname="tiro")
    page.insert_textbox((310, 110, 540, 400), BIRDS, fontsize=10, fontname="tiro")
    for row, cells in enumerate(PRICES):
        for x, cell in zip((60, 220, 340), cells, strict=True):
            page.insert_text((x, 420 + 16 * row), cell, fontsize=11, fontname="helv")
    return page


def note(text: str) -> pymupdf.Pixmap:
    """Draw a slip of paper with some lines on it."""
    with pymupdf.open() as document:
        page = document.new_page(width=360, height=120)
        page.insert_textbox((20, 20, 340, 110), text, fontsize=11, fontname="tiro")
        return page.get_pixmap(dpi=DPI)


def pixels_of(drawn: pymupdf.Pixmap) -> NDArray[np.uint8]:
    return np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width, 3)


def save_scan(path: Path, *pages: pymupdf.Pixmap | str) -> Path:
    """Write a PDF of pictures; a text makes a page that holds it as text."""
    with pymupdf.open() as document:
        for drawn in pages:
            page = document.new_page()
            if isinstance(drawn, str):
                page.insert_textbox((60, 60, 540, 400), drawn, fontsize=11)
            else:
                width, height = drawn.width * 72 / DPI, drawn.height * 72 / DPI
                page.insert_image((0, 0, width, height), stream=drawn.tobytes("png"))
        document.save(path)
    return path
