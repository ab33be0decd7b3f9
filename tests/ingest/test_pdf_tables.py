from itertools import pairwise

import pymupdf
import pytest

from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.lines import Line
from adaptive_rag.ingest.table_headers import drop_repeated_headers
from adaptive_rag.text.tables import find_tables

from .made_pdf import Rule, Text, make_pdf, paragraph, read_pdf, text_of

MONEY = [("Item", "2022", "2023"), ("Energy", "58,000", "83,000"), ("Room hire", "9,500", "40,000")]
PROSE = [
    "The keeper of the light wrote down the height of the water every hour of the",
    "night, and in the morning he took the book to the harbour office on the quay.",
]


def table(rows, *, y=100, places=(60, 200, 320), pitch=14):
    return [
        Text(cell, x=x, y=y + pitch * at)
        for at, cells in enumerate(rows)
        for x, cell in zip(places, cells, strict=True)
        if cell
    ]


def grid(xs, ys):
    return [Rule(xs[0], y, xs[-1], y) for y in ys] + [Rule(x, ys[0], x, ys[-1]) for x in xs]


def test_rows_without_ruled_lines_keep_their_columns(tmp_path):
    page = [*paragraph(PROSE), *table(MONEY, y=160), *paragraph(PROSE, y=230)]
    prose = " ".join(PROSE)
    rows = "Item | 2022 | 2023\nEnergy | 58,000 | 83,000\nRoom hire | 9,500 | 40,000"
    assert text_of(tmp_path, page) == f"{prose}\n\n{rows}\n\n{prose}"


def test_figures_set_flush_right_stand_in_one_column(tmp_path):
    rows = [
        Text(text, x=x, y=100 + 14 * at)
        for at, (name, figure, indent) in enumerate(
            [("Item", "Pounds", 0), ("Energy", "1,183,000", -12), ("Fees", "31", 24)]
        )
        for text, x in ((name, 60), (figure, 200 + indent))
    ]
    assert text_of(tmp_path, rows) == "Item | Pounds\nEnergy | 1,183,000\nFees | 31"


def test_an_empty_cell_holds_its_place(tmp_path):
    rows = [("Name", "Shed", "Plot"), ("Ana", "", "17"), ("Ben", "yes", "4")]
    assert text_of(tmp_path, table(rows)) == "Name | Shed | Plot\nAna | – | 17\nBen | yes | 4"


def test_a_name_over_several_rows_or_columns_is_said_in_each(tmp_path):
    rows = [
        ("Region", "Place", "Sales", "", "Fees"),
        ("", "", "2022", "2023", ""),
        ("North", "Sluice", "96", "91", "3"),
        ("", "Footbridge", "28", "83", "4"),
        ("", "Cistern", "11", "60", "8"),
        ("South", "Jetty", "88", "64", "1"),
        ("", "Dry dock", "65", "15", "2"),
    ]
    found = text_of(tmp_path, table(rows, places=(60, 160, 280, 340, 400)))
    assert found == (
        "Region | Place | Sales | Sales | Fees\nRegion | Place | 2022 | 2023 | Fees\n"
        "North | Sluice | 96 | 91 | 3\nNorth | Footbridge | 28 | 83 | 4\nNorth | Cistern | 11 | 60 | 8\n"
        "South | Jetty | 88 | 64 | 1\nSouth | Dry dock | 65 | 15 | 2"
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("", "Total", "124", "174"), ("", "Total", "153", "79")),  # they name no row of a group
        (("", "Footbridge", "", "83"), ("", "Dry dock", "65", "15")),  # not all cells are there
    ],
)
def test_what_names_no_group_is_not_said_again(tmp_path, first, second):
    rows = [
        ("Region", "Place", "2022", "2023"),
        ("North", "Sluice", "96", "91"),
        first,
        ("South", "Jetty", "88", "64"),
        second,
    ]
    found = text_of(tmp_path, table(rows, places=(60, 160, 280, 340))).splitlines()
    assert [line[:1] for line in found] == ["R", "N", "–", "S", "–"]


