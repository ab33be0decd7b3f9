"""Headers of PDF tables: column names from the lines above the figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from adaptive_rag.ingest.layout import Extent, Line, columns_near, extent

# The most lines that a header has.
MOST_LINES = 10
# In type sizes: how far a name may be from its place, and the cost of leaving a column without a name.
_NEAR, _CENTRED, _AT_LEFT, _UNNAMED = 0.7, 0.45, 0.5, 0.7
_WORD = re.compile(r"[^\W\d_]{3}")
_NO_FIGURE = re.compile(r"(?:[$£€¥] ?)?[-–—.*…]+|n\.?/?a\.?|x|nil", re.IGNORECASE)
# "2004", "2004-05", "2004/2005 (1)", "FY 2004", "1996*"
_YEAR = re.compile(
    r"(?:fy ?)?(?:1[6-9]|20)\d\d(?: ?[-–/] ?(?:\d\d){1,2})?[*†‡]*(?: ?\(\w{1,2}\))?[a-z]?", re.IGNORECASE
)
_COUNT = re.compile(r"[(\[]?(\d{1,2})[)\]]?")
# The lines of each cell of a row, by column.
_Row = Mapping[int, Sequence[Line]]


def count_header_lines(rows: Sequence[_Row]) -> int:
    """Return the number of lines above the first line of figures; 0 if no line names columns."""
    last = 0
    for at, row in enumerate(rows[: MOST_LINES + 1]):
        texts = [_text(lines) for column, lines in row.items() if column]
        if holds_figures(texts):
            return last
        if texts:
            last = at + 1
    return 0


def holds_figures(texts: Sequence[str]) -> bool:
    """Tell whether a row holds figures, and not names or the numbers of columns."""
    numbers = [int(match[1]) for match in map(_COUNT.fullmatch, texts) if match]
    if len(texts) > 2 and numbers and numbers == list(range(numbers[0], numbers[0] + len(texts))):
        return False  # the columns are numbered
    return 2 * sum(map(is_name, texts)) < len(texts)


def is_name(text: str) -> bool:
    """Tell whether a text may name a column: it is a word or a year, and not a figure."""
    if _NO_FIGURE.fullmatch(text):
        return False
    figure = re.search(r"\d", text) and not _WORD.search(text) and not text[0].isalpha()
    return not figure or _YEAR.fullmatch(text) is not None


def lines_of_names(
    rows: Sequence[Sequence[Sequence[Line]]], columns: Sequence[Extent]
) -> list[list[list[Line]]]:
    """Return the lines of each column's name, in two rows if a name is above several columns.

    Args:
        rows: the cells of each line of the header.
        columns: the start and end of each column.
    """
    above: list[list[Line]] = [[] for _ in columns]
    names: list[list[Line]] = [[] for _ in columns]
    for at, cells in enumerate(rows):
        below = [cell for row in rows[at + 1 :] for cell in row]
        spans = _reaches(cells, columns, rows[at + 1] if at + 1 < len(rows) else ())
        for cell, reach in zip(cells, spans, strict=True):
            wide = len(reach) > 1 and any(_touches(under, columns, reach) for under in below)
            for column in reach:
                (above if wide else names)[column].extend(cell)
    if not any(above):
        return [names]
    return [
        [over or name for over, name in zip(above, names, strict=True)],
        [name or over for over, name in zip(above, names, strict=True)],
    ]


def _touches(cell: Sequence[Line], columns: Sequence[Extent], reach: range) -> bool:
    start, end = extent(cell)
    return columns[reach[0]][0] < end and start < columns[reach[-1]][1]


def _reaches(
    cells: Sequence[Sequence[Line]], columns: Sequence[Extent], below: Sequence[Sequence[Line]]
) -> list[range]:
    """Return the columns that each name of a line is above; `below` has the cells of the next line.

    A name is often narrower than the columns below it: "Sales" over "2022" and "2023" touches neither, and
    "Sales" over three years touches only the one in the middle. Then all names of the line together cover
    every column.
    """
    names = [extent(cell) for cell in cells]
    size = max(line.size for cell in cells for line in cell)
    own = [_under(name, columns) for name in names]
    ruled = [_above_rule(cell, columns) for cell in cells]
    if any(ruled):
        return [reach or at for reach, at in zip(ruled, own, strict=True)]
    cost, spans = _best_spans(names, columns, size)
    fits = all(
        len(at) == 1 and _shift(name, columns[at[0]], size) < _NEAR * size
        for name, at in zip(names, own, strict=True)
    )
    named = {column for reach in spans for column in reach} | {0}
    # If the name of the first column is on a lower line, other names may be, too.
    near = (_NEAR if own[0][0] == 0 else _CENTRED) * size * len(names)
    wrapped = any(_text(cell)[:1].islower() for cell in below)
    whole = len(named) == len(columns) and cost < near and not wrapped
    return spans if spans and (whole or not fits) else own


def _best_spans(names: Sequence[Extent], columns: Sequence[Extent], size: float) -> tuple[float, list[range]]:
    """Assign columns to names from left to right; a name is at the middle or at the left of its columns."""
    # For the first columns and the first names: the lowest cost, and which columns each name gets.
    best: dict[tuple[int, int], tuple[float, list[range]]] = {(0, 0): (0.0, [])}
    for end in range(1, len(columns) + 1):
        for count in range(min(end, len(names)) + 1):
            ways = []
            if (end - 1, count) in best:
                cost, spans = best[end - 1, count]
                ways.append((cost + (_UNNAMED * size if end > 1 else 0.0), spans))
            for start in range(end if count else 0):
                if (start, count - 1) in best:
                    cost, spans = best[start, count - 1]
                    group = columns[start][0], columns[end - 1][1]
                    apart = _shift(names[count - 1], group, size, several=end - start > 1)
                    ways.append((cost + apart, [*spans, range(start, end)]))
            best[end, count] = min(ways, key=lambda way: way[0])
    return best.get((len(columns), len(names)), (0.0, []))


def _shift(name: Extent, column: Extent, size: float, *, several: bool = False) -> float:
    """Return the distance of a name from the middle of the columns below it, or from their edges."""
    left, right = name[0] - column[0], column[1] - name[1]
    if several:
        return min(abs(left - right) / 2, abs(left) + _AT_LEFT * size)
    return 0.0 if left * right >= 0 else min(abs(left), abs(right))


def _under(name: Extent, columns: Sequence[Extent]) -> range:
    """Return the columns that a name overlaps, or the nearest one."""
    near = columns_near(name, columns)
    return range(near[0], near[-1] + 1)


def _above_rule(cell: Sequence[Line], columns: Sequence[Extent]) -> range | None:
    """Return the columns below the ruled line under a name, if there are several."""
    start, end = cell[0].reach or (0.0, 0.0)
    under = [at for at, column in enumerate(columns) if start < (column[0] + column[1]) / 2 < end]
    return range(under[0], under[-1] + 1) if len(cell) == 1 and len(under) > 1 and under[0] else None


def _text(lines: Sequence[Line]) -> str:
    return " ".join(line.text for line in lines).strip()
