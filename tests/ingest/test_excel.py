import datetime
import time

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart
from openpyxl.comments import Comment
from openpyxl.styles import Font

from adaptive_rag import AdaptiveRAG
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.number_formats import BUILT_IN, show_number
from adaptive_rag.ingest.sheet_blocks import is_number
from tests.ingest.made_office import MC, A, C, R, add_parts, change_parts, chart, diagram
from tests.ingest.spans import checked_chunks, texts


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
        "Item: Hinge\nPrice: 4.2\nShelf: A3\nTable: Stock in March",
        "Item: Dowel\nShelf: B1\nTable: Stock in March",
        "Prices hold until June.\nAsk Mrs Adair.",
    ]
    chunks = checked_chunks(source)
    known = [(chunk["section"], chunk["metadata"]["sheet"], chunk["metadata"]["row"]) for chunk in chunks]
    assert known == [("Stock", "Stock", row) for row in (1, 4, 5, 7)]


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
    assert source.notes == ("hidden sheets, columns and rows were left out: columns of Stock, Salaries",)


def test_hidden_rows_are_left_out_and_filtered_or_folded_ones_read(book, read):
    for name in ("Stock", "Filtered", "Folded"):
        sheet = book.active if name == "Stock" else book.create_sheet(name)
        sheet.title = name
        fill(sheet, ["Item", "Price"], ["Hinge", 3], ["Secret", 1])
        sheet.row_dimensions[3].hidden = True
    book["Filtered"].auto_filter.ref = "A1:B3"
    book["Filtered"].auto_filter.add_filter_column(0, ["Hinge"])
    book["Folded"].row_dimensions[3].outlineLevel = 1
    source = read()
    found = [text.rpartition(" ")[2] for text in texts(source) if "Secret" in text]
    assert found == ["Filtered", "Folded"]
    assert source.notes == ("hidden sheets, columns and rows were left out: rows of Stock",)


def test_charts_and_comments_are_named_and_the_text_of_boxes_is_read(tmp_path, book):
    sheet = book.active
    fill(sheet, ["Item", "Price"], ["Hinge", 3], ["Dowel", 1])
    sheet["A2"].comment = Comment("too dear", "Mr Bell")
    sheet.add_chart(BarChart(), "D2")
    book.save(tmp_path / "a.xlsx")
    box = (
        '<sp xmlns="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"'
        ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><txBody>'
        "<a:p><a:r><a:t>Prices hold </a:t></a:r><a:r><a:t>until June</a:t></a:r></a:p></txBody></sp>"
    )

    def add_box(name, data):
        start, end, tag = data.rpartition(b"</")
        return start + box.encode() + end + tag if name.startswith("xl/drawings/drawing") else data

    change_parts(tmp_path / "a.xlsx", add_box)
    source = extract_text(tmp_path / "a.xlsx")
    assert texts(source)[-1] == "Prices hold until June"
    assert source.notes == ("1 chart was left out", "1 comment was left out")


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


def test_a_row_of_equal_texts_is_a_row_and_no_group(book, read):
    fill(book.active, ["English", "German", "French"], ["Cat", "Katze", "chat"], ["Hotel"] * 3)
    fill(book.active, ["House", "Haus", "maison"], ["Colours"], ["Red", "Rot", "rouge"], at=4)
    book.active.merge_cells("A5:C5")
    assert texts(read()) == [
        "English: Cat\nGerman: Katze\nFrench: chat",
        "English: Hotel\nGerman: Hotel\nFrench: Hotel",
        "English: House\nGerman: Haus\nFrench: maison",
        "English: Red\nGerman: Rot\nFrench: rouge\nGroup: Colours",
    ]