def test_the_rest_of_a_cell_joins_it_also_where_a_page_writes_cell_by_cell(tmp_path):
    page = [
        *table([("Level", "Height", "Name")]),
        Text("1", x=60, y=120),
        Text("3.60 m within", x=200, y=120),
        Text("48 hours", x=200, y=132),
        Text("Watch", x=320, y=120),
        *table([("2", "4.10 m", "Prepare"), ("3", "4.50 m", "Act")], y=152),
    ]
    assert text_of(tmp_path, page) == (
        "Level | Height | Name\n1 | 3.60 m within 48 hours | Watch\n2 | 4.10 m | Prepare\n3 | 4.50 m | Act"
    )


@pytest.mark.parametrize("repeated", [False, True])
def test_a_table_goes_on_over_a_page_with_its_header_once(tmp_path, repeated):
    rows = [(f"Plot {number}", str(100 + number), str(200 + number)) for number in range(8)]
    second = table([MONEY[0], *rows[4:]] if repeated else rows[4:], y=60)
    pages = [[*paragraph(PROSE), *table([MONEY[0], *rows[:4]], y=700)], [*second, *paragraph(PROSE, y=300)]]
    source = read_pdf(tmp_path, *pages)
    (found,) = find_tables(source.text)
    assert found.columns == MONEY[0]
    assert [row.cells for row in found.rows] == rows
    assert source.page_at(source.text.index("Plot 3 |")) == 1
    assert source.page_at(source.text.index("Plot 4 |")) == 2
    chunks = list(split(source, size=120, overlap=0))
    (late,) = (chunk for chunk in chunks if "Plot 7" in chunk["text"])
    assert late["metadata"]["columns"] == list(MONEY[0])
    assert source.text[late["start"] : late["end"]] == late["text"]


def test_a_table_of_dashes_goes_on_over_a_page():
    dashes = Line(["---", "---"], 60, 100, 300, 110, 10, bold=False, columns=(60, 200))
    assert list(drop_repeated_headers([(1, [dashes]), (2, [dashes])])) == [(1, [dashes]), (2, [dashes])]


def test_a_header_of_two_lines_is_read_once_where_each_page_repeats_it(tmp_path):
    header = [("", "Sales", "Sales"), ("Region", "2022", "2023")]
    rows = [(f"Plot {number}", str(100 + number), str(200 + number)) for number in range(8)]
    pages = [
        [*paragraph(PROSE), *table([*header, *rows[:4]], y=700)],
        [*table([*header, *rows[4:]], y=60), *paragraph(PROSE, y=300)],
    ]
    (found,) = find_tables(text_of(tmp_path, *pages))
    assert [row.cells for row in found.rows] == rows


def test_a_raised_mark_in_a_cell_is_no_part_of_its_figure(tmp_path):
    lines = ["Item      2022      2023", "Wood      1,234      2,345", "Sand      1,234      2,345"]
    last = [
        Text("Iron      3,234", y=142),
        Text("1", x=124.8, y=138, size=7),
        Text("      4,345", 128.7, 142),
    ]
    assert text_of(tmp_path, [*paragraph(lines), *last]).endswith("\nIron | 3,234¹ | 4,345")


def test_upright_names_of_columns_are_read_and_a_note_in_the_margin_is_not(tmp_path):
    rows = [(name, "4.1", "5.2") for name in ("North", "South", "East", "West")]
    path = make_pdf(tmp_path / "flat.pdf", [[*paragraph(PROSE), *table(rows, y=350)]])
    with pymupdf.open(path) as flat:
        for x, text in ((210, "Height"), (330, "Depth"), (30, "Draft of May")):
            flat[0].insert_text((x, 330), text, rotate=90)
        flat.save(tmp_path / "turned.pdf")
    text = extract_text(tmp_path / "turned.pdf").text
    assert "– | Height | Depth\nNorth | 4.1 | 5.2\n" in text and "Draft" not in text


def test_a_table_that_is_set_on_its_side_loses_no_word(tmp_path):
    with pymupdf.open() as document:
        page = document.new_page()
        for at, row in enumerate(MONEY):
            page.insert_text((100 + 16 * at, 600), " ".join(row), rotate=90)
        document.save(tmp_path / "a.pdf")
    assert extract_text(tmp_path / "a.pdf").text == " ".join(map(" ".join, MONEY))


