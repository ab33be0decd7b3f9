import pytest

from tests.ingest.spans import checked_chunks

GUIDE = """======
 Gates
======

Storms
======
Shut the gate::

    Not a title
    ===========

Warning levels
--------------
- first

-----

Too short
---

Bells
=====
Ring it.
"""


def test_underlined_titles_are_headings_by_the_order_of_their_signs(read_file):
    source = read_file("guide.rst", GUIDE)
    assert "====" not in source.text.replace("    ===========", "").replace("===========\n```", "")
    assert source.text.count("\n") == GUIDE.count("\n")
    headings = ["Gates", "Storms", "Storms > Warning levels", "Bells"]
    assert [heading.section for heading in source.headings] == headings
    assert source.section_at(source.text.index("Ring it")) == "Bells"
    assert checked_chunks(source, size=60, overlap=0)


def read(read_file, text):
    source = read_file("a.rst", text)
    assert source.text.count("\n") == text.count("\n")
    return "\n".join(line for line in source.text.split("\n") if line)


CROSSED = "+---+--------+\n| A | +49 30 |\n+---+--------+\n| B | A+     |\n+---+--------+\n"
CSV = '.. csv-table:: Stock\n   :header: "Item", "Price"\n\n   Hinge, "4,20"\n   "Brass\n   rod", 3\n'
STOCK = "Stock\nItem | Price\n--- | ---\nHinge | 4,20\nBrass rod | 3"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("See :ref:`the gate <gate>` and :pep:`8`.\n", "See the gate and PEP 8."),
        ("Ask :func:`~os.path.join` or ``{{ x }}``.\n", "Ask `join` or `{{ x }}`."),
        ("See `site <https://a.example>`_ [1]_.\n", "See [site](https://a.example)."),
        ("In |year|.\n\n.. |year| replace:: 1957\n", "In 1957."),
        (".. note:: Mind\n   the gap.\n\n.. a comment\n\n.. _top:\n\nEnd.\n", "Mind\nthe gap.\nEnd."),
        (".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\nEnd.\n", "End."),
        (".. image:: a.png\n   :alt: The wall\n\nEnd.\n", "The wall\nEnd."),
        (".. code-block:: sh\n\n   ls |x|\n\nEnd.\n", "```sh\nls |x|\n```\nEnd."),
        ("+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n+---+---+\n", "A | B\n--- | ---\n1 | 2"),
        (CROSSED, "A | +49 30\nB | A+"),
        (CSV, STOCK),
        (".. csv-table::\n   :header-rows: 1\n\n   A, B\n   1, 2\n", "A | B\n1 | 2"),
        (".. list-table::\n\n   * - A\n     - B\n   * - 1\n     - 2\n", "A | B\n1 | 2"),
    ],
)
def test_roles_and_directives_are_read_as_a_reader_sees_them(read_file, text, seen):
    assert read(read_file, text) == seen