def test_the_number_of_a_note_is_no_part_of_a_figure(book, read):
    note = TextBlock(InlineFont(vertAlign="superscript"), "1")
    fill(book.active, ["Town", CellRichText("2023", note)], ["Leeds", CellRichText("1,234", note)])
    fill(book.active, ["York", 56], at=3)
    assert texts(read()) == ["Town: Leeds\n2023¹: 1,234¹", "Town: York\n2023¹: 56"]


def test_a_run_of_lines_is_items_where_it_is_too_long_or_ends_the_table(book, read):
    names = [[name] for name in ("Nut", "Washer", "Screw", "Hook")]
    fill(
        book.active, ["Item", "Price", "Stock"], ["Bolt", 4.2, 12], *names, ["Pin", 3.1, 5], ["Cap"], ["Cup"]
    )
    items = [text.partition("\n")[0].removeprefix("Item: ") for text in texts(read())]
    assert items == ["Bolt", "Nut", "Washer", "Screw", "Hook", "Pin", "Cap", "Cup"]
    assert "Group" not in read().text


def test_no_name_of_a_group_is_lost_where_many_stand_within_each_other(book, read):
    names = [[name] for name in ("North", "Leeds", "East", "Shop", "Till")]
    fill(book.active, ["Item", "Price", "Stock"], *names[:2], ["Bolt", 4.2, 12], *names[2:], ["Pin", 3.1, 5])
    groups = [text.partition("Group: ")[2] for text in texts(read())]
    assert groups == ["North > Leeds", "North > East > Shop > Till"]


def test_what_is_said_above_a_table_is_kept_beside_a_column_of_that_name(book, read):
    book.active.title = "Leeds"
    fill(
        book.active,
        ["Stock in March"],
        [],
        ["Group", "Table", "Sheet", "Price"],
        ["Drinks"],
        ["a", "b", "c", 2],
    )
    fill(book.create_sheet("York"), ["Item", "Price"], ["Hinge", 3])
    assert texts(read())[1] == (
        "Group: a\nTable: b\nSheet: c\nPrice: 2\n"
        "Group (above): Drinks\nTable (above): Stock in March\nSheet (above): Leeds"
    )


def test_a_table_goes_on_after_a_blank_row_and_a_form_is_read_as_lines(book, read):
    fill(book.active, ["Item", "Price", "Shelf"], ["Hinge", 3, "A1"], [], ["Dowel", 1, "B2"])
    fill(book.active, ["Supplier", "Acme"], ["Contact", "Mrs Adair"], at=6)
    assert texts(read()) == [
        "Item: Hinge\nPrice: 3\nShelf: A1",
        "Item: Dowel\nPrice: 1\nShelf: B2",
        "Supplier | Acme\nContact | Mrs Adair",
    ]


def test_a_header_may_have_several_rows_and_a_unit(book, read):
    fill(
        book.active,
        ["Income statement"],
        ["in EUR million"],
        [None, 2023, None, 2022],
        ["Item", "Q1", "Q2", "Q1"],
        [None, "EUR", "EUR", "USD"],
        ["Revenue", 10, 11, 9],
        ["Cost", 4, 5, 3],
        ["* before restatement"],
    )
    assert texts(read()) == [
        "Income statement\nin EUR million",
        "Item: Revenue\n2023 Q1 EUR: 10\n2023 Q2 EUR: 11\n2022 Q1 USD: 9\n"
        "Table: Income statement, in EUR million",
        "Item: Cost\n2023 Q1 EUR: 4\n2023 Q2 EUR: 5\n2022 Q1 USD: 3\nTable: Income statement, in EUR million",
        "* before restatement",
    ]


def test_a_table_goes_on_after_a_blank_row_where_a_column_begins_to_be_filled(book, read):
    fill(book.active, ["Item", "Price", "Stock", "Note"], ["Bolt", 4.2, 12], ["Nut", 1.1, 30])
    fill(book.active, ["Screw", 2.5, 7, "sold out"], ["Washer", 0.5, 9], at=5)
    assert "Item: Screw\nPrice: 2.5\nStock: 7\nNote: sold out" in texts(read())


