import re
from itertools import chain

import docx
import pytest
from docx.oxml.parser import parse_xml
from lxml import etree

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.docx import load_docx
from adaptive_rag.ingest.numbering import Numbering
from adaptive_rag.text.tables import find_tables
from tests.ingest.made_office import RELS, M, W, add_parts, change_parts, read_parts, write_parts
from tests.ingest.spans import checked_chunks


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
    assert checked_chunks(source, size=50, overlap=0)


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


def test_raised_digits_symbols_and_aligned_tabs_are_characters(document, read):
    paragraph = document.add_paragraph("2 × 10")
    paragraph.add_run("30").font.superscript = True
    paragraph.add_run(" kg on the 1")
    paragraph.add_run("st").font.superscript = True
    symbols = (
        ("Symbol", "F06D"),
        ("Symbol", "F0B3"),
        ("Wingdings", "F0FE"),
        ("Wingdings", "F021"),
        ("Arial", "03A9"),
    )
    for font, code in symbols:
        paragraph.add_run()._r.append(parse_xml(f'<w:ptab {W} w:alignment="right"/>'))
        paragraph.add_run()._r.append(parse_xml(f'<w:sym {W} w:font="{font}" w:char="{code}"/>'))
    assert read().text == "2 × 10³⁰ kg on the 1st μ ≥ ☑ � Ω"


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>', "☒"),
        ('<w:checkBox><w:default w:val="0"/></w:checkBox>', "☐"),
        (
            '<w:ddList><w:result w:val="1"/><w:listEntry w:val="No"/><w:listEntry w:val="Yes"/></w:ddList>',
            "Yes",
        ),
    ],
)
def test_form_fields_of_older_word_are_read(document, read, field, shown):
    data = f'<w:fldChar {W} w:fldCharType="begin"><w:ffData>{field}</w:ffData></w:fldChar>'
    document.add_paragraph("Insured: ").add_run()._r.append(parse_xml(data))
    assert read().text == f"Insured: {shown}"


def test_a_row_may_begin_further_right_than_its_table(document, read):
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Item", "Price", "gone", "3"], strict=True):
        cell.text = text
    row = table.rows[1]._tr
    row.remove(row.tc_lst[0])
    row.get_or_add_trPr().append(parse_xml(f'<w:gridBefore {W} w:val="1"/>'))
    assert read().text == "Item | Price\n– | 3"


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
    notes = (
        f'<w:{kind} w:type="separator" w:id="0"><w:p/></w:{kind}>'
        f'<w:{kind} w:id="2"><w:p><w:r><w:t>It rusts.</w:t></w:r></w:p></w:{kind}>'
    )
    part = f"<w:{kind}s {W}>{notes}</w:{kind}s>".encode()
    add_parts(tmp_path / "a.docx", RELS, {f"{kind}s2.xml": (f"{kind}s", part)})  # as Word on the web names it
    text = extract_text(tmp_path / "a.docx").text
    assert text == "Shut the gate.\n\nIt rusts.\n\nLevel | 4 m\n\nIt rusts.\n\nThen leave."


def test_a_link_to_a_picture_that_is_missing_does_no_harm(tmp_path, document):
    document.add_paragraph("Shut the gate.")
    document.save(tmp_path / "a.docx")
    link = b'<Relationship Id="x" Type="http://a/image" Target="NULL"/></Relationships>'
    change_parts(tmp_path / "a.docx", lambda name, data: data.replace(b"</Relationships>", link))
    assert extract_text(tmp_path / "a.docx").text == "Shut the gate."


def test_a_document_that_unpacks_without_end_is_refused(tmp_path, monkeypatch, document):
    monkeypatch.setattr("adaptive_rag.ingest.package._LARGEST", 1000)
    path = tmp_path / "a.docx"
    document.save(path)
    with pytest.raises(IndexingError, match="unpacks to more than"):
        load_docx(path, TextBuilder())


def test_a_template_with_macros_is_read(tmp_path, document):
    document.add_paragraph("Shut the gate.")
    path = tmp_path / "a.dotm"
    document.save(path)
    usual = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    kind = b"application/vnd.ms-word.template.macroEnabledTemplate.main+xml"
    change_parts(path, lambda name, data: data.replace(usual, kind))
    assert extract_text(path).text == "Shut the gate."


