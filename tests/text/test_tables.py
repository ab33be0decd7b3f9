import pytest

from adaptive_rag.text.tables import describe_row, find_tables


def test_names_that_stand_over_several_columns_are_read_with_those_below_them():
    text = "Item | Sales | Sales\nItem | 2022 | 2023\nHose | 41 | 52\nPump | 3 | 4"
    (table,) = find_tables(text)
    assert table.columns == ("Item", "Sales 2022", "Sales 2023")
    assert [row.cells[0] for row in table.rows] == ["Hose", "Pump"]


def test_rows_of_equal_cells_below_plain_names_stay_rows():
    (table,) = find_tables("Item | Low | High\nHose | 41 | 41\nPump | 3 | 4")
    assert table.columns == ("Item", "Low", "High")
    assert len(table.rows) == 2


def test_names_of_models_stand_above_columns():
    (table,) = find_tables("Property | D300 | D300 Pro\nWeight | 12.4 kg | 15.6 kg\nTank | 5 l | 7 l")
    assert table.columns == ("Property", "D300", "D300 Pro")
    assert [row.cells[0] for row in table.rows] == ["Weight", "Tank"]


def test_names_with_numbers_stand_above_amounts_but_an_amount_names_no_column():
    (trains,) = find_tables("Station | Train 1 (D) | Train 3\nMarsh | 9.15 | 11.00\nMill | 9.27 | 11.16")
    (sums,) = find_tables("Evening meal | up to £28 | Line manager\nNight shift | £2.35 an hour | Automatic")

    assert trains.columns == ("Station", "Train 1 (D)", "Train 3")
    assert sums.columns == ()


def test_names_stand_above_rows_that_are_numbered():
    (levels,) = find_tables(
        "Level | What we ask of you\n1 Watch | Move your car.\n2 Prepare | Lift the stock."
    )
    (wood,) = find_tables("Colour | red\nWood | oak\nLegs | turned")

    assert levels.columns == ("Level", "What we ask of you")
    assert wood.columns == ()


@pytest.mark.parametrize(
    ("cells", "columns", "said"),
    [
        (("Brass hinge", "4.20", "12"), ("Item", "Price", "Stock"), "Brass hinge: price 4.20, stock 12"),
        (("Name:", "Ana Ruiz"), (), "Name: Ana Ruiz"),
    ],
)
def test_a_row_is_put_in_words(cells, columns, said):
    assert describe_row(cells, columns) == said
