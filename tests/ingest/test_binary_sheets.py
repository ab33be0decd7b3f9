from tests.ingest.made_ole import make_ole, make_xls


def test_an_older_workbook_is_read_row_by_row(read_file):
    source = read_file(
        "a.xls", make_ole({"Workbook": make_xls([["Item", "Price"], ["Hinge", 4.25], ["Dowel", 3]])})
    )
    assert source.text == "Item: Hinge\nPrice: 4.25\n\nItem: Dowel\nPrice: 3"
    assert [record.metadata["row"] for record in source.records] == [2, 3]
    assert {record.metadata["sheet"] for record in source.records} == {"Stock"}


def test_numbers_stand_as_cells_show_them_and_hidden_columns_are_left_out(read_file):
    rows = [["Item", "Price", "Share", "Cost"], ["Hinge", 4.25, 0.125, 3]]
    formats = ("General", '0.00" EUR"', "0.0%", "0")
    source = read_file("a.xls", make_ole({"Workbook": make_xls(rows, formats=formats, hidden_column=3)}))
    assert source.text == "Item: Hinge\nPrice: 4.25 EUR\nShare: 12.5%"
    assert source.notes == ("hidden sheets, columns and rows were left out: columns of Stock",)
