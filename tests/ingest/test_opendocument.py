import zipfile

import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from tests.ingest.spans import checked_chunks, texts

NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{place}:1.0"'
    for name, place in {
        "office": "office",
        "style": "style",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "presentation": "presentation",
        "chart": "chart",
        "manifest": "manifest",
    }.items()
)
LINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
KINDS = {"odt": "text", "ods": "spreadsheet", "odp": "presentation", "odg": "graphics"}


@pytest.fixture
def save(tmp_path):
    """Save a document of this body and these automatic styles."""

    def save_document(suffix, body, styles="", manifest="", **parts):
        path = tmp_path / f"a.{suffix}"
        kind = KINDS[suffix]
        content = (
            f"<office:document-content {NAMES}><office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
        )
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
            archive.writestr("content.xml", content)
            for name, part in parts.items():
                archive.writestr(name.replace("__", "/"), part)
            archive.writestr(
                "META-INF/manifest.xml", f"<manifest:manifest {NAMES}>{manifest}</manifest:manifest>"
            )
        return path

    return save_document


@pytest.fixture
def read(save):
    return lambda *document, **parts: extract_text(save(*document, **parts))


def p(text):
    return f"<text:p>{text}</text:p>"


def item(*blocks):
    return f"<text:list-item>{''.join(blocks)}</text:list-item>"


