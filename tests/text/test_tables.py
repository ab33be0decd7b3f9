import time

import pytest

from adaptive_rag.text.tables import describe_row, find_tables, names_columns

YEARS = "Statistic | Years | Years\nStatistic | 1 | 2\nMen | 1.7 | 3.0\nWomen | 1.8 | 2.6"
SALES = "Item | Sales | Sales\nItem | 2022 | 2023\nHose | 41 | 52\nPump | 3 | 4"
UNITS = "– | Weight | Size\n– | (kg) | (m)\nHose | 3 | 9\nPump | 2 | 8"


@pytest.mark.parametrize(
    ("text", "lines", "columns"),
    [
        # lines of names, over several columns or not; None: as the first line has them
        (SALES, 2, ("Item", "Sales 2022", "Sales 2023")),
        (YEARS, 2, ("Statistic", "Years 1", "Years 2")),
        (UNITS, 2, ("–", "Weight (kg)", "Size (m)")),
        ("Item | Low | High\nHose | 41 | 41\nPump | 3 | 4", 1, None),
        ("Property | D300 | D300 Pro\nWeight | 12.4 kg | 15.6 kg\nTank | 5 l | 7 l", 1, None),
        ("Station | Train 1 (D) | Train 3\nMarsh | 9.15 | 11.00\nMill | 9.27 | 11.16", 1, None),
        ("Name | Value | Default\nmode | on|off | –\nsize | 3 | 5", 1, None),  # a bar in a cell
        ("– | 2008-09 | 2009-10\nHose | 41 | 52\nPump | 3 | 4", 1, None),
        ("Port | % growth 1990-94 | sales ($000)\nMill | 3.1 | 4\nMarsh | 2.0 | 5", 1, None),
        # figures, and columns without names, are no second row of names
        ("Item | Low | Low\nHose | 41 | 41\nPump | 3 | 4", 1, None),
        ("– | – | Sold\n1991 | Men | 11.0\n1996 | Men | 9.5", 1, None),
        # no names: an amount is none
        ("Evening meal | up to £28 | Line manager\nNight shift | £2.35 an hour | Automatic", 0, ()),
        ("Colour | red\nWood | oak\nLegs | turned", 0, ()),
    ],
)
def test_names_of_columns_are_told_from_rows(text: str, lines: int, columns: tuple[str, ...] | None) -> None:
    (table,) = find_tables(text)
    first_cells = [line.split(" | ")[0] for line in text.splitlines()]
    assert table.columns == (tuple(text.splitlines()[0].split(" | ")) if columns is None else columns)
    assert [row.cells[0] for row in table.rows] == first_cells[lines:]


def test_tables_that_a_blank_line_parts_are_two_where_their_columns_differ():
    one, two = find_tables("Item | Price\nHose | 41\n\nPort | May | June\nMill | 3 | 4")
    assert one.columns == ("Item", "Price")
    assert two.columns == ("Port", "May", "June")


@pytest.mark.parametrize(
    ("cells", "columns", "said"),
    [
        (("Brass hinge", "4.20", "12"), ("Item", "Price", "Stock"), "Brass hinge: price 4.20, stock 12"),
        (("Name:", "Ana Ruiz"), (), "Name: Ana Ruiz"),
    ],
)
def test_a_row_is_put_in_words(cells, columns, said):
    assert describe_row(cells, columns) == said


@pytest.mark.parametrize(
    "text", ["Brass hinge | 4.20 | 12", "| Brass hinge | 4.20 | 12 |\n\nPrices hold until May."]
)
def test_the_last_row_of_a_table_that_was_cut_has_its_columns(text: str) -> None:
    columns = ("Article", "Price", "Stock")
    (table,) = find_tables(text, columns)
    assert (table.columns, [row.cells for row in table.rows]) == (columns, [("Brass hinge", "4.20", "12")])
    assert text[table.rows[0].start : table.rows[0].end].startswith(("Brass", "| Brass"))


def test_a_line_with_other_cells_than_the_table_that_was_cut_is_none_of_its_rows() -> None:
    assert list(find_tables("Choose A | B there.", ("Article", "Price", "Stock"))) == []


@pytest.mark.parametrize(
    "rows",
    [
        [("Measure", "Age 4 (first year)", "Grade 1"), ("Spelling", "0.15", "NA"), ("Reading", "NA", "0.11")],
        [("Task", "Tarn 86", "Tarn 40"), ("Clean", "2 hours", "3 hours"), ("Test 2", "weekly", "yearly")],
        [
            ("Fee", "Amount"),
            ("Lost key", "35 €"),
            ("Token", "from 2 €"),
            ("Guests", "1 € a day"),
            ("Bed", "30 €"),
        ],
        [("Property", "Reason"), ("Clarity", "Most people asked did not " * 4), ("Length", "It takes " * 9)],
    ],
    ids=["names with numbers", "models", "amounts", "over texts"],
)
def test_the_first_row_names_the_columns(rows: list[tuple[str, ...]]) -> None:
    assert names_columns(rows)
    assert not names_columns(rows[1:])


@pytest.mark.parametrize(
    "rows",
    [
        [("Actual", "–", "–"), ("1996", "51", "37"), ("1997", "52", "37")],
        [("Invoice no.", "CT-2291"), ("Date", "2 March 2026"), ("Due", "1 April 2026")],
        [
            ("Customer", "Larch Ltd"),
            ("Date", "Friday 2 May"),
            ("Time", "07:55"),
            ("Unit", "M40"),
            ("Heat", "9 °C"),
        ],
        [("Ada", "Room 4", "Room 5"), ("Ben", "Room 6", "away"), ("Cleo", "away", "Room 2")],
    ],
    ids=["without figures", "a label and its number", "a form", "numbered values"],
)
def test_the_first_row_names_no_columns(rows: list[tuple[str, ...]]) -> None:
    assert not names_columns(rows)


def test_a_number_column_has_a_name() -> None:
    assert names_columns([("Art. no.", "2023"), ("P-100", "3.50"), ("P-110", "4.20")])
    assert names_columns([("Country code", "2023"), ("UK", "44"), ("FR", "33")])


def test_a_row_whose_last_bar_is_escaped_has_a_cell() -> None:
    (table,) = find_tables("| Weight | 11.5 kg |\n| Length \\|")
    assert table.columns == ()


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n| " + "-" * 50_000 + " x |\n",
        "a | b" + " " * 50_000 + "x\nThe end.\n",
        "tern | " * 30_000 + "gull\n" + "a | b\n" * 30_000,
    ],
    ids=["rule", "blanks", "columns"],
)
def test_a_long_line_is_read_in_linear_time(text: str) -> None:
    started = time.process_time()
    list(find_tables(text))
    assert time.process_time() - started < 5


def test_names_of_columns_longer_than_a_passage_may_repeat_are_a_row() -> None:
    header, rows = " | ".join(f"name{i}" for i in range(2_000)), "a | b\n" * 3
    (table,) = find_tables(f"{header}\n--- | ---\n{rows}")
    assert table.columns == () and len(table.rows) == 4
