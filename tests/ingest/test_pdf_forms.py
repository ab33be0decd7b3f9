import pymupdf
import pytest

from adaptive_rag import locate
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.text.places import place_at


def ask(page, kind, y, value, *, words="", x=200, name="field", label=None, choices=None, display=0):
    """Set words and, beside them, a form field."""
    ticked = kind == pymupdf.PDF_WIDGET_TYPE_CHECKBOX
    page.insert_text((80 if ticked else 56, y), words)
    field = pymupdf.Widget()
    field.field_type, field.field_name, field.field_label = kind, name, label
    field.field_value, field.choice_values, field.field_display = value, choices, display
    field.rect = pymupdf.Rect(56, y - 12, 70, y + 2) if ticked else pymupdf.Rect(x, y - 12, x + 150, y + 6)
    page.add_widget(field)


TEXT, BOX, CHOICE = (
    pymupdf.PDF_WIDGET_TYPE_TEXT,
    pymupdf.PDF_WIDGET_TYPE_CHECKBOX,
    pymupdf.PDF_WIDGET_TYPE_COMBOBOX,
)


@pytest.fixture
def document():
    with pymupdf.open() as made:
        yield made


@pytest.fixture
def read(document, tmp_path):
    def save_and_read():
        document.save(tmp_path / "a.pdf")
        return extract_text(tmp_path / "a.pdf")

    return save_and_read


def test_what_was_filled_in_stands_behind_the_words_that_ask_for_it(document, read):
    page = document.new_page()
    page.insert_text((56, 80), "Application for a berth", fontsize=16)
    ask(page, TEXT, 120, "Halcyon", words="Name of the ship:", name="a")
    ask(page, TEXT, 150, "14.2", words="Length in metres", name="b")
    ask(page, BOX, 180, True, words="Insured against storms", name="c")
    ask(page, BOX, 210, False, words="Dogs on board", name="d")
    countries = [("DE", "Germany"), ("FR", "France")]
    ask(page, CHOICE, 240, "DE", words="Country:", name="e", choices=countries)
    ask(page, TEXT, 270, "", words="Flag:", name="f")
    ask(page, TEXT, 300, "red", name="form[0].hull_colour[0]")
    ask(page, TEXT, 330, "The mast is tall. The keel is short.", name="g", label="Remarks")
    ask(page, TEXT, 360, "secret", name="h", display=1)
    assert read().text == (
        "Application for a berth\n\nName of the ship: Halcyon\nLength in metres: 14.2\n"
        "Insured against storms: yes\nDogs on board: no\nCountry: Germany\n\nFlag:\n\nhull colour: red\n"
        "Remarks:\nThe mast is tall. The keel is short."
    )


def test_an_empty_form_answers_nothing(document, read):
    ask(document.new_page(), BOX, 180, False, words="Dogs on board")
    assert read().text == "Dogs on board"


def test_attached_files_are_parts_with_their_own_places(document, read, tmp_path):
    document.new_page().insert_text((56, 80), "The berths are let by the year.")
    document.embfile_add("a", b"Item,Price\nBerth,40\n", filename="../tariff.csv")
    document[0].add_file_annot((500, 100), b"The rope is changed in May.", "rope.txt")
    document.embfile_add("b", b"\x00", filename="film.mp4")
    source = read()
    berths, tariff, rope = split(source)
    assert (berths["text"], berths["page"]) == ("The berths are let by the year.", 1)
    assert (tariff["text"], tariff["page"]) == ("Item: Berth\nPrice: 40", None)
    assert tariff["section"] == "tariff.csv"
    place = place_at(rope, rope["start"], rope["end"])
    assert place == {"attachment": "rope.txt"}
    citation = {"marker": 1, "source": "a.pdf", "page": 1, "place": place, "start": 0, "end": 4}
    assert locate({**citation, "quote": "rope"}, tmp_path / "a.pdf") == []
    assert source.notes == ("the attachment film.mp4 is of no kind that is read",)


def test_an_attachment_that_is_too_large_is_named(document, read):
    document.new_page().insert_text((56, 80), "The berths are let by the year.")
    document.embfile_add("a", b"tide " * 10_500_000, filename="tides.txt")
    assert read().notes == ("the attachment tides.txt holds more than 50 MB",)


@pytest.mark.parametrize(("first", "looks"), [(0, "null"), (1, "<</N<<>>>>")])
def test_a_box_without_looks_or_with_empty_ones_is_read(document, read, first, looks):
    page = document.new_page()
    ask(page, BOX, 100, True, words="Insured")
    ask(page, BOX, 130, False, words="Rented", name="other")
    for box in list(page.widgets())[first:]:
        document.xref_set_key(box.xref, "AP", looks)
    text = read().text
    assert "Insured: yes" in text and "Rented: no" in text
