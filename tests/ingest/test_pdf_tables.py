import pymupdf
import pytest

from adaptive_rag.ingest import extract_text, split
from adaptive_rag.text.tables import find_tables

from .grids import rows_of
from .made_pdf import Rule, Text, make_pdf, paragraph, read_pdf, text_of

MONEY = "Item | 2022 | 2023\nEnergy | 58,000 | 83,000\nRoom hire | 9,500 | 40,000"
PROSE = [
    "The keeper of the light wrote down the height of the water every hour of the",
    "night, and in the morning he took the book to the harbour office on the quay.",
]
# Columns between the borders of a grid, 16 points to a row.
GRID = (50, 190, 310, 420)


def table(text, *, y=100, places=(60, 200, 320), pitch=14, **look):
    """Set the rows of a table, which is written as it is read."""
    return [
        Text(cell, x=x, y=y + pitch * at, **look)
        for at, cells in enumerate(rows_of(text))
        for x, cell in zip(places, cells, strict=True)
        if cell
    ]


def grid(xs, ys):
    return [Rule(xs[0], y, xs[-1], y) for y in ys] + [Rule(x, ys[0], x, ys[-1]) for x in xs]


def find_table(folder, page):
    """Return the columns of the one table of a page, and the cells of its rows."""
    (found,) = find_tables(text_of(folder, page))
    return found.columns, [row.cells for row in found.rows]


def test_rows_without_ruled_lines_keep_their_columns(tmp_path):
    page = [*paragraph(PROSE), *table(MONEY, y=160), *paragraph(PROSE, y=230)]
    prose = " ".join(PROSE)
    assert text_of(tmp_path, page) == f"{prose}\n\n{MONEY}\n\n{prose}"


YEARS = "\n".join(f"{year} | {year % 7}.5 | {year % 5}.1" for year in range(1990, 1996))
COUNTRIES = "Country | Fund | Total\nBulgaria | 2.3 | 5.5\nCyprus | 0.2 | 0.4\nMalta | – | 0.7"
SHARES = "Country | Home | Abroad\nAustria | 86.2 | 13.8\nCyprus | 81.0 | 3.8"
QUARTERS = "– | Q1 | Q2\n2004 | 34.7 | 36.2\n2005 | 58.1 | 63.4\n2006 | 74.7 | 84.1"
AS_SET = {
    "an empty cell holds its place": ("Name | Shed | Plot\nAna | – | 17\nBen | yes | 4", [], 14),
    "rows of figures alone": (f"– | 1 | 2\n{YEARS}", [], 14),
    "a full grid of figures": (QUARTERS, grid(GRID, (88, 106, 122, 138, 154)), 16),
    "rows without borders between them": (COUNTRIES, grid(GRID, (88, 105, 156)), 14),
    "a border between columns that is drawn in the header alone": (
        SHARES,
        [*grid((50, 420), (88, 106, 122, 138)), *(Rule(x, 88, x, 106) for x in (190, 310))],
        16,
    ),
}


@pytest.mark.parametrize(("text", "rules", "pitch"), AS_SET.values(), ids=AS_SET)
def test_a_table_is_read_as_it_was_set(tmp_path, text, rules, pitch):
    page = [*rules, *table(text, pitch=pitch), *paragraph(PROSE, y=300)]
    assert text_of(tmp_path, page).split("\n\n")[0] == text


def test_figures_set_flush_right_stand_in_one_column(tmp_path):
    rows = [Text("Item"), Text("Pounds", x=200), Text("Energy", y=114), Text("1,183,000", x=188, y=114)]
    page = [*rows, Text("Fees", y=128), Text("31", x=224, y=128)]
    assert text_of(tmp_path, page) == "Item | Pounds\nEnergy | 1,183,000\nFees | 31"


