import os
from pathlib import Path

import pytest

from adaptive_rag.ingest import extract_text, split
from adaptive_rag.text.places import page_at
from tests.ingest.spans import checked_chunks

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("ADAPTIVE_RAG_DATA", ROOT.parent / "shared" / "data")) / "documents"
SHIPPED = ROOT / "adaptive_rag" / "samples" / "documents" / "climate_handbook.pdf"


def read(name):
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{name} is not there; ADAPTIVE_RAG_DATA names the folder above documents/")
    return path, extract_text(path)


@pytest.fixture(scope="module")
def book():
    return read("cajori_history_of_mathematics.pdf")


def test_a_report_gives_the_chunks_and_sections_expected():
    _, source = read("AI_Information.pdf")
    assert 40 <= len(list(split(source))) <= 46
    section = source.section_at(source.text.index("Explainable AI (XAI) aims"))
    assert section == "Chapter 5: The Future of Artificial Intelligence > Explainable AI (XAI)"
    assert "problem-solving across" in source.text


@pytest.mark.nightly
def test_every_chunk_of_a_book_stands_in_its_text_and_on_its_pages(book):
    path, source = book
    assert extract_text(path).text == source.text
    for chunk in checked_chunks(source)[::200]:
        assert page_at(chunk, chunk["start"]) == chunk["page"] == source.page_at(chunk["start"])
        assert page_at(chunk, chunk["end"] - 1) == source.page_at(chunk["end"] - 1)


@pytest.mark.nightly
def test_a_book_loses_its_running_heads_and_broken_words(book):
    _, source = book
    assert source.text.count("A HISTORY OF MATHEMATICS") <= 5
    assert "\ufb01" not in source.text and "Möbius" in source.text
    assert "that when repulsed from a direct assault it is well to reconnoitre" in source.text
    section = source.section_at(source.text.index("In the study of Babylonian mathematics"))
    assert section.endswith("Antiquity > The Babylonians")


def test_the_shipped_handbook_is_read_with_sections_and_without_heads():
    source = extract_text(SHIPPED)
    assert source.text.count("Pellhythe Climate Handbook") <= 2
    assert source.section_at(source.text.index("There are four alert levels, each")) == (
        "6 Storms and warnings > 6.2 The four alert levels"
    )
