import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from tests.ingest.made_office import ODF, save_open_document
from tests.ingest.spans import checked_chunks, texts

LINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'


@pytest.fixture
def save(tmp_path):
    return lambda suffix, *document, **parts: save_open_document(tmp_path / f"a.{suffix}", *document, **parts)


@pytest.fixture
def read(save):
    return lambda *document, **parts: extract_text(save(*document, **parts))


def p(text):
    return f"<text:p>{text}</text:p>"


def item(*blocks):
    return f"<text:list-item>{''.join(blocks)}</text:list-item>"


def tag(element, inside, **attributes):
    given = "".join(f' table:{key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f"<table:{element}{given}>{inside}</table:{element}>"


def cell(text, **attributes):
    return tag("table-cell", p(text) if text else "", **attributes)


def row(*cells, **attributes):
    inside = "".join(each if each.startswith("<") else cell(each) for each in cells)
    return tag("table-row", inside, **attributes)


COVERED = "<table:covered-table-cell/>"


def sheet(name, *rows, style="", columns=""):
    return tag("table", columns + "".join(rows), name=name, style_name=style)


def listed(style, *items, more=""):
    return f'<text:list text:style-name="{style}"{more}>{"".join(items)}</text:list>'


NUMBERED = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/>'
    '<text:list-level-style-bullet text:level="2"/></text:list-style>'
)


def test_paragraphs_headings_lists_and_tables_are_read(read):
    inner = f"<text:list>{item(p('Inner'))}</text:list>"
    source = read(
        "odt",
        '<text:p text:style-name="P1">Saltmere</text:p><text:h text:outline-level="1">Storms</text:h>'
        + p("Shut<text:s text:c='3'/>the<text:tab/>gate <text:span>now</text:span>.")
        + p("")
        + '<text:section><text:h text:outline-level="2">Levels</text:h></text:section>'
        + listed("L1", item(p("First"), inner), item(p("Second"), p("and more")))
        + p("Between.")
        + listed("L1", item(p("Third")), more=' text:continue-numbering="true"')
        + f"<table:table><table:table-header-rows>{row('Level', 'Height')}</table:table-header-rows>"
        + f"{row(cell('1', number_rows_spanned=2), '2 m')}{row(COVERED, '3 m')}</table:table>",
        '<style:style style:name="P1" style:parent-style-name="Title"/>' + NUMBERED,
    )
    assert source.text == (
        "Saltmere\n\nStorms\n\nShut the gate now.\n\nLevels\n\n1. First\n  - Inner\n2. Second\n\nand more\n\n"
        "Between.\n\n3. Third\n\nLevel | Height\n1 | 2 m\n1 | 3 m"
    )
    assert [heading.section for heading in source.headings] == ["Saltmere", "Storms", "Storms > Levels"]
    assert checked_chunks(source, size=50, overlap=0)


def test_notes_and_boxes_follow_their_paragraph_and_comments_and_macros_are_named(read):
    body = f"<text:note-body>{p('See below.')}</text:note-body>"
    note = f"<text:note><text:note-citation>1</text:note-citation>{body}</text:note>"
    box = f"<draw:frame><draw:text-box>{p('In the box.')}</draw:text-box></draw:frame>"
    comment = f"<office:annotation>{p('Is this so?')}</office:annotation><!-- a remark -->"
    deleted = f"<text:tracked-changes>{p('Gone.')}</text:tracked-changes>"
    macros = {"Basic__script-lc.xml": "<a/>", "Basic__Standard__Module1.xml": "<a/>"}
    source = read("odt", deleted + p(f"Shut{note} the{box} gate{comment}."), **macros)
    assert source.text == "Shut the gate.\n\nSee below.\n\nIn the box."
    assert source.notes == ("1 comment was left out", "macros were left out")


def test_rows_of_a_sheet_have_the_names_of_their_columns_and_comments_are_named(read):
    comment = f"<office:annotation>{p('Is this so?')}</office:annotation>"
    rows = [
        row("Prices in March"),
        row(cell("", number_columns_repeated=1000), number_rows_repeated=2),
        row("Item", "Price", "Stock", cell("", number_columns_repeated=16380)),
        row(tag("table-cell", comment + p("Hinge")), cell("£4.20", value="4.2"), "12"),
        row("Nail", cell("03/01/24 9:30", date_value="2024-03-01T09:30:00"), "1.2.3"),
        row(cell("Dowel", number_rows_spanned=2), cell("1", number_columns_repeated=2)),
        row(COVERED, "2", "3"),
        row(cell("", number_columns_repeated=16384), number_rows_repeated=1048569),
    ]
    source = read("ods", sheet("Stock", *rows))
    assert texts(source) == [
        "Prices in March",
        "Item: Hinge\nPrice: £4.20\nStock: 12",
        "Item: Nail\nPrice: 2024-03-01 9:30\nStock: 1.2.3",
        "Item: Dowel\nPrice: 1\nStock: 1",
        "Item: Dowel\nPrice: 2\nStock: 3",
    ]
    assert [record.metadata["row"] for record in source.records] == [1, 5, 6, 7, 8]
    assert source.notes == ("1 comment was left out",)