def test_a_name_over_several_rows_or_columns_is_said_in_each(tmp_path):
    rows = (
        "Region | Place | Sales | – | Fees\n– | – | 2022 | 2023 | –\nNorth | Sluice | 96 | 91 | 3\n"
        "– | Footbridge | 28 | 83 | 4\n– | Cistern | 11 | 60 | 8\n"
        "South | Jetty | 88 | 64 | 1\n– | Dry dock | 65 | 15 | 2"
    )
    assert text_of(tmp_path, table(rows, places=(60, 160, 280, 340, 400))) == (
        "Region | Place | Sales | Sales | Fees\nRegion | Place | 2022 | 2023 | Fees\n"
        "North | Sluice | 96 | 91 | 3\nNorth | Footbridge | 28 | 83 | 4\nNorth | Cistern | 11 | 60 | 8\n"
        "South | Jetty | 88 | 64 | 1\nSouth | Dry dock | 65 | 15 | 2"
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("– | Total | 124 | 174", "– | Total | 153 | 79"),  # they name no row of a group
        ("– | Footbridge | – | 83", "– | Dry dock | 65 | 15"),  # not all cells are there
    ],
)
def test_what_names_no_group_is_not_said_again(tmp_path, first, second):
    rows = (
        f"Region | Place | 2022 | 2023\nNorth | Sluice | 96 | 91\n{first}\nSouth | Jetty | 88 | 64\n{second}"
    )
    found = text_of(tmp_path, table(rows, places=(60, 160, 280, 340))).splitlines()
    assert [line[:1] for line in found] == ["R", "N", "–", "S", "–"]


def test_the_rest_of_a_cell_joins_it_also_where_a_page_writes_cell_by_cell(tmp_path):
    cells = [("1", 60, 120), ("3.60 m within", 200, 120), ("48 hours", 200, 132), ("Watch", 320, 120)]
    page = [*table("Level | Height | Name"), *(Text(*cell) for cell in cells)]
    below = "2 | 4.10 m | Prepare\n3 | 4.50 m | Act"
    assert text_of(tmp_path, [*page, *table(below, y=152)]) == (
        f"Level | Height | Name\n1 | 3.60 m within 48 hours | Watch\n{below}"
    )
    rest = [Text("or a breach", 200, 192), *paragraph(PROSE, y=220)]
    assert "\n3 | 4.50 m or a breach | Act\n\nThe" in text_of(
        tmp_path, [*page, *table(below, y=152, pitch=28), *rest]
    )


def test_paragraphs_are_parted_on_a_page_with_a_table_of_tall_rows(tmp_path):
    page = [*table(YEARS, pitch=28), *paragraph(PROSE, y=300), *paragraph(PROSE, y=338)]
    prose = " ".join(PROSE)
    assert text_of(tmp_path, page).endswith(f"\n\n{prose}\n\n{prose}")


def test_texts_side_by_side_that_are_no_table_keep_the_order_of_the_page(tmp_path):
    left, right = ["The keeper of the light wrote", "down its height."], ["He took the book to", "the quay."]
    page = [*table(MONEY), *paragraph(left, y=200), *paragraph(right, x=320, y=200)]
    assert text_of(tmp_path, page).split() == f"{MONEY} {' '.join(left)} {' '.join(right)}".split()


@pytest.mark.parametrize(
    ("header", "is_repeated"),
    [
        ("Item | 2022 | 2023", False),
        ("Item | 2022 | 2023", True),
        ("– | Sales | Sales\nItem | 2022 | 2023", True),
    ],
    ids=["said once", "repeated", "two lines repeated"],
)
def test_a_table_goes_on_over_a_page_with_its_header_once(tmp_path, header, is_repeated):
    rows = [f"Plot {number} | {100 + number} | {200 + number}" for number in range(8)]
    first, second = "\n".join(rows[:4]), "\n".join(rows[4:])
    second = table(f"{header}\n{second}" if is_repeated else second, y=60)
    pages = [[*paragraph(PROSE), *table(f"{header}\n{first}", y=700)], [*second, *paragraph(PROSE, y=300)]]
    source = read_pdf(tmp_path, *pages)
    (found,) = find_tables(source.text)
    assert found.columns == ("Item", "Sales 2022", "Sales 2023") if "\n" in header else rows_of(header)[0]
    assert [row.cells for row in found.rows] == rows_of("\n".join(rows))
    assert source.page_at(source.text.index("Plot 3 |")) == 1
    assert source.page_at(source.text.index("Plot 4 |")) == 2
    (late,) = (chunk for chunk in split(source, size=120, overlap=0) if "Plot 7" in chunk["text"])
    assert late["metadata"]["columns"] == list(found.columns)
    assert source.text[late["start"] : late["end"]] == late["text"]


