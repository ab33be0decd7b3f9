import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from tests.ingest.made_ole import make_ole, make_xls


def test_an_older_workbook_is_read_row_by_row(tmp_path):
    path = tmp_path / "a.xls"
    path.write_bytes(make_ole({"Workbook": make_xls([["Item", "Price"], ["Hinge", 4.25], ["Dowel", 3]])}))
    source = extract_text(path)
    assert source.text == "Item: Hinge\nPrice: 4.25\n\nItem: Dowel\nPrice: 3"
    assert [record.metadata["row"] for record in source.records] == [2, 3]
    assert {record.metadata["sheet"] for record in source.records} == {"Stock"}


def test_numbers_stand_as_cells_show_them_and_hidden_columns_are_left_out(tmp_path):
    rows = [["Item", "Price", "Share", "Cost"], ["Hinge", 4.25, 0.125, 3]]
    formats = ("General", '0.00" EUR"', "0.0%", "0")
    (tmp_path / "a.xls").write_bytes(make_ole({"Workbook": make_xls(rows, formats=formats, hidden_column=3)}))
    source = extract_text(tmp_path / "a.xls")
    assert source.text == "Item: Hinge\nPrice: 4.25 EUR\nShare: 12.5%"
    assert source.notes == ("hidden sheets, columns and rows were left out: columns of Stock",)


def test_what_is_no_older_workbook_is_named(tmp_path):
    (tmp_path / "a.xls").write_bytes(b"\xd0\xcf\x11\xe0 and no more")
    with pytest.raises(IndexingError, match=r"is not an Excel workbook or is damaged.*save it as \.xlsx"):
        extract_text(tmp_path / "a.xls")


@pytest.mark.parametrize("suffix", [".xls", ".xlsb"])
def test_a_workbook_that_breaks_off_is_named(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(make_ole({"Workbook": make_xls([["Item", "Price"], ["Hinge", 3]])})[:-1])
    with pytest.raises(IndexingError, match="is not an Excel workbook or is damaged"):
        extract_text(path)
