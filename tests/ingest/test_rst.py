from adaptive_rag.ingest import extract_text, split

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
- second

-----

Too short
---

Bells
=====

Ring it.
"""


def test_underlined_titles_are_headings_by_the_order_of_their_signs(tmp_path):
    path = tmp_path / "guide.rst"
    path.write_text(GUIDE)
    source = extract_text(path)
    assert source.text == GUIDE
    assert [heading.section for heading in source.headings] == [
        "Gates",
        "Storms",
        "Storms > Warning levels",
        "Bells",
    ]
    assert source.section_at(GUIDE.index("Ring it")) == "Bells"
    for chunk in split(source, size=60, overlap=0):
        assert GUIDE[chunk["start"] : chunk["end"]] == chunk["text"]
