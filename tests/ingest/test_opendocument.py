import zipfile

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text, split

NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{place}:1.0"'
    for name, place in {
        "office": "office",
        "style": "style",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "presentation": "presentation",
        "manifest": "manifest",
    }.items()
)
KINDS = {"odt": "text", "ods": "spreadsheet", "odp": "presentation"}


@pytest.fixture
def save(tmp_path):
    """Save a document of this body and these automatic styles."""

    def save_document(suffix, body, styles="", manifest=""):
        path = tmp_path / f"a.{suffix}"
        kind = KINDS[suffix]
        content = (
            f"<office:document-content {NAMES}><office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
        )
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
            archive.writestr("content.xml", content)
            archive.writestr(
                "META-INF/manifest.xml", f"<manifest:manifest {NAMES}>{manifest}</manifest:manifest>"
            )
        return path

    return save_document


@pytest.fixture
def read(save):
    return lambda *document: extract_text(save(*document))


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


def texts(source):
    return [source.text[record.start : record.end] for record in source.records]


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
    for chunk in split(source, size=50, overlap=0):
        assert source.text[chunk["start"] : chunk["end"]] == chunk["text"]


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
            row(cell("Dowel", number_rows_spanned=2), cell("1", number_columns_repeated=2)),
            row("<table:covered-table-cell/>", "2", "3"),
            row(cell("", number_columns_repeated=16384), number_rows_repeated=1048569),
        ),
    )
    assert texts(source) == [
        "Prices in March",
        "Item: Hinge\nPrice: £4.20\nStock: 12",
        "Item: Dowel\nPrice: 1\nStock: 1",
        "Item: Dowel\nPrice: 2\nStock: 3",
    ]
    assert [record.metadata["row"] for record in source.records] == [1, 5, 6, 7]


def test_hidden_sheets_and_columns_are_left_out_and_named(read):
    hidden = '<style:style style:name="ta1"><style:table-properties table:display="false"/></style:style>'
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    source = read(
        "ods",
        sheet("Stock", row("Item", "Cost", "Price"), row("Hinge", "1", "3"), columns=columns)
        + sheet("Salaries", row("Mrs Adair", "40,000"), style="ta1"),
        hidden,
    )
    assert source.text == "Item: Hinge\nPrice: 3"
    assert source.notes == ("hidden sheets and columns were left out: columns of Stock, Salaries",)


def test_a_slide_is_a_page_with_its_title_its_table_and_its_notes(read):
    def frame(kind, inside):
        return f'<draw:frame presentation:class="{kind}">{inside}</draw:frame>'

    def box(text):
        return f"<draw:text-box>{p(text)}</draw:text-box>"

    first = (
        frame("footer", box("Saltmere Library"))
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
        f"<draw:page>{frame('outline', box('Untitled.'))}</draw:page>",
        hidden,
    )
    assert (
        source.text
        == "Costs\n\nItem | Cost\nVan | 240\n\nIn a shape.\n\nNotes\n\nMr Quill drives.\n\nUntitled."
    )
    assert source.notes == ("hidden slides were left out: 2",)
    assert [page.number for page in source.pages] == [1, 3]
    assert source.section_at(len(source.text) - 1) == "Slide 3"


def test_an_encrypted_document_is_refused(save):
    path = save("odt", p("Shut the gate."), "", "<manifest:encryption-data/>")
    with pytest.raises(IndexingError, match="asks for a password"):
        extract_text(path)


def test_a_document_of_another_kind_is_refused(save):
    path = save("ods", sheet("A", row("Hinge", "3")))
    with pytest.raises(IndexingError, match="is not an OpenDocument text or is damaged"):
        extract_text(path.rename(path.with_suffix(".odt")))


def test_a_cell_is_found_by_its_row_and_its_column(save):
    path = save(
        "ods",
        sheet("Stock", row("Item", "Price", "Stock"), row("Hinge", "£4.20", "12"), row("Dowel", "£1", "80")),
    )
    rag = AdaptiveRAG(str(path))
    assert "£4.20" in rag.invoke("What is the price of the hinge?")["answer"]
    assert "80" in rag.invoke("How many dowels are in stock?")["answer"]
