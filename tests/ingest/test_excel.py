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
from tests.ingest.grids import values_of
from tests.ingest.made_office import (
    DGM,
    MC,
    XDR,
    A,
    C,
    M,
    R,
    add_parts,
    change_parts,
    chart,
    diagram,
    make_book,
)
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


def fill(sheet, rows, at=1):
    """Fill a sheet with rows, given as text or as values."""
    for number, row in enumerate(values_of(rows) if isinstance(rows, str) else rows, start=at):
        for column, value in enumerate(row, start=1):
            sheet.cell(number, column, value)


def records_of(source):
    """Return the text of each record in one line."""
    return [text.replace("\n", "; ") for text in texts(source)]


def test_a_row_has_the_names_of_its_columns_and_what_is_around_the_table_is_text(book, read):
    book.active.title = "Stock"
    fill(book.active, "Stock in March\n–\nItem | Price | Shelf\nHinge | 4.2 | A3\nDowel | – | B1\n–")
    fill(book.active, "Prices hold until June.\nAsk Mrs Adair.", at=7)
    book.active.merge_cells("A1:C1")
    source = read()
    assert records_of(source) == [
        "Stock in March",
        "Item: Hinge; Price: 4.2; Shelf: A3; Table: Stock in March",
        "Item: Dowel; Shelf: B1; Table: Stock in March",
        "Prices hold until June.; Ask Mrs Adair.",
    ]
    chunks = checked_chunks(source)
    known = [(chunk["section"], chunk["metadata"]["sheet"], chunk["metadata"]["row"]) for chunk in chunks]
    assert known == [("Stock", "Stock", row) for row in (1, 4, 5, 7)]