def test_a_bold_header_is_no_heading(tmp_path):
    page = [
        *paragraph(PROSE),
        *(Text(cell, x=x, y=160, bold=True) for cell, x in zip(MONEY[0], (60, 200, 320), strict=True)),
        *table(MONEY[1:], y=174),
    ]
    assert read_pdf(tmp_path, page).headings == ()


@pytest.mark.parametrize(
    "page",
    [
        # prose in two columns, set line by line
        [
            Text(line, x=x, y=100 + 14 * at)
            for at in range(6)
            for line, x in ((PROSE[at % 2][:38], 60), (PROSE[at % 2][30:68], 320))
        ],
        # numbered clauses
        [
            Text(part, x=x, y=100 + 14 * at)
            for at in range(6)
            for part, x in ((f"{at}.1", 60), ("The tenant keeps the garden in good order.", 110))
        ],
        # a table of contents
        [
            Text(part, x=x, y=100 + 14 * at)
            for at in range(6)
            for part, x in ((f"Storms of the north {'. ' * 20}", 60), (str(at), 400))
        ],
        # a formula
        [
            Text(part, x=x, y=100 + 14 * at)
            for at in range(4)
            for part, x in (("x + y", 60), ("=", 140), ("12", 200))
        ],
        # what stands in a frame is a figure where its boxes hold letters
        [*grid((50, 150, 250), (90, 120, 150)), Text("A", x=70, y=110), Text("B", x=170, y=110)],
    ],
)
def test_what_only_looks_like_a_table_is_none(tmp_path, page):
    assert "|" not in text_of(tmp_path, [*page, *paragraph(PROSE, y=400)])


def test_ruled_lines_part_cells_that_stand_close_and_keep_what_wraps_together(tmp_path):
    page = [
        *grid((58, 122, 190, 300), (88, 106, 138, 156)),
        *paragraph(PROSE, y=40),
        *(
            Text(text, x=x, y=y)
            for text, x, y in [
                ("Expense", 60, 100),
                ("Limit", 124, 100),
                ("Approved by", 192, 100),
                ("Hotel in Lon-", 60, 118),
                ("don", 60, 130),
                ("165 pounds", 124, 118),
                ("Line manager", 192, 124),
                ("Training set", 60, 150),
                ("900", 124, 150),
                ("Head", 192, 150),
            ]
        ),
        *paragraph(PROSE, y=200),
    ]
    assert text_of(tmp_path, page).split("\n\n")[1] == (
        "Expense | Limit | Approved by\nHotel in London | 165 pounds | Line manager\n"
        "Training set | 900 | Head"
    )


def test_a_cell_over_several_rows_is_said_in_each_and_a_title_over_all_columns_once(tmp_path):
    rules = [
        *(Rule(50, y, 350, y) for y in (90, 110, 130, 170)),
        Rule(150, 150, 350, 150),
        *(Rule(x, 90, x, 170) for x in (50, 350)),
        *(Rule(x, 110, x, 170) for x in (150, 250)),
    ]
    texts = [
        Text("Prices of the year", x=140, y=104),
        *table([("Room", "Season", "Price")], y=124, places=(60, 160, 260)),
        Text("Double room", x=60, y=153),
        *table([("Summer", "90"), ("Winter", "60")], y=144, places=(160, 260), pitch=20),
    ]
    page = [*paragraph(PROSE, y=40), *rules, *texts, *paragraph(PROSE, y=300)]
    assert text_of(tmp_path, page).split("\n\n")[1:3] == [
        "Prices of the year",
        "Room | Season | Price\nDouble room | Summer | 90\nDouble room | Winter | 60",
    ]


def test_rows_stand_on_neighbouring_lines(tmp_path):
    text = text_of(tmp_path, [*paragraph(PROSE), *table([*MONEY, ("Energy tax", "1", "2")], y=160, pitch=22)])
    starts = [text.index(name) for name in ("Item |", "Energy |", "Room hire |", "Energy tax |")]
    assert all("\n" not in text[one : two - 1] for one, two in pairwise(starts))


