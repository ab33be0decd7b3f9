"""What is counted of a table that was read from a PDF."""

import pytest

from benchmarks.pdf_tables import Cell, Found, Grid, _unspanned, measure

# Sales stands above 2022 and 2023; nothing of 2023 is known for Salt.
SALES = [["item", "sales", "sales"], ["", "2022", "2023"], ["salt", "4", ""], ["rope", "7", "9"]]
TRUTH = Grid(
    [Cell("sales", 0, 1, 0, 2)]
    + [
        Cell(text, row, column, row, column)
        for row, texts in enumerate(SALES)
        for column, text in enumerate(texts)
        if text != "sales"
    ]
)


def test_neighbours_are_cells_with_nothing_between_them() -> None:
    pairs = {
        ("item", "sales", "right"), ("2022", "2023", "right"), ("salt", "4", "right"), ("rope", "7", "right"),
        ("7", "9", "right"), ("item", "salt", "below"), ("salt", "rope", "below"), ("sales", "2022", "below"),
        ("2022", "4", "below"), ("4", "7", "below"), ("sales", "2023", "below"), ("2023", "9", "below"),
    }  # fmt: skip
    assert TRUTH.pairs() == dict.fromkeys(pairs, 1)
    assert _unspanned(SALES).pairs() == TRUTH.pairs()  # as our reader says a name above several columns


def test_a_body_cell_has_the_names_of_its_row_and_of_its_column() -> None:
    assert sorted(TRUTH.named()) == [
        ("rope", "7", ("sales", "2022")), ("rope", "9", ("sales", "2023")), ("salt", "4", ("sales", "2022")),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "row", "named"),
    [
        (("item", "sales2022", "sales2023"), ("rope", "7", "9"), 2 / 3),
        (("item", "2022", "2023"), ("rope", "7", "9"), 0),
        (("item", "sales2022", "sales2023"), ("salt", "7", "9"), 0),
        ((), ("rope", "7", "9"), 0),
    ],
    ids=["named", "half a name", "another row", "no names"],
)
def test_cells_count_that_stand_with_all_their_names(names, row, named) -> None:
    assert measure([TRUTH], Found([], [(names, row)]))["named"] == pytest.approx(named)


def test_recall_and_precision_are_shares_of_pairs() -> None:
    row = measure([TRUTH], Found([_unspanned([["salt", "4"], ["rope", "8"]])], []))
    assert (row["recall"], row["precision"]) == (pytest.approx(2 / 12), pytest.approx(2 / 4))
