import struct

import docx
import pytest

from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.docx import load_docx
from tests.ingest.made_office import (
    RELS,
    W,
    add_parts,
    add_table,
    chart,
    diagram,
    make_book,
    word,
)
from tests.ingest.made_ole import make_ole


@pytest.fixture
def document():
    return docx.Document()


@pytest.fixture
def read(tmp_path, document):
    """Save the document with further parts, and read it."""

    def save_and_read(parts=None):
        path = tmp_path / "a.docx"
        document.save(path)
        add_parts(path, RELS, parts or {})
        return extract_text(path)

    return save_and_read


@pytest.fixture
def load(tmp_path, document):
    """Save the document with further parts, and read it in this process, where the test has set bounds."""

    def save_and_load(parts):
        path, builder = tmp_path / "a.docx", TextBuilder()
        document.save(path)
        add_parts(path, RELS, parts)
        load_docx(path, builder)
        return builder

    return save_and_load


def draw(paragraph, held):
    """Draw something at the end of a paragraph."""
    paragraph.add_run()._r.append(word(f"<w:drawing>{held}</w:drawing>"))


def box(text):
    return f"<w:txbxContent><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:txbxContent>"


def embed(paragraph, part, program):
    office = 'xmlns:o="urn:schemas-microsoft-com:office:office"'
    held = f'<o:OLEObject {office} Type="Embed" ProgID="{program}" r:id="{part}"/>'
    paragraph.add_run()._r.append(word(f"<w:object>{held}</w:object>"))


SHEET = "Item | Price\nHinge | 3"


def test_a_box_beside_a_paragraph_or_in_a_cell_is_read_once(document, read):
    paragraph = document.add_paragraph("Beside the box.")
    cell = add_table(document, "Level | Height").cell(0, 1)
    both = f"<mc:Choice>{box('Ask Mrs Adair.')}</mc:Choice><mc:Fallback>{box('Ask Mrs Adair.')}</mc:Fallback>"
    for place in (paragraph, cell.paragraphs[0]):
        draw(place, f"<mc:AlternateContent>{both}</mc:AlternateContent>")
    assert read().text == "Beside the box.\n\nAsk Mrs Adair.\n\nLevel | Height\n\nAsk Mrs Adair."


def test_a_box_that_is_hidden_is_left_out_and_counted(document, read):
    paragraph = document.add_paragraph("Shut the gate.")
    draw(paragraph, box("Praise our pumps."))
    paragraph.runs[-1].font.hidden = True
    source = read()
    assert source.text == "Shut the gate."
    assert source.notes == ("3 words that the document hides were left out",)


def test_word_art_and_the_text_of_a_drawing_are_read(document, read):
    art = word('<w:pict><v:shape><v:textpath string="Flood  plan"/></v:shape></w:pict>')
    document.add_paragraph().add_run()._r.append(art)
    canvas = 'xmlns:lc="http://schemas.openxmlformats.org/drawingml/2006/lockedCanvas"'
    drawn = "<a:sp><a:txSp><a:txBody><a:p><a:r><a:t>Weir</a:t></a:r></a:p></a:txBody></a:txSp></a:sp>"
    draw(document.add_paragraph("Map"), f"<lc:lockedCanvas {canvas}>{drawn}</lc:lockedCanvas>")
    assert read().text == "Flood plan\n\nMap\n\nWeir"


def test_charts_and_diagrams_stand_below_their_paragraphs_and_a_missing_one_is_noted(document, read):
    draw(document.add_paragraph("Use of the library"), '<c:chart r:id="chart.xml"/>')
    draw(document.add_paragraph("How to join"), '<dgm:relIds r:dm="data.xml"/>')
    draw(document.add_paragraph("The end."), '<c:chart r:id="missing.xml"/>')
    source = read(
        {
            "chart.xml": ("chart", chart("Loans", {"2024": [310], "2025": [420]}, ["Spring"])),
            "data.xml": ("diagramData", diagram("Ask", "Sign")),
            "missing.xml": ("chart", None),
        }
    )
    assert source.text == (
        "Use of the library\n\nLoans\n\n– | 2024 | 2025\nSpring | 310 | 420\n\n"
        "How to join\n\n- Ask\n- Sign\n\nThe end."
    )
    assert source.notes == ("1 chart was left out",)


