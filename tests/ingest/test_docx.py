import zipfile
from itertools import chain

import docx
import pytest
from docx.oxml.parser import parse_xml
from lxml import etree

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.docx import load_docx
from adaptive_rag.ingest.numbering import Numbering

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'


@pytest.fixture
def document():
    return docx.Document()


@pytest.fixture
def read(tmp_path, document):
    """Save the document and read it."""

    def save_and_read():
        document.save(tmp_path / "a.docx")
        return extract_text(tmp_path / "a.docx")

    return save_and_read


def test_paragraphs_headings_lists_and_tables_are_read(document, read):
    document.add_heading("Storms", 1)
    document.add_heading("Levels", 2)
    document.add_paragraph("Shut  the\tgate\nnow.")
    document.add_paragraph("")
    document.add_paragraph("First", style="List Bullet")
    item = document.add_paragraph("Second")
    item._p.get_or_add_pPr().append(parse_xml(f'<w:numPr {W}><w:numId w:val="99"/></w:numPr>'))
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Level", "Height", "1", ""], strict=True):
        cell.text = text
    source = read()
    assert source.text == ("Storms\n\nLevels\n\nShut the gate now.\n\n- First\n- Second\n\nLevel | Height\n1")
    assert [heading.section for heading in source.headings] == ["Storms", "Levels"]
    for chunk in split(source, size=50, overlap=0):
        assert source.text[chunk["start"] : chunk["end"]] == chunk["text"]


def test_numbers_stand_before_items_headings_and_cells_as_word_shows_them(document, read):
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{kind}"/>'
        f'{style}<w:lvlText w:val="{text}"/></w:lvl>'
        for at, start, kind, style, text in (
            (0, 4, "decimal", '<w:pStyle w:val="Heading1"/>', "%1"),
            (1, 1, "decimal", '<w:pStyle w:val="Heading2"/>', "%1.%2"),
            (2, 1, "lowerLetter", "", "%3)"),
            (3, 1, "upperRoman", "", "(%4)"),
        )
    )
    restart = '<w:lvlOverride w:ilvl="2"><w:startOverride w:val="1"/></w:lvlOverride>'
    numbering = document.part.numbering_part.element
    numbering.insert(0, parse_xml(f'<w:abstractNum {W} w:abstractNumId="70">{levels}</w:abstractNum>'))
    for number, override in ((71, ""), (72, restart)):
        numbering.append(
            parse_xml(f'<w:num {W} w:numId="{number}"><w:abstractNumId w:val="70"/>{override}</w:num>')
        )
    counted = parse_xml(f'<w:numPr {W}><w:numId w:val="71"/></w:numPr>')
    for name in ("Heading 1", "Heading 2"):
        document.styles[name].element.get_or_add_pPr().append(parse_xml(etree.tostring(counted)))

    def add(text, depth, number=71, *, to=document):
        found = parse_xml(f'<w:numPr {W}><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>')
        to.add_paragraph(text)._p.get_or_add_pPr().append(found)

    document.add_heading("Safety", 1)
    document.add_heading("Gates", 2)
    add("Shut the gate.", 2)
    add("", 2)  # it has a number in Word too
    add("Open it.", 2)
    add("Slowly.", 3)
    document.add_heading("Sirens", 2)
    add("Listen.", 2)
    add("Wait.", 2, 72)
    document.add_heading("Fees", 1)
    document.add_heading("Fines", 2)
    cells = document.add_table(2, 2)._cells
    for cell, text in zip(cells, ("No.", "Fine", "", "5"), strict=True):
        cell.text = text
    add("Late", 2, to=cells[2])
    add("The clerk decides", 1)
    add("Nobody appeals", 1)
    source = read()
    assert source.text == (
        "4 Safety\n\n4.1 Gates\n\n    a) Shut the gate.\n    c) Open it.\n      (I) Slowly.\n\n"
        "4.2 Sirens\n\n    a) Listen.\n    a) Wait.\n\n5 Fees\n\n5.1 Fines\n\nNo. | Fine\na) Late | 5"
        "\n\n5.2 The clerk decides\n\n5.3 Nobody appeals"
    )
    assert source.headings[2].section == "4 Safety > 4.2 Sirens"


@pytest.mark.parametrize(
    ("kind", "number", "written"),
    [
        ("lowerLetter", 28, "bb"),
        ("upperRoman", 1994, "MCMXCIV"),
        ("decimalZero", 7, "07"),
        ("hebrew1", 7, "7"),
        ("lowerRoman", 0, "0"),
        ("none", 7, ""),
    ],
)
def test_numbers_are_written_as_the_list_says(kind, number, written):
    level = (
        f'<w:lvl w:ilvl="0"><w:start w:val="{number}"/>'
        f'<w:numFmt w:val="{kind}"/><w:lvlText w:val="%1"/></w:lvl>'
    )
    root = parse_xml(
        f'<w:numbering {W}><w:abstractNum w:abstractNumId="1">{level}</w:abstractNum>'
        '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>'
    )
    assert Numbering(root).count("2", 0) == written


def test_a_style_is_a_heading_by_its_outline_or_by_what_it_inherits(document, read):
    for name, base in (("Chapter", "Heading 1"), ("Contents", "Heading 1"), ("Part", "Normal")):
        document.styles.add_style(name, 1).base_style = document.styles[base]
    for name, level in (("Contents", "9"), ("Part", "1")):
        outline = parse_xml(f'<w:outlineLvl {W} w:val="{level}"/>')
        document.styles[name].element.get_or_add_pPr().append(outline)
    for name in ("Contents", "Chapter", "Part"):
        document.add_paragraph(f"Of {name}", style=name)
    assert [heading.section for heading in read().headings] == ["Of Chapter", "Of Part"]