def boxes(*cells):
    """Return a border around each cell, given as (text, x0, y0, x1, y1), with a gap between neighbours."""
    drawn = []
    for text, x0, y0, x1, y1 in cells:
        edges = [(x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)]
        lines = enumerate(text.split("\n"))
        drawn += [Text(line, x=x0 + 5, y=y0 + 13 + 15 * at) for at, line in lines]
        drawn += [Rule(*edge) for edge in edges]
    return drawn


def test_cells_with_borders_of_their_own_are_rows_and_merged_ones_stand_in_each(tmp_path):
    head = [("Shore", 60, 100, 130, 118), ("Kind", 133, 100, 200, 118), ("Sold", 203, 100, 260, 118)]
    body = [("North", 60, 121, 130, 160)] + [
        (text, x, y, x + width, y + 18)
        for y, row in ((121, ("Salt", "12")), (142, ("Rope", "15")))
        for text, x, width in zip(row, (133, 203), (67, 57), strict=True)
    ]
    page = boxes(*head, *body)
    assert text_of(tmp_path, page) == "Shore | Kind | Sold\nNorth | Salt | 12\nNorth | Rope | 15"


def test_a_cell_that_reaches_lower_than_its_row_makes_no_row_of_its_own(tmp_path):
    cells = [
        (text, x, y, x + 60, y + (34 if "\n" in text else 18))
        for y, row in ((100, ("Item", "Place\nof it")), (137, ("Salt", "bay\n3")), (174, ("Rope", "bay\n5")))
        for text, x in zip(row, (60, 123), strict=True)
    ]
    assert text_of(tmp_path, boxes(*cells)) == "Item | Place of it\nSalt | bay 3\nRope | bay 5"


def test_a_page_stored_on_its_side_is_read_as_it_is_shown(tmp_path):
    path = make_pdf(tmp_path / "made.pdf", [[*paragraph(PROSE), *table(MONEY, y=160)]])
    upright = extract_text(path).text
    with pymupdf.open(path) as flat, pymupdf.open() as turned:
        page = turned.new_page(width=flat[0].rect.height, height=flat[0].rect.width)
        page.show_pdf_page(page.rect, flat, 0, rotate=90)
        page.set_rotation(90)
        turned.save(tmp_path / "turned.pdf")
    assert extract_text(tmp_path / "turned.pdf").text == upright


def test_the_first_row_of_a_page_in_a_long_table_is_no_running_head(tmp_path):
    rows = [[(f"{name}{page}", "4.20", "bay 3") for name in ("Salt", "Rope", "Tar", "Oil", "Jute")]
            for page in ("A", "B", "C")]  # fmt: skip
    pages = [[*table(found[:1], y=80), *table(found[1:], y=110)] for found in rows]
    text = text_of(tmp_path, *pages)
    assert all(f"{row[0]} | 4.20 | bay 3" in text for found in rows for row in found)


def test_a_table_wider_than_the_text_breaks_no_paragraph(tmp_path):
    narrow = [
        "The keeper wrote the height of",
        "2,300 tides in a book, and he",
        "counted them. Then he left.",
    ]
    page = [*paragraph(narrow), *table(MONEY, y=180, places=(60, 300, 480))]
    assert text_of(tmp_path, page).startswith(" ".join(narrow))


def test_rows_without_borders_between_them_are_parted_at_their_figures(tmp_path):
    rows = [("Bulgaria", "2.3", "5.5"), ("Cyprus", "0.2", "0.4"), ("Malta", "", "0.7")]
    page = [
        *grid((50, 190, 310, 420), (88, 108, 156)),
        *table([("Country", "Fund", "Total")]),
        *table(rows, y=120),
        *paragraph(PROSE, y=300),
    ]
    assert text_of(tmp_path, page).split("\n\n")[0] == (
        "Country | Fund | Total\nBulgaria | 2.3 | 5.5\nCyprus | 0.2 | 0.4\nMalta | – | 0.7"
    )


