"""Documents of many kinds, for the tests that open them."""

import io
from functools import cache

import docx
import openpyxl
import pptx
import pymupdf

NOTES = "# Bells 🔔\n\nThe 👩🏽 of Grauholm rang. 🎉🎉\n\n## Tides\n\nThe tide of 1911 stood at 6.2 metres.\n"
PAGES = 200
READ = (1, 2, 3, 120, 180)  # the others hold no text
LINES = 600
WALL = (
    "# Harbour\n\nThe **wall** is `high`; see [its site](https://example.org)\ue002 and [below](#level).\n\n"
    "| Year | Level |\n|---|---|\n| 1953 | 4.10 m |\n\n- [x] one\n- [ ] two\n\n![Map](a.png)\n\n"
    "<img src=x onerror=alert(1)>\n"
)


def sluice(number: int) -> str:
    return f"Sluice {number} opens at {number % 12} o'clock, when the efficient keeper rings twice."


@cache
def book() -> bytes:
    """Return a PDF of many pages; the text of each breaks within a word."""
    made = pymupdf.open()
    for number in range(1, PAGES + 1):
        page = made.new_page(width=420, height=595 if number % 2 else 500)
        if number in READ:
            page.insert_text((50, 80), f"{number} Sluices", fontsize=16)
            page.insert_text((50, 300), sluice(number).replace("efficient", "effi-\ncient"), fontsize=11)
    return bytes(made.tobytes())


def letter() -> bytes:
    made = docx.Document()
    made.add_heading("Harbour", 1)
    made.add_paragraph("Dear keeper, the harbour closes at dusk. Yours, Ada.")
    table = made.add_table(2, 2)
    for row, texts in zip(table.rows, (("Year", "Level"), ("1953", "4.10 m")), strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def slides() -> bytes:
    """Return a presentation: a slide with a title and a table, and one without."""
    made = pptx.Presentation()
    first, second = (made.slides.add_slide(made.slide_layouts[1]) for _ in range(2))
    first.shapes.title.text, first.placeholders[1].text = "Quay", "The quay is raised in May."
    cells = first.shapes.add_table(2, 2, 0, 3_000_000, 5_000_000, 900_000).table
    for row, texts in enumerate((("Part", "Price"), ("Stone", "3.1"))):
        for column, text in enumerate(texts):
            cells.cell(row, column).text = text
    second.placeholders[1].text = "Nobody named this slide."
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def sheets() -> bytes:
    made = openpyxl.Workbook()
    for name, rows in (("Hinges", [("Item", "Price"), ("Brass", 4.2), ("Steel", 3.1)]),
                       ("Keepers", [("Name", "Tower"), ("Ada", "North"), ("Wim", "South")])):  # fmt: skip
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.remove(made.worksheets[0])
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def scan() -> bytes:
    """Return a PDF whose page is a picture."""
    made = pymupdf.open()
    picture = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 60, 80))
    picture.clear_with(200)
    made.new_page().insert_image(pymupdf.Rect(50, 50, 300, 400), pixmap=picture)
    return bytes(made.tobytes())


def papers() -> dict[str, bytes]:
    """Return documents of many kinds by their names."""
    return {
        "notes.md": NOTES.encode(),
        "wall.md": WALL.encode(),
        "prices.csv": b"Item,Price\nHinge,4.20\nLatch,7.35\n",
        "quay.html": b"<h1>Quay</h1><p>The <b>east quay</b> is &amp; stays closed.</p>",
        "letter.docx": letter(),
        "book.pdf": book(),
        "broken.pdf": b"%PDF-1.4\nnothing of it can be read",
        "scan.pdf": scan(),
        "plan.pptx": slides(),
        "prices.xlsx": sheets(),
        "long.txt": "".join(
            f"Line {n} of the long log of the lighthouse.\n\n" for n in range(LINES)
        ).encode(),
    }
