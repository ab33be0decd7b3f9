import re
import time
from dataclasses import replace

import pymupdf
import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.cleaning import clean
from adaptive_rag.ingest.layout import Flow
from adaptive_rag.ingest.lines import Line

from .made_pdf import FI, FL, Text, make_pdf, paragraph, read_pdf, text_of

FILLER = [
    "The keeper of the light wrote down the height of the water every hour of the",
    "night, and in the morning he took the book to the harbour office on the quay.",
]


def between(head, body, foot):
    """Set a page of lines between a head and a foot."""
    return [Text(head, y=40, size=9), *paragraph(body), Text(foot, y=800, size=9)]


def test_wrapped_lines_become_a_paragraph_and_gaps_and_indents_part_paragraphs(tmp_path):
    prose = " ".join(FILLER)
    text = text_of(tmp_path, paragraph(FILLER) + paragraph(FILLER, y=160))
    assert text == f"{prose}\n\n{prose}"
    text = text_of(tmp_path, paragraph(FILLER + FILLER) + paragraph(FILLER, y=156, indent=15))
    assert text == f"{prose} {prose}\n\n{prose}"
    number = (
        "Days of frost are rare by the sea, and in the winter of last year there were",
        "13. Few saw them.",
    )
    assert text_of(tmp_path, paragraph([*FILLER, *number])) == f"{prose} {' '.join(number)}"


@pytest.mark.parametrize(("mark", "indent"), [("-", 18), ("o", 16), ("7.", 28), ("1.1", 36), ("[1]", 24)])
def test_a_list_item_goes_on_in_indented_lines_however_far_its_mark_is_from_it(tmp_path, mark, indent):
    items = [line for y in (100, 128) for line in (Text(mark, y=y), *paragraph(FILLER, x=60 + indent, y=y))]
    item = f"{mark} {' '.join(FILLER)}"
    assert re.split("\n+", text_of(tmp_path, items)) == [item, item]


def test_a_text_that_is_drawn_twice_to_look_bold_is_read_once(tmp_path):
    once = [
        *paragraph(FILLER),
        Text("Salt      1,234      2,345", y=150),
        Text("Rope      2,234      3,345", y=164),
    ]
    twice = [line for text in once for line in (text, replace(text, x=text.x + 0.4))]
    assert text_of(tmp_path, twice) == text_of(tmp_path, once)


@pytest.mark.parametrize("start", [60, 60.3, 60.6])
def test_a_double_letter_is_not_one_that_is_drawn_twice(tmp_path, start):
    letters = list[Text]()
    for number, letter in enumerate("All hills still fill"):
        letters.append(Text(letter, start, size=7 + number % 2 / 100))  # so each is a span
        start += pymupdf.get_text_length(letter, fontsize=7)
    assert text_of(tmp_path, letters) == "All hills still fill"


def test_a_large_initial_is_part_of_its_word(tmp_path):
    initial, first, second = Text("T", y=114, size=30), Text(FILLER[0][1:], 80, 100), Text(FILLER[1], 80, 114)
    assert text_of(tmp_path, [initial, first, second]).startswith("The keeper")


def test_the_boxes_of_a_diagram_are_paragraphs(tmp_path):
    boxes = ["Survey January", "Vote 12 March"]
    lines = [line for at in (0, 1) for line in paragraph(boxes[at].split(" ", 1), x=60 + 150 * at)]
    assert text_of(tmp_path, lines) == "\n\n".join(boxes)


def test_each_entry_of_a_bibliography_with_hanging_lines_is_a_paragraph(tmp_path):
    entries = [line for y in (100, 128, 156) for line in (Text(FILLER[0], y=y), Text(FILLER[1], 84, y + 14))]
    assert text_of(tmp_path, entries) == "\n\n".join([" ".join(FILLER)] * 3)


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        (f"The of{FI}ce   kept a {FL}ag and 10\xb2 boats.", "The office kept a flag and 10² boats."),
        ("D\xa8uhring and Poincar\xb4e met in K\xa8oln.", "Dühring and Poincaré met in Köln."),
    ],
)
def test_ligatures_blanks_and_separate_accents_are_cleaned(tmp_path, shown, meant):
    assert text_of(tmp_path, [Text(shown)]) == meant