def _run(text):
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("equation", "text"),
    [
        (f"<m:f><m:num>{_run('a+b')}</m:num><m:den>{_run('2')}</m:den></m:f>", "(a+b)/2"),
        (f"<m:sSup><m:e>{_run('x')}</m:e><m:sup>{_run('n+1')}</m:sup></m:sSup>", "x^(n+1)"),
        (f"<m:rad><m:deg/><m:e>{_run('x')}</m:e></m:rad>", "√(x)"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{_run("i=1")}</m:sub>'
            f"<m:sup>{_run('n')}</m:sup><m:e>{_run('i')}</m:e></m:nary>",
            "∑_(i=1)^n i",
        ),
        (f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val=""/></m:dPr><m:e>{_run("x")}</m:e></m:d>', "[x"),
        (
            f"<m:m><m:mr><m:e>{_run('1')}</m:e><m:e>{_run('0')}</m:e></m:mr>"
            f"<m:mr><m:e>{_run('0')}</m:e><m:e>{_run('1')}</m:e></m:mr></m:m>",
            "[1, 0; 0, 1]",
        ),
        (f"<m:func><m:fName>{_run('sin')}</m:fName><m:e>{_run('x')}</m:e></m:func>", "sin(x)"),
        (f"<m:func><m:fName>{_run('sin')}</m:fName><m:e>{_run('(x)')}</m:e></m:func>", "sin(x)"),
    ],
)
def test_equations_are_read_as_linear_text(document, read, equation, text):
    paragraph = document.add_paragraph("It is")
    paragraph._p.append(parse_xml(f"<m:oMath {M}>{equation}</m:oMath>"))
    paragraph.add_run("here.")
    assert read().text == f"It is {text} here."


@pytest.mark.parametrize(
    "equation",
    [
        _run("x") + f"<w:del {W}>{_run('y')}</w:del>",
        "<m:rad><m:deg/><m:e>" * 60 + _run("x") + "</m:e></m:rad>" * 60,
    ],
    ids=["a part was deleted", "nested deep"],
)
def test_an_equation_keeps_what_is_shown(document, read, equation):
    document.add_paragraph()._p.append(parse_xml(f"<m:oMath {M}>{equation}</m:oMath>"))
    assert read().text.strip("√()") == "x"


def test_a_document_in_the_strict_form_is_read(tmp_path, document, read):
    document.add_heading("Storms", 1)
    document.add_paragraph("Shut the gate.")
    expected = read()
    strict = rb"http://purl.oclc.org/ooxml/\1/"
    of_2006 = rb"http://schemas.openxmlformats.org/(wordprocessingml|drawingml|officeDocument)/2006/"
    change_parts(tmp_path / "a.docx", lambda name, data: re.sub(of_2006, strict, data))
    found = extract_text(tmp_path / "a.docx")
    assert found.text == expected.text == "Storms\n\nShut the gate."
    assert found.headings == expected.headings


def _add_letters(paragraph, text, settings):
    run = paragraph.add_run(text)
    for each in settings:
        run._r.get_or_add_rPr().append(parse_xml(each.replace(" ", f" {W} ", 1)))


WHITE = '<w:color w:val="FFFFFF"/>'
GREEN = '<w:shd w:val="clear" w:fill="2E7D32"/>'


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        (['<w:vanish w:val="1"/>'], False),
        (['<w:vanish w:val="0"/>'], True),
        (['<w:rStyle w:val="Secret"/>'], False),
        (['<w:rStyle w:val="Secret"/>', '<w:vanish w:val="0"/>'], True),
        ([WHITE], False),
        (['<w:color w:val="FDFDFD"/>'], False),
        (['<w:color w:val="808080"/>'], True),
        ([WHITE, GREEN], True),
        ([WHITE, '<w:highlight w:val="green"/>'], True),
        (['<w:color w:val="2E7D32"/>', GREEN], False),
        (['<w:sz w:val="1"/>'], False),
        (['<w:webHidden w:val="1"/>'], True),
    ],
)
def test_letters_that_a_reader_does_not_see_are_left_out_and_counted(document, read, settings, seen):
    style = document.styles.add_style("Secret", 2)
    style.font.hidden = True
    paragraph = document.add_paragraph("Shut the gate.")
    _add_letters(paragraph, " Praise our pumps.", settings)
    source = read()
    assert source.text == ("Shut the gate. Praise our pumps." if seen else "Shut the gate.")
    assert source.notes == (() if seen else ("3 words that the document hides were left out",))


