"""The SYLK loader: the only sheet of an .slk, which has a line for each cell, "C;Y2;X1;K4.2"."""

from __future__ import annotations

import re
from pathlib import Path

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.sheet_grid import Grid
from adaptive_rag.ingest.sheets import add_sheets
from adaptive_rag.ingest.text import decode

# A row or column that is not given is that of the line before; a semicolon in a text is doubled.
_PLACE = re.compile(r";([XY])(\d{1,7})(?=;|$)")
_VALUE = re.compile(r';K("?)((?:[^;]|;;)*?)\1(?=;(?!;)|$)')


def load_slk(path: Path, builder: TextBuilder) -> None:
    """Write the rows of a sheet into `builder`; numbers and dates are written as they are stored."""
    lines = decode(path.read_bytes(), builder).split("\n")
    if not lines[0].startswith("ID;"):
        raise IndexingError("is not a SYLK workbook: it does not begin with ID;. Save it as .xlsx")
    grid = Grid()
    position = {"Y": 0, "X": 0}
    for line in lines:
        if line.startswith(("C;", "F;")):
            position |= {axis: int(number) for axis, number in _PLACE.findall(line)}
            if line[0] == "C" and (value := _VALUE.search(line)) and (text := value[2].strip()):
                grid.add(position["Y"], position["X"], text.replace(";;", ";"))
    add_sheets(builder, [grid.to_sheet(path.stem, [])])