ROWS = {
    "merged cells hold for all that they cover": (
        "Region | 2023 | – | 2024\n– | Sales | Cost | Sales\nNorth | 1 | 2 | 3\n– | 4 | 5 | 6",
        [
            "Region: North; 2023 Sales: 1; 2023 Cost: 2; 2024 Sales: 3",
            "Region: North; 2023 Sales: 4; 2023 Cost: 5; 2024 Sales: 6",
        ],
        "A1:A2 B1:C1 A3:A4",
    ),
    "a line over some rows is the group of those rows": (
        "Dish | Price\nDrinks\nTea | 2\nFood\nScone | 3\nCake | 4",
        [
            "Dish: Tea; Price: 2; Group: Drinks",
            "Dish: Scone; Price: 3; Group: Food",
            "Dish: Cake; Price: 4; Group: Food",
        ],
    ),
    "an item of which nothing is known is no group": (
        "Dish | Price\nTea | 2\nScone\nCake | 4",
        ["Dish: Tea; Price: 2", "Dish: Scone", "Dish: Cake; Price: 4"],
    ),
    "a row of equal texts is no group and a merged line is one": (
        "English | German | French\nCat | Katze | chat\nHotel | Hotel | Hotel\n"
        "House | Haus | maison\nColours\nRed | Rot | rouge",
        [
            "English: Cat; German: Katze; French: chat",
            "English: Hotel; German: Hotel; French: Hotel",
            "English: House; German: Haus; French: maison",
            "English: Red; German: Rot; French: rouge; Group: Colours",
        ],
        "A5:C5",
    ),
    "a run of lines is items where it is too long or ends the table": (
        "Item | Price | Stock\nBolt | 4.2 | 12\nNut\nWasher\nScrew\nHook\nPin | 3.1 | 5\nCap\nCup",
        [
            "Item: Bolt; Price: 4.2; Stock: 12",
            *(f"Item: {name}" for name in ("Nut", "Washer", "Screw", "Hook")),
            *("Item: Pin; Price: 3.1; Stock: 5", "Item: Cap", "Item: Cup"),
        ],
    ),
    "no name of a group is lost where many stand within each other": (
        "Item | Price\nNorth\nLeeds\nBolt | 4.2\nEast\nShop\nTill\nPin | 3.1",
        [
            "Item: Bolt; Price: 4.2; Group: North > Leeds",
            "Item: Pin; Price: 3.1; Group: North > East > Shop > Till",
        ],
    ),
    "groups of a balance sheet stand within each other": (
        "– | 2023 | 2022\nASSETS\nCurrent assets\nCash | 5 | 4\nFixed assets\nLand | 7 | 7\nLIABILITIES\n"
        "Loans | 9 | 8\n–\nEquity\nShares | 3 | 3",
        [
            "column 1: Cash; 2023: 5; 2022: 4; Group: ASSETS > Current assets",
            "column 1: Land; 2023: 7; 2022: 7; Group: ASSETS > Fixed assets",
            "column 1: Loans; 2023: 9; 2022: 8; Group: LIABILITIES",
            "column 1: Shares; 2023: 3; 2022: 3; Group: Equity",
        ],
    ),
    "a table goes on after a blank row and a form is read as lines": (
        "Item | Price | Shelf\nHinge | 3 | A1\n–\nDowel | 1 | B2\n–\nSupplier | Acme\nContact | Mrs Adair",
        [
            "Item: Hinge; Price: 3; Shelf: A1",
            "Item: Dowel; Price: 1; Shelf: B2",
            "Supplier | Acme; Contact | Mrs Adair",
        ],
    ),
    "a form with dates and other numbers is read as lines": (
        "Customer | Acme\nInvoice no. | 4711\nDue | 2024-03-01\nTotal | 400",
        ["Customer | Acme; Invoice no. | 4711; Due | 2024-03-01; Total | 400"],
    ),
    "a table goes on after a blank row where a column begins to be filled": (
        "Item | Price | Stock | Note\nBolt | 4.2 | 12\n–\nScrew | 2.5 | 7 | sold out",
        ["Item: Bolt; Price: 4.2; Stock: 12", "Item: Screw; Price: 2.5; Stock: 7; Note: sold out"],
    ),
    "a header may have several rows and a unit": (
        "Income statement\nin EUR million\n– | 2023 | – | 2022\nItem | Q1 | Q2 | Q1\n– | EUR | EUR | USD\n"
        "Revenue | 10 | 11 | 9\nCost | 4 | 5 | 3\n* before restatement",
        [
            "Income statement; in EUR million",
            *(
                f"Item: {item}; 2023 Q1 EUR: {one}; 2023 Q2 EUR: {two}; 2022 Q1 USD: {three}; "
                "Table: Income statement, in EUR million"
                for item, one, two, three in (("Revenue", 10, 11, 9), ("Cost", 4, 5, 3))
            ),
            "* before restatement",
        ],
    ),
    "a header may stand above a blank row": (
        "In millions | – | – | January to June\n– | Sales | Profit | Costs\n–\n"
        "Zone A | 12 | 3 | 9\nZone B | 10 | 2 | 8",
        [
            f"In millions: Zone {zone}; January to June Sales: {sales}; January to June Profit: {profit}; "
            f"January to June Costs: {costs}"
            for zone, sales, profit, costs in [("A", 12, 3, 9), ("B", 10, 2, 8)]
        ],
    ),
    "a merged line over the names is the title of the table": (
        "Exports by country | – | – | Notes\nCountry | Tons | Value\n"
        "Peru | 12 | 40 | estimated\nChile | 9 | 31 | exact",
        [
            "Country: Peru; Tons: 12; Value: 40; Notes: estimated; Table: Exports by country",
            "Country: Chile; Tons: 9; Value: 31; Notes: exact; Table: Exports by country",
        ],
        "A1:C1",
    ),
    "a blank column inside a table is a gap": (
        "Item | – | 2023 | % | – | 2022 | %\nCash | – | 5 | 50 | – | 4 | 40\nLand | – | 5 | 50 | – | 6 | 60",
        ["Item: Cash; 2023: 5; %: 50; 2022: 4; % (5): 40", "Item: Land; 2023: 5; %: 50; 2022: 6; % (5): 60"],
    ),
    "another table may begin right below one": (
        "Item | 2023 | 2022\nCash | 5 | 4\nBy town\nTown | People | Area\n"
        "Leeds | 800 | 550\nYork | 200 | 270",
        [
            "Item: Cash; 2023: 5; 2022: 4",
            "By town",
            "Town: Leeds; People: 800; Area: 550; Table: By town",
            "Town: York; People: 200; Area: 270; Table: By town",
        ],
    ),
    "tables side by side or set off below are read apart": (
        "Item | Price | – | Town | People\nHinge | 3 | – | Leeds | 800\n"
        "Dowel | 1 | – | York | 200\nNail | 2\n"
        + "".join(f"{'– | ' * 6}{cells}\n" for cells in ("Gate | Opens", "North | 9", "South | 8")),
        [
            *("Item: Hinge; Price: 3", "Item: Dowel; Price: 1", "Item: Nail; Price: 2"),
            *("Town: Leeds; People: 800", "Town: York; People: 200"),
            *("Gate: North; Opens: 9", "Gate: South; Opens: 8"),
        ],
    ),
    "characters that a workbook escapes are read": (
        [["Call first_x000D_\nthen come", "a_x005F_x000D_", "a_xD83D_", "a_x0000_b"]],
        ["Call first then come | a_x000D_ | a_xD83D_ | ab"],
    ),
}


