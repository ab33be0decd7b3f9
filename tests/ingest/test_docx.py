import re
import time
from copy import deepcopy

import docx
import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.docx import load_docx
from adaptive_rag.ingest.numbering import Numbering
from adaptive_rag.text.tables import find_tables
from tests.ingest.grids import rows_of
from tests.ingest.made_office import (
    RELS,
    W,
    add_parts,
    add_table,
    change_parts,
    read_parts,
    word,
    write_parts,
)
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
    item._p.get_or_add_pPr().append(word('<w:numPr><w:numId w:val="99"/></w:numPr>'))
    add_table(document, "Level | Height\n1 | –")
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
    numbering.insert(0, word(f'<w:abstractNum w:abstractNumId="70">{levels}</w:abstractNum>'))
    for number, override in ((71, ""), (72, restart)):
        numbering.append(word(f'<w:num w:numId="{number}"><w:abstractNumId w:val="70"/>{override}</w:num>'))
    for name in ("Heading 1", "Heading 2"):
        counted = word('<w:numPr><w:numId w:val="71"/></w:numPr>')
        document.styles[name].element.get_or_add_pPr().append(counted)

    def add(depth, *texts, number=71, to=document):
        for text in texts:
            counted = word(f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>')
            to.add_paragraph(text)._p.get_or_add_pPr().append(counted)

    document.add_heading("Safety", 1)
    document.add_heading("Gates", 2)
    add(2, "Shut the gate.", "", "Open it.")  # the empty one has a number in Word too
    add(3, "Slowly.")
    document.add_heading("Sirens", 2)
    add(2, "Listen.")
    add(2, "Wait.", number=72)
    document.add_heading("Fees", 1)
    document.add_heading("Fines", 2)
    add(2, "Late", to=add_table(document, "No. | Fine\n– | 5").cell(1, 0))
    add(1, "The clerk decides", "Nobody appeals")
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
    format_ = f'<w:start w:val="{number}"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="%1"/>'
    level = f'<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0">{format_}</w:lvl></w:abstractNum>'
    list_ = '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    assert Numbering(word(f"<w:numbering>{level}{list_}</w:numbering>")).count("2", 0) == written


def test_a_style_is_a_heading_by_its_outline_or_by_what_it_inherits_but_in_a_circle(document, read):
    bases = {"Chapter": "Heading 1", "Contents": "Heading 1", "Part": "Normal", "One": "Normal", "Two": "One"}
    for name, base in bases.items():
        document.styles.add_style(name, 1).base_style = document.styles[base]
    document.styles["One"].base_style = document.styles["Two"]
    for name, level in (("Contents", "9"), ("Part", "1")):
        outline = word(f'<w:outlineLvl w:val="{level}"/>')
        document.styles[name].element.get_or_add_pPr().append(outline)
    for name in bases:
        document.add_paragraph(f"Of {name}", style=name)
    source = read()
    assert source.text.split("\n\n") == [f"Of {name}" for name in bases]
    assert [heading.section for heading in source.headings] == ["Of Chapter", "Of Part"]


def test_links_insertions_and_controls_are_read_and_deletions_are_not(document, read):
    paragraph = document.add_paragraph("Shut ")
    for tag, text in (("hyperlink", "the "), ("ins", "iron "), ("moveFrom", "wooden "), ("smartTag", "gate")):
        paragraph._p.append(word(f"<w:{tag}><w:r><w:t>{text}</w:t></w:r></w:{tag}>"))
    for deleted in ('<w:sym w:font="Symbol" w:char="F0B3"/>', "<w:noBreakHyphen/>"):
        paragraph._p.append(word(f"<w:del><w:r>{deleted}</w:r></w:del>"))
    held = "<w:sdt><w:sdtContent><w:p><w:r><w:t>Then leave.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    paragraph._p.addnext(word(held))
    assert read().text == "Shut the iron gate\n\nThen leave."


def test_raised_digits_symbols_and_aligned_tabs_are_characters(document, read):
    paragraph = document.add_paragraph("2 × 10")
    for text in ("30", " kg on the 1", "st"):
        paragraph.add_run(text).font.superscript = text[0] != " "
    symbols = ("Symbol F06D", "Symbol F0B3", "Wingdings F0FE", "Wingdings F021", "Arial 03A9")
    for font, code in map(str.split, symbols):
        paragraph.add_run()._r.append(word('<w:ptab w:alignment="right"/>'))
        paragraph.add_run()._r.append(word(f'<w:sym w:font="{font}" w:char="{code}"/>'))
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
    data = f'<w:fldChar w:fldCharType="begin"><w:ffData>{field}</w:ffData></w:fldChar>'
    document.add_paragraph("Insured: ").add_run()._r.append(word(data))
    assert read().text == f"Insured: {shown}"


def test_a_row_may_begin_further_right_than_its_table(document, read):
    row = add_table(document, "Item | Price\ngone | 3").rows[1]._tr
    row.remove(row.tc_lst[0])
    row.get_or_add_trPr().append(word('<w:gridBefore w:val="1"/>'))
    assert read().text == "Item | Price\n– | 3"


def test_a_table_in_a_cell_stays_in_its_row_unless_it_has_rows_and_columns(document, read):
    add_table(add_table(document, "outer | –").cell(0, 1), "in | ner")
    add_table(
        add_table(document, "Shore | Notes\nNorth | See:").cell(1, 1), "Day | Tide | Wind\nMon | high | low"
    )
    source = read()
    assert source.text.split("\n\n") == [
        "outer | in ner", "Shore | Notes\nNorth | See:", "Day | Tide | Wind\nMon | high | low"
    ]  # fmt: skip
    assert columns_of(source)[-1] == ("Day", "Tide", "Wind")


def test_a_merged_cell_stands_in_each_place_that_it_covers(document, read):
    table = add_table(document, "Shore | Sales | –\n– | 2022 | 2023\nNorth | 12 | 14\n– | 15 | 17")
    for one, other in (((0, 1), (0, 2)), ((0, 0), (1, 0)), ((2, 0), (3, 0))):
        first = table.cell(*one)
        text = first.text
        first.merge(table.cell(*other)).text = text
    assert read().text == ("Shore | Sales | Sales\nShore | 2022 | 2023\nNorth | 12 | 14\nNorth | 15 | 17")


@pytest.mark.parametrize("kind", ["footnote", "endnote"])
def test_a_note_stands_after_what_refers_to_it(tmp_path, document, kind):
    reference = f'<w:r><w:{kind}Reference w:id="2"/></w:r>'
    document.add_paragraph("Shut the gate.")._p.append(word(reference))
    add_table(document, "Level | 4 m").cell(0, 1).paragraphs[0]._p.append(word(reference))
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


MAIN = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
MACROS = b"application/vnd.ms-word.template.macroEnabledTemplate.main+xml"
NO_PICTURE = b'<Relationship Id="x" Type="http://a/image" Target="NULL"/></Relationships>'


@pytest.mark.parametrize(
    ("suffix", "old", "new"), [("docx", b"</Relationships>", NO_PICTURE), ("dotm", MAIN, MACROS)]
)
def test_a_link_to_no_picture_or_a_template_with_macros_does_no_harm(tmp_path, document, suffix, old, new):
    path = tmp_path / f"a.{suffix}"
    document.add_paragraph("Shut the gate.")
    document.save(path)
    change_parts(path, lambda name, data: data.replace(old, new))
    assert extract_text(path).text == "Shut the gate."


def test_a_document_that_unpacks_without_end_is_refused(tmp_path, monkeypatch, document):
    monkeypatch.setattr("adaptive_rag.ingest.package._LARGEST", 1000)
    path = tmp_path / "a.docx"
    document.save(path)
    with pytest.raises(IndexingError, match="unpacks to more than"):
        load_docx(path, TextBuilder())


def _run(text):
    return f"<m:r><m:t>{text}</m:t></m:r>"


MATRIX = "".join(f"<m:mr><m:e>{_run(a)}</m:e><m:e>{_run(b)}</m:e></m:mr>" for a, b in ("10", "01"))


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
        (f"<m:m>{MATRIX}</m:m>", "[1, 0; 0, 1]"),
        (f"<m:func><m:fName>{_run('sin')}</m:fName><m:e>{_run('x')}</m:e></m:func>", "sin(x)"),
        (f"<m:func><m:fName>{_run('sin')}</m:fName><m:e>{_run('(x)')}</m:e></m:func>", "sin(x)"),
        (f"{_run('x')}<w:del>{_run('y')}</w:del>", "x"),
        ("<m:rad><m:deg/><m:e>" * 60 + _run("x") + "</m:e></m:rad>" * 60, None),
    ],
)  # fmt: skip
def test_equations_are_read_as_linear_text(document, read, equation, text):
    paragraph = document.add_paragraph("It is")
    paragraph._p.append(word(f"<m:oMath>{equation}</m:oMath>"))
    paragraph.add_run("here.")
    if text is None:  # nested so deep that a part is left out, but not what it holds
        assert read().text.replace("√", "").replace("(", "").replace(")", "") == "It is x here."
    else:
        assert read().text == f"It is {text} here."


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