def test_a_header_may_stand_above_a_blank_row(book, read):
    fill(book.active, ["In millions", None, None, "January to June"], ["", "Sales", "Profit", "Costs"], [])
    fill(book.active, ["Zone A", 12, 3, 9], ["Zone B", 10, 2, 8], at=4)
    assert texts(read()) == [
        f"In millions: {zone}\nJanuary to June Sales: {sales}\nJanuary to June Profit: {profit}\n"
        f"January to June Costs: {costs}"
        for zone, sales, profit, costs in [("Zone A", 12, 3, 9), ("Zone B", 10, 2, 8)]
    ]


def test_a_merged_line_over_the_names_is_the_title_of_the_table(book, read):
    fill(book.active, ["Exports by country", None, None, "Notes"], ["Country", "Tons", "Value", None])
    fill(book.active, ["Peru", 12, 40, "estimated"], ["Chile", 9, 31, "estimated"], at=3)
    book.active.merge_cells("A1:C1")
    assert (
        texts(read())[0] == "Country: Peru\nTons: 12\nValue: 40\nNotes: estimated\nTable: Exports by country"
    )


def test_days_above_columns_name_them(book, read):
    days = [datetime.date(2023, 12, 31), datetime.date(2022, 12, 31)]
    fill(book.active, ["Assets", *days], ["Cash", 5, 4], ["Debtors", 2, 3])
    assert texts(read())[0] == "Assets: Cash\n2023-12-31: 5\n2022-12-31: 4"


def test_groups_of_a_balance_sheet_stand_within_each_other(book, read):
    fill(
        book.active,
        ["", 2023, 2022],
        ["ASSETS"],
        ["Current assets"],
        ["Cash", 5, 4],
        ["Fixed assets"],
        ["Land", 7, 7],
        ["LIABILITIES"],
        ["Loans", 9, 8],
        [],
        ["Equity"],
        ["Shares", 3, 3],
    )
    groups = [text.partition("Group: ")[2] for text in texts(read())]
    assert groups == ["ASSETS > Current assets", "ASSETS > Fixed assets", "LIABILITIES", "Equity"]


def test_tables_side_by_side_or_set_off_below_are_read_apart(book, read):
    sheet = book.active
    fill(sheet, ["Item", "Price", None, "Town", "People"], ["Hinge", 3, None, "Leeds", 800])
    fill(sheet, ["Dowel", 1, None, "York", 200], ["Nail", 2], at=3)
    for row, cells in enumerate([["Gate", "Opens"], ["North", 9], ["South", 8]], start=5):
        for column, value in enumerate(cells, start=7):
            sheet.cell(row, column, value)
    assert texts(read()) == [
        "Item: Hinge\nPrice: 3",
        "Item: Dowel\nPrice: 1",
        "Item: Nail\nPrice: 2",
        "Town: Leeds\nPeople: 800",
        "Town: York\nPeople: 200",
        "Gate: North\nOpens: 9",
        "Gate: South\nOpens: 8",
    ]


def test_a_blank_column_inside_a_table_is_a_gap(book, read):
    fill(book.active, ["Item", None, 2023, "%", None, 2022, "%"], ["Cash", None, 5, 50, None, 4, 40])
    fill(book.active, ["Land", None, 5, 50, None, 6, 60], at=3)
    assert texts(read())[0] == "Item: Cash\n2023: 5\n%: 50\n2022: 4\n% (5): 40"


def test_another_table_may_begin_right_below_one(book, read):
    fill(book.active, ["Item", 2023, 2022], ["Cash", 5, 4], ["By town"], ["Town", "People", "Area"])
    fill(book.active, ["Leeds", 800, 550], ["York", 200, 270], at=5)
    assert texts(read()) == [
        "Item: Cash\n2023: 5\n2022: 4",
        "By town",
        "Town: Leeds\nPeople: 800\nArea: 550\nTable: By town",
        "Town: York\nPeople: 200\nArea: 270\nTable: By town",
    ]


