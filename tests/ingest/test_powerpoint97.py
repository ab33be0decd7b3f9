import struct
import time

import pytest

from adaptive_rag.errors import IndexingError
from tests.ingest.made_ole import make_ppt, ppt_record, ppt_shape, ppt_text

REFERENCE = ppt_record(0x0F9E, struct.pack("<I", 1))


@pytest.fixture
def read(read_file):
    return lambda *slides: read_file("a.ppt", make_ppt(slides))


def test_slides_are_read_in_order_with_titles_items_and_notes(read):
    listed = ppt_text(0, "Storms") + ppt_text(1, "Shut the gate\rRing the bell")
    own = ppt_shape(ppt_text(4, "A dike – ten metres")) + ppt_shape(REFERENCE)
    source = read((listed, own, "Say it twice.", False), (ppt_text(0, "Ropes"), b"", "", False))
    assert source.text == (
        "Storms\n\nA dike – ten metres\n\n- Shut the gate\n- Ring the bell\n\nSay it twice.\n\nRopes"
    )
    assert [page.number for page in source.pages] == [1, 2]
    assert [heading.section for heading in source.headings] == ["Storms", "Ropes"]


def test_hidden_slides_and_what_stands_on_every_slide_are_left_out(read):
    number = ppt_shape(ppt_text(4, "Page 7 of 9"), placeholder=8)
    source = read((ppt_text(0, "Shown"), number, "", False), (ppt_text(0, "Secret"), b"", "", True))
    assert source.text == "Shown"
    assert source.notes == ("hidden slides were left out: 2",)


def test_records_nested_without_end_are_refused(read):
    nested = b""
    for _ in range(60):
        nested = ppt_record(0xF003, nested, container=True)
    with pytest.raises(IndexingError, match=r"is damaged.*save it as \.pptx"):
        read((ppt_text(0, "Deep"), nested, "", False))


def test_records_that_end_behind_what_holds_them_are_walked_once(read):
    beyond = struct.pack("<HHI", 0xF, 0xF003, 0xFFFFFF)
    shapes = 13 * ppt_record(0xF003, beyond, container=True) + 5000 * ppt_record(0x0BC3, b"")
    started = time.perf_counter()
    assert read((ppt_text(0, "Storms"), shapes, "", False)).text == "Storms"
    assert time.perf_counter() - started < 10


def test_a_slide_without_a_title_is_found_by_its_number(read):
    slides = [(ppt_text(0, "Storms"), b"", "", False), (ppt_text(1, "Shut the gate"), b"", "", False)]
    source = read(*slides)
    assert source.text == "Storms\n\n- Shut the gate"
    assert [heading.section for heading in source.headings] == ["Storms", "Slide 2"]
