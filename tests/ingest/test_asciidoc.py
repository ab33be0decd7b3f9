"""AsciiDoc: what a reader of the page sees, each line on the line that it has in the file."""

import pytest

from adaptive_rag.ingest import extract_text
from adaptive_rag.text.tables import find_tables

GUIDE = """= Harbour guide
:author: Ada Ruiz
:revdate: 2025-03-01
:keywords: harbour, gates

// Nobody reads this.
== Gates ==

Shut the *gate* at six.
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
|Colour | a\\|b
|===
"""


def test_titles_of_two_lines_are_headings(read_file):
    text = (
        "Harbour guide\n=============\n\nNAME\n----\na - b\n\n|===\n|a |b\n|===\n\n"
        "[[t]]\nTides\n~~~~~\nSee this:\n----\nx\n----\n"
    )
    source = read_file("a.adoc", text)
    assert [heading.section for heading in source.headings] == ["Harbour guide", "NAME", "NAME > Tides"]
    assert source.text.endswith("NAME\n\na - b\n\n\na | b\n\n\n\nTides\n\nSee this:\n----\nx\n----\n")


def test_headings_lists_and_tables_are_read_on_their_lines(tmp_path):
    path = tmp_path / "guide.adoc"
    path.write_text(GUIDE)
    source = extract_text(path)
    assert [heading.section for heading in source.headings] == [
        "Harbour guide",
        "Gates",
        "Gates > Levels",
        "Bells",
    ]
    known = {
        "title": "Harbour guide",
        "author": "Ada Ruiz",
        "date": "2025-03-01",
        "tags": ["harbour", "gates"],
    }
    assert known.items() <= source.metadata.items()
    for unread in (":toc", "include", "Nobody", "Hidden", ":author:", "[source", "|==="):
        assert unread not in source.text
    lines, own = source.text.split("\n"), GUIDE.split("\n")
    assert len(lines) == len(own)
    for shown, written in (
        ("== not a title", "== not a title"),
        ("* no item", "* no item"),
        ("- first", "* first"),
        ("  - second", "** second"),
        ("1. step", ". step"),
        ("Brass hinge | 4.20 | 12", "|Brass hinge"),
        ("On request | On request | 3", "2+|On request |3"),
        ("Colour | a/b", "|Colour | a\\|b"),
    ):
        assert lines[own.index(written)] == shown
    first, _ = find_tables(source.text)
    assert first.columns == ("Item", "Price", "Stock")
    assert [row.cells[1] for row in first.rows] == ["4.20", "On request"]
    assert source.section_at(source.text.index("Brass")) == "Gates > Levels"


UNCLOSED = ["Tide.\n\n|===\n|a |b", "Tide.\n\n|===\n|===", "Tide.\n----\nx", "Tide.\n////"]


@pytest.mark.parametrize("text", UNCLOSED)
def test_what_is_never_closed_ends_with_the_file(tmp_path, text):
    path = tmp_path / "guide.asciidoc"
    path.write_text(text)
    assert len(extract_text(path).text.split("\n")) == len(text.split("\n"))


def test_no_row_is_lost_where_several_stand_on_one_line(tmp_path):
    for text in ('[cols="2"]\n|===\n|a |b |c |d\n|e |f\n|===\n', '[cols="1,1"]\n|===\n|a |b |c |d\n|===\n'):
        file = tmp_path / "rows.adoc"
        file.write_text(text, encoding="utf-8")
        read = extract_text(file).text
        assert all(cell in read for cell in text if cell in "abcdef" and f"|{cell}" in text)