def test_columns_whose_border_is_drawn_in_the_header_alone_go_on_below_it(tmp_path):
    rules = [Rule(50, y, 420, y) for y in (88, 106, 122, 138)] + [Rule(x, 88, x, 138) for x in (50, 420)]
    page = [
        *rules,
        *(Rule(x, 88, x, 106) for x in (190, 310)),
        *table(
            [("Country", "Home", "Abroad"), ("Austria", "86.2", "13.8"), ("Cyprus", "81.0", "3.8")], pitch=16
        ),
        *paragraph(PROSE, y=300),
    ]
    assert text_of(tmp_path, page).split("\n\n")[0] == (
        "Country | Home | Abroad\nAustria | 86.2 | 13.8\nCyprus | 81.0 | 3.8"
    )


def test_a_wide_gap_parts_columns_inside_a_border_and_a_name_above_it_is_that_of_both(tmp_path):
    rules = [Rule(50, y, 420, y) for y in (88, 106, 122, 138, 154)] + [
        Rule(x, 88, x, 154) for x in (50, 190, 420)
    ]
    rows = [("Answer", "Often", "Seldom"), ("Headache", "119", "128"), ("Backache", "126", "219")]
    page = [*rules, Text("How often", x=200, y=102), *table(rows, y=118, pitch=16), *paragraph(PROSE, y=300)]
    assert text_of(tmp_path, page).split("\n\n")[0] == (
        "– | How often | How often\nAnswer | Often | Seldom\nHeadache | 119 | 128\nBackache | 126 | 219"
    )


def test_a_full_grid_of_figures_is_a_table(tmp_path):
    rows = [("", "Q1", "Q2"), ("2004", "34.7", "36.2"), ("2005", "58.1", "63.4"), ("2006", "74.7", "84.1")]
    page = [
        *grid((50, 190, 310, 420), (88, 106, 122, 138, 154)),
        *table(rows, pitch=16),
        *paragraph(PROSE, y=300),
    ]
    assert text_of(tmp_path, page).split("\n\n")[0] == (
        "– | Q1 | Q2\n2004 | 34.7 | 36.2\n2005 | 58.1 | 63.4\n2006 | 74.7 | 84.1"
    )


