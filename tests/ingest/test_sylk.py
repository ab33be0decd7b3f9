SHEET = """ID;PWXL;N;E
F;Y1;X1
C;K"Part"
C;X2;K"Price"
C;Y2;X1;K"Hinge;; brass"
C;X2;K4.2;ESUM(1,3)
E
"""


def test_the_cells_of_a_sylk_sheet_are_rows(read_file):
    assert read_file("a.slk", SHEET).text == "Part: Hinge; brass\nPrice: 4.2"
