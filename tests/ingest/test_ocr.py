"""Pictures of text: which are read, in what order, how it is marked, and what is said without the extra."""

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from adaptive_rag.answer.passages import cite_span
from adaptive_rag.errors import IndexingError, MissingExtraError
from adaptive_rag.ingest import Failure, SourceFile, extract_text, read_source, split
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.loaders import find_loader
from adaptive_rag.ingest.pdf import load_pdf
from tests.ingest.made_scans import BIRDS, HARBOUR, PRICES, TITLE, note, page_in_columns, pixels_of, save_scan

GATE = "The gate is shut at nine in the evening. Whoever comes later rings the bell and pays 12 pounds."


@pytest.fixture
def ocr():
    """What reads pictures, where the extra is installed."""
    pytest.importorskip("rapidocr", reason="the extra `ocr` is not installed")
    from adaptive_rag.ingest import ocr

    return ocr


@pytest.fixture
def without_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidocr", None)


def load(path: Path) -> TextBuilder:
    """Read a file in this process, so that the models are loaded once."""
    builder = TextBuilder()
    find_loader(path)(path, builder)
    return builder


def test_a_scanned_page_is_read_column_by_column_and_its_table_row_by_row(ocr, tmp_path):
    with pymupdf.open() as document:
        drawn = page_in_columns(document).get_pixmap(dpi=150)
    source = extract_text(save_scan(tmp_path / "scan.pdf", drawn, GATE))
    table = "\n".join(" | ".join(row) for row in PRICES)
    expected = f"{TITLE}\n\n{HARBOUR}\n\n{BIRDS}\n\n{table}\n\n{GATE}"
    words, found = (Counter(re.findall(r"\w+", text)) for text in (expected, source.text))
    assert (words & found).total() >= 0.98 * words.total()
    assert HARBOUR in source.text and BIRDS in source.text and "Rope | 20 m | £15.75" in source.text
    assert source.text.index(HARBOUR) < source.text.index(BIRDS) < source.text.index("Rope")
    assert source.section_at(source.text.index(HARBOUR)) == TITLE
    assert source.notes == ("1 of 2 pages were read from pictures: 1",)
    # every line of the picture is marked, and nothing of the page that holds its text
    assert all(span.confidence > 0.9 for span in source.ocr)
    marked = "".join(source.text[span.start : span.end] for span in source.ocr)
    assert "".join(marked.split()) == "".join(source.text[: source.text.index(GATE)].split())


@pytest.mark.few(1)
@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_picture_is_read_whichever_way_up_it_stands(ocr, quarters):
    lines = ocr.read_picture(np.ascontiguousarray(np.rot90(pixels_of(note(GATE)), quarters)), 72 / 150)
    assert " ".join(line.text for line in lines) == GATE
    assert [line.y0 for line in lines] == sorted(line.y0 for line in lines)


def sign(text: str) -> np.ndarray:
    """Draw some letters in italics."""
    with pymupdf.open() as document:
        page = document.new_page(width=200, height=70)
        page.insert_text((20, 45), text, fontsize=30, fontname="tiit")
        return np.ascontiguousarray(pixels_of(page.get_pixmap(dpi=150)))


@pytest.mark.few(1)
@pytest.mark.parametrize("text", ["Sold", "Spool", "Old soup"])
@pytest.mark.parametrize("quarters", [0, 2])
def test_a_line_that_looks_alike_both_ways_up_is_read_the_surer_way(ocr, text, quarters):
    lines = ocr.read_picture(np.ascontiguousarray(np.rot90(sign(text), quarters)), 72 / 150)
    assert [line.text for line in lines] == [text]


@pytest.mark.few(2)
@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "webp"])
def test_an_image_is_read_and_each_page_of_a_tiff(ocr, tmp_path, suffix):
    from PIL import Image

    first, second = (Image.fromarray(pixels_of(note(text))) for text in (GATE, "The bell is broken."))
    path = tmp_path / f"photo.{suffix}"
    first.save(path, **({"save_all": True, "append_images": [second]} if suffix == "tif" else {}))
    built = load(path).build("photo", "0")
    several = suffix == "tif"
    assert built.text == (f"{GATE}\n\nThe bell is broken." if several else GATE)
    assert [page.number for page in built.pages] == ([1, 2] if several else [])


@pytest.mark.parametrize("kind", ["transparent", "of 16 bits", "larger than a picture may be"])
def test_text_on_a_transparent_ground_and_a_photo_of_any_size_are_read(ocr, tmp_path, monkeypatch, kind):
    from PIL import Image

    pixels = pixels_of(note("The bell is broken."))
    if kind == "transparent":
        dark = 255 - pixels[:, :, :1]
        path = tmp_path / "a.png"
        Image.fromarray(np.dstack([np.zeros_like(dark)] * 3 + [dark]), "RGBA").save(path)
    elif kind == "of 16 bits":
        path = tmp_path / "a.tif"
        Image.fromarray(pixels[:, :, 0].astype(np.uint16) * 200 + 9000).save(path)
    else:
        path = tmp_path / "a.jpg"
        Image.fromarray(pixels).save(path)
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    assert load(path).text == "The bell is broken."