HEADED = [("Tea", "1.1", "2.2", "3.3"), ("Salt", "4.1", "5.2", "6.3"), ("Rope", "7.1", "8.2", "9.3")]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        # a name over three columns touches but the one in the middle
        (
            [("", "", "Sales", ""), ("Item", "May", "June", "July")],
            ("Item", "Sales May", "Sales June", "Sales July"),
        ),
        # the names of columns take several lines
        ([("", "Number of", "Average", ""), ("Item", "persons", "cost", "Fees")],
         ("Item", "Number of persons", "Average cost", "Fees")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("late", [False, True])
def test_all_lines_of_a_header_name_columns_wherever_the_page_writes_them(tmp_path, header, names, late):
    places = (60, 200, 276, 352)
    above, below = table(header, places=places), table(HEADED, y=128, places=(60, 200, 280, 360))
    page = [*below, *above] if late else [*above, *below]
    source = read_pdf(tmp_path, [*page, *paragraph(PROSE, y=300)])
    (found,) = find_tables(source.text)
    assert found.columns == names
    assert [row.cells for row in found.rows] == HEADED


def test_a_short_line_between_the_rows_of_a_table_divides_no_table(tmp_path):
    page = [*table(MONEY), Text("In the harbour and on the quay", x=90, y=142), *table(MONEY[1:], y=156)]
    (found,) = find_tables(text_of(tmp_path, page))
    assert found.columns == MONEY[0]
    assert [row.cells[0] for row in found.rows] == [
        "Energy", "Room hire", "In the harbour and on the quay", "Energy", "Room hire"
    ]  # fmt: skip


def test_rows_of_figures_alone_are_a_table(tmp_path):
    rows = [("", "1", "2"), *((str(year), f"{year % 7}.5", f"{year % 5}.1") for year in range(1990, 1996))]
    assert text_of(tmp_path, table(rows)).splitlines()[1] == "1990 | 2.5 | 0.1"


def test_a_header_of_two_rows_stays_in_one_passage(tmp_path):
    header = [("", "", "Sales", ""), ("Item", "May", "June", "July")]
    places = (60, 200, 280, 360)
    page = [*paragraph(PROSE, y=60), *table(header, places=places), *table(HEADED, y=128, places=places)]
    source = read_pdf(tmp_path, page)
    for size in range(190, 260, 5):
        for chunk in split(source, size=size, overlap=40):
            for found in find_tables(chunk["text"], tuple(chunk["metadata"].get("columns", ()))):
                assert found.columns == ("Item", "Sales May", "Sales June", "Sales July")


def test_figures_set_close_stand_in_columns_and_leaders_go(tmp_path):
    # a name that ends close to the first figure, with dots that lead there
    rows = [
        ("Category", "2005", "2010"),
        ("All ages . . . . . . . . . . .", "291,099", "303,858"),
        ("With a disability . . . . . .", "54,425", "56,672"),
        ("Severe . . . . . . . . . . . .", "34,947", "35,683"),
    ]
    read = text_of(tmp_path, table(rows, places=(60, 200, 246)))
    assert read.splitlines()[1:3] == ["All ages | 291,099 | 303,858", "With a disability | 54,425 | 56,672"]


def test_a_name_in_the_middle_above_all_columns_stands_with_each(tmp_path):
    rows = [
        ("Statistic", "1", "2", "3"),
        ("Enrolment", "0.3", "0.6", "0.8"),
        ("Teachers", "0.8", "1.4", "1.7"),
    ]
    page = [
        Text("Years", x=255, y=100),
        *table([*rows, ("Graduates", "1.0", "1.0", "1.5")], y=114, places=(60, 200, 265, 330)),
    ]
    assert text_of(tmp_path, page).startswith("Statistic | Years | Years | Years\nStatistic | 1 | 2 | 3\n")


def test_figures_at_the_middle_of_a_name_of_two_lines_are_one_row(tmp_path):
    rows = [
        ("Years of life lost", "before age 75", "7108", "6960", "6920"),
        ("Inequality in the", "health index", "928", "904", "899"),
        ("Mean of limits to", "all activities", "8766", "8762", "8779"),
    ]
    places = (200, 260, 320)
    page = [Text(year, x=x, y=100) for year, x in zip(("1997", "1998", "1999"), places, strict=True)]
    for y, (upper, lower, *figures) in zip((116, 156, 196), rows, strict=True):
        page.append(Text(upper, x=60, y=y))
        page += [Text(figure, x=x, y=y + 8) for figure, x in zip(figures, places, strict=True)]
        page.append(Text(lower, x=60, y=y + 16))
    assert text_of(tmp_path, page).splitlines()[-3:] == [
        "Years of life lost before age 75 | 7108 | 6960 | 6920",
        "Inequality in the health index | 928 | 904 | 899",
        "Mean of limits to all activities | 8766 | 8762 | 8779",
    ]


def test_a_sign_that_a_table_sets_apart_belongs_to_its_figure(tmp_path):
    rows = [
        ("", "", "2014", "", "2015"),
        ("Sales", "$", "113", "$", "(97)"),
        ("Fees", "", "25", "", "—"),
        ("Debt", "$", "—", "$", "410"),
    ]
    page = table(rows, places=(60, 200, 240, 300, 340))
    assert text_of(tmp_path, page).splitlines() == [
        "– | 2014 | 2015", "Sales | $ 113 | $ (97)", "Fees | 25 | —", "Debt | $ — | $ 410"
    ]  # fmt: skip


def test_a_sign_begins_a_cell_and_a_leader_ends_one_however_near_the_next_is(tmp_path):
    rows = [
        f"{name} .......... $ {one} $ {two}"
        for name, one, two in (("Taxes", 812, 907), ("Grant", 311, 402), ("Other", 120, 118))
    ]
    page = [Text(year, x=x, y=100) for year, x in (("2012", 138), ("2013", 170))]
    page += [Text(row, x=60, y=114 + 14 * at) for at, row in enumerate(rows)]
    assert text_of(tmp_path, page).splitlines() == [
        "– | 2012 | 2013", "Taxes | $ 812 | $ 907", "Grant | $ 311 | $ 402", "Other | $ 120 | $ 118"
    ]  # fmt: skip


def test_names_in_smaller_type_name_the_columns_of_the_figures_below(tmp_path):
    names = [("", "Sales", "Fees"), ("", "in 2014", "in 2014"), ("", "(net)", "(net)")]
    small = [Text(one.text, one.x, one.y, size=8) for one in table(names, pitch=10)]
    (found,) = find_tables(text_of(tmp_path, [*small, *table(MONEY[1:], y=132), *table(MONEY[1:], y=160)]))
    assert found.columns == ("–", "Sales in 2014 (net)", "Fees in 2014 (net)")


def test_a_name_stands_with_all_columns_below_the_line_that_is_ruled_under_it(tmp_path):
    rows = [
        ("", "2014", "2015", "2016", "Growth"),
        ("Tea", "11", "22", "33", "5%"),
        ("Salt", "41", "52", "63", "7%"),
        ("Rope", "71", "82", "93", "9%"),
    ]
    page = [Text("Years", x=238, y=86), Text("ended", x=238, y=98), Rule(196, 102, 318, 102)]
    page += table(rows, y=114, places=(60, 200, 250, 300, 350))
    (found,) = find_tables(text_of(tmp_path, [*page, *paragraph(PROSE, y=300)]))
    assert found.columns == ("–", "Years ended 2014", "Years ended 2015", "Years ended 2016", "Growth")


def test_names_that_hold_figures_name_columns_by_their_place(tmp_path):
    rows = [("Kind", "Ward 5", "12 beds"), ("Men", "31", "17"), ("Women", "42", "18"), ("All", "73", "35")]
    source = read_pdf(tmp_path, table(rows))
    (found,) = find_tables(source.text)
    assert found.columns == rows[0]
    assert [row.cells for row in found.rows] == rows[1:]


@pytest.mark.parametrize("first", ["Ward 5", "917"])  # a figure names no column
def test_names_that_hold_figures_name_the_columns_of_a_ruled_table(tmp_path, first):
    rows = [("Kind", first, "12 beds"), ("Men", "31", "17"), ("Women", "42", "18")]
    page = [*grid((50, 190, 310, 420), (88, 106, 122, 138)), *table(rows, pitch=16)]
    (found,) = find_tables(text_of(tmp_path, [*page, *paragraph(PROSE, y=300)]))
    assert found.columns == (rows[0] if first == "Ward 5" else ())


CARE = [("Task", "North wing", "South wing"), ("Sweep the stairs", "weekly", "monthly")]
CARE += [("Wipe the handles", "daily", "weekly"), ("Air the hall", "monthly", "monthly")]
FORM = [("Customer", "Larch Nursery"), ("Unit", "Mower 40, serial M40"), ("Contract", "Gold")]
FORM += [("Room temperature", "29.6"), ("Engineer", "Nils Quandt")]


@pytest.mark.parametrize("is_ruled", [False, True])
@pytest.mark.parametrize("columns", [2, 3])
def test_a_bold_first_row_is_a_header_above_texts(tmp_path, columns, is_ruled):
    places = (60, 200, 320)[:columns]
    rows = [cells[:columns] for cells in CARE]
    header = [Text(cell, x=x, y=100, bold=True) for cell, x in zip(rows[0], places, strict=True)]
    rules = (
        grid([56, *(x - 4 for x in places[1:]), 440], [88 + 14 * at for at in range(5)]) if is_ruled else []
    )
    text = text_of(tmp_path, [*header, *table(rows[1:], y=114, places=places), *rules])
    (found,) = find_tables(text)
    assert found.columns == rows[0]
    assert [row.cells for row in found.rows] == rows[1:]


def test_a_table_that_is_bold_throughout_has_no_header(tmp_path):
    rows = [cells[:2] for cells in CARE]
    page = [
        Text(c, x=x, y=100 + 14 * at, bold=True)
        for at, r in enumerate(rows)
        for x, c in zip((60, 200), r, strict=True)
    ]
    assert "---" not in text_of(tmp_path, page)


@pytest.mark.parametrize("is_ruled", [False, True])
def test_the_first_rows_of_a_form_are_no_header(tmp_path, is_ruled):
    rules = grid([56, 196, 400], [88 + 14 * at for at in range(6)]) if is_ruled else []
    page = [*table(FORM, places=(60, 200)), *rules, *paragraph(PROSE, y=240)]
    (found,) = find_tables(text_of(tmp_path, page))
    assert found.columns == ()
    assert [row.cells for row in found.rows] == FORM
