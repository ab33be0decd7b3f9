"""The documents of the questions: those in `documents/`, and those made from the Markdown in `made/`."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import docx
import pymupdf
from markdown_it import MarkdownIt

HERE = Path(__file__).parent
MADE = {"handbook.pdf", "report.pdf", "lease.docx"}
_STYLE = "body {font-family: sans-serif; font-size: 10.5pt} td, th {border: 1px solid black; padding: 3px}"


def make_documents(folder: Path) -> list[Path]:
    """Write all twelve documents into a folder, and return their paths."""
    for path in sorted((HERE / "documents").iterdir()):
        shutil.copy(path, folder)
    for name in sorted(MADE):
        text = (HERE / "made" / name).with_suffix(".md").read_text(encoding="utf-8")
        (_write_pdf if name.endswith(".pdf") else _write_docx)(text, folder / name)
    return sorted(folder.iterdir())


def read_source(name: str) -> str:
    """Return the text of a document, or the Markdown from which it is made."""
    folder, suffix = ("made", ".md") if name in MADE else ("documents", Path(name).suffix)
    return (HERE / folder / name).with_suffix(suffix).read_text(encoding="utf-8")


def _write_pdf(text: str, path: Path) -> None:
    """Write a Markdown text as a PDF of A4 pages, each with the title at the top and its number below."""
    story = pymupdf.Story(MarkdownIt().enable("table").render(text), user_css=_STYLE)
    page_box = pymupdf.paper_rect("a4")
    body = pymupdf.Rect(60, 70, page_box.x1 - 60, page_box.y1 - 70)
    story.write(writer := pymupdf.DocumentWriter(str(path)), lambda *_: (page_box, body, None))
    writer.close()
    title = text.splitlines()[0].removeprefix("# ")
    with pymupdf.open(path) as document:
        for number, page in enumerate(document, start=1):
            page.insert_text((60, 40), title, fontsize=8)
            page.insert_text((270, 810), f"Page {number} of {document.page_count}", fontsize=8)
        document.saveIncr()


def _write_docx(text: str, path: Path) -> None:
    """Write the headings, paragraphs and tables of a Markdown text as a Word document."""
    document = docx.Document()
    for block in text.split("\n\n"):
        if block.startswith("#"):
            marks, _, heading = block.strip().partition(" ")
            document.add_heading(heading, len(marks))
        elif block.startswith("|"):
            rows = list(_cells(block.splitlines()))
            table = document.add_table(len(rows), len(rows[0]), style="Table Grid")
            for row, cells in zip(table.rows, rows, strict=True):
                for cell, value in zip(row.cells, cells, strict=True):
                    cell.text = value
        else:
            document.add_paragraph(block.strip())
    document.save(str(path))


def _cells(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the cells of each row of a Markdown table, without the line below its header."""
    for line in lines:
        if not line.startswith("|---"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]
