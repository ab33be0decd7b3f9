"""Files that no loader can read, of every format: each is refused with what is wrong and what to do."""

import io
import zipfile

import docx
import openpyxl
import pptx
import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from tests.ingest.made_office import change_parts
from tests.ingest.made_ole import make_doc, make_ole, make_ppt, make_xls, ppt_text

OLE = b"\xd0\xcf\x11\xe0" + b"x" * 600
SECRET = make_ppt([(ppt_text(0, "Secret"), b"", "", False)], token=0xF3D1C4DF)
CUT_OFF = make_ole({"Workbook": make_xls([["Item", "Price"], ["Hinge", 3]])})[:-1]
DEEP = b"From: a\n" + b"".join(
    b"Content-Type: multipart/x; boundary=%d\n\n--%d\n" % (i, i) for i in range(900)
)


def zipped(name, text):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, text)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.docx", b"PK\x03\x04 junk", "is not a Word document or is damaged"),
        ("a.docx", b"PK\x05\x06" + b"\0" * 12 + b"\xf0\xff\xff\xff" + b"\0" * 2, "is not a Word document"),
        ("a.docx", zipped("readme.xml", "<a/>"), "is not a Word document"),
        ("a.docx", OLE, r"is encrypted, or is in the older \.doc format"),
        ("a.docx", make_ole({"EncryptedPackage": b"x"}), r"asks for a password\. Save it without one"),
        ("a.docx", make_ole({"EncryptionInfo": b"x"}), "asks for a password"),
        ("a.doc", make_ole({"CONTENTS": b"x"}), r"is not a Word document or is .*save it as \.docx"),
        ("a.doc", make_doc("Secret\r", flags=0x0100), "asks for a password"),
        ("a.xlsx", b"PK\x03\x04 junk", "is not an Excel workbook or is damaged"),
        ("a.xlsx", OLE, r"is encrypted, or is in the older \.xls format. Save it as \.xlsx"),
        ("a.xls", OLE, r"is not an Excel workbook or is damaged.*save it as \.xlsx"),
        ("a.xls", CUT_OFF, "is not an Excel workbook or is damaged"),
        ("a.xlsb", CUT_OFF, "is not an Excel workbook or is damaged"),
        ("a.ppt", make_ole({"Other": b"x"}), r"is not a PowerPoint presentation.*save it as \.pptx"),
        ("a.ppt", SECRET, "asks for a password"),
        ("a.xps", b"no archive", r"is damaged\. Fetch"),
        ("a.oxps", zipped("[Content_Types].xml", "<Types/>"), "is damaged"),
        ("a.rtf", "Shut the gate.", "is not a rich text document"),
        ("a.msg", "From: ana@example.org\n\nhello", "is no mail of Outlook"),
        ("a.eml", "Shut the gate.\n", "is no mail"),
        ("a.eml", DEEP, "nested too deep"),
        ("a.mbox", "Shut the gate.\n", "is no mailbox"),
        ("a.ipynb", '{"cells": {}}', "is no notebook"),
        ("a.ipynb", "[1]", "is no notebook"),
        ("a.ipynb", "no JSON", "is no notebook"),
        ("a.vtt", "WEBVTT\n", "holds no subtitles"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n\n", "holds no subtitles"),
        ("a.srt", "Shut the gate.", "holds no subtitles"),
        ("a.xml", b"\x01\x02 nothing", "is not XML or is damaged"),
        ("a.jsonl", "{oops\n", "no line of JSON"),
        ("a.csv", "a,b\n", "no rows"),
        ("a.json", '{"a": 1,\n"b": }', "cannot be read as JSON: no JSON from character 15 on"),
        ("a.json", "[" * 100_000, "nested too deep"),
        ("a.json", '{"a": {"b": [null, ""]}}', "holds no text"),
        ("a.txt", b"PK\x00\x03\x04binary\x00", "binary"),
        *((f"a.{suffix}", " \n\t\n", "holds no text") for suffix in ("txt", "md", "html")),
        *(("a.htm", page, "holds no text") for page in ("<noframes>", "<!-- nothing -->", "<p></p>")),
        ("a.htm", "<p style='display:none'>Ignore this.</p>", "no text: its styles hide 2 words"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 9 else "",
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_reason(read_file, name, content, reason):
    with pytest.raises(IndexingError, match=reason):
        read_file(name, content)


@pytest.mark.parametrize(
    ("name", "part", "reason"),
    [
        ("a.docx", "word/document.xml", "is not a Word document or is damaged"),
        ("a.docx", "word/styles.xml", "is not a Word document or is damaged"),
        ("a.xlsx", "xl/workbook.xml", "is not an Excel workbook or is damaged"),
        ("a.pptx", "ppt/presentation.xml", "is not a PowerPoint presentation or is damaged"),
        ("a.pptx", "_rels/.rels", "is not a PowerPoint presentation or is damaged"),
        ("a.pptx", "ppt/slides/slide1.xml", "holds no text"),
    ],
)
def test_a_part_that_is_something_else_is_refused(tmp_path, name, part, reason):
    path, deck = tmp_path / name, pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Costs"
    made = {".docx": docx.Document(), ".xlsx": openpyxl.Workbook(), ".pptx": deck}
    made[path.suffix].save(path)
    change_parts(path, lambda each, data: b"<a/>" if each == part else data)
    with pytest.raises(IndexingError, match=reason):
        extract_text(path)
