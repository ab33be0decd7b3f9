"""Writes the blocks of a made document in each format but PDF, as the programs that people use write them."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from email.message import EmailMessage
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.made_documents import Block, Heading, Items, Paragraph, Table

_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name if name != "draw" else "drawing"}:1.0"'
    for name in ("office", "style", "text", "table", "draw")
)
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
_NOTES_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
_CONTAINER = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
_PACKAGE = (
    '<package><metadata/><manifest><item id="one" href="one.xhtml" media-type="application/xhtml+xml"/>'
    '</manifest><spine><itemref idref="one"/></spine></package>'
)
# the lines of a text file are wrapped to so many characters
_WIDTH = 78


def to_html(blocks: Sequence[Block]) -> str:
    """Return blocks as a page, its footnotes at its end."""
    notes: list[str] = []
    parts = []
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"<h{block.level}>{escape(block.text)}</h{block.level}>")
            case Paragraph():
                mark = ""
                if block.note:
                    notes.append(block.note)
                    mark = f'<sup><a href="#n{len(notes)}">{len(notes)}</a></sup>'
                parts.append(f"<p>{escape(block.text)}{mark}</p>")
            case Items():
                parts.append(_html_list(block))
            case Table():
                parts.append(_html_table(block))
    listed = "".join(
        f'<p id="n{number}"><sup>{number}</sup> {escape(note)}</p>' for number, note in enumerate(notes, 1)
    )
    return f"<!DOCTYPE html><html><body>{''.join(parts)}{listed}</body></html>"


def _html_list(block: Items) -> str:
    written, depth = "", -1
    for level, text in block.items:
        written += "<ul>" * (level - depth) if level > depth else "</li></ul>" * (depth - level) + "</li>"
        written += f"<li>{escape(text)}"
        depth = level
    return written + "</li></ul>" * (depth + 1)


def _html_table(table: Table) -> str:
    written = ""
    for number, row in enumerate(table.grid):
        tag = "th" if number < len(table.header) else "td"
        cells = (
            f'<{tag} colspan="{columns}" rowspan="{rows}">{escape(text)}</{tag}>'
            for text, columns, rows in row
        )
        written += f"<tr>{''.join(cells)}</tr>"
    return f"<table>{written}</table>"


def write_html(path: Path, blocks: Sequence[Block]) -> None:
    """Write a page."""
    path.write_text(to_html(blocks), encoding="utf-8")


def write_mhtml(path: Path, blocks: Sequence[Block]) -> None:
    """Write a page as a browser saves it."""
    message = EmailMessage()
    message.set_content(to_html(blocks), subtype="html")
    path.write_bytes(message.as_bytes())


def write_eml(path: Path, blocks: Sequence[Block]) -> None:
    """Write a mail with a page as its text."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "Report"
    message.set_content(to_html(blocks), subtype="html")
    path.write_bytes(message.as_bytes())


def write_epub(path: Path, blocks: Sequence[Block]) -> None:
    """Write a book of one chapter."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", _CONTAINER)
        archive.writestr("book.opf", _PACKAGE)
        archive.writestr("one.xhtml", to_html(blocks))


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return blocks as Markdown."""
    parts = []
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"{'#' * block.level} {block.text}")
            case Paragraph():
                parts.append(block.text)
            case Items():
                parts.append("\n".join(f"{'  ' * depth}- {text}" for depth, text in block.items))
            case Table():
                rows = [block.columns, ("---",) * len(block.columns), *block.rows]
                parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts) + "\n"


def write_markdown(path: Path, blocks: Sequence[Block]) -> None:
    """Write Markdown."""
    path.write_text(to_markdown(blocks), encoding="utf-8")


def write_text(path: Path, blocks: Sequence[Block]) -> None:
    """Write plain text with its lines wrapped."""
    import textwrap

    texts = (block.text for block in blocks if isinstance(block, Heading | Paragraph))
    wrapped = (textwrap.fill(text, _WIDTH, break_on_hyphens=False) for text in texts)
    path.write_text("\n\n".join(wrapped) + "\n", encoding="utf-8")


