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


def test_what_is_no_older_workbook_is_named(tmp_path):
    (tmp_path / "a.xls").write_bytes(b"\xd0\xcf\x11\xe0 and no more")
    with pytest.raises(IndexingError, match=r"is not an Excel workbook or is damaged.*save it as \.xlsx"):
        extract_text(tmp_path / "a.xls")