def test_a_bold_row_above_others_names_two_columns_of_words(book, read):
    fill(book.active, ["Term", "Meaning"], ["Mole", "A wall in the sea"], ["Quay", "A wall for ships"])
    for cell in book.active[1]:
        cell.font = Font(bold=True)
    assert texts(read()) == [
        "Term: Mole\nMeaning: A wall in the sea",
        "Term: Quay\nMeaning: A wall for ships",
    ]


def test_a_sheet_made_to_be_cut_without_end_is_read_in_bounded_time(book, read):
    sheet = book.active
    for step in range(600):  # a stair of tables, each right of the one above
        sheet.cell(step + 1, 2 * step + 1, "a")
        sheet.cell(step + 1, 2 * step + 2, "b")
    for column in range(1, 1200, 2):
        sheet.cell(700, column, "c")
    start = time.perf_counter()
    assert read().text.count("a") == 600
    assert time.perf_counter() - start < 20


def test_questions_and_answers_are_recognised(book, read):
    fill(book.active, ["Question", "Answer"], ["When is it open?", "From nine to five."])
    (chunk,) = split(read())
    assert (chunk["section"], chunk["metadata"]["kind"]) == ("When is it open?", "qa")


def test_a_formula_counts_as_its_value_and_one_without_is_told_of(book, read):
    fill(book.active, ["Item", "Price"], ["Hinge", 3], ["Dowel", "=B2*2"])
    source = read()
    assert texts(source) == ["Item: Hinge\nPrice: 3", "Item: Dowel"]
    assert source.notes[0].startswith("1 formula holds no computed value")


def test_characters_that_a_workbook_escapes_are_read(book, read):
    fill(book.active, ["Call first_x000D_\nthen come", "a_x005F_x000D_", "a_xD83D_", "a_x0000_b"])
    assert texts(read()) == ["Call first then come | a_x000D_ | a_xD83D_ | ab"]


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
        ("15", '0"%"', "15%"),
        ("15", r"0\%", "15%"),
        ("42", "00000", "00042"),
        ("2500000", '0.0,,"m"', "2.5m"),
        ("2.5", "0", "3"),
        ("45720", "dd/mm/yyyy", "2025-03-04"),
        ("45720", BUILT_IN[58], "2025-03-04"),
        ("45720", "[$-809]d mmmm yyyy", "4 March 2025"),
        ("45720.604166667", "d-mmm-yy hh:mm", "4 Mar 25 14:30"),
        ("0.604166667", "h:mm AM/PM", "14:30"),
        ("1.25", "[h]:mm", "30:00"),
        ("0.087291667", "h:mm:ss", "02:05:42"),
        ("1.087291667", "[h]:mm:ss", "26:05:42"),
        ("0.0625", "[m]:ss", "90:00"),
        ("0.0625", "[s]", "5400"),
        ("45720", "mmm yyyy", "Mar 2025"),
        ("45720", "mmmmm-yy", "Mar 25"),
        ("0.2", ".00", "0.20"),
        ("1e300", "yyyy", "1" + "0" * 300),
        ("0.5", "# ?/?", "0.5"),
        ("1.5e30", "0.00", "15" + "0" * 29),
        ("2958465.9999999", "yyyy-mm-dd", "2958466"),
        ("1234.56", r'#\ ##0.00\ "zł"', "1234.56 zł"),
        ("1500", '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "1.5K"),
        ("15", '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "15"),
        ("-0.05", "+0.0%;-0.0%", "-5.0%"),
        ("-500", '0 "Cr";0 "Dr"', "500 Dr"),
        ("-5", r"_-* #,##0\ _€_-;\-* #,##0\ _€_-", "-5"),
        ("-5", '0;"none"', "-5"),
        ("45352", "yyyy", "2024"),
        ("45352", "mm/yyyy", "2024-03"),
        ("45352", "mm", "03"),
        ("0.0625", "mm:ss", "30:00"),
        ("0.000110879629", "mm:ss.00", "00:09.58"),
        ("0.000110879629", "[s].00", "9.58"),
        ("45720.604166667", "d-mmm-yyyy hh:mm:ss.000", "4 Mar 2025 14:30:00.000"),
        ("1234567", '#,##0,.0"K"', "1,234.6K"),
    ],
)
def test_a_number_is_shown_as_its_cell_shows_it(value, code, shown):
    assert show_number(value, code) == shown