def write_rst(path: Path, blocks: Sequence[Block]) -> None:
    """Write reStructuredText, without tables."""
    parts = []
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"{block.text}\n{'=-'[block.level - 1] * len(block.text)}")
        elif isinstance(block, Paragraph):
            parts.append(block.text)
        elif isinstance(block, Items):
            parts.append("\n\n".join(f"{'  ' * depth}- {text}" for depth, text in block.items))
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_notebook(path: Path, blocks: Sequence[Block]) -> None:
    """Write a notebook of Markdown cells, one for each heading and what stands under it."""
    groups: list[list[Block]] = []
    for block in blocks:
        if isinstance(block, Heading):
            groups.append([])
        groups[-1].append(block)
    cells = [{"cell_type": "markdown", "metadata": {}, "source": to_markdown(group)} for group in groups]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def write_docx(path: Path, blocks: Sequence[Block]) -> None:
    """Write a Word document."""
    import docx

    document = docx.Document()
    notes: list[str] = []
    for block in blocks:
        match block:
            case Heading():
                document.add_heading(block.text, block.level)
            case Paragraph():
                paragraph = document.add_paragraph(block.text)
                if block.note:
                    notes.append(block.note)
                    _refer_to_note(paragraph, len(notes))
            case Items():
                for depth, text in block.items:
                    document.add_paragraph(text, f"List Bullet{f' {depth + 1}' if depth else ''}")
            case Table():
                _fill(document.add_table(len(block.grid), len(block.columns)).cell, block)
    if notes:
        _add_docx_notes(document, notes)
    document.save(str(path))


def _refer_to_note(paragraph: Any, number: int) -> None:
    from lxml import etree

    run = etree.SubElement(paragraph._p, f"{{{_W}}}r")
    etree.SubElement(run, f"{{{_W}}}footnoteReference").set(f"{{{_W}}}id", str(number))


def _add_docx_notes(document: Any, notes: Sequence[str]) -> None:
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part

    written = "".join(
        f'<w:footnote w:id="{number}"><w:p><w:r><w:footnoteRef/></w:r><w:r>'
        f"<w:t>{escape(note)}</w:t></w:r></w:p></w:footnote>"
        for number, note in enumerate(notes, 1)
    )
    separator = '<w:footnote w:type="separator" w:id="0"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>'
    data = f'<w:footnotes xmlns:w="{_W}">{separator}{written}</w:footnotes>'.encode()
    part = Part(PackURI("/word/footnotes.xml"), _NOTES_TYPE, data, document.part.package)
    document.part.relate_to(part, _RELATION)


def _fill(cell: Callable[[int, int], Any], table: Table) -> None:
    """Write the cells of a table of Word or PowerPoint, and merge those that span several."""
    for row, column, text, columns, rows in _placed(table):
        first = cell(row, column)
        if columns > 1 or rows > 1:
            first.merge(cell(row + rows - 1, column + columns - 1))
        first.text = text


def _placed(table: Table) -> Iterator[tuple[int, int, str, int, int]]:
    """Yield each cell with its row and column, counted from 0, and how many of each it spans."""
    covered: set[tuple[int, int]] = set()
    for row, cells in enumerate(table.grid):
        column = 0
        for text, columns, rows in cells:
            while (row, column) in covered:
                column += 1
            covered |= {(row + down, column + right) for down in range(rows) for right in range(columns)}
            yield row, column, text, columns, rows


def write_odt(path: Path, blocks: Sequence[Block]) -> None:
    """Write an OpenDocument text."""
    parts, notes = [], 0
    for block in blocks:
        match block:
            case Heading():
                parts.append(f'<text:h text:outline-level="{block.level}">{escape(block.text)}</text:h>')
            case Paragraph():
                note = ""
                if block.note:
                    notes += 1
                    note = (
                        f"<text:note><text:note-citation>{notes}</text:note-citation><text:note-body><text:p>"
                        f"{escape(block.note)}</text:p></text:note-body></text:note>"
                    )
                parts.append(f"<text:p>{escape(block.text)}{note}</text:p>")
            case Items():
                listed = _html_list(block).replace("<li>", "<text:list-item><text:p>")
                for old, new in (
                    ("<ul>", "</text:p><text:list>"),
                    ("</ul>", "</text:list><text:p>"),
                    ("</li>", "</text:p></text:list-item>"),
                ):
                    listed = listed.replace(old, new)
                parts.append(f"<text:p>{listed}</text:p>".replace("<text:p></text:p>", ""))
            case Table():
                parts.append(f"<table:table>{_odf_rows(block)}</table:table>")
    _save_odf(path, "text", "".join(parts))


def _odf_rows(table: Table) -> str:
    rows: dict[int, list[str]] = {}
    placed = {(row, column): (text, columns, down) for row, column, text, columns, down in _placed(table)}
    for row in range(len(table.grid)):
        for column in range(len(table.columns)):
            if (row, column) in placed:
                text, columns, down = placed[row, column]
                cell = (
                    f'<table:table-cell table:number-columns-spanned="{columns}" '
                    f'table:number-rows-spanned="{down}"><text:p>{escape(text)}</text:p></table:table-cell>'
                )
            else:
                cell = "<table:covered-table-cell/>"
            rows.setdefault(row, []).append(cell)
    return "".join(f"<table:table-row>{''.join(cells)}</table:table-row>" for cells in rows.values())