@pytest.mark.parametrize("what", ROWS)
def test_rows_are_read_as_a_person_reads_the_sheet(book, read, what):
    rows, found, *merged = ROWS[what]
    fill(book.active, rows)
    for area in " ".join(merged).split():
        book.active.merge_cells(area)
    assert records_of(read()) == found


def test_rows_of_several_sheets_name_their_sheet(book, read):
    book.active.title = "Leeds"
    book.create_sheet("Empty")
    for sheet in (book.active, book.create_sheet("York")):
        fill(sheet, "Item | Price\nHinge | 3")
    assert records_of(read()) == [f"Item: Hinge; Price: 3; Sheet: {name}" for name in ("Leeds", "York")]


def test_what_is_hidden_is_left_out_and_named_and_what_is_filtered_or_folded_is_read(book, read):
    book.active.title = "Stock"
    fill(book.active, "Item | Cost | Price\nHinge | 1 | 3")
    book.active.column_dimensions["B"].hidden = True
    for name in ("Rows", "Filtered", "Folded"):
        fill(book.create_sheet(name), "Item | Price\nHinge | 3\nSecret | 1")
        book[name].row_dimensions[3].hidden = True
    book["Filtered"].auto_filter.ref = "A1:B3"
    book["Filtered"].auto_filter.add_filter_column(0, ["Hinge"])
    book["Folded"].row_dimensions[3].outlineLevel = 1
    fill(book.create_sheet("Salaries"), "Mrs Adair | 40000")
    book["Salaries"].sheet_state = "veryHidden"
    source = read()
    records = records_of(source)
    assert records[0] == "Item: Hinge; Price: 3; Sheet: Stock" and "Adair" not in source.text
    assert [text.rpartition(" ")[2] for text in records if "Secret" in text] == ["Filtered", "Folded"]
    left_out = "hidden sheets, columns and rows were left out: columns of Stock, rows of Rows, Salaries"
    assert source.notes == (left_out,)


def test_comments_are_named_the_number_of_a_note_kept_apart_and_white_letters_read(book, read):
    note = TextBlock(InlineFont(vertAlign="superscript"), "1")
    fill(book.active, [["Town", CellRichText("2023", note)], ["Leeds", CellRichText("1,234", note)]])
    fill(book.active, "York | 56", at=3)
    book.active["A3"].font = Font(color="FFFFFFFF")
    book.active["A2"].comment = Comment("too dear", "Mr Bell")
    source = read()
    assert records_of(source) == ["Town: Leeds; 2023¹: 1,234¹", "Town: York; 2023¹: 56"]
    assert source.notes == ("1 comment was left out",)


def test_what_is_said_above_a_table_is_kept_beside_a_column_of_that_name(book, read):
    book.active.title = "Leeds"
    fill(book.active, "Stock in March\n–\nGroup | Table | Sheet | Price\nDrinks\na | b | c | 2")
    fill(book.create_sheet("York"), "Item | Price\nHinge | 3")
    assert records_of(read())[1] == (
        "Group: a; Table: b; Sheet: c; Price: 2; "
        "Group (above): Drinks; Table (above): Stock in March; Sheet (above): Leeds"
    )


@pytest.mark.parametrize("epoch", ["CALENDAR_WINDOWS_1900", "CALENDAR_MAC_1904"])
def test_days_above_columns_name_them_whenever_days_are_counted_from(book, read, epoch):
    book.epoch = getattr(openpyxl.utils.datetime, epoch)
    days = [datetime.date(2023, 12, 31), datetime.date(2022, 12, 31)]
    fill(book.active, [["Assets", *days], ["Cash", 5, 4], ["Debtors", 2, 3]])
    assert records_of(read())[0] == "Assets: Cash; 2023-12-31: 5; 2022-12-31: 4"


