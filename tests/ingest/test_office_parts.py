"""Holds the cells of the table "Parts outside the main text" in docs/formats.md that no other test holds."""

import time

import docx
import openpyxl
import pptx
from openpyxl.styles import Font
from pptx.dml.color import RGBColor

from adaptive_rag.ingest import extract_text
from adaptive_rag.ingest.page_headers import select_edges
from tests.ingest.made_office import ODF, XDR, A, M, add_parts, make_book, save_open_document


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


def test_white_letters_of_slides_and_sheets_are_read(tmp_path):
    deck = pptx.Presentation()
    box = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(0, 0, 100, 100)
    box.text_frame.text = "Shut the gate."
    box.text_frame.paragraphs[0].runs[0].font.color.rgb = RGBColor(255, 255, 255)
    deck.save(tmp_path / "a.pptx")
    book = openpyxl.Workbook()
    book.active["A1"] = "Shut the gate."
    book.active["A1"].font = Font(color="FFFFFFFF")
    book.save(tmp_path / "a.xlsx")
    for suffix in ("pptx", "xlsx"):
        assert extract_text(tmp_path / f"a.{suffix}").text == "Shut the gate."


def test_an_equation_in_a_box_of_a_sheet_is_read_as_linear_text(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(make_book("Area"))
    run = "<m:r><m:t>{}</m:t></m:r>".format
    power = f"<m:sSup><m:e>{run('r')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    box = f"<xdr:sp><xdr:txBody><a:p><m:oMath {M}>{power}</m:oMath></a:p></xdr:txBody></xdr:sp>"
    drawing = f"<xdr:wsDr {XDR} {A}>{box}</xdr:wsDr>".encode()
    rels = "xl/worksheets/_rels/sheet1.xml.rels"
    add_parts(tmp_path / "a.xlsx", rels, {"drawing.xml": ("drawing", drawing)})
    assert extract_text(tmp_path / "a.xlsx").text == "Area\n\nr^2"


def test_comments_of_a_sheet_are_named(tmp_path):
    noted = "<office:annotation><text:p>Is this so?</text:p></office:annotation><text:p>Hinge</text:p>"
    cell = f"<table:table-cell>{noted}</table:table-cell>"
    table = f'<table:table table:name="A"><table:table-row>{cell}</table:table-row></table:table>'
    source = extract_text(save_open_document(tmp_path / "a.ods", table))
    assert (source.text, source.notes) == ("Hinge", ("1 comment was left out",))