def test_styles_that_inherit_in_a_circle_do_no_harm(document, read):
    first, second = (document.styles.add_style(name, 1) for name in ("One", "Two"))
    first.base_style, second.base_style = second, first
    document.add_paragraph("Shut the gate.", style="One")
    assert read().text == "Shut the gate."


def test_links_insertions_and_controls_are_read_and_deletions_are_not(document, read):
    paragraph = document.add_paragraph("Shut ")
    for tag, text in (("hyperlink", "the "), ("ins", "iron "), ("moveFrom", "wooden "), ("smartTag", "gate")):
        paragraph._p.append(parse_xml(f"<w:{tag} {W}><w:r><w:t>{text}</w:t></w:r></w:{tag}>"))
    held = f"<w:sdt {W}><w:sdtContent><w:p><w:r><w:t>Then leave.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    paragraph._p.addnext(parse_xml(held))
    assert read().text == "Shut the iron gate\n\nThen leave."


def test_a_text_box_is_read_once_after_its_paragraph(document, read):
    box = "<w:txbxContent><w:p><w:r><w:t>In the box.</w:t></w:r></w:p></w:txbxContent>"
    document.add_paragraph("Beside the box.").runs[0]._r.append(
        parse_xml(
            f"<mc:AlternateContent {W} {MC}><mc:Choice>{box}</mc:Choice>"
            f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
        )
    )
    assert read().text == "Beside the box.\n\nIn the box."


def test_a_table_in_a_cell_stays_in_its_row(document, read):
    table = document.add_table(1, 2)
    table.cell(0, 0).text = "outer"
    inner = table.cell(0, 1).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "in", "ner"
    assert read().text == "outer | in ner"


def test_a_merged_cell_stands_in_each_place_that_it_covers(document, read):
    table = document.add_table(4, 3)
    rows = [["Shore", "Sales", "Sales"], ["x", "2022", "2023"], ["North", "12", "14"], ["x", "15", "17"]]
    for cell, text in zip(table._cells, chain.from_iterable(rows), strict=True):
        cell.text = text
    for one, other in (((0, 1), (0, 2)), ((0, 0), (1, 0)), ((2, 0), (3, 0))):
        first = table.cell(*one)
        text = first.text
        first.merge(table.cell(*other)).text = text
    assert read().text == ("Shore | Sales | Sales\nShore | 2022 | 2023\nNorth | 12 | 14\nNorth | 15 | 17")


@pytest.mark.parametrize("kind", ["footnote", "endnote"])
def test_a_note_stands_after_what_refers_to_it(tmp_path, document, kind):
    reference = f'<w:r {W}><w:{kind}Reference w:id="2"/></w:r>'
    document.add_paragraph("Shut the gate.")._p.append(parse_xml(reference))
    table = document.add_table(1, 2)
    for cell, text in zip(table._cells, ["Level", "4 m"], strict=True):
        cell.text = text
    table.cell(0, 1).paragraphs[0]._p.append(parse_xml(reference))
    document.add_paragraph("Then leave.")
    document.save(tmp_path / "a.docx")
    with zipfile.ZipFile(tmp_path / "a.docx", "a") as archive:
        notes = (
            f'<w:{kind} w:type="separator" w:id="0"><w:p/></w:{kind}>'
            f'<w:{kind} w:id="2"><w:p><w:r><w:t>It rusts.</w:t></w:r></w:p></w:{kind}>'
        )
        archive.writestr(f"word/{kind}s.xml", f"<w:{kind}s {W}>{notes}</w:{kind}s>")
    text = extract_text(tmp_path / "a.docx").text
    assert text == "Shut the gate.\n\nIt rusts.\n\nLevel | 4 m\n\nIt rusts.\n\nThen leave."


def test_a_link_to_a_picture_that_is_missing_does_no_harm(tmp_path, document):
    document.add_paragraph("Shut the gate.")
    whole, path = tmp_path / "whole.docx", tmp_path / "a.docx"
    document.save(whole)
    link = b'<Relationship Id="x" Type="http://a/image" Target="NULL"/></Relationships>'
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w") as copy:
        for name in source.namelist():
            copy.writestr(name, source.read(name).replace(b"</Relationships>", link))
    assert extract_text(path).text == "Shut the gate."


def test_a_document_that_unpacks_without_end_is_refused(tmp_path, monkeypatch, document):
    monkeypatch.setattr("adaptive_rag.ingest.package._LARGEST", 1000)
    path = tmp_path / "a.docx"
    document.save(path)
    with pytest.raises(IndexingError, match="unpacks to more than"):
        load_docx(path, TextBuilder())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04 junk", "not a Word document"),
        (b"PK\x05\x06" + b"\0" * 12 + b"\xf0\xff\xff\xff" + b"\0" * 2, "not a Word document"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "encrypted, or is in the older"),
    ],
)
def test_what_is_no_word_document_is_refused(tmp_path, content, reason):
    path = tmp_path / "a.docx"
    path.write_bytes(content)
    with pytest.raises(IndexingError, match=reason):
        extract_text(path)


def test_an_archive_of_something_else_is_refused(tmp_path):
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.xml", "<a/>")
    with pytest.raises(IndexingError, match="not a Word document"):
        extract_text(path)


@pytest.mark.parametrize("part", ["word/document.xml", "[Content_Types].xml", "word/_rels/document.xml.rels"])
def test_a_part_that_is_something_else_is_refused(tmp_path, document, part):
    whole, path = tmp_path / "whole.docx", tmp_path / "a.docx"
    document.save(whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w") as copy:
        for name in source.namelist():
            copy.writestr(name, b"<a/>" if name == part else source.read(name))
    with pytest.raises(IndexingError, match="not a Word document or is damaged"):
        extract_text(path)
