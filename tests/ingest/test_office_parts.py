"""Holds the cells of the table "Parts outside the main text" in docs/formats.md that no other test holds."""

import time

import docx
import openpyxl

from adaptive_rag.ingest import extract_text
from adaptive_rag.ingest.page_headers import select_edges
from tests.ingest.made_office import ODF, save_open_document


def save_with_headers(folder, header, footer, text="Shut the gate."):
    document = docx.Document()
    document.add_paragraph(text)
    document.sections[0].header.paragraphs[0].text = header
    document.sections[0].footer.paragraphs[0].text = footer
    document.save(folder / "a.docx")
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet()):
        sheet["A1"] = text
        sheet.oddHeader.center.text = header
        sheet.oddHeader.center.font = "Arial,Bold"
        sheet.oddFooter.right.text = f"{footer} &P"
    book.save(folder / "a.xlsx")
    edges = f"<style:header><text:p>{header}</text:p></style:header>"
    edges += f"<style:footer><text:p>{footer} <text:page-number>1</text:page-number></text:p></style:footer>"
    master = f"<office:master-styles><style:master-page>{edges}</style:master-page></office:master-styles>"
    styles = {"styles.xml": f"<office:document-styles {ODF}>{master}</office:document-styles>"}
    save_open_document(folder / "a.odt", f"<text:p>{text}</text:p>", **styles)
    cell = f"<table:table-cell><text:p>{text}</text:p></table:table-cell>"
    sheet = f"<table:table><table:table-row>{cell}</table:table-row></table:table>"
    save_open_document(folder / "a.ods", sheet, **styles)
    rich = f"{{\\rtf1{{\\header {header}\\par}}{{\\footerf {footer} 1}}{text}\\par}}"
    (folder / "a.rtf").write_text(rich)
    return [folder / f"a.{suffix}" for suffix in ("docx", "odt", "rtf", "xlsx", "ods")]


def test_headers_of_pages_are_read_once_and_numbers_of_pages_are_not(tmp_path):
    paths = save_with_headers(tmp_path, "Mill Surgery, (555) 555-1212", "Page")
    texts = [extract_text(path).text for path in paths]
    assert texts[:3] == ["Mill Surgery, (555) 555-1212\n\nShut the gate."] * 3
    assert [text.count("Mill Surgery, (555) 555-1212") for text in texts[3:]] == [1, 1]
    assert not any("Page" in text or "Arial" in text for text in texts)


def test_a_header_that_repeats_the_document_is_left_out(tmp_path):
    for path in save_with_headers(tmp_path, "Shut the gate", "Page")[:3]:
        assert extract_text(path).text == "Shut the gate."


def test_a_long_rule_before_a_header_is_told_from_a_page_number_in_linear_time():
    rule = "-" * 10_000
    started = time.process_time()
    assert select_edges([f"{rule} Mill Surgery", f"{rule} Page 3"], set()) == [f"{rule} Mill Surgery"]
    assert time.process_time() - started < 5