def test_days_may_be_counted_from_1904(book, read):
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    fill(book.active, ["Item", "Delivery"], ["Hinge", datetime.date(2025, 3, 4)])
    assert "Delivery: 2025-03-04" in read().text


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
        assert answer in rag.invoke(question)["citations"][0]["quote"]


DRAWN = 'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"'


def test_charts_diagrams_and_boxes_of_a_sheet_are_read_once_and_files_below_it(tmp_path, book):
    fill(book.active, ["Item", "Price"], ["Hinge", 3])
    path = tmp_path / "a.xlsx"
    book.save(path)
    inner = openpyxl.Workbook()
    fill(inner.active, ["Room", "Seats"], ["Hall", 80])
    inner.save(tmp_path / "rooms.xlsx")
    box = "<xdr:sp><xdr:txBody><a:p><a:r><a:t>Prices hold.</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    both = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    frames = (
        f'<c:chart {C} r:id="chart.xml"/>',
        f"<c:chart {C}/>",
        '<dgm:relIds xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" r:dm="data.xml"/>',
    )
    drawing = (
        f"<xdr:wsDr {DRAWN} {A} {R}><mc:AlternateContent {MC}>{both}</mc:AlternateContent>"
        f"{''.join(f'<xdr:graphicFrame>{frame}</xdr:graphicFrame>' for frame in frames)}</xdr:wsDr>"
    )
    rels = "xl/worksheets/_rels/sheet1.xml.rels"
    parts = {"drawing.xml": ("drawing", drawing.encode())}
    add_parts(path, rels, parts | {"rooms.xlsx": ("package", (tmp_path / "rooms.xlsx").read_bytes())})
    drawn = {
        "chart.xml": ("chart", chart("Sales", {"2024": [310]}, ["Spring"])),
        "data.xml": ("diagramData", diagram("Ask", "Sign")),
    }
    add_parts(path, "xl/worksheets/_rels/drawing.xml.rels", drawn)
    add_parts(path, "xl/_rels/workbook.xml.rels", {"vbaProject.bin": ("vbaProject", b"x")})
    source = extract_text(path)
    assert texts(source) == [
        "Item: Hinge\nPrice: 3",
        "Prices hold.",
        "Sales\n– | 2024\nSpring | 310",
        "Ask\nSign",
        "Room: Hall\nSeats: 80",
    ]
    assert source.notes == ("1 chart was left out", "macros were left out")


def test_a_sheet_that_is_a_chart_is_read(tmp_path, book):
    fill(book.active, ["Item", "Price"], ["Hinge", 3])
    book.create_chartsheet("Sales").add_chart(BarChart())
    path = tmp_path / "a.xlsx"
    book.save(path)
    drawn = {"xl/charts/chart1.xml": chart("Sales", {"2024": [310]}, ["Spring"])}
    change_parts(path, lambda name, data: drawn.get(name, data))
    source = extract_text(path)
    assert texts(source)[-1] == "Sales\n– | 2024\nSpring | 310"
    assert source.notes == ()


def test_a_long_cell_is_told_from_a_number_in_linear_time():
    started = time.process_time()
    assert not is_number("1" + "." * 100_000 + "x") and is_number("1." + " " * 100_000)
    assert time.process_time() - started < 5