def _save_odf(path: Path, kind: str, body: str) -> None:
    content = (
        f"<office:document-content {_ODF}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
        "</office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{path.suffix}")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", f"<manifest {_ODF}/>")


def write_rtf(path: Path, blocks: Sequence[Block]) -> None:
    """Write rich text, its tables without merged cells."""
    parts = [
        "{\\rtf1\\ansi\\ansicpg1252\\uc1{\\fonttbl{\\f0 Times;}}"
        "{\\stylesheet{\\s1 heading 1;}{\\s2 heading 2;}}\n"
    ]
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"\\pard\\s{block.level} {_rtf(block.text)}\\par\n")
            case Paragraph():
                note = (
                    f"{{\\super\\chftn{{\\footnote\\pard \\chftn {_rtf(block.note)}}}}}" if block.note else ""
                )
                parts.append(f"\\pard {_rtf(block.text)}{note}\\par\n")
            case Items():
                for depth, text in block.items:
                    marker = f"{{\\listtext\\bullet\\tab}}\\ls1\\ilvl{depth} "
                    parts.append(f"\\pard{marker}{_rtf(text)}\\par\n")
            case Table():
                for row in (*block.header, *block.rows):
                    edges = "".join(f"\\cellx{2000 * at}" for at in range(1, len(row) + 1))
                    cells = "".join(f"\\pard\\intbl {_rtf(cell)}\\cell" for cell in row)
                    parts.append(f"\\trowd{edges}{cells}\\row\n")
    path.write_text("".join(parts) + "}", encoding="ascii")


def _rtf(text: str) -> str:
    return "".join(
        char if char.isascii() else f"\\u{ord(char) if ord(char) < 32768 else ord(char) - 65536}?"
        for char in text
    )


def write_pptx(path: Path, blocks: Sequence[Block]) -> None:
    """Write slides, one for each heading; long tables go on over several, each with the names of columns."""
    import pptx
    from pptx.util import Cm

    deck = pptx.Presentation()
    slide: Any = None
    top = 0.0
    for block in blocks:
        if isinstance(block, Heading):
            slide = deck.slides.add_slide(deck.slide_layouts[5])
            slide.shapes.title.text = block.text
            top = 5.0
        elif isinstance(block, Table):
            shape = slide.shapes.add_table(len(block.grid), len(block.columns), Cm(1), Cm(top), Cm(20), Cm(8))
            _fill(shape.table.cell, block)
            top += 8
        else:
            frame = slide.shapes.add_textbox(Cm(1), Cm(top), Cm(20), Cm(4)).text_frame
            lines = block.items if isinstance(block, Items) else ((0, block.text),)
            for number, (depth, text) in enumerate(lines):
                paragraph = frame.add_paragraph() if number else frame.paragraphs[0]
                paragraph.text, paragraph.level = text, depth
            top += 4
    deck.save(str(path))


def write_xlsx(path: Path, blocks: Sequence[Table]) -> None:
    """Write a sheet."""
    import openpyxl

    [table] = blocks
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row, column, text, columns, rows in _placed(table):
        sheet.cell(row + 1, column + 1, text)
        if columns > 1 or rows > 1:
            sheet.merge_cells(
                start_row=row + 1, start_column=column + 1, end_row=row + rows, end_column=column + columns
            )
    book.save(path)


def write_ods(path: Path, blocks: Sequence[Table]) -> None:
    """Write an OpenDocument sheet."""
    [table] = blocks
    _save_odf(path, "spreadsheet", f'<table:table table:name="Sheet1">{_odf_rows(table)}</table:table>')


def write_csv(path: Path, blocks: Sequence[Table]) -> None:
    """Write values with commas between them, or tabs by the file's suffix."""
    [table] = blocks
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerow(table.columns)
        writer.writerows(table.rows)


def write_json(path: Path, blocks: Sequence[Table]) -> None:
    """Write a list of objects, or one a line by the file's suffix."""
    [table] = blocks
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    lines = "\n".join(map(json.dumps, rows))
    path.write_text(lines if path.suffix == ".jsonl" else json.dumps(rows, indent=2), encoding="utf-8")


_Write = Callable[[Path, Sequence[Any]], None]
# by suffix: what holds a whole document, and what holds one table and nothing else
WHOLE: dict[str, _Write] = {
    "html": write_html,
    "mhtml": write_mhtml,
    "epub": write_epub,
    "eml": write_eml,
    "md": write_markdown,
    "rst": write_rst,
    "txt": write_text,
    "ipynb": write_notebook,
    "docx": write_docx,
    "odt": write_odt,
    "rtf": write_rtf,
    "pptx": write_pptx,
}
TABLES: dict[str, _Write] = {
    "xlsx": write_xlsx,
    "ods": write_ods,
    "csv": write_csv,
    "tsv": write_csv,
    "json": write_json,
    "jsonl": write_json,
}