def test_a_raised_mark_in_a_cell_is_no_part_of_its_figure(tmp_path):
    lines = ["Item      2022      2023", "Wood      1,234      2,345", "Sand      1,234      2,345"]
    last = [Text("Iron      3,234", y=142), Text("1", 124.8, 138, size=7), Text("      4,345", 128.7, 142)]
    assert text_of(tmp_path, [*paragraph(lines), *last]).endswith("\nIron | 3,234¹ | 4,345")


def test_upright_names_of_columns_are_read_and_a_note_in_the_margin_is_not(tmp_path):
    rows = "\n".join(f"{name} | 4.1 | 5.2" for name in ("North", "South", "East", "West"))
    path = make_pdf(tmp_path / "flat.pdf", [[*paragraph(PROSE), *table(rows, y=350)]])
    with pymupdf.open(path) as flat:
        for x, text in ((210, "Height"), (330, "Depth"), (30, "Draft of May")):
            flat[0].insert_text((x, 330), text, rotate=90)
        flat.save(tmp_path / "turned.pdf")
    text = extract_text(tmp_path / "turned.pdf").text
    assert "– | Height | Depth\nNorth | 4.1 | 5.2\n" in text and "Draft" not in text


def test_a_table_that_is_set_on_its_side_loses_no_word(tmp_path):
    words = [" ".join(row) for row in rows_of(MONEY)]
    with pymupdf.open() as document:
        page = document.new_page()
        for at, row in enumerate(words):
            page.insert_text((100 + 16 * at, 600), row, rotate=90)
        document.save(tmp_path / "a.pdf")
    assert extract_text(tmp_path / "a.pdf").text == " ".join(words)


def test_a_bold_header_is_no_heading(tmp_path):
    header, _, rows = MONEY.partition("\n")
    page = [*paragraph(PROSE), *table(header, y=160, bold=True), *table(rows, y=174)]
    assert read_pdf(tmp_path, page).headings == ()


PROSES = [f"{line[:38]} | {line[30:68]}" for line in PROSE * 3]
CLAUSES = [f"{at}.1 | The tenant keeps the garden in good order." for at in range(6)]
NO_TABLES = {
    "prose in two columns": (PROSES, (60, 320)),
    "numbered clauses": (CLAUSES, (60, 110)),
    "numbered clauses below a heading": (["1. Rent | and term", *CLAUSES], (60, 110)),
    "a table of contents": ([f"Storms of the north {'. ' * 20} | {at}" for at in range(6)], (60, 400)),
    "a formula": (["x + y | = | 12"] * 4, (60, 140, 200)),
    "boxes that hold letters": (["A | B"], (70, 170)),
}


@pytest.mark.parametrize(("rows", "places"), NO_TABLES.values(), ids=NO_TABLES)
def test_what_only_looks_like_a_table_is_none(tmp_path, rows, places):
    rules = grid((50, 150, 250), (90, 120, 150)) if len(rows) == 1 else []
    page = [*rules, *table("\n".join(rows), places=places), *paragraph(PROSE, y=400)]
    assert "|" not in text_of(tmp_path, page)


def test_ruled_lines_part_cells_that_stand_close_and_keep_what_wraps_together(tmp_path):
    page = [
        *grid((58, 122, 190, 300), (88, 106, 138, 156)),
        *paragraph(PROSE, y=40),
        *table("Expense | Limit | Approved by", places=(60, 124, 192)),
        *(Text("Hotel in Lon-", y=118), Text("don", y=130), Text("165 pounds", 124, 118)),
        Text("Line manager", 192, 124),
        *table("Training set | 900 | Head", y=150, places=(60, 124, 192)),
        *paragraph(PROSE, y=200),
    ]
    rows = ["Expense | Limit | Approved by", "Hotel in London | 165 pounds | Line manager"]
    assert text_of(tmp_path, page).split("\n\n")[1].splitlines() == [*rows, "Training set | 900 | Head"]