def test_a_style_of_paragraphs_hides_and_its_run_shows_again(document, read):
    style = document.styles.add_style("Unseen", 1)
    style.font.hidden = True
    document.styles.add_style("Heir", 1).base_style = style
    letters = document.styles.add_style("Letters", 2)
    letters.font.hidden = True
    paragraph = document.add_paragraph("Praise our pumps.", style="Heir")
    _add_letters(paragraph, "Shut the gate.", ['<w:rStyle w:val="Letters"/>'])  # it undoes the other
    source = read()
    assert source.text == "Shut the gate."
    assert source.notes == ("3 words that the document hides were left out",)


@pytest.mark.parametrize(("mark", "unseen"), [("del", ""), ("vanish", "Unseen")])
def test_an_item_that_is_deleted_or_hidden_is_not_counted(document, read, mark, unseen):
    for text in ("First", unseen, "Second"):
        paragraph = document.add_paragraph(style="List Number")
        _add_letters(paragraph, text, ['<w:vanish w:val="1"/>'] if text == unseen else [])
        if text == unseen:
            paragraph._p.get_or_add_pPr().append(parse_xml(f"<w:rPr {W}><w:{mark}/></w:rPr>"))
    assert read().text == "1. First\n2. Second"


def test_numbers_are_found_whatever_their_part_is_called(tmp_path, document, read):
    document.add_paragraph("First", style="List Number")
    read()
    parts = read_parts(tmp_path / "a.docx").items()
    renamed = {
        name.replace("numbering.", "numbering2."): data.replace(b"numbering.xml", b"numbering2.xml")
        for name, data in parts
    }
    write_parts(tmp_path / "a.docx", renamed)
    assert extract_text(tmp_path / "a.docx").text == "1. First"


def test_white_letters_in_a_shaded_cell_or_paragraph_or_box_are_read(document, read):
    paragraph = document.add_paragraph()
    paragraph._p.get_or_add_pPr().append(parse_xml(GREEN.replace(" ", f" {W} ", 1)))
    table = document.add_table(2, 2)
    table.cell(0, 0)._tc.get_or_add_tcPr().append(parse_xml(GREEN.replace(" ", f" {W} ", 1)))
    for to, text in ((paragraph, "On green."), (table.cell(0, 0).paragraphs[0], "Level")):
        _add_letters(to, text, [WHITE])
    for cell, text in zip(table._cells[1:], ("Height", "1", "4 m"), strict=True):
        cell.text = text
    _add_letters(table.cell(1, 1).paragraphs[0], " of praise", [WHITE])
    for fill in ('filled="t" fillcolor="#2E7D32"', 'filled="f"'):
        document.add_paragraph().add_run()._r.append(
            parse_xml(
                f'<w:pict {W} xmlns:v="urn:schemas-microsoft-com:vml"><v:shape {fill}><v:textbox>'
                f"<w:txbxContent><w:p><w:r><w:rPr>{WHITE}</w:rPr><w:t>In a box.</w:t></w:r></w:p>"
                "</w:txbxContent></v:textbox></v:shape></w:pict>"
            )
        )
    source = read()
    assert source.text == "On green.\n\nLevel | Height\n1 | 4 m\n\nIn a box."
    assert source.notes == ("5 words that the document hides were left out",)


def fill(document, *rows):
    table = document.add_table(len(rows), len(rows[0]))
    for cell, text in zip(table._cells, chain.from_iterable(rows), strict=True):
        cell.text = text
    return table


def columns_of(source):
    return [table.columns for table in find_tables(source.text)]


COLOURS = (("Colour", "Wood"), ("red", "oak"), ("blue", "ash"))