def cell(text, **attributes):
    given = "".join(f' table:{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<table:table-cell{given}>{p(text) if text else ''}</table:table-cell>"


def row(*cells, **attributes):
    given = "".join(f' table:{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    inside = "".join(each if each.startswith("<") else cell(each) for each in cells)
    return f"<table:table-row{given}>{inside}</table:table-row>"


def sheet(name, *rows, style="", columns=""):
    return (
        f'<table:table table:name="{name}" table:style-name="{style}">{columns}{"".join(rows)}</table:table>'
    )


NUMBERED = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/>'
    '<text:list-level-style-bullet text:level="2"/></text:list-style>'
)


def test_paragraphs_headings_lists_and_tables_are_read(read):
    source = read(
        "odt",
        '<text:p text:style-name="P1">Saltmere</text:p><text:h text:outline-level="1">Storms</text:h>'
        + p("Shut<text:s text:c='3'/>the<text:tab/>gate <text:span>now</text:span>.")
        + p("")
        + '<text:section><text:h text:outline-level="2">Levels</text:h></text:section>'
        + '<text:list text:style-name="L1">'
        + item(p("First"), "<text:list>" + item(p("Inner")) + "</text:list>")
        + item(p("Second"), p("and more"))
        + "</text:list>"
        + p("Between.")
        + f'<text:list text:style-name="L1" text:continue-numbering="true">{item(p("Third"))}</text:list>'
        + f"<table:table><table:table-header-rows>{row('Level', 'Height')}</table:table-header-rows>"
        + row(cell("1", number_rows_spanned=2), "2 m")
        + f"{row('<table:covered-table-cell/>', '3 m')}</table:table>",
        '<style:style style:name="P1" style:parent-style-name="Title"/>' + NUMBERED,
    )
    assert source.text == (
        "Saltmere\n\nStorms\n\nShut the gate now.\n\nLevels\n\n1. First\n  - Inner\n2. Second\n\nand more\n\n"
        "Between.\n\n3. Third\n\nLevel | Height\n1 | 2 m\n1 | 3 m"
    )
    assert [heading.section for heading in source.headings] == ["Saltmere", "Storms", "Storms > Levels"]
    assert checked_chunks(source, size=50, overlap=0)


def test_notes_and_boxes_follow_their_paragraph_and_comments_are_left_out(read):
    body = f"<text:note-body>{p('See below.')}</text:note-body>"
    note = f"<text:note><text:note-citation>1</text:note-citation>{body}</text:note>"
    box = f"<draw:frame><draw:text-box>{p('In the box.')}</draw:text-box></draw:frame>"
    comment = f"<office:annotation>{p('Is this so?')}</office:annotation><!-- a remark -->"
    deleted = f"<text:tracked-changes>{p('Gone.')}</text:tracked-changes>"
    assert read("odt", deleted + p(f"Shut{note} the{box} gate{comment}.")).text == (
        "Shut the gate.\n\nSee below.\n\nIn the box."
    )


def test_rows_of_a_sheet_have_the_names_of_their_columns(read):
    source = read(
        "ods",
        sheet(
            "Stock",
            row("Prices in March"),
            row(cell("", number_columns_repeated=1000), number_rows_repeated=2),
            row("Item", "Price", "Stock", cell("", number_columns_repeated=16380)),
            row("Hinge", cell("£4.20", value="4.2"), "12"),
            row("Nail", cell("03/01/24 9:30", date_value="2024-03-01T09:30:00"), "1.2.3"),
            row(cell("Dowel", number_rows_spanned=2), cell("1", number_columns_repeated=2)),
            row("<table:covered-table-cell/>", "2", "3"),
            row(cell("", number_columns_repeated=16384), number_rows_repeated=1048569),
        ),
    )
    assert texts(source) == [
        "Prices in March",
        "Item: Hinge\nPrice: £4.20\nStock: 12",
        "Item: Nail\nPrice: 2024-03-01 9:30\nStock: 1.2.3",
        "Item: Dowel\nPrice: 1\nStock: 1",
        "Item: Dowel\nPrice: 2\nStock: 3",
    ]
    assert [record.metadata["row"] for record in source.records] == [1, 5, 6, 7, 8]


@pytest.mark.parametrize("drawn", [False, True])
def test_hidden_sheets_and_columns_are_left_out_and_named(read, drawn):
    hidden = '<style:style style:name="ta1"><style:table-properties table:display="false"/></style:style>'
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    if drawn:  # a chart has columns of its own
        columns = f"<table:shapes>{shown('Object 1')}</table:shapes>{columns}"
    source = read(
        "ods",
        sheet("Stock", row("Item", "Cost", "Price"), row("Hinge", "1", "3"), columns=columns)
        + sheet("Salaries", row("Mrs Adair", "40,000"), style="ta1"),
        hidden,
        **{"Object 1__content.xml": CHART},
    )
    assert texts(source) == ["Item: Hinge\nPrice: 3", *([LOANS] if drawn else [])]
    assert source.notes == ("hidden sheets, columns and rows were left out: columns of Stock, Salaries",)


def test_rows_and_columns_of_a_folded_group_are_read(read):
    columns = (
        '<table:table-column/><table:table-column-group table:display="false">'
        '<table:table-column table:visibility="collapse"/></table:table-column-group>'
    )
    folded = row("Dowel", "2", visibility="collapse")
    group = f'<table:table-row-group table:display="false">{folded}</table:table-row-group>'
    source = read("ods", sheet("Stock", row("Item", "Price"), row("Hinge", "1"), group, columns=columns))
    assert texts(source) == ["Item: Hinge\nPrice: 1", "Item: Dowel\nPrice: 2"]
    assert source.notes == ()


def test_digits_of_a_raised_span_are_kept_apart(read):
    styles = "".join(
        f'<style:style style:name="{name}">'
        f'<style:text-properties style:text-position="{place} 58%"/></style:style>'
        for name, place in (("T1", "super"), ("T2", "33%"), ("T3", "sub"), ("T4", "-33%"))
    )
    spans = "".join(f'a<text:span text:style-name="T{at}">{at}</text:span>' for at in range(1, 5))
    assert read("odt", f"<text:p>{spans}</text:p>", styles).text == "a¹a²a3a4"


def test_a_merged_cell_ends_where_the_sheet_does(read):
    title = cell("Stock", number_rows_spanned="3000", number_columns_spanned="9000")
    source = read("ods", sheet("Stock", row(title), row("<table:covered-table-cell/>", "Hinge")))
    assert source.text == "Stock\nStock"


def test_hidden_rows_are_left_out_and_those_behind_a_filter_read(read):
    rows = (row("Item", "Price"), row("Hinge", "1"), row("Cost", "3", visibility="collapse"))
    source = read("ods", sheet("Stock", *rows, row("Dowel", "2", visibility="filter")))
    assert texts(source) == ["Item: Hinge\nPrice: 1", "Item: Dowel\nPrice: 2"]
    assert source.notes == ("hidden sheets, columns and rows were left out: rows of Stock",)


def test_a_slide_is_a_page_with_its_title_its_table_and_its_notes(read):
    def frame(kind, inside):
        return f'<draw:frame presentation:class="{kind}">{inside}</draw:frame>'

    def box(text):
        return f"<draw:text-box>{p(text)}</draw:text-box>"

    footer = frame("footer", box("Saltmere Library"))
    first = (
        footer
        + frame("object", f"<table:table>{row('Item', 'Cost')}{row('Van', '240')}</table:table>")
        + frame("title", box("Costs"))
        + f"<draw:g><draw:custom-shape>{p('In a shape.')}</draw:custom-shape></draw:g>"
        + f"<presentation:notes>{frame('notes', box('Mr Quill drives.'))}</presentation:notes>"
    )
    hidden = '<style:style style:name="dp2"><style:p presentation:visibility="hidden"/></style:style>'
    source = read(
        "odp",
        f"<draw:page>{first}</draw:page>"
        f'<draw:page draw:style-name="dp2">{frame("title", box("Secret"))}</draw:page>'
        f"<draw:page>{frame('outline', box('Untitled.'))}{footer}</draw:page>",
        hidden,
    )
    assert (
        source.text
        == "Costs\n\nItem | Cost\nVan | 240\n\nIn a shape.\n\nSaltmere Library\n\nNotes\n\nMr Quill drives."
        "\n\nUntitled."
    )
    assert source.notes == ("hidden slides were left out: 2",)
    assert [page.number for page in source.pages] == [1, 3]
    assert source.section_at(len(source.text) - 1) == "Slide 3"


def test_an_encrypted_document_is_refused(save):
    path = save("odt", p("Shut the gate."), "", "<manifest:encryption-data/>")
    with pytest.raises(IndexingError, match="asks for a password"):
        extract_text(path)


def test_a_sheet_that_is_named_a_text_is_read_as_what_it_is(save):
    path = save("ods", sheet("A", row("Part", "Holes"), row("Hinge", "3")))
    assert "Part: Hinge\nHoles: 3" in extract_text(path.rename(path.with_suffix(".odt"))).text


def test_a_document_of_another_kind_is_refused(save):
    path = save("odg", p("Gate"))
    with pytest.raises(IndexingError, match="is not an OpenDocument text or is damaged"):
        extract_text(path.rename(path.with_suffix(".odt")))


def shown(part):
    return f'<draw:frame><draw:object {LINK} xlink:href="./{part}"/><draw:image/></draw:frame>'


def inner(kind, body):
    return (
        f"<office:document-content {NAMES}><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>"
    )


CHART = inner(
    "chart",
    f"<chart:chart><chart:title>{p('Loans')}</chart:title><chart:plot-area/><table:table><table:table-column/>"
    f"{row('', '2024', '2025')}{row('Spring', '310', '420')}</table:table></chart:chart>",
)
LOANS = "Loans\n\n– | 2024 | 2025\nSpring | 310 | 420"
SHAPE = f"<draw:custom-shape>{p('On the arrow.')}</draw:custom-shape>"


def test_charts_boxes_and_shapes_stand_below_what_they_are_anchored_in(read):
    box = f"<draw:frame><draw:text-box>{p('In the box.')}{SHAPE}</draw:text-box></draw:frame>"
    first = f"<table:table-cell>{p('Level' + box)}</table:table-cell>"
    table = f"<table:table>{row(first, '4 m')}</table:table>"
    source = read(
        "odt", p(f"Use{shown('Object 1')}") + table + p("The end."), **{"Object 1__content.xml": CHART}
    )
    assert source.text == f"Use\n\n{LOANS}\n\nLevel | 4 m\n\nIn the box.\n\nOn the arrow.\n\nThe end."
    assert source.notes == ()


def test_charts_boxes_and_shapes_of_sheets_and_slides_are_read(read):
    chart = {"Object 1__content.xml": CHART}
    cells = f"<table:table-cell>{shown('Object 1')}</table:table-cell>"
    source = read(
        "ods",
        sheet(
            "Stock", f"<table:shapes>{SHAPE}</table:shapes>", row("Item", "Price"), row("Hinge", "3", cells)
        ),
        **chart,
    )
    assert texts(source) == ["Item: Hinge\nPrice: 3", "On the arrow.", LOANS]
    slide = f"<draw:page>{shown('Object 1')}{SHAPE}</draw:page>"
    assert read("odp", slide, **chart).text == f"{LOANS}\n\nOn the arrow."


def test_a_sheet_in_a_text_is_a_table_and_what_is_deeper_is_noted(read):
    held = inner("spreadsheet", sheet("A", row("Item", "Price"), row("Hinge", "3")) + shown("Object 2"))
    source = read("odt", p("Stock") + p(shown("Object 1")), **{"Object 1__content.xml": held})
    assert source.text == "Stock\n\nItem | Price\nHinge | 3"
    assert source.notes == ("1 object within others were left out",)


def test_a_file_of_another_program_is_read_or_named(read):
    ole = f'<draw:frame><draw:object-ole {LINK} xlink:href="./Object 1"/></draw:frame>'
    body = p("The plan:") + p(ole)
    assert (
        read("odt", body, **{"Object 1": b"{\\rtf1 Shut the gate.\\par}"}).text
        == "The plan:\n\nShut the gate."
    )
    source = read("odt", body, **{"Object 1": b"\0\1\2"})
    assert (source.text, source.notes) == ("The plan:", ("embedded files were left out: Object 1",))


def _math(*parts):
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow>{"".join(parts)}</mrow></math>'


@pytest.mark.parametrize(
    ("equation", "text"),
    [
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a+b)/2"),
        ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E = mc^2"),
        ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√(x+1)"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "root_3(x)"),
        (
            "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>",
            "∑_(i = 1)^n i",
        ),
        ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x_1^2"),
        ("<msup><mfenced><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfenced><mn>2</mn></msup>", "(a+b)^2"),
        ("<mfenced><mi>x</mi><mi>y</mi></mfenced>", "(x,y)"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr>"
            "<mtr><mtd><mn>0</mn></mtd><mtd><mn>1</mn></mtd></mtr></mtable>",
            "[1, 0; 0, 1]",
        ),
        ("<semantics><mi>x</mi><annotation>x over</annotation></semantics>", "x"),
        ("<msqrt>" * 60 + "<mi>x</mi>" + "</msqrt>" * 60, "√(" * 29 + "x" + ")" * 29),
    ],
)
def test_equations_are_read_as_linear_text_in_their_line(read, equation, text):
    source = read("odt", p(f"It is {shown('Object 1')} here."), **{"Object 1__content.xml": _math(equation)})
    assert source.text == f"It is {text} here."


