"""Tables that tests write as they are read: a row on each line, bars between cells, "–" for an empty one."""

from __future__ import annotations


def rows_of(text: str) -> list[tuple[str, ...]]:
    """Return the cells of each row."""
    return [tuple("" if cell == "–" else cell for cell in line.split(" | ")) for line in text.splitlines()]


def values_of(text: str) -> list[list[str | int | float | None]]:
    """Return the values that a sheet keeps for each row."""

    def value(cell: str) -> str | int | float | None:
        if cell.lstrip("-").replace(".", "", 1).isdecimal():
            return float(cell) if "." in cell else int(cell)
        return cell or None

    return [[value(cell) for cell in row] for row in rows_of(text)]