WHITE = '<w:color w:val="FFFFFF"/>'
GREEN = '<w:shd w:val="clear" w:fill="2E7D32"/>'


def add_letters(paragraph, text, *settings):
    """Add letters with some settings of their look, and hide or show them by it."""
    run = paragraph.add_run(text)
    for each in settings:
        run._r.get_or_add_rPr().append(word(each))


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
    document.styles.add_style("Secret", 2).font.hidden = True
    paragraph = document.add_paragraph("Shut the gate.")
    add_letters(paragraph, " Praise our pumps.", *settings)
    source = read()
    assert source.text == ("Shut the gate. Praise our pumps." if seen else "Shut the gate.")
    assert source.notes == (() if seen else ("3 words that the document hides were left out",))


def test_a_style_of_paragraphs_hides_and_its_run_shows_again(document, read):
    style = document.styles.add_style("Unseen", 1)
    style.font.hidden = True
    document.styles.add_style("Heir", 1).base_style = style
    document.styles.add_style("Letters", 2).font.hidden = True
    paragraph = document.add_paragraph("Praise our pumps.", style="Heir")
    add_letters(paragraph, "Shut the gate.", '<w:rStyle w:val="Letters"/>')  # it undoes the other
    source = read()
    assert source.text == "Shut the gate."
    assert source.notes == ("3 words that the document hides were left out",)