@pytest.mark.parametrize(
    ("before", "after", "elsewhere", "expected"),
    [
        ("build-", "ing the wall took three years.", "", "building the wall"),
        ("prob-", "able cause was never found.", "Probable as it is.", "probable cause"),
        ("well-", "known people came to see it.", "He is well-known here.", "well-known people"),
        ("sea-", "level marks were cut in stone.", "The sea rose to a level.", "sealevel marks"),
        ("flood-", "water ran down the street then.", "A flood of water came.", "flood-water ran"),
        ("Neo-", "Pythagoreans removed the objection.", "", "Neo-Pythagoreans removed"),
        ("1914-", "1918 were the years of the war.", "", "1914-1918 were"),
    ],
)
def test_a_hyphen_at_a_lines_end_goes_unless_the_document_writes_it(
    tmp_path, before, after, elsewhere, expected
):
    first = f"It is told in the old books of this town at great length that {before}"
    text = text_of(tmp_path, paragraph([first, after]) + paragraph([elsewhere or "Nothing else."], y=200))
    assert expected in text


def test_a_word_that_is_split_on_a_short_line_beside_a_picture_is_joined(tmp_path):
    lines = [FILLER[0], "They built the har-", "bour wall."]
    assert text_of(tmp_path, paragraph(lines)).endswith("They built the harbour wall.")


BANK = "Saltmere Bank, account 20 30 40"


def test_a_running_head_is_read_once_and_a_foot_once(tmp_path):
    bodies = ([f"Item {number} of the list. {FILLER[0]}", FILLER[1]] for number in (1, 2))
    text = text_of(tmp_path, *(between("Invoice No. 4711 of 3 March 2024", body, BANK) for body in bodies))
    assert text.startswith("Invoice No. 4711 of 3 March 2024\n\nItem 1") and text.count("4711") == 1
    assert text.endswith(f"quay.\n\n{BANK}") and text.count("Saltmere") == 1


def test_heads_that_a_page_writes_last_stand_at_the_edges_of_the_text(tmp_path):
    bodies = [[*FILLER, "He left the book with the"], ["harbour office.", *FILLER]]
    pages = []
    for number, body in enumerate(bodies, start=1):
        head, *rest = between("Contract of the harbour", body, BANK)
        pages.append([*rest, head, Text(f"page {number} of 2", x=200 + 60 * number, y=800, size=9)])
    text = text_of(tmp_path, *pages)
    assert text.startswith("Contract of the harbour\n\nThe keeper") and text.count("Contract") == 1
    assert "He left the book with the harbour office." in text
    assert text.count("Saltmere") == 1 and text.index("Saltmere") > text.index("harbour office.")


def test_heads_with_other_numbers_are_text_of_their_pages(tmp_path):
    pages = [[Text(f"Invoice No. {number}", y=40), *paragraph(FILLER)] for number in (4711, 4712, 4713)]
    assert "Invoice No. 4712\n\nThe keeper" in text_of(tmp_path, *pages)


def test_titles_that_differ_only_in_numbers_are_no_running_heads(tmp_path):
    pages = [[Text(f"Day {number}", y=60, size=18), *paragraph(FILLER)] for number in (1, 2, 3)]
    assert "Day 2\n\nThe keeper" in text_of(tmp_path, *pages)


def test_two_copies_of_a_form_on_one_page_have_no_running_head(tmp_path):
    page = [Text("Receipt of the harbour", x, 40, size=14) for x in (60, 340)]
    page += [Text("A berth, one night", x, 100) for x in (60, 340)]
    assert text_of(tmp_path, page).count("Receipt of the harbour") == 2


def test_raised_digits_are_no_part_of_the_number_before_them(tmp_path):
    page = [Text("2 x 10", x=60), Text("30", x=89.96, y=96, size=7), Text(" kg", x=97.75)]
    assert text_of(tmp_path, page) == "2 x 10³⁰ kg"


