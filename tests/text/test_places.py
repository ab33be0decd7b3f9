"""A place is written as a person looks it up, and citations of one place come together."""

from typing import Any

import pytest

from adaptive_rag.state import Chunk, Citation, Place
from adaptive_rag.text.places import format_place, group_by_place, place_at


@pytest.mark.parametrize(
    ("places", "written"),
    [
        ([{}], ""),
        ([{"page": 3, "section": "4 Storms"}], "page 3"),
        ([{"sheet": "Prices", "row": 7, "cells": ["C7"]}], "sheet Prices, cell C7"),
        ([{"sheet": "Prices", "row": 7, "cells": ["A7", "B7", "C7"]}], "sheet Prices, row 7"),
        ([{"mail": "Fees", "section": "Fees"}], "Fees"),
        ([{"mail": "Fees", "attachment": "a.xlsx", "sheet": "May"}], "Fees, attachment a.xlsx, sheet May"),
        ([{"section": "Bells", "lines": [9, 9]}], "Bells, line 9"),
        ([{"lines": [9, 9]}, {"lines": [4, 5]}, {"lines": [9, 9]}, {"lines": [5, 6]}], "lines 4-6, 9"),
    ],
)
def test_a_place_is_written_as_a_person_looks_it_up(places: list[Place], written: str) -> None:
    assert format_place(*places) == written


@pytest.mark.parametrize(
    ("quote", "cells"),
    [("Price: 4.20", ["C7"]), ("4.20", ["C7"]), ("Item: Hinge\nPrice: 4.20", ["A7", "C7"])],
)
def test_the_cells_of_a_row_are_those_that_the_quote_holds(quote: str, cells: list[str]) -> None:
    text = "Item: Hinge\nPrice: 4.20\nGroup: Price of iron"
    known: dict[str, Any] = {"sheet": "Prices", "row": 7, "cells": {"Item": "A", "Price": "C"}}
    chunk = Chunk(
        id="a", source="a.xlsx", page=None, section=None, start=40, end=84, text=text, metadata=known
    )
    start = 40 + text.index(quote)
    assert place_at(chunk, start, start + len(quote))["cells"] == cells
    start = 40 + text.index("iron")
    assert "cells" not in place_at(chunk, start, start + 4)


@pytest.mark.parametrize(
    ("source", "known", "place"),
    [
        ("a.ppt", {}, {"slide": 3}),
        ("a.doc", {}, {"page": 3}),
        ("a.xlt", {"sheet": "May"}, {"page": 3, "sheet": "May"}),
        ("a.xlsb", {"sheet": "May"}, {"page": 3, "sheet": "May"}),
        ("a.docx", {"attachment": "b.pptx"}, {"attachment": "b.pptx", "slide": 3}),
        (
            "a.msg",
            {"subject": "Fees", "attachment": "b.pdf"},
            {"mail": "Fees", "attachment": "b.pdf", "page": 3},
        ),
        ("a.csv", {"attachment": "b.pptx"}, {"page": 3}),
    ],
)
def test_what_a_place_consists_of_goes_by_the_kind_of_file(
    source: str, known: dict[str, Any], place: Place
) -> None:
    chunk = Chunk(id="a", source=source, page=3, section=None, start=0, end=5, text="Ropes", metadata=known)
    assert place_at(chunk, 0, 5) == place


@pytest.mark.parametrize(
    ("source", "section", "known", "written"),
    [
        ("kb/pump.py", "pump.py > start", {}, "start"),
        ("kb/fees.yaml", "fees.yaml", {"line": 1}, "line 1"),
        ("a.eml", "Fees", {"subject": "Fees"}, "Fees"),
        ("a.mbox", "Re: Fees > quoted", {"subject": "Re: Fees"}, "Re: Fees, quoted"),
        ("a.mbox", "Fees > b.txt", {"subject": "Fees", "attachment": "b.txt"}, "Fees, attachment b.txt"),
    ],
)
def test_what_a_place_names_already_is_no_heading_of_it(
    source: str, section: str, known: dict[str, Any], written: str
) -> None:
    chunk = Chunk(
        id="a", source=source, page=None, section=section, start=0, end=5, text="Ropes", metadata=known
    )
    assert format_place(place_at(chunk, 0, 5)) == written


def test_citations_of_one_place_come_together_whatever_their_lines() -> None:
    def cite(marker: int, start: int, **place: Any) -> Citation:
        named = Place(**place)
        return Citation(
            marker=marker, source="a.md", page=None, place=named, start=start, end=start + 9, quote="x"
        )

    first, second = cite(1, 50, section="Bells", lines=[7, 7]), cite(1, 20, section="Bells", lines=[3, 3])
    elsewhere, other = cite(1, 90, section="Gates", lines=[9, 9]), cite(2, 0, section="Bells")
    assert group_by_place([other, elsewhere, first, second]) == [[second, first], [elsewhere], [other]]
