import zipfile

import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = (
    f'<w:styles {W}><w:style w:styleId="Berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="Chapter"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
    "</w:styles>"
)


def paragraph(text, properties=""):
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def make_docx(path, *blocks):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/styles.xml", STYLES)
        archive.writestr(
            "word/document.xml", f"<w:document {W}><w:body>{''.join(blocks)}</w:body></w:document>"
        )
    return path


def test_paragraphs_headings_lists_and_tables_are_read(tmp_path):
    item = "<w:numPr/>"
    table = f"<w:tbl><w:tr><w:tc>{paragraph('Level')}</w:tc><w:tc>{paragraph('Height')}</w:tc></w:tr></w:tbl>"
    path = make_docx(
        tmp_path / "a.docx",
        paragraph("Storms", '<w:pStyle w:val="Berschrift1"/>'),
        paragraph("Levels", '<w:pStyle w:val="Own"/>'),
        paragraph("Shut  the gate."),
        paragraph("", ""),
        paragraph("First", item),
        paragraph("Second", item),
        table,
    )
    source = extract_text(path)
    assert source.text == "Storms\n\nLevels\n\nShut the gate.\n\n- First\n- Second\n\nLevel | Height"
    assert [(heading.title, heading.level) for heading in source.headings] == [("Storms", 1), ("Levels", 2)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04 junk", "not a Word document"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "encrypted, or is in the older"),
    ],
)
def test_what_is_no_word_document_is_refused(tmp_path, content, reason):
    path = tmp_path / "a.docx"
    path.write_bytes(content)
    with pytest.raises(IndexingError, match=reason):
        extract_text(path)