def test_a_cell_over_several_rows_is_said_in_each_and_a_title_over_all_columns_once(tmp_path):
    rules = [*(Rule(50, y, 350, y) for y in (90, 110, 130, 170)), Rule(150, 150, 350, 150)]
    rules += [Rule(x, 90, x, 170) for x in (50, 350)] + [Rule(x, 110, x, 170) for x in (150, 250)]
    texts = [
        Text("Prices of the year", x=140, y=104),
        *table("Room | Season | Price", y=124, places=(60, 160, 260)),
        Text("Double room", x=60, y=153),
        *table("Summer | 90\nWinter | 60", y=144, places=(160, 260), pitch=20),
    ]
    page = [*paragraph(PROSE, y=40), *rules, *texts, *paragraph(PROSE, y=300)]
    assert text_of(tmp_path, page).split("\n\n")[1:3] == [
        "Prices of the year",
        "Room | Season | Price\nDouble room | Summer | 90\nDouble room | Winter | 60",
    ]


def boxes(*cells):
    """Return a border around each cell, given as (text, x0, y0, x1, y1), with a gap between neighbours."""
    drawn = []
    for text, x0, y0, x1, y1 in cells:
        drawn += [Text(line, x=x0 + 5, y=y0 + 13 + 15 * at) for at, line in enumerate(text.split("\n"))]
        drawn += grid((x0, x1), (y0, y1))
    return drawn


def test_cells_with_borders_of_their_own_are_rows_and_merged_ones_stand_in_each(tmp_path):
    head = [("Shore", 60, 100, 130, 118), ("Kind", 133, 100, 200, 118), ("Sold", 203, 100, 260, 118)]
    body = [("North", 60, 121, 130, 160), ("Salt", 133, 121, 200, 139), ("12", 203, 121, 260, 139)]
    body += [("Rope", 133, 142, 200, 160), ("15", 203, 142, 260, 160)]
    page = boxes(*head, *body)
    assert text_of(tmp_path, page) == "Shore | Kind | Sold\nNorth | Salt | 12\nNorth | Rope | 15"


def test_a_cell_that_reaches_lower_than_its_row_makes_no_row_of_its_own(tmp_path):
    cells = [
        (text, x, y, x + 60, y + (34 if "\n" in text else 18))
        for y, row in ((100, ("Item", "Place\nof it")), (137, ("Salt", "bay\n3")), (174, ("Rope", "bay\n5")))
        for text, x in zip(row, (60, 123), strict=True)
    ]
    assert text_of(tmp_path, boxes(*cells)) == "Item | Place of it\nSalt | bay 3\nRope | bay 5"


@pytest.mark.parametrize(("turn", "rotation"), [(90, 90), (90, 0), (180, 0), (270, 0)])
def test_a_page_on_its_side_or_upside_down_is_read_as_if_it_were_upright(tmp_path, turn, rotation):
    path = make_pdf(tmp_path / "made.pdf", [[*paragraph(PROSE), *table(MONEY, y=160)]])
    upright = extract_text(path).text
    with pymupdf.open(path) as flat, pymupdf.open() as turned:
        _, _, *size = flat[0].rect
        page = turned.new_page(0, *(size if turn == 180 else size[::-1]))
        page.show_pdf_page(page.rect, flat, 0, rotate=turn)
        page.set_rotation(rotation)
        turned.save(tmp_path / "turned.pdf")
    assert extract_text(tmp_path / "turned.pdf").text == upright


def test_the_first_row_of_a_page_in_a_long_table_is_no_running_head(tmp_path):
    rows = [[f"{name}{page} | 4.20 | bay 3" for name in ("Salt", "Rope", "Tar", "Oil")] for page in "ABC"]
    text = text_of(
        tmp_path, *([*table(first, y=80), *table("\n".join(rest), y=110)] for first, *rest in rows)
    )
    assert all(row in text for found in rows for row in found)


def test_a_table_wider_than_the_text_breaks_no_paragraph(tmp_path):
    narrow = [
        "The keeper wrote the height of",
        "2,300 tides in a book, and he",
        "counted them. Then he left.",
    ]
    page = [*paragraph(narrow), *table(MONEY, y=180, places=(60, 300, 480))]
    assert text_of(tmp_path, page).startswith(" ".join(narrow))


def test_a_wide_gap_parts_columns_inside_a_border_and_a_name_above_it_is_that_of_both(tmp_path):
    rules = grid((50, 190, 420), (88, 106, 122, 138, 154))
    rows = "Answer | Often | Seldom\nHeadache | 119 | 128\nBackache | 126 | 219"
    page = [*rules, Text("How often", x=200, y=102), *table(rows, y=118, pitch=16), *paragraph(PROSE, y=300)]
    assert text_of(tmp_path, page).split("\n\n")[0] == f"– | How often | How often\n{rows}"