def test_running_heads_and_page_numbers_go_even_where_a_chapter_is_short(tmp_path):
    chapters = ["Storms"] * 4 + ["Drought"] + ["Heat"] * 4
    pages = []
    for number, chapter in enumerate(chapters, start=1):
        body = [f"Observation {number} begins here. {FILLER[0]}", FILLER[1]]
        head, *rest = between("Town Handbook", body, f"Page {number} of 9")
        pages.append([head, Text(chapter, x=450, y=40, size=9), *rest])
    text = text_of(tmp_path, *pages)
    assert text.startswith("Town Handbook Storms\n\n") and text.count("Town Handbook") == 1
    assert "Drought" not in text and "Page" not in text
    assert all(f"Observation {number} begins" in text for number in range(1, 10))


def test_lines_that_differ_only_in_numbers_are_no_heads_when_nothing_parts_them_from_the_body(tmp_path):
    lines = [f"On day {number} the tide was {number} cm high." for number in range(1, 9)]
    text = text_of(tmp_path, *(paragraph([line, *FILLER]) for line in lines))
    assert all(line in text for line in lines)


def test_a_sentence_broken_over_two_pages_stays_whole_and_keeps_both_pages(tmp_path):
    rest = ["before anyone had noticed the change, and nobody was hurt by it at all.", "It was over."]
    note = Text("1 The book is kept in the harbour office.", y=700, size=8)
    path = make_pdf(tmp_path / "two.pdf", [[*paragraph(FILLER + FILLER[:1]), note], paragraph(rest)])
    source = extract_text(path)
    assert source.text.startswith(f"{note.text}\n\n")
    assert f"{FILLER[0]} {rest[0]}" in source.text
    (chunk,) = split(source)
    assert (chunk["page"], chunk["metadata"]["page_end"]) == (1, 2)
    assert source.page_at(source.text.index("before anyone")) == 2


def test_larger_and_bold_lines_are_headings(tmp_path):
    page = [
        Text("Town Handbook", y=60, size=24, bold=True),
        Text("4 Storms", y=100, size=16, bold=True),
        Text("Warning levels", y=130, bold=True),
        *paragraph(FILLER, y=160),
        Text("5 Heat", y=220, size=16, bold=True),
        *paragraph(FILLER, y=250),
    ]
    source = read_pdf(tmp_path, page)
    levels = "4 Storms > Warning levels"
    assert [heading.section for heading in source.headings] == ["Town Handbook", "4 Storms", levels, "5 Heat"]
    assert source.section_at(source.text.index("The keeper")) == levels
    assert source.section_at(source.text.rindex("The keeper")) == "5 Heat"


@pytest.mark.parametrize("leads", [True, False])
def test_bookmarks_give_the_headings_where_they_lead_to_pages(tmp_path, leads):
    titles = ("Storms", "Drought", "Heat")
    pages = [[Text(f"{title.upper()}.", y=60, size=16, bold=True), *paragraph(FILLER)] for title in titles]
    marks = [(title, number if leads else -1) for number, title in enumerate(titles, start=1)]
    source = read_pdf(tmp_path, *pages, bookmarks=marks)
    assert [(heading.section, heading.offset) for heading in source.headings] == [
        (title if leads else f"{title.upper()}.", source.text.index(f"{title.upper()}.")) for title in titles
    ]


