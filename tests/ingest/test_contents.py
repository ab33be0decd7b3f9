import pytest

from tests.ingest.made_ole import make_doc, make_ole, make_ppt, make_xls, ppt_text
from tests.ingest.made_pdf import Text, make_pdf


def test_an_older_document_under_a_new_name_is_read(read_file):
    assert read_file("a.docx", make_doc("Shut the gate.\r")).text == "Shut the gate."
    assert read_file("a.pptx", make_ppt([(ppt_text(0, "Storms"), b"", "", False)])).text == "Storms"
    workbook = make_ole({"Workbook": make_xls([["Item", "Price"], ["Hook", 4]])})
    assert "Item: Hook" in read_file("a.xlsx", workbook).text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (rb"{\rtf1\ansi Shut the gate.\par}", "Shut the gate."),
        (b"<html><body><p>Shut the gate.</p></body></html>", "Shut the gate."),
        (b"MIME-Version: 1.0\nContent-Type: text/html\n\n<p>Shut the gate.</p>", "Shut the gate."),
        ("Schließ das Tor.".encode(), "Schließ das Tor."),
    ],
    ids=["rich text", "a page", "a page like a mail", "plain text"],
)
def test_what_is_named_a_word_document_is_read_as_what_it_is(read_file, content, text):
    assert read_file("a.doc", content).text.strip() == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"Item\tPrice\tStock\nHook\t4\t7\n", "Item: Hook\nPrice: 4\nStock: 7"),
        (b"<table><tr><th>Item<th>Price</tr><tr><td>Hook<td>4</tr></table>", "Item | Price\n\nHook | 4"),
    ],
)
def test_what_web_applications_export_as_a_workbook_is_read_as_what_it_is(read_file, content, text):
    assert read_file("a.xls", content).text == text


def test_a_page_that_is_named_a_pdf_is_read_and_lines_before_a_pdf_make_it_no_mail(read_file, tmp_path):
    page = b"<!doctype html><html><body><p>Shut the gate.</p></body></html>"
    assert read_file("a.pdf", page).text.strip() == "Shut the gate."
    pdf = make_pdf(tmp_path / "a.pdf", [[Text("Shut the gate.")]]).read_bytes()
    assert read_file("b.pdf", b"Subject: x\nMIME-Version: 1.0\n\n" + pdf).text == "Shut the gate."