def test_a_bold_row_above_others_names_two_columns_of_words(book, read):
    fill(book.active, "Term | Meaning\nMole | A wall in the sea\nQuay | A wall for ships")
    for cell in book.active[1]:
        cell.font = Font(bold=True)
    assert records_of(read()) == [
        "Term: Mole; Meaning: A wall in the sea",
        "Term: Quay; Meaning: A wall for ships",
    ]


@pytest.mark.parametrize(
    "rows", ["Berths | twelve\nDepth | 4\nWidth | 9", "For | Acme | Tel. | 27\nAt | Quay | No. | 4"]
)
def test_bold_labels_of_a_form_name_no_columns(book, read, rows):
    fill(book.active, rows)
    for column in "AC":
        for cell in book.active[column]:
            cell.font = Font(bold=True)
    assert records_of(read()) == [rows.replace("\n", "; ")]


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
    fill(book.active, "Question | Answer\nWhen is it open? | From nine to five.")
    (chunk,) = split(read())
    assert (chunk["section"], chunk["metadata"]["kind"]) == ("When is it open?", "qa")


def test_a_formula_counts_as_its_value_and_one_without_is_told_of(book, read):
    fill(book.active, "Item | Price\nHinge | 3\nDowel | =B2*2")
    source = read()
    assert records_of(source) == ["Item: Hinge; Price: 3", "Item: Dowel"]
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
        ("15", '0"%"', "15%"),
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


def test_a_cell_is_found_by_its_row_its_column_and_its_sheet(tmp_path, book):
    book.active.title = "Leeds"
    fill(book.active, "Item | Price (pounds) | Stock\nBrass hinge | 4.2 | 12\nOak dowel | 1.5 | 80")
    fill(book.create_sheet("York"), "Item | Price (pounds) | Stock\nBrass hinge | 4.9 | 7")
    (tmp_path / "docs").mkdir()
    book.save(tmp_path / "docs" / "stock.xlsx")
    rag = AdaptiveRAG(str(tmp_path / "docs"))
    for question, answer in (
        ("How much does the brass hinge cost in York?", "4.9"),
        ("How much does the brass hinge cost in Leeds?", "4.2"),
        ("How many oak dowels are in stock in Leeds?", "80"),
    ):
        assert answer in rag.invoke(question)["citations"][0]["quote"]


def test_charts_diagrams_and_boxes_of_a_sheet_are_read_once_and_files_below_it(tmp_path, book):
    path = tmp_path / "a.xlsx"
    fill(book.active, "Item | Price\nHinge | 3")
    book.save(path)
    run = "<m:r><m:t>{}</m:t></m:r>".format
    power = f"<m:oMath><m:sSup><m:e>{run('r')}</m:e><m:sup>{run('2')}</m:sup></m:sSup></m:oMath>"
    box = f"<xdr:sp><xdr:txBody><a:p><a:r><a:t>Area</a:t></a:r>{power}</a:p></xdr:txBody></xdr:sp>"
    both = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    held = ['c:chart r:id="chart.xml"', "c:chart", 'dgm:relIds r:dm="data.xml"']
    frames = "".join(f"<xdr:graphicFrame><{each}/></xdr:graphicFrame>" for each in held)
    boxes = f"<mc:AlternateContent>{both}</mc:AlternateContent>"
    drawing = f"<xdr:wsDr {XDR} {A} {R} {M} {MC} {C} {DGM}>{boxes}{frames}</xdr:wsDr>".encode()
    drawn = {
        "chart.xml": ("chart", chart("Sales", {"2024": [310]}, ["Spring"])),
        "data.xml": ("diagramData", diagram("Ask", "Sign")),
    }
    below = {
        "drawing.xml": ("drawing", drawing),
        "rooms.xlsx": ("package", make_book("Room | Seats\nHall | 80")),
    }
    add_parts(path, "xl/worksheets/_rels/sheet1.xml.rels", below)
    add_parts(path, "xl/worksheets/_rels/drawing.xml.rels", drawn)
    add_parts(path, "xl/_rels/workbook.xml.rels", {"vbaProject.bin": ("vbaProject", b"x")})
    source = extract_text(path)
    assert records_of(source) == [
        *("Item: Hinge; Price: 3", "Area r^2", "Sales; – | 2024; Spring | 310", "Ask; Sign"),
        "Room: Hall; Seats: 80",
    ]
    assert source.notes == ("1 chart was left out", "macros were left out")


def test_a_sheet_that_is_a_chart_is_read(tmp_path, book):
    fill(book.active, "Item | Price\nHinge | 3")
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