def test_each_page_can_be_found(tmp_path):
    path = make_pdf(tmp_path / "p.pdf", [paragraph(["First page."]), [], paragraph(["Third page."])])
    source = extract_text(path)
    third = source.text.index("Third")
    assert (source.page_at(0), source.page_at(third)) == (1, 3)
    assert source.notes == ("1 of 3 pages hold no text: 2",)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[: len(data) // 2], "is truncated"),
        (lambda data: data[:30], "is truncated"),
        (lambda data: data[: len(data) // 2] + bytes(200_000), "is truncated"),
        (lambda data: data + data[9 : len(data) // 2] + b"%filled up\n" * 300,
         r"is truncated.*qpdf bad\.pdf bad-rest\.pdf"),
        (lambda data: b"\x89PNG\r\n\x1a\n" + data[20:], "is not a PDF"),
        (lambda data: b"%PDF-1.7\n" + b"junk " * 500 + b"%%EOF", "is damaged"),
        (lambda data: re.sub(rb"/Kids\[[^]]+", b"/Kids[2 0 R", data), "is damaged"),
        (lambda data: data.replace(b"/Kids", b"/Kods"), "is damaged.*print it from there to a new PDF"),
        (lambda data: b"", "is empty"),
    ],
    ids=["cut in half", "cut at the start", "cut and filled with NUL", "cut behind an earlier end",
         "another format", "junk inside", "pages that hold themselves", "no list of pages", "zero bytes"],
)  # fmt: skip
def test_a_damaged_pdf_is_refused_with_its_reason(tmp_path, damage, reason):
    path = make_pdf(tmp_path / "bad.pdf", [paragraph(FILLER)] * 4)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(IndexingError, match=reason):
        extract_text(path)


@pytest.mark.parametrize(
    "surround",
    [
        lambda data: b"HTTP/1.1 200 OK\n" * 500 + data,
        lambda data: data + b"<!-- served in 12 ms -->\n" * 500,
        lambda data: data[: data.index(b"startxref") + 12],
        lambda data: data + bytes(3000),
        lambda data: data + bytes(200_000),
    ],
    ids=["lines before the start", "lines behind the end", "without its last line", "some NUL", "much NUL"],
)
def test_a_whole_pdf_is_read_whatever_stands_around_it(tmp_path, surround):
    path = make_pdf(tmp_path / "around.pdf", [paragraph(FILLER)])
    path.write_bytes(surround(path.read_bytes()))
    assert FILLER[0] in extract_text(path).text


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_of_which_a_part_is_shown_is_read(tmp_path, turn):
    path = make_pdf(tmp_path / "turned.pdf", [[Text("Hidden by the frame", y=30), *paragraph(FILLER, y=600)]])
    box = b"/MediaBox [0 0 595 842] /CropBox [30 100 565 300] /Rotate %d" % turn
    path.write_bytes(path.read_bytes().replace(b"/MediaBox[0 0 595 842]", box))
    assert extract_text(path).text.split() == " ".join(FILLER).split()


@pytest.mark.parametrize(
    ("lines", "encrypted", "reason"),
    [
        ([Text("!!! ??? ...")], False, r"holds no text: its fonts do not.*--force-ocr 'my scan\.pdf'"),
        ([], False, r"its 1 page is empty\. .*ocrmypdf --force-ocr 'my scan\.pdf'"),
        (paragraph(FILLER), True, r"my scan\.pdf is encrypted.*qpdf --decrypt"),
    ],
    ids=["letters that the font does not name", "an empty page", "encrypted"],
)
def test_a_pdf_without_text_is_refused_with_a_way_to_read_it(tmp_path, lines, encrypted, reason):
    with pytest.raises(IndexingError, match=reason):
        extract_text(make_pdf(tmp_path / "my scan.pdf", [lines], encrypted=encrypted))


def test_labels_all_over_a_page_are_set_in_columns_in_time():
    labels = [
        Line(["Hill"], x, 11 * at % 3_000, x + 9, 0, 6, bold=False)
        for at, x in enumerate(7 * at % 30_000 for at in range(4000))
    ]
    started = time.process_time()
    flow = Flow(labels)
    assert flow.text_column(labels[0]) == (0, 30)
    assert all(flow.text_column(label) for label in labels)
    assert time.process_time() - started < 3


def test_private_codes_and_forms_of_arabic_letters_become_letters_and_signs():
    assert clean("\uf0b7 Water \uf0a8 Power \uf0fe") == "• Water ☐ Power ☑"
    assert clean("ﻓﺘﺢ ﺍﻟﻤﻴﻨﺎﺀ 10²") == "فتح الميناء 10²"
    assert clean("ﻓ\ufe76ﺘﺢ") == "ف\u064eتح"  # a mark with a form of its own, which cuts no word
    assert clean("Fa\u0308hre") == "F\xe4hre"  # as the words of a question are compared
    assert clean("A\uf770\uf770\uf765\uf76e\uf764\uf769\uf778 \uf731\uf732") == "Appendix 12"
