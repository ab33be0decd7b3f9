"""A quote from a PDF is shown where it stands on the page."""

import zipfile

import pymupdf
import pytest

from adaptive_rag import locate
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest import extract_text
from tests.ingest.made_pdf import FI, Text, make_pdf, paragraph


def cite(path, quote, *, nth=0):
    """Cite a quote from the nth place where the text of a file holds it."""
    source = extract_text(path)
    start = -1
    for _ in range(nth + 1):
        start = source.text.index(quote, start + 1)
    end, page = start + len(quote), source.page_at(start)
    span = {"start": start, "end": end, "quote": quote}
    return {"marker": 1, "source": path.name, "page": page, "place": {"page": page}, **span}


def words_in(path, rectangles):
    """Return what stands in the rectangles of a file."""
    with pymupdf.open(path) as document:
        return [
            # without the edge, where the lines above and below reach in
            " ".join(document[page - 1].get_text(clip=pymupdf.Rect(x0, y0 + 3, x1, y1 - 3)).split())
            for page, x0, y0, x1, y1 in rectangles
        ]


LINES = ["The keeper opens the gate at dawn, and no of" + FI + "cer may shut it be-", "fore noon. It is old."]


def test_a_sentence_over_two_lines_has_a_rectangle_on_each(tmp_path):
    path = make_pdf(tmp_path / "gate.pdf", [[*paragraph(LINES, y=100)]])
    quote = "The keeper opens the gate at dawn, and no officer may shut it before noon."
    first, second = locate(cite(path, quote), path)
    assert (first.page, first.x0, second.x0) == (1, 60, 60)
    assert 85 < first.y0 < 100 < first.y1 < second.y1 < 120
    assert words_in(path, [second]) == ["fore noon."]


@pytest.mark.parametrize("nth", [0, 1])
def test_what_stands_twice_on_a_page_is_told_apart_by_its_span(tmp_path, nth):
    lines = ["Plot 14 has a red gate.", "Plot 1 has a red gate.", "Fees: 4 a day.", "Plot 1 has a red gate."]
    path = make_pdf(tmp_path / "plots.pdf", [[Text(line, y=100 + 60 * at) for at, line in enumerate(lines)]])
    [place] = locate(cite(path, "Plot 1 has a red gate.", nth=nth), path)
    assert place.y0 < [160, 280][nth] < place.y1
    [fee] = locate(cite(path, "4 a day"), path)
    assert words_in(path, [fee]) == ["4 a day."]


def test_a_sentence_in_a_column_and_over_two_pages_is_found_in_all_its_parts(tmp_path):
    left = ["The west gate is painted in", "green every second spring by", "the keeper and his sons, who"]
    right = ["The east gate was lost in the", "storm of a dreadful winter", "and has not been built since."]
    rows = zip(paragraph(left), paragraph(right, x=320), strict=True)
    columns = [line for row in rows for line in row]
    path = make_pdf(tmp_path / "columns.pdf", [columns, paragraph(["Bells ring at six in the morning."])])
    apart = {**cite(path, left[0]), "quote": " ".join(left)}
    assert words_in(path, locate(apart, path)) == left
    broken = {**cite(path, right[2]), "quote": f"{right[2]} Bells ring at six"}
    places = locate(broken, path)
    assert [place.page for place in places] == [1, 2]
    assert words_in(path, places) == [right[2], "Bells ring at six"]


def test_a_file_in_an_archive_is_found_and_what_is_not_on_the_page_has_no_rectangle(tmp_path):
    path = make_pdf(tmp_path / "gate.pdf", [paragraph(LINES)])
    citation = cite(path, "It is old.")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(path, "gate.pdf")
    assert locate(citation, tmp_path / "all.zip" / "gate.pdf") == locate(citation, path) != []
    assert locate({**citation, "quote": "鷹"}, path) == []


def test_what_has_no_pages_is_refused(tmp_path):
    path = tmp_path / "gate.txt"
    path.write_text("The gate is old.")
    with pytest.raises(ConfigurationError, match="Only a quote from a page of a PDF"):
        locate(cite(path, "The gate is old."), path)
