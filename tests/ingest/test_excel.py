import datetime

import openpyxl
import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.number_formats import show_number


@pytest.fixture
def book():
    return openpyxl.Workbook()


@pytest.fixture
def read(tmp_path, book):
    """Save the workbook and read it."""

    def save_and_read():
        book.save(tmp_path / "a.xlsx")
        return extract_text(tmp_path / "a.xlsx")

    return save_and_read


def fill(sheet, *rows, at=1):
    for number, row in enumerate(rows, start=at):
        for column, value in enumerate(row, start=1):
            sheet.cell(number, column, value)


def texts(source):
    return [source.text[record.start : record.end] for record in source.records]


def test_a_row_has_the_names_of_its_columns_and_what_is_around_the_table_is_text(book, read):
    sheet = book.active
    sheet.title = "Stock"
    fill(
        sheet, ["Stock in March"], [], ["Item", "Price", "Shelf"], ["Hinge", 4.2, "A3"], ["Dowel", None, "B1"]
    )
    fill(sheet, ["Prices hold until June."], ["Ask Mrs Adair."], at=7)
    sheet.merge_cells("A1:C1")
    source = read()
    assert texts(source) == [
        "Stock in March",
        "Item: Hinge\nPrice: 4.2\nShelf: A3",
        "Item: Dowel\nShelf: B1",
        "Prices hold until June.\nAsk Mrs Adair.",
    ]
    chunks = list(split(source))
    known = [(chunk["section"], chunk["metadata"]["sheet"], chunk["metadata"]["row"]) for chunk in chunks]
    assert known == [("Stock", "Stock", row) for row in (1, 4, 5, 7)]
    assert all(source.text[chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks)


def test_rows_of_several_sheets_name_their_sheet(book, read):
    book.active.title = "Leeds"
    for sheet in (book.active, book.create_sheet("York"), book.create_sheet("Empty")):
        if sheet.title != "Empty":
            fill(sheet, ["Item", "Price"], ["Hinge", 3])
    assert texts(read()) == [f"Item: Hinge\nPrice: 3\nSheet: {name}" for name in ("Leeds", "York")]


def test_what_is_hidden_is_left_out_and_named(book, read):
    sheet = book.active
    sheet.title = "Stock"
    fill(sheet, ["Item", "Cost", "Price"], ["Hinge", 1, 3])
    sheet.column_dimensions["B"].hidden = True
    hidden = book.create_sheet("Salaries")
    fill(hidden, ["Mrs Adair", 40_000])
    hidden.sheet_state = "veryHidden"
    source = read()
    assert source.text == "Item: Hinge\nPrice: 3"
    assert source.notes == ("hidden sheets and columns were left out: columns of Stock, Salaries",)


def test_merged_cells_hold_for_all_that_they_cover(book, read):
    fill(
        book.active,
        ["Region", "2023", None, "2024"],
        [None, "Sales", "Cost", "Sales"],
        ["North", 1, 2, 3],
        [None, 4, 5, 6],
    )
    for area in ("A1:A2", "B1:C1", "A3:A4"):
        book.active.merge_cells(area)
    assert texts(read()) == [
        "Region: North\n2023 Sales: 1\n2023 Cost: 2\n2024 Sales: 3",
        "Region: North\n2023 Sales: 4\n2023 Cost: 5\n2024 Sales: 6",
    ]


def test_a_line_over_some_rows_is_the_group_of_those_rows(book, read):
    fill(book.active, ["Dish", "Price"], ["Drinks"], ["Tea", 2], ["Food"], ["Scone", 3], ["Cake", 4])
    assert texts(read()) == [
        "Dish: Tea\nPrice: 2\nGroup: Drinks",
        "Dish: Scone\nPrice: 3\nGroup: Food",
        "Dish: Cake\nPrice: 4\nGroup: Food",
    ]


def test_an_item_of_which_nothing_is_known_is_no_group(book, read):
    fill(book.active, ["Dish", "Price"], ["Tea", 2], ["Scone"], ["Cake", 4])
    assert texts(read()) == ["Dish: Tea\nPrice: 2", "Dish: Scone", "Dish: Cake\nPrice: 4"]


def test_a_table_goes_on_after_a_blank_row_and_a_form_is_read_as_lines(book, read):
    fill(book.active, ["Item", "Price", "Shelf"], ["Hinge", 3, "A1"], [], ["Dowel", 1, "B2"])
    fill(book.active, ["Supplier", "Acme"], ["Contact", "Mrs Adair"], at=6)
    assert texts(read()) == [
        "Item: Hinge\nPrice: 3\nShelf: A1",
        "Item: Dowel\nPrice: 1\nShelf: B2",
        "Supplier | Acme\nContact | Mrs Adair",
    ]


def test_questions_and_answers_are_recognised(book, read):
    fill(book.active, ["Question", "Answer"], ["When is it open?", "From nine to five."])
    (chunk,) = split(read())
    assert (chunk["section"], chunk["metadata"]["kind"]) == ("When is it open?", "qa")


def test_a_formula_counts_as_its_value_and_one_without_is_told_of(book, read):
    fill(book.active, ["Item", "Price"], ["Hinge", 3], ["Dowel", "=B2*2"])
    source = read()
    assert texts(source) == ["Item: Hinge\nPrice: 3", "Item: Dowel"]
    assert source.notes[0].startswith("1 formula holds no computed value")


def test_a_cell_at_the_far_end_of_a_sheet_costs_nothing(book, read):
    book.active["A1"], book.active["XFD1048576"] = "near", "far"
    assert texts(read()) == ["near", "far"]


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        ("4.2000000000000002", "", "4.2"),
        ("0.30000000000000004", "General", "0.3"),
        ("123456789012345", "", "123456789012345"),
        ("1234.5", '"£"#,##0.00', "£1,234.50"),
        ("-1234.5", "#,##0.00_);[Red](#,##0.00)", "-1,234.50"),
        ("12", "[$€-407]* 0", "€12"),
        ("12.5", '0.0# "kg"', "12.5 kg"),
        ("0.075", "0.0%", "7.5%"),
        ("42", "00000", "00042"),
        ("2500000", '0.0,,"m"', "2.5m"),
        ("2.5", "0", "3"),
        ("45720", "dd/mm/yyyy", "2025-03-04"),
        ("45720", "[$-809]d mmmm yyyy", "4 March 2025"),
        ("45720.604166667", "d-mmm-yy hh:mm", "4 Mar 25 14:30"),
        ("0.604166667", "h:mm AM/PM", "14:30"),
        ("1.25", "[h]:mm", "30:00"),
        ("45720", "mmm yyyy", "Mar 2025"),
        ("1e300", "yyyy", "1" + "0" * 300),
        ("0.5", "# ?/?", "0.5"),
    ],
)
def test_a_number_is_shown_as_its_cell_shows_it(value, code, shown):
    assert show_number(value, code) == shown