def test_a_row_that_is_repeated_without_end_is_refused(read):
    rows = [row("Item", "Price"), row("Hinge", "4", number_rows_repeated=50_000)]
    with pytest.raises(IndexingError, match=r"unpacks to 50,000 rows, which no document of its size holds"):
        read("ods", sheet("Stock", *rows))


@pytest.mark.parametrize("drawn", [False, True])
def test_hidden_sheets_columns_and_rows_are_left_out_and_named_and_folded_ones_read(read, drawn):
    hidden = '<style:style style:name="ta1"><style:table-properties table:display="false"/></style:style>'
    column = '<table:table-column table:visibility="collapse"/>'
    columns = f'<table:table-column/><table:table-column-group table:display="false">{column}'
    columns += f"</table:table-column-group>{column}"
    if drawn:  # a chart has columns of its own
        columns = f"<table:shapes>{shown('Object 1')}</table:shapes>{columns}"
    folded = row("Dowel", "2", "9", visibility="collapse")
    rows = [
        row("Item", "Price", "Cost"),
        row("Hinge", "1", "9"),
        row("Secret", "3", "9", visibility="collapse"),
        row("Bolt", "4", "9", visibility="filter"),
        f'<table:table-row-group table:display="false">{folded}</table:table-row-group>',
    ]
    sheets = sheet("Stock", *rows, columns=columns) + sheet("Salaries", row("Mrs Adair", "40"), style="ta1")
    source = read("ods", sheets, hidden, **{"Object 1__content.xml": CHART})
    read_rows = ["Item: Hinge\nPrice: 1", "Item: Bolt\nPrice: 4", "Item: Dowel\nPrice: 2"]
    assert texts(source) == [*read_rows, *([LOANS] if drawn else [])]
    [note] = source.notes
    assert note.startswith("hidden sheets, columns and rows were left out: ")
    assert all(each in note for each in ("columns of Stock", "rows of Stock", "Salaries"))


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


def test_a_slide_is_a_page_with_its_title_its_table_and_its_notes(read):
    def frame(kind, inside):
        box = inside if inside.startswith("<") else f"<draw:text-box>{p(inside)}</draw:text-box>"
        return f'<draw:frame presentation:class="{kind}">{box}</draw:frame>'

    footer = frame("footer", "Saltmere Library")
    table = f"<table:table>{row('Item', 'Cost')}{row('Van', '240')}</table:table>"
    shape = f"<draw:g><draw:custom-shape>{p('In a shape.')}</draw:custom-shape></draw:g>"
    notes = f"<presentation:notes>{frame('notes', 'Mr Quill drives.')}</presentation:notes>"
    source = read(
        "odp",
        f"<draw:page>{footer}{frame('object', table)}{frame('title', 'Costs')}{shape}{notes}</draw:page>"
        f'<draw:page draw:style-name="dp2">{frame("title", "Secret")}</draw:page>'
        f"<draw:page>{frame('outline', 'Untitled.')}{footer}</draw:page>",
        '<style:style style:name="dp2"><style:p presentation:visibility="hidden"/></style:style>',
    )
    first = [
        "Costs",
        "Item | Cost\nVan | 240",
        "In a shape.",
        "Saltmere Library",
        "Notes",
        "Mr Quill drives.",
    ]
    assert source.text.split("\n\n") == [*first, "Untitled."]
    assert source.notes == ("hidden slides were left out: 2",)
    assert [page.number for page in source.pages] == [1, 3]
    assert source.section_at(len(source.text) - 1) == "Slide 3"


@pytest.mark.parametrize(
    ("kind", "manifest", "reason"),
    [
        ("odt", "<manifest:encryption-data/>", "asks for a password"),
        ("odg", "", "is not an OpenDocument text or is damaged"),
    ],
)
def test_an_encrypted_document_and_one_of_another_kind_are_refused(save, kind, manifest, reason):
    path = save(kind, p("Shut the gate."), "", manifest)
    with pytest.raises(IndexingError, match=reason):
        extract_text(path.rename(path.with_suffix(".odt")))


def test_a_sheet_that_is_named_a_text_is_read_as_what_it_is(save):
    path = save("ods", sheet("A", row("Part", "Holes"), row("Hinge", "3")))
    assert "Part: Hinge\nHoles: 3" in extract_text(path.rename(path.with_suffix(".odt"))).text


def shown(part):
    return f'<draw:frame><draw:object {LINK} xlink:href="./{part}"/><draw:image/></draw:frame>'


def inner(kind, body):
    held = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return f"<office:document-content {ODF}>{held}</office:document-content>"


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
    shapes = f"<table:shapes>{SHAPE}</table:shapes>"
    source = read("ods", sheet("Stock", shapes, row("Item", "Price"), row("Hinge", "3", cells)), **chart)
    assert texts(source) == ["Item: Hinge\nPrice: 3", "On the arrow.", LOANS]
    slide = f"<draw:page>{shown('Object 1')}{SHAPE}</draw:page>"
    assert read("odp", slide, **chart).text == f"{LOANS}\n\nOn the arrow."


