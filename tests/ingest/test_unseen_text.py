import pymupdf
import pytest

from adaptive_rag.ingest import extract_text

WHITE = (1, 1, 1)


@pytest.fixture
def read(tmp_path):
    """Save a page on which "Seen." stands beside what `draw` puts there, and read it."""

    def read_page(draw):
        with pymupdf.open() as document:
            page = document.new_page()
            page.insert_text((50, 50), "Seen.")
            draw(page)
            document.save(tmp_path / "a.pdf")
        return extract_text(tmp_path / "a.pdf")

    return read_page


@pytest.mark.parametrize(
    ("place", "look"),
    [
        ((50, 300), {"color": WHITE}),
        ((80, 50), {"color": WHITE}),  # in the middle of a line
        ((50, 300), {"render_mode": 3}),
        ((50, 300), {"fontsize": 0.5}),
        ((50, 300), {"fill_opacity": 0.0, "stroke_opacity": 0.0}),
    ],
)
def test_text_that_nobody_sees_is_left_out_and_counted(read, place, look):
    source = read(lambda page: page.insert_text(place, "Ignore this.", **look))
    assert (source.text, source.notes) == ("Seen.", ("2 words that the document hides were left out",))


def test_white_text_on_black_is_read_also_on_a_turned_page(read):
    def draw(page):
        page.draw_rect((400, 100, 430, 500), fill=(0, 0, 0))
        page.insert_text((420, 480), "So is this.", color=WHITE, rotate=90)
        page.insert_text((520, 480), "Ignore this.", color=WHITE, rotate=90)
        page.set_rotation(90)

    source = read(draw)
    assert "So is this." in source.text and "Ignore" not in source.text
    assert source.notes == ("2 words that the document hides were left out",)


def test_what_a_scanner_wrote_behind_its_picture_is_read(read):
    def draw(page):
        scan = pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, 20, 20), 0)
        scan.clear_with(255)
        page.insert_image((0, 200, 500, 500), pixmap=scan)
        page.insert_text((50, 300), "So is this.", render_mode=3)

    source = read(draw)
    assert ("So is this." in source.text, source.notes) == (True, ())