@pytest.mark.parametrize(("mark", "unseen"), [("del", ""), ("moveFrom", ""), ("vanish", "Unseen")])
def test_an_item_that_is_deleted_or_hidden_is_not_counted(document, read, mark, unseen):
    for text in ("First", unseen, "Second"):
        paragraph = document.add_paragraph(style="List Number")
        add_letters(paragraph, text, *(['<w:vanish w:val="1"/>'] if text == unseen else []))
        if text == unseen:
            paragraph._p.get_or_add_pPr().append(word(f"<w:rPr><w:{mark}/></w:rPr>"))
    assert read().text == "1. First\n2. Second"


def test_a_paragraph_whose_mark_was_deleted_goes_on_in_the_next(document, read):
    paragraph = document.add_paragraph("The rent is ")
    paragraph._p.get_or_add_pPr().append(word("<w:rPr><w:del/></w:rPr>"))
    document.add_paragraph("£950 a month.", style="List Number")
    assert read().text == "1. The rent is £950 a month."


def test_thousands_of_deleted_marks_are_read_in_linear_time(document, tmp_path):
    paragraph = word("<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>")
    document.element.body[:0] = [deepcopy(paragraph) for _ in range(3_000)]
    document.save(tmp_path / "a.docx")
    started, builder = time.process_time(), TextBuilder()
    load_docx(tmp_path / "a.docx", builder)
    assert builder.text.strip() == "a" * 3_000
    assert time.process_time() - started < 4


def test_numbers_are_found_whatever_their_part_is_called(tmp_path, document, read):
    document.add_paragraph("First", style="List Number")
    read()
    renamed = {
        name.replace("numbering.", "numbering2."): data.replace(b"numbering.xml", b"numbering2.xml")
        for name, data in read_parts(tmp_path / "a.docx").items()
    }
    write_parts(tmp_path / "a.docx", renamed)
    assert extract_text(tmp_path / "a.docx").text == "1. First"