def test_a_sheet_in_a_text_is_a_table_and_what_is_deeper_is_noted(read):
    held = inner("spreadsheet", sheet("A", row("Item", "Price"), row("Hinge", "3")) + shown("Object 2"))
    source = read("odt", p("Stock") + p(shown("Object 1")), **{"Object 1__content.xml": held})
    assert source.text == "Stock\n\nItem | Price\nHinge | 3"
    assert source.notes == ("1 object within others were left out",)


@pytest.mark.parametrize(
    ("held", "text", "notes"),
    [
        (b"{\\rtf1 Shut the gate.\\par}", "The plan:\n\nShut the gate.", ()),
        (b"\0\1\2", "The plan:", ("embedded files were left out: Object 1",)),
    ],
)
def test_a_file_of_another_program_is_read_or_named(read, held, text, notes):
    ole = f'<draw:frame><draw:object-ole {LINK} xlink:href="./Object 1"/></draw:frame>'
    source = read("odt", p("The plan:") + p(ole), **{"Object 1": held})
    assert (source.text, source.notes) == (text, notes)


SUM = "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>"
MATRIX = "".join(f"<mtr><mtd><mn>{a}</mn></mtd><mtd><mn>{b}</mn></mtd></mtr>" for a, b in ("10", "01"))


@pytest.mark.parametrize(
    ("equation", "text"),
    [
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a+b)/2"),
        ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E = mc^2"),
        ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√(x+1)"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "root_3(x)"),
        (SUM, "∑_(i = 1)^n i"),
        ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x_1^2"),
        ("<msup><mfenced><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfenced><mn>2</mn></msup>", "(a+b)^2"),
        ("<mfenced><mi>x</mi><mi>y</mi></mfenced>", "(x,y)"),
        (f"<mtable>{MATRIX}</mtable>", "[1, 0; 0, 1]"),
        ("<semantics><mi>x</mi><annotation>x over</annotation></semantics>", "x"),
        ("<msqrt>" * 60 + "<mi>x</mi>" + "</msqrt>" * 60, "√(" * 29 + "x" + ")" * 29),
    ],
)
def test_equations_are_read_as_linear_text_in_their_line(read, equation, text):
    math = f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow>{equation}</mrow></math>'
    source = read("odt", p(f"It is {shown('Object 1')} here."), **{"Object 1__content.xml": math})
    assert source.text == f"It is {text} here."


def test_numbers_of_items_and_headings_are_kept_as_they_show(read):
    def style(kind, level, format_, more=""):
        return f'<text:{kind}-level-style text:level="{level}" style:num-format="{format_}" {more}/>'

    dot, both, start = 'style:num-suffix="."', 'text:display-levels="2"', 'text:start-value="4"'
    brackets = 'style:num-prefix="(" style:num-suffix=")"'
    lists = (
        f'<text:list-style style:name="L1">{style("list", 1, "I", dot)}{style("list", 2, "a", brackets)}'
        f'</text:list-style><text:list-style style:name="L2">{style("list", 1, 1, f"{dot} {start}")}'
        f"{style('list', 2, 1, both)}</text:list-style>"
    ).replace("level-style ", "level-style-number ")
    outline = style("outline", 1, 1) + style("outline", 2, 1, both)
    headings = "".join(
        f'<text:h text:outline-level="{level}">{title}</text:h>'
        for level, title in ((1, "Safety"), (2, "Gates"), (1, "Fees"), (2, "Fines"))
    )
    within = f"<text:list>{item(p('Inner'))}{item(p('Other'))}</text:list>"
    first = listed("L1", item(p("First"), within), item(p("Second")))
    body = headings + first + p("Between.") + listed("L2", item(p("Fourth"), within))
    assert read("odt", body, f"{lists}<text:outline-style>{outline}</text:outline-style>").text == (
        "1 Safety\n\n1.1 Gates\n\n2 Fees\n\n2.1 Fines\n\nI. First\n  (a) Inner\n  (b) Other\nII. Second"
        "\n\nBetween.\n\n4. Fourth\n  4.1 Inner\n  4.2 Other"
    )


@pytest.mark.parametrize(
    "hidden",
    [
        '<text:section text:display="none"><text:p>{}</text:p></text:section>',
        '<text:section text:display="none"><text:p text:style-name="T2">{}</text:p></text:section>',
        '<text:p>Shut it.<text:span text:style-name="T2"> {}</text:span></text:p>',
        '<text:p text:style-name="T2">{}</text:p>',
        '<text:p><text:hidden-text text:is-hidden="true">{}</text:hidden-text></text:p>',
        '<text:p><text:hidden-paragraph text:is-hidden="true"/>{}</text:p>',
    ],
)
def test_text_that_a_reader_does_not_see_is_left_out_and_counted(read, hidden):
    styles = (
        '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="T2" style:parent-style-name="T1"/>'
    )
    source = read("odt", p("Shut the gate.") + hidden.format("Praise our pumps."), styles)
    assert "pumps" not in source.text
    assert source.notes == ("3 words that the document hides were left out",)