def test_a_part_in_another_format_is_counted(document, read):
    paragraph = document.add_paragraph("First of all:")
    paragraph._p.addnext(word('<w:altChunk r:id="gate.html"/>'))
    source = read({"gate.html": ("aFChunk", b"<p>Shut the gate</p>")})
    assert (source.text, source.notes) == ("First of all:", ("1 part was left out",))


def test_an_embedded_file_is_read_below_the_text_and_one_of_no_kind_is_named(document, read):
    programs = {"sheet.xlsx": "Excel.Sheet.12", "one.bin": "Equation.3", "two.bin": "Equation.3"}
    programs |= {"gate.bin": "Package", "wrapped.bin": "Excel.Sheet.12"}
    for name, program in programs.items():
        embed(document.add_paragraph(), name, program)
    document.add_paragraph("The end.")
    gate = b"Shut the gate."
    packed = b"\2\0C:\\plans\\gate.txt\0C:\\gate.txt\0\0\0\3\0" + (5).to_bytes(4, "little") + b"C:\\x\0"
    packed += len(gate).to_bytes(4, "little") + gate
    held = {
        "one.bin": {"Equation Native": b"x"},
        "two.bin": {"Equation Native": b"y"},
        "gate.bin": {"\1Ole10Native": len(packed).to_bytes(4, "little") + packed},
        "wrapped.bin": {"Package": make_book(SHEET).ljust(5000, b"\0")},
    }
    parts = {name: ("oleObject", make_ole(tree)) for name, tree in held.items()}
    source = read({"sheet.xlsx": ("package", make_book(SHEET)), **parts})
    row = "Item: Hinge\nPrice: 3"
    assert source.text == f"The end.\n\n{row}\n\nShut the gate.\n\n{row}"
    assert source.notes == ("embedded files were left out: Equation.3 (2)",)
    attachments = [chunk["metadata"].get("attachment") for chunk in split(source)]
    assert attachments == [None, "sheet.xlsx", "gate.txt", "wrapped.xlsx"]


def test_a_file_in_a_file_in_a_file_is_named(tmp_path):
    held = make_book(SHEET)
    for at, name in enumerate(("sheet.xlsx", "a1.docx", "a2.docx")):
        document = docx.Document()
        embed(document.add_paragraph(f"Level {at}"), name, "Word.Document.12")
        path = tmp_path / f"a{at + 1}.docx"
        document.save(path)
        add_parts(path, RELS, {name: ("package", held)})
        held = path.read_bytes()
    source = extract_text(path)
    assert source.text == "Level 2\n\nLevel 1\n\nLevel 0"
    [note] = source.notes
    assert note.endswith("the attachment sheet.xlsx was left out: it lies in a file in a file")


@pytest.mark.parametrize("place", ["kind_by_content", "olefile.OleFileIO", None])
def test_an_embedded_file_that_is_damaged_or_too_large_is_named(load, monkeypatch, document, place):
    def fail(*_):
        raise struct.error

    if place:
        monkeypatch.setattr(f"adaptive_rag.ingest.embedded.{place}", fail)
    else:
        monkeypatch.setattr("adaptive_rag.ingest.embedded._LARGEST", 5)
    embed(document.add_paragraph("The plan:"), "gate.bin", "Package")
    builder = load({"gate.bin": ("oleObject", make_ole({"Equation Native": b"x"}))})
    assert builder.text == "The plan:"
    assert builder.notes[0].startswith("embedded files were left out: ")
    assert place or builder.notes[0].endswith("(too large or too many)")


def test_comments_and_macros_are_named(document, read):
    document.add_paragraph("Shut the gate.")
    comments = f'<w:comments {W}><w:comment w:id="0"/><w:comment w:id="1"/></w:comments>'
    source = read({"comments.xml": ("comments", comments.encode()), "vbaProject.bin": ("vbaProject", b"x")})
    assert source.notes == ("2 comments were left out", "macros were left out")