HEADED = "Tea | 1.1 | 2.2 | 3.3\nSalt | 4.1 | 5.2 | 6.3\nRope | 7.1 | 8.2 | 9.3"
SALES = "– | – | Sales | –\nItem | May | June | July"


@pytest.mark.parametrize(
    ("header", "names"),
    [
        # a name over three columns touches but the one in the middle
        (SALES, "Item | Sales May | Sales June | Sales July"),
        # the names of columns take several lines
        (
            "– | Number of | Average | –\nItem | persons | cost | Fees",
            "Item | Number of persons | Average cost | Fees",
        ),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
def test_all_lines_of_a_header_name_columns_wherever_the_page_writes_them(tmp_path, header, names, is_late):
    above = table(header, places=(60, 200, 276, 352))
    below = table(HEADED, y=128, places=(60, 200, 280, 360))
    page = [*below, *above] if is_late else [*above, *below]
    found = find_table(tmp_path, [*page, *paragraph(PROSE, y=300)])
    assert found == (*rows_of(names), rows_of(HEADED))


def test_a_short_line_between_the_rows_of_a_table_divides_no_table(tmp_path):
    rows = MONEY.partition("\n")[2]
    page = [*table(MONEY), Text("In the harbour and on the quay", x=90, y=142), *table(rows, y=156)]
    columns, found = find_table(tmp_path, page)
    assert columns == ("Item", "2022", "2023")
    between = "In the harbour and on the quay"
    assert [row[0] for row in found] == ["Energy", "Room hire", between, "Energy", "Room hire"]


def test_a_header_of_two_rows_stays_in_one_passage(tmp_path):
    page = [*paragraph(PROSE, y=60), *table(f"{SALES}\n{HEADED}", places=(60, 200, 280, 360))]
    source = read_pdf(tmp_path, page)
    for size in range(190, 260, 5):
        for chunk in split(source, size=size, overlap=40):
            for found in find_tables(chunk["text"], tuple(chunk["metadata"].get("columns", ()))):
                assert found.columns == ("Item", "Sales May", "Sales June", "Sales July")


def test_figures_set_close_stand_in_columns_and_leaders_go(tmp_path):
    # a name that ends close to the first figure, with dots that lead there
    rows = (
        "Category | 2005 | 2010\nAll ages . . . . . . . . . . . | 291,099 | 303,858\n"
        "With a disability . . . . . . | 54,425 | 56,672\nSevere . . . . . . . . . . . . | 34,947 | 35,683"
    )
    read = text_of(tmp_path, table(rows, places=(60, 200, 246)))
    assert read.splitlines()[1:3] == ["All ages | 291,099 | 303,858", "With a disability | 54,425 | 56,672"]


def test_a_name_in_the_middle_above_all_columns_stands_with_each(tmp_path):
    rows = "Enrolment | 0.3 | 0.6 | 0.8\nTeachers | 0.8 | 1.4 | 1.7\nGraduates | 1.0 | 1.0 | 1.5"
    below = table(f"Statistic | 1 | 2 | 3\n{rows}", y=114, places=(60, 200, 265, 330))
    text = text_of(tmp_path, [Text("Years", x=255, y=100), *below])
    assert text.startswith("Statistic | Years | Years | Years\nStatistic | 1 | 2 | 3\n")


def test_figures_at_the_middle_of_a_name_of_two_lines_are_one_row(tmp_path):
    rows = [
        ("Years of life lost", "before age 75", "7108 | 6960 | 6920"),
        ("Inequality in the", "health index", "928 | 904 | 899"),
        ("Mean of limits to", "all activities", "8766 | 8762 | 8779"),
    ]
    places = (200, 260, 320)
    page = table("1997 | 1998 | 1999", places=places)
    for y, (upper, lower, figures) in zip((116, 156, 196), rows, strict=True):
        page += [Text(upper, y=y), *table(figures, y=y + 8, places=places), Text(lower, y=y + 16)]
    assert text_of(tmp_path, page).splitlines()[-3:] == [
        f"{upper} {lower} | {figures}" for upper, lower, figures in rows
    ]


def test_a_sign_that_a_table_sets_apart_belongs_to_its_figure(tmp_path):
    rows = "– | – | 2014 | – | 2015\nSales | $ | 113 | $ | (9)\nFees | – | 25 | – | —\nDebt | $ | — | $ | 410"
    page = table(rows, places=(60, 200, 240, 300, 340))
    read = "– | 2014 | 2015\nSales | $ 113 | $ (9)\nFees | 25 | —\nDebt | $ — | $ 410"
    assert text_of(tmp_path, page) == read


def test_a_sign_begins_a_cell_and_a_leader_ends_one_however_near_the_next_is(tmp_path):
    rows = ["Taxes | $ 812 | $ 907", "Grant | $ 311 | $ 402", "Other | $ 120 | $ 118"]
    page = table("2012 | 2013", places=(138, 170))
    for at, (name, one, two) in enumerate(rows_of("\n".join(rows))):
        page.append(Text(f"{name} .......... {one} {two}", y=114 + 14 * at))
    assert text_of(tmp_path, page).splitlines() == ["– | 2012 | 2013", *rows]


def test_names_in_smaller_type_name_the_columns_of_the_figures_below(tmp_path):
    names = table("– | Sales | Fees\n– | in 2014 | in 2014\n– | (net) | (net)", pitch=10, size=8)
    rows = MONEY.partition("\n")[2]
    columns, _ = find_table(tmp_path, [*names, *table(rows, y=132), *table(rows, y=160)])
    assert columns == ("–", "Sales in 2014 (net)", "Fees in 2014 (net)")


def test_a_name_stands_with_all_columns_below_the_line_that_is_ruled_under_it(tmp_path):
    rows = "– | 2014 | 2015 | 2016 | Growth\nTea | 11 | 22 | 33 | 5%\nSalt | 41 | 52 | 63 | 7%"
    page = [Text("Years", x=238, y=86), Text("ended", x=238, y=98), Rule(196, 102, 318, 102)]
    page += table(f"{rows}\nRope | 71 | 82 | 93 | 9%", y=114, places=(60, 200, 250, 300, 350))
    columns, _ = find_table(tmp_path, [*page, *paragraph(PROSE, y=300)])
    assert columns == ("–", "Years ended 2014", "Years ended 2015", "Years ended 2016", "Growth")


@pytest.mark.parametrize(
    ("rules", "first"),
    [
        ([], "Ward 5"),
        (grid(GRID, (88, 106, 122, 138)), "Ward 5"),
        (grid(GRID, (88, 106, 122, 138)), "917"),  # a figure names no column
    ],
    ids=["without rules", "ruled", "a figure"],
)
def test_names_that_hold_figures_name_columns_by_their_place(tmp_path, rules, first):
    rows = f"Kind | {first} | 12 beds\nMen | 31 | 17\nWomen | 42 | 18" + ("" if rules else "\nAll | 73 | 35")
    columns, found = find_table(
        tmp_path, [*rules, *table(rows, pitch=16 if rules else 14), *paragraph(PROSE, y=300)]
    )
    header, *below = rows_of(rows)
    assert columns == (header if first == "Ward 5" else ())
    assert found[-len(below) :] == below


CARE = rows_of(
    "Task | North wing | South wing\nSweep the stairs | weekly | monthly\n"
    "Wipe the handles | daily | weekly\nAir the hall | monthly | monthly"
)
FORM = (
    "Customer | Larch Nursery\nUnit | Mower 40, serial M40\nContract | Gold\n"
    "Room temperature | 29.6\nEngineer | Nils Quandt"
)


@pytest.mark.parametrize("is_ruled", [False, True])
@pytest.mark.parametrize("columns", [2, 3])
def test_a_bold_first_row_is_a_header_above_texts(tmp_path, columns, is_ruled):
    places = (60, 200, 320)[:columns]
    header, *rows = (" | ".join(cells[:columns]) for cells in CARE)
    borders = [56, *(x - 4 for x in places[1:]), 440]
    rules = grid(borders, [88 + 14 * at for at in range(5)]) if is_ruled else []
    page = [*table(header, places=places, bold=True), *table("\n".join(rows), y=114, places=places), *rules]
    assert find_table(tmp_path, page) == (*rows_of(header), rows_of("\n".join(rows)))


def test_a_table_that_is_bold_throughout_has_no_header(tmp_path):
    rows = "\n".join(" | ".join(cells[:2]) for cells in CARE)
    assert "---" not in text_of(tmp_path, table(rows, places=(60, 200), bold=True))


@pytest.mark.parametrize("is_ruled", [False, True])
def test_the_first_rows_of_a_form_are_no_header(tmp_path, is_ruled):
    rules = grid([56, 196, 400], [88 + 14 * at for at in range(6)]) if is_ruled else []
    page = [*table(FORM, places=(60, 200)), *rules, *paragraph(PROSE, y=240)]
    assert find_table(tmp_path, page) == ((), rows_of(FORM))


def test_what_is_above_a_bold_header_in_other_columns_is_no_part_of_its_table(tmp_path):
    sender = "Ada Moor, Harbour Road | Slip 4711\nPellhythe | 4 March"
    places = (60, 160, 260, 400)
    page = [
        *table(sender, places=(60, 400)),
        *table("Pay | Amount | Taken off | Amount", y=140, places=places, bold=True),
        *table("Salary | 3,200 | Tax | 412\nBonus | 100 | Pension | 160", y=154, places=places),
    ]
    assert find_table(tmp_path, page)[1] == [
        ("Salary", "3,200", "Tax", "412"),
        ("Bonus", "100", "Pension", "160"),
    ]
    assert text_of(tmp_path, page).count("4711") == 1


def test_a_cell_of_two_lines_between_others_that_are_centred_beside_it_is_one(tmp_path):
    rows = "No. | Item | Each | Cost\n1 | Pump | 120 | 120\n2 | – | 14 | 28\n3 | Hose | 35 | 105"
    page = table(rows, pitch=28, places=(60, 120, 300, 400))
    page[9:9] = [Text("Bracket of steel,", 120, 148), Text("with bolts", 120, 164)]
    assert "\n2 | Bracket of steel, with bolts | 14 | 28\n3 | Hose" in text_of(tmp_path, page)


def test_the_sums_of_an_invoice_are_rows_and_small_print_below_an_item_is_part_of_it(tmp_path):
    items = "Item | Description | Number | Price | Cost\nS1 | Oak shelf | 6 | 48 | 288\nC2 | – | 1 | 61 | 61"
    sums = "Net total | 349\nVAT at 20% | 70\nPaid before | 19\nTotal due | 400"
    page = table(items, places=(60, 110, 270, 330, 420), pitch=28)
    page[11:11] = [Text("Counter of beech,", 110, 150), Text("cut to drawing", 110, 163)]
    page.insert(7, Text("oiled, with brackets", 110, 138, size=8))
    assert text_of(tmp_path, [*page, *table(sums, y=178, places=(300, 420))]).splitlines()[1:] == [
        "S1 | Oak shelf oiled, with brackets | 6 | 48 | 288",
        "C2 | Counter of beech, cut to drawing | 1 | 61 | 61",
        *(f"– | – | {name} | {name} | {cost}" for name, cost in rows_of(sums)),
    ]


def test_columns_of_which_each_row_fills_one_are_two_and_a_bold_header_ends_above_figures(tmp_path):
    header, *rows = (
        "Date | Details | Paid out | Paid in | Balance\n1 Mar | Brought forward | – | – | 120\n"
        "2 Mar | Bread | 20 | – | 100\n3 Mar | Wages | – | 300 | 400\n4 Mar | Fish | 10 | – | 390"
    ).split("\n")
    places = (60, 120, 240, 330, 420)
    page = [*table(header, places=places, bold=True), *table("\n".join(rows), y=114, places=places)]
    assert text_of(tmp_path, page) == "\n".join([header, *rows])


def test_a_table_of_figures_between_the_columns_of_the_next_one_is_a_table_of_its_own(tmp_path):
    totals = "Opening balance | 120.00\nPaid in | 300.00\nClosing balance | 390.00"
    rows = (
        "Date | Details | Paid out | Balance\n1 Mar | Bread | 20.00 | 400.00\n4 Mar | Fish | 10.00 | 390.00"
    )
    page = [*table(totals, places=(60, 230)), *table(rows, y=150, places=(60, 120, 300, 400))]
    assert text_of(tmp_path, page) == f"{totals}\n\n{rows}"
