import struct

import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import split
from tests.ingest.made_ole import make_doc, make_ole

ROW_END = struct.pack("<HBHB", 0x2416, 1, 0x2417, 1)
CELL = struct.pack("<HB", 0x2416, 1)
ITEM = struct.pack("<HH", 0x460B, 3)


@pytest.fixture
def read(read_file):
    return lambda data: read_file("a.doc", data)


def test_paragraphs_headings_and_items_are_read(read):
    styles = {0: (1, b""), 2: (0, ITEM), 3: (0, ITEM)}
    source = read(make_doc("Storms\rShut the “gate” \U0001f6a7.\rRope\rHooks\r", styles=styles))
    assert source.text == "Storms\n\nShut the “gate” \U0001f6a7.\n\n- Rope\n- Hooks"
    assert [chunk["section"] for chunk in split(source)] == ["Storms"]


def test_a_table_keeps_its_rows_and_empty_cells(read):
    body = "Item\x07Price\x07\x07Hook\x07\x07\x07Long\rrope\x074\x07\x07After\r"
    cells = {number: (0, CELL) for number in (0, 1, 3, 4, 6, 7, 8)}
    source = read(make_doc(body, styles=cells | {number: (0, ROW_END) for number in (2, 5, 9)}))
    assert source.text == "Item | Price\nHook | –\nLong rope | 4\n\nAfter"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('See \x13 HYPERLINK "http://x" \x14the \x13 PAGE \x141\x15 plan\x15 now.\r', "See the 1 plan now."),
        ("See \x13 HYPERLINK x\rShut it.\rRing.\r", "See\n\nShut it.\n\nRing."),  # it is never closed
    ],
)
def test_a_field_is_read_by_what_it_shows(read, body, text):
    assert read(make_doc(body)).text == text


def test_a_footnote_stands_behind_its_paragraph_and_hidden_letters_nowhere(read):
    source = read(make_doc("Shut it.\x02\rRing.\r", notes="\x02 In a storm.\r", note_at=8))
    assert source.text == "Shut it.\n\nIn a storm.\n\nRing."
    assert read(make_doc("Shut it now.\r", hidden=(7, 11))).text == "Shut it."


def test_pieces_longer_than_the_file_are_refused(read):
    data = make_doc("Shut it.\r").replace(
        struct.pack("<BIIII", 2, 16, 0, 9, 0x04000000)[:13], struct.pack("<BIII", 2, 16, 0, 0x0FFFFFFF)
    )
    with pytest.raises(IndexingError, match=r"is damaged.*save it as \.docx"):
        read(data)


def test_word_95_is_read_in_the_letters_of_its_language(read):
    head = bytearray(1024)
    text = "Закройте ворота.\r".encode("cp1251")
    struct.pack_into("<HHHHH", head, 0, 0xA5DC, 104, 0, 0x0419, 0)
    struct.pack_into("<II", head, 0x18, 1024, 1024 + len(text))
    struct.pack_into("<I", head, 0x34, len(text))
    assert read(make_ole({"WordDocument": bytes(head) + text})).text == "Закройте ворота."
