import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text

SHEET = """ID;PWXL;N;E
F;Y1;X1
C;K"Part"
C;X2;K"Price"
C;Y2;X1;K"Hinge;; brass"
C;X2;K4.2;ESUM(1,3)
E
"""


def test_the_cells_of_a_sylk_sheet_are_rows(tmp_path):
    (tmp_path / "a.slk").write_text(SHEET)
    assert extract_text(tmp_path / "a.slk").text == "Part: Hinge; brass\nPrice: 4.2"


def test_a_text_that_is_named_slk_is_refused_with_the_way(tmp_path):
    (tmp_path / "a.slk").write_text("Shut the gate.")
    with pytest.raises(IndexingError, match=r"is not a SYLK workbook: .* Save it as \.xlsx"):
        extract_text(tmp_path / "a.slk")
