"""AsciiDoc: what a reader of the page sees, each line on the line that it has in the file."""

import pytest

from adaptive_rag.text.tables import find_tables

GUIDE = r"""= Harbour guide
:author: Ada Ruiz
:revdate: 2025-03-01
:keywords: harbour, gates

// Nobody reads this.
== Gates ==

:toc:
include::more.adoc[]

[source,sh]
----
== not a title
* no item
----

=== Levels
* first
** second
. step

[cols="1,2*"]
|===
|Item |Price |Stock

|Brass hinge
|4.20
|12
2+|On request |3
|===

////
== Hidden
////
== Bells
|===
|Weight |11.5 kg
|Colour | a\|b
|===
"""
SHOWN = {
    "== not a title": "== not a title",
    "* no item": "* no item",
    "* first": "- first",
    "** second": "  - second",
    ". step": "1. step",
    "|Brass hinge": "Brass hinge | 4.20 | 12",
    "2+|On request |3": "On request | On request | 3",
    "|Colour | a\\|b": "Colour | a/b",
}


def test_titles_of_two_lines_are_headings(read_file):
    text = (
        "Harbour guide\n=============\n\nNAME\n----\na - b\n\n|===\n|a |b\n|===\n\n"
        "[[t]]\nTides\n~~~~~\nSee this:\n----\nx\n----\n"
    )
    source = read_file("a.adoc", text)
    assert [heading.section for heading in source.headings] == ["Harbour guide", "NAME", "NAME > Tides"]
    assert source.text.endswith("NAME\n\na - b\n\n\na | b\n\n\n\nTides\n\nSee this:\n----\nx\n----\n")


def test_headings_lists_and_tables_are_read_on_their_lines(read_file):
    source = read_file("guide.adoc", GUIDE)
    headings = ["Harbour guide", "Gates", "Gates > Levels", "Bells"]
    assert [heading.section for heading in source.headings] == headings
    known = {"title": headings[0], "author": "Ada Ruiz", "date": "2025-03-01", "tags": ["harbour", "gates"]}
    assert known.items() <= source.metadata.items()
    for unread in (":toc", "include", "Nobody", "Hidden", ":author:", "[source", "|==="):
        assert unread not in source.text
    lines, own = source.text.split("\n"), GUIDE.split("\n")
    assert len(lines) == len(own)
    assert {written: lines[own.index(written)] for written in SHOWN} == SHOWN
    first, _ = find_tables(source.text)
    assert first.columns == ("Item", "Price", "Stock")
    assert [row.cells[1] for row in first.rows] == ["4.20", "On request"]
    assert source.section_at(source.text.index("Brass")) == "Gates > Levels"


UNCLOSED = ["Tide.\n\n|===\n|a |b", "Tide.\n\n|===\n|===", "Tide.\n----\nx", "Tide.\n////"]


@pytest.mark.parametrize("text", UNCLOSED)
def test_what_is_never_closed_ends_with_the_file(read_file, text):
    assert len(read_file("guide.asciidoc", text).text.split("\n")) == len(text.split("\n"))


@pytest.mark.parametrize(
    "text", ['[cols="2"]\n|===\n|a |b |c |d\n|e |f\n|===\n', '[cols="1,1"]\n|===\n|a |b |c |d\n|===\n']
)
def test_no_row_is_lost_where_several_stand_on_one_line(read_file, text):
    read = read_file("rows.adoc", text).text
    assert all(cell in read for cell in "abcdef" if f"|{cell}" in text)