def test_days_may_be_counted_from_1904(book, read):
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    fill(book.active, ["Item", "Delivery"], ["Hinge", datetime.date(2025, 3, 4)])
    assert "Delivery: 2025-03-04" in read().text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04 junk", "is not an Excel workbook or is damaged"),
        (
            b"\xd0\xcf\x11\xe0" + b"x" * 600,
            r"is encrypted, or is in the older \.xls format. Save it as \.xlsx",
        ),
    ],
)
def test_what_is_no_workbook_is_refused(tmp_path, content, reason):
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    with pytest.raises(IndexingError, match=reason):
        extract_text(path)


def test_a_cell_is_found_by_its_row_its_column_and_its_sheet(tmp_path, book):
    prices = {"Leeds": [("Brass hinge", 4.2, 12), ("Oak dowel", 1.5, 80)], "York": [("Brass hinge", 4.9, 7)]}
    book.remove(book.active)
    for name, rows in prices.items():
        fill(book.create_sheet(name), ["Item", "Price (pounds)", "Stock"], *rows)
    (tmp_path / "docs").mkdir()
    book.save(tmp_path / "docs" / "stock.xlsx")
    rag = AdaptiveRAG(str(tmp_path / "docs"))
    for question, answer in (
        ("How much does the brass hinge cost in York?", "4.9"),
        ("How much does the brass hinge cost in Leeds?", "4.2"),
        ("How many oak dowels are in stock in Leeds?", "80"),
    ):
        assert answer in rag.invoke(question)["answer"].partition("\n")[0]