def test_comments_and_macros_are_named(read):
    comment = f"<office:annotation>{p('Is this so?')}</office:annotation>"
    parts = {"Basic__script-lc.xml": "<a/>", "Basic__Standard__Module1.xml": "<a/>"}
    source = read("odt", p(f"Shut the gate{comment}."), **parts)
    assert source.notes == ("1 comment was left out", "macros were left out")


def test_numbers_of_items_and_headings_are_kept_as_they_show(read):
    lists = (
        '<text:list-style style:name="L1"><text:list-level-style-number style:num-format="I" text:level="1" '
        'style:num-suffix="."/><text:list-level-style-number style:num-format="a" text:level="2" '
        'style:num-prefix="(" style:num-suffix=")"/></text:list-style>'
        '<text:list-style style:name="L2"><text:list-level-style-number style:num-format="1" text:level="1" '
        'text:start-value="4" style:num-suffix="."/><text:list-level-style-number style:num-format="1" '
        'text:level="2" text:display-levels="2"/></text:list-style>'
        '<text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>'
        "</text:outline-style>"
    )

    def listed(style, *items):
        return f'<text:list text:style-name="{style}">{"".join(items)}</text:list>'

    within = f"<text:list>{item(p('Inner'))}{item(p('Other'))}</text:list>"
    source = read(
        "odt",
        '<text:h text:outline-level="1">Safety</text:h><text:h text:outline-level="2">Gates</text:h>'
        '<text:h text:outline-level="1">Fees</text:h><text:h text:outline-level="2">Fines</text:h>'
        + listed("L1", item(p("First"), within), item(p("Second")))
        + p("Between.")
        + listed("L2", item(p("Fourth"), within)),
        lists,
    )
    assert source.text == (
        "1 Safety\n\n1.1 Gates\n\n2 Fees\n\n2.1 Fines\n\nI. First\n  (a) Inner\n  (b) Other\nII. Second"
        "\n\nBetween.\n\n4. Fourth\n  4.1 Inner\n  4.2 Other"
    )


@pytest.mark.parametrize(
    "hidden",
    [
        '<text:section text:display="none"><text:p>Praise our pumps.</text:p></text:section>',
        '<text:section text:display="none"><text:p text:style-name="T2">Praise our pumps.</text:p>'
        "</text:section>",
        '<text:p>Shut it.<text:span text:style-name="T2"> Praise our pumps.</text:span></text:p>',
        '<text:p text:style-name="T2">Praise our pumps.</text:p>',
        '<text:p><text:hidden-text text:is-hidden="true">Praise our pumps.</text:hidden-text></text:p>',
        '<text:p><text:hidden-paragraph text:is-hidden="true"/>Praise our pumps.</text:p>',
    ],
)
def test_text_that_a_reader_does_not_see_is_left_out_and_counted(read, hidden):
    styles = (
        '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="T2" style:parent-style-name="T1"/>'
    )
    source = read("odt", p("Shut the gate.") + hidden, styles)
    assert "pumps" not in source.text
    assert source.notes == ("3 words that the document hides were left out",)
