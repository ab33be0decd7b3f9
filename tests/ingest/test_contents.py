import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from tests.ingest.made_ole import make_doc, make_ole, make_ppt, make_xls, ppt_text
from tests.ingest.made_pdf import Text, make_pdf


@pytest.fixture
def read(tmp_path):
    def read_file(name, data):
        (tmp_path / name).write_bytes(data)
        return extract_text(tmp_path / name)

    return read_file


def test_an_older_document_under_a_new_name_is_read(read):
    assert read("a.docx", make_doc("Shut the gate.\r")).text == "Shut the gate."
    assert read("a.pptx", make_ppt([(ppt_text(0, "Storms"), b"", "", False)])).text == "Storms"
    workbook = make_ole({"Workbook": make_xls([["Item", "Price"], ["Hook", 4]])})
    assert "Item: Hook" in read("a.xlsx", workbook).text


def test_rich_text_a_page_a_mail_like_page_and_plain_text_are_read_as_doc(read):
    assert read("a.doc", rb"{\rtf1\ansi Shut the gate.\par}").text == "Shut the gate."
    assert read("b.doc", b"<html><body><p>Shut the gate.</p></body></html>").text.strip() == "Shut the gate."
    page = b"MIME-Version: 1.0\nContent-Type: text/html\n\n<p>Shut the gate.</p>"
    assert read("c.doc", page).text.strip() == "Shut the gate."
    assert read("d.doc", "Schließ das Tor.".encode()).text == "Schließ das Tor."


def test_a_page_that_is_named_a_pdf_is_read_and_lines_before_a_pdf_make_it_no_mail(read, tmp_path):
    page = b"<!doctype html><html><body><p>Shut the gate.</p></body></html>"
    assert read("a.pdf", page).text.strip() == "Shut the gate."
    pdf = make_pdf(tmp_path / "a.pdf", [[Text("Shut the gate.")]]).read_bytes()
    assert read("b.pdf", b"Subject: x\nMIME-Version: 1.0\n\n" + pdf).text == "Shut the gate."


@pytest.mark.parametrize("stream", ["EncryptedPackage", "EncryptionInfo"])
def test_a_document_with_a_password_is_told_from_an_older_one(read, stream):
    with pytest.raises(IndexingError, match=r"a\.docx asks for a password\. Save it without one"):
        read("a.docx", make_ole({stream: b"x"}))


def test_an_ole_file_of_another_kind_keeps_the_reason_of_its_suffix(read):
    with pytest.raises(IndexingError, match="is not a Word document or is damaged"):
        read("a.doc", make_ole({"CONTENTS": b"x"}))