def test_a_first_row_that_nothing_sets_apart_is_a_row_of_two_words(document, read):
    fill(document, *COLOURS)
    assert columns_of(read()) == [()]


@pytest.mark.parametrize("kind", ["repeated", "bold", "shaded", "style"])
def test_a_first_row_that_is_set_apart_names_the_columns(document, read, kind):
    table = fill(document, *COLOURS)
    if kind == "repeated":
        table.rows[0]._tr.get_or_add_trPr().append(parse_xml(f"<w:tblHeader {W}/>"))
    elif kind == "style":
        style = document.styles.add_style("Report", 3)
        style.element.append(parse_xml(f'<w:tblStylePr {W} w:type="firstRow"/>'))
        table.style = style
    for cell in table.rows[0].cells:
        if kind == "bold":
            cell.paragraphs[0].runs[0].font.bold = True
        elif kind == "shaded":
            cell._tc.get_or_add_tcPr().append(parse_xml(f'<w:shd {W} w:val="clear" w:fill="DDDDDD"/>'))
    source = read()
    assert source.text == "Colour | Wood\n--- | ---\nred | oak\nblue | ash"
    assert columns_of(source) == [("Colour", "Wood")]


def test_three_columns_may_be_numbered(document, read):
    fill(document, ("Tab1", "Tab2", "Tab3"), ("A", "B", "C"))
    fill(document, ("Brass 4.20", "12", "A3"), ("A", "B", "C"))
    assert columns_of(read())[:1] == [("Tab1", "Tab2", "Tab3")]


def test_the_rows_of_a_table_with_long_cells_hold_the_names_of_their_columns(document, read):
    prose = "Shut the gate and wait for the siren. " * 12
    fill(document, ("Level", "What to do"), ("One", "Listen."), ("Two", prose))
    source = read()
    assert source.text == f"Level: One\nWhat to do: Listen.\n\nLevel: Two\nWhat to do: {prose.strip()}"


def test_a_table_with_rows_and_columns_in_a_cell_is_read_as_one(document, read):
    table = fill(document, ("Shore", "Notes"), ("North", "See:"))
    inner = table.cell(1, 1).add_table(2, 3)
    for cell, text in zip(inner._cells, ("Day", "Tide", "Wind", "Mon", "high", "low"), strict=True):
        cell.text = text
    source = read()
    assert source.text == "Shore | Notes\nNorth | See:\n\nDay | Tide | Wind\nMon | high | low"
    assert columns_of(source)[-1] == ("Day", "Tide", "Wind")


def add_bold(document, text):
    document.add_paragraph().add_run(text).bold = True


def test_short_bold_paragraphs_are_headings_where_no_style_marks_them(document, read):
    add_bold(document, "Item 4: New house rules")
    document.add_paragraph("Ms Varga presents the draft.")
    add_bold(document, "§ 7 Illness and holiday")
    document.add_paragraph("")
    note = document.add_paragraph("A substitute is named. ")
    note.add_run("At once.").bold = True
    for text in ("Ada Moor", "Ben Fell", "Please wear boots."):  # a list of names, and a sentence
        add_bold(document, text)
    document.add_paragraph("Thanks.")
    assert [heading.section for heading in read().headings] == [
        "Item 4: New house rules",
        "§ 7 Illness and holiday",
    ]


def test_bold_paragraphs_are_no_headings_where_styles_mark_them(document, read):
    for title in ("Storms", "Heat"):
        document.add_heading(title, 1)
        add_bold(document, "Close the gate")
        document.add_paragraph("It is heavy.")
    assert [heading.section for heading in read().headings] == ["Storms", "Heat"]


def test_the_first_field_of_a_form_is_no_header(document, read):
    fields = [("Customer", "Larch Nursery"), ("Date", "Thursday 22 May 2025"), ("Time", "07:55")]
    fields += [("Unit", "M40, serial 12"), ("Contract", "Gold")]
    table = document.add_table(0, 2)
    for field in fields:
        for cell, text in zip(table.add_row().cells, field, strict=True):
            cell.text = text
    (found,) = find_tables(read().text)
    assert (found.columns, [row.cells for row in found.rows]) == ((), fields)