@pytest.mark.nightly
def test_chunks_say_how_surely_they_were_read(ocr, tmp_path):
    builder = TextBuilder()
    pages = note(GATE), "The wall is 5 m high.", note("Lamps burn all night.")
    load_pdf(save_scan(tmp_path / "a.pdf", *pages), builder)
    source = builder.build("a.pdf", "0")
    [chunk] = split(source)
    spans = chunk["metadata"].pop("ocr_spans")
    assert [source.text[start:end] for start, end, _ in spans][-1] == "Lamps burn all night."
    assert chunk["metadata"]["ocr"] is True and 0.9 < chunk["metadata"]["ocr_confidence"] <= 1
    chunk["metadata"]["ocr_spans"] = spans
    for quote, is_read in (("The wall is 5 m high.", False), ("Lamps burn all night.", True)):
        start = source.text.index(quote)
        citation = cite_span({**chunk, "scores": {}, "labels": []}, 1, start, start + len(quote))
        assert (citation["quote"], "ocr_confidence" in citation) == (quote, is_read)


def black(width: int, height: int) -> bytes:
    return pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, width, height), False).tobytes("png")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: note(GATE).tobytes("png")[:2000], "incomplete"),
        (lambda: b"\x89PNG and more", "no image of the kind"),
        (lambda: black(7000, 7000), "7,000 x 7,000 pixels"),
        (lambda: black(300, 300), "shows no words"),
        (lambda: black(3000, 1), "shows no words"),
    ],
    ids=["cut off", "another kind", "too large", "black", "a line"],
)
def test_an_image_that_cannot_be_read_says_why(ocr, tmp_path, made, reason):
    path = tmp_path / "a.png"
    path.write_bytes(made())
    with pytest.raises(IndexingError, match=reason):
        load(path)


@pytest.mark.nightly
def test_of_a_long_scan_the_first_pages_are_read_and_a_note_says_so(ocr, tmp_path, monkeypatch):
    monkeypatch.setattr(ocr, "MAX_PAGES", 1)
    slips = [note(text) for text in ("The bell is broken.", "The lamp burns.", "The gate is shut.")]
    builder = load(save_scan(tmp_path / "a.pdf", *slips))
    assert builder.text == "The bell is broken."
    assert builder.notes[0].startswith("2 of 3 pictures were not read, since a file may have 1")


def stamp(path: Path, text: str) -> Path:
    """Write a text across the top of the first page of a scan, which is enlarged to the whole page."""
    with pymupdf.open(path) as document:
        page = document[0]
        page.set_cropbox((0, 0, 360, 120))
        page.insert_text((10, 12), text, fontsize=7)
        document.saveIncr()
    return path


def test_a_scan_with_a_stamp_is_read_if_its_picture_has_more_text(ocr, tmp_path):
    stamped = stamp(save_scan(tmp_path / "a.pdf", note(GATE)), "Envelope ID 4F5A-88")
    assert GATE in load(stamped).text and load(stamped).notes == ["1 of 1 pages were read from pictures: 1"]
    plain = load(stamp(save_scan(tmp_path / "b.pdf", note("")), "Thank you!"))
    assert (plain.text, plain.notes) == ("Thank you!", [])


def test_without_the_extra_a_note_names_the_pages_and_the_command(tmp_path, without_extra):
    builder = load(save_scan(tmp_path / "a.pdf", note(GATE), "The wall is 5 m high."))
    assert builder.text == "The wall is 5 m high."
    [said] = builder.notes
    assert said.startswith("1 of 2 pages hold no text: 1. ")
    assert "pip install 'adaptive-rag[ocr]'" in said and "ocrmypdf a.pdf a-text.pdf" in said
    [said] = load(stamp(save_scan(tmp_path / "b.pdf", note(GATE)), "Envelope ID 4F5A-88")).notes
    assert said.startswith("1 of 1 pages hold little or no text: 1. ")


def test_without_the_extra_a_scan_says_what_to_install(tmp_path, without_extra):
    with pytest.raises(IndexingError, match=r"its 2 pages are only images\. .*adaptive-rag\[ocr\].*ocrmypdf"):
        load(save_scan(tmp_path / "a.pdf", note(GATE), note(GATE)))
    note(GATE).save(tmp_path / "a.png")
    with pytest.raises(MissingExtraError, match=r"pip install 'adaptive-rag\[ocr\]'"):
        load(tmp_path / "a.png")


def test_an_image_without_the_extra_fails_with_a_sentence(tmp_path, without_extra, monkeypatch):
    monkeypatch.setattr("adaptive_rag.ingest.read.take_worker", lambda: None)
    note(GATE).save(tmp_path / "a.png")
    failure = read_source(SourceFile(tmp_path / "a.png", "a.png"))
    assert isinstance(failure, Failure)
    assert str(failure).startswith("a.png was not read. Reading .png files needs the package 'rapidocr'")
