"""The order in which the lines of a picture are read."""

import random

from adaptive_rag.ingest.lines import Line
from adaptive_rag.ingest.reading_order import sort_by_reading_order


def line(text, x, y, width=220.0):
    return Line([text], x, y, x + width, y + 12, 10.0, bold=False)


def column(name, x, y=100, count=5):
    return [line(f"{name} line number {at} of the column", x, y + 12 * at) for at in range(count)]


def read(lines):
    shuffled = list(lines)
    random.Random(7).shuffle(shuffled)
    return [one.text for one in sort_by_reading_order(shuffled)]


def test_columns_are_read_one_after_the_other():
    lines = [*column("left", 50), *column("middle", 300), *column("right", 550)]
    assert read(lines) == [one.text for one in lines]


def test_a_line_across_the_columns_parts_what_stands_above_from_what_stands_below():
    title = line("A title across both of the columns", 50, 70, width=470)
    caption = line("A caption across both of the columns", 50, 170, width=470)
    lines = [title, *column("left", 50), *column("right", 300), caption]
    lines += [*column("lower left", 50, y=190), *column("lower right", 300, y=190)]
    assert read(lines) == [one.text for one in lines]


ROWS = (
    ("Item", "Length", "Price"),
    ("Hinge", "12 cm", "4.20"),
    ("Rope", "20 m", "15.75"),
    ("Nail", "8 cm", "1.10"),
)


def table(y):
    places = [(x, y + 16 * row) for row in range(len(ROWS)) for x in (50, 200, 350)]
    cells = [cell for row in ROWS for cell in row]
    return [line(cell, *place, 40) for cell, place in zip(cells, places, strict=True)]


def test_a_table_is_read_row_by_row_also_below_columns():
    rows = [" ".join(row) for row in ROWS]
    assert read(table(100)) == rows
    columns = [*column("left", 50), *column("right", 300)]
    assert read([*columns, *table(200)]) == [one.text for one in columns] + rows


def test_lines_set_so_close_that_their_boxes_overlap_stay_lines():
    lines = [line(f"line {at} of a narrow setting", 50, 100 + 9 * at) for at in range(6)]
    assert read(lines) == [one.text for one in lines]