def test_white_letters_in_a_shaded_cell_or_paragraph_or_box_are_read(document, read):
    paragraph = document.add_paragraph()
    table = add_table(document, "– | Height\n1 | 4 m")
    paragraph._p.get_or_add_pPr().append(word(GREEN))
    table.cell(0, 0)._tc.get_or_add_tcPr().append(word(GREEN))
    for place, text in ((paragraph, "On green."), (table.cell(0, 0).paragraphs[0], "Level")):
        add_letters(place, text, WHITE)
    add_letters(table.cell(1, 1).paragraphs[0], " of praise", WHITE)
    letters = f"<w:p><w:r><w:rPr>{WHITE}</w:rPr><w:t>In a box.</w:t></w:r></w:p>"
    box = f"<v:textbox><w:txbxContent>{letters}</w:txbxContent></v:textbox>"
    for fill in ('filled="t" fillcolor="#2E7D32"', 'filled="f"'):
        shape = word(f"<w:pict><v:shape {fill}>{box}</v:shape></w:pict>")
        document.add_paragraph().add_run()._r.append(shape)
    source = read()
    assert source.text == "On green.\n\nLevel | Height\n1 | 4 m\n\nIn a box."
    assert source.notes == ("5 words that the document hides were left out",)


def columns_of(source):
    return [table.columns for table in find_tables(source.text)]


COLOURS = "Colour | Wood\nred | oak\nblue | ash"
FORM = "Customer | Larch Nursery\nDate | Thursday 22 May 2025\nTime | 07:55\nUnit | M40\nContract | Gold"


@pytest.mark.parametrize("rows", [COLOURS, FORM])
def test_a_first_row_of_two_words_that_nothing_sets_apart_is_a_row(document, read, rows):
    add_table(document, rows)
    (found,) = find_tables(read().text)
    assert (found.columns, [row.cells for row in found.rows]) == ((), rows_of(rows))


@pytest.mark.parametrize("kind", ["repeated", "bold", "shaded", "style"])
def test_a_first_row_that_is_set_apart_names_the_columns(document, read, kind):
    table = add_table(document, COLOURS)
    if kind == "repeated":
        table.rows[0]._tr.get_or_add_trPr().append(word("<w:tblHeader/>"))
    elif kind == "style":
        table.style = document.styles.add_style("Report", 3)
        table.style.element.append(word('<w:tblStylePr w:type="firstRow"/>'))
    for cell in table.rows[0].cells:
        if kind == "bold":
            cell.paragraphs[0].runs[0].font.bold = True
        elif kind == "shaded":
            cell._tc.get_or_add_tcPr().append(word('<w:shd w:val="clear" w:fill="DDDDDD"/>'))
    source = read()
    assert source.text == "Colour | Wood\n--- | ---\nred | oak\nblue | ash"
    assert columns_of(source) == [("Colour", "Wood")]


def test_three_columns_may_be_numbered(document, read):
    add_table(document, "Tab1 | Tab2 | Tab3\nA | B | C")
    add_table(document, "Brass 4.20 | 12 | A3\nA | B | C")
    assert columns_of(read())[:1] == [("Tab1", "Tab2", "Tab3")]


def test_the_rows_of_a_table_with_long_cells_hold_the_names_of_their_columns(document, read):
    prose = ("Shut the gate and wait for the siren. " * 12).strip()
    add_table(document, f"Level | What to do\nOne | Listen.\nTwo | {prose}")
    assert read().text == f"Level: One\nWhat to do: Listen.\n\nLevel: Two\nWhat to do: {prose}"


@pytest.mark.parametrize("is_styled", [False, True])
def test_short_bold_paragraphs_are_headings_where_no_style_marks_them(document, read, is_styled):
    titles = ["Item 4: New house rules", "§ 7 Illness and holiday"]
    if is_styled:
        document.add_heading("Storms", 1)
    for text in (*titles, "Ada Moor", "Ben Fell", "Please wear boots."):  # a list of names, and a sentence
        document.add_paragraph().add_run(text).bold = True
        if text in titles:
            document.add_paragraph("Ms Varga presents it. ").add_run("At once.").bold = True
    if is_styled:
        document.add_heading("Heat", 1)
    document.add_paragraph("Thanks.")
    assert [heading.section for heading in read().headings] == (["Storms", "Heat"] if is_styled else titles)
