import unicodedata

import pymupdf
import pytest

from adaptive_rag.ingest import extract_text
from adaptive_rag.ingest.right_to_left import Letter, read_parts

STEP = 5  # points from letter to letter, which are set at 10


def text_of(folder, *boxes, rules=()):
    """Return the text of a page of boxes, each its corners, its HTML and how it is turned, and of rules."""
    with pymupdf.open() as document:
        page = document.new_page()
        for corners, html, *turned in boxes:
            page.insert_htmlbox(pymupdf.Rect(corners), html, rotate=turned[0] if turned else 0)
        for rule in rules:
            page.draw_rect(rule)
        document.save(folder / "a.pdf")
    return extract_text(folder / "a.pdf").text


WHOLE = (60, 60, 500, 700)


def joined(*letters):
    """Read letters, each given as what it is and where it begins and ends."""
    return [part.text for part in read_parts([Letter(*letter, 10) for letter in letters])]


def shown(text):
    """Return letters as a page shows them, from left to right; "~" is a gap without a blank."""
    return [Letter(char, STEP * at, STEP * (at + 1), 10) for at, char in enumerate(text) if char != "~"]


def read(text, *borders, **page):
    return [part.text for part in read_parts(shown(text), borders, **page)]


@pytest.mark.parametrize(
    ("seen", "meant"),
    [
        (".גבא 45.20 לוכ", "כול 45.20 אבג."),
        ("50% הלע 2023-05-01", "2023-05-01 עלה 50%"),
        (".)Harbour Board יפל( 12", "12 (לפי Harbour Board)."),
        (".(Harbour Board יפל) 12", "12 (לפי Harbour Board)."),  # with the brackets that are seen
        ("גבא~דחי", "יחד אבג"),
        (".~גבא", "אבג."),
        ("%45 ﻎﻠﺑ", "ﺑﻠﻎ 45%"),
        ("Look at גבא דחי 45 now", "Look at יחד אבג 45 now"),
        ("גבא דחי.", "יחד אבג."),  # set from left to right
        ("Harbour", "Harbour"),
    ],
)
def test_a_line_is_read_in_the_order_in_which_it_was_written(seen, meant):
    assert read(seen, is_rtl_page=not seen.startswith("Look")) == [meant]


def test_a_line_of_latin_letters_on_a_page_of_hebrew_is_one_only_where_few_others_stand_in_it():
    assert read("Harbour גבא") == ["אבג Harbour"]
    assert read("Harbour Board גבא") == ["Harbour Board אבג"]
    assert read("Harbour גבא", is_rtl_page=False) == ["Harbour אבג"]


def test_wide_gaps_and_ruled_lines_part_cells_from_right_to_left():
    assert read("12~~~~גבא") == ["אבג", "12"]
    assert read("12גבא") == ["אבג12"]
    assert read("12גבא", 2 * STEP) == ["אבג", "12"]
    assert read("גבא דחי", STEP, 5 * STEP) == ["יחד אבג"]  # a drawing that goes through words


@pytest.mark.parametrize(
    ("letters", "word"),
    [
        # the page has one shape for "لا", whose second letter has no width, at its right edge
        ([("ر", 0, 5), ("ل", 5, 10), ("ا", 10, 10), ("و", 10, 15), ("د", 15, 20)], "دولار"),
        # a mark in the middle of its letter, and one at its left edge
        ([("ה", 0, 5), ("ָ", 0, 0), ("מ", 5, 10), ("ַ", 7, 7)], "מַהָ"),
        # written by a font that has a shape for each half of "لآ" and "لا", from right to left
        (
            [("ا", 25, 30), ("ل", 20, 25), ("آ", 20, 20), ("ل", 15, 20), ("ا", 15, 15), ("ت", 10, 15)],
            "الآلات",
        ),
        # one shape for "الا", whose letters a program turned round
        ([("ا", 20, 20), ("ل", 20, 20), ("ا", 15, 20), ("ب", 10, 15), ("ن", 5, 10)], "الابن"),
        # a mark between two letters belongs to the one before it, also in its form with a blank below
        ([("ر", 15, 20), ("ص", 10, 15), ("ً", 15, 15), ("ا", 5, 10)], "رصًا"),
        ([("ر", 15, 20), ("ص", 10, 15), ("\ufe70", 15, 15), ("ا", 5, 10)], "رصًا"),
    ],
)
def test_ligatures_and_marks_keep_their_order(letters, word):
    assert joined(*letters) == [word]


def test_hebrew_and_arabic_between_english_are_read_word_for_word(tmp_path):
    sentences = {
        "The harbour master measured the northern jetty before the autumn storms.": "ltr",
        "המזח הצפוני נפתח באביב אחרי הסערה.": "rtl",
        "The town clerk counted the public cistern for 45 days, as agreed in March.": "ltr",
        "فتح الميناء القديم أبوابه بعد العاصفة.": "rtl",
    }
    html = "".join(f'<p dir="{way}">{sentence}</p>' for sentence, way in sentences.items())
    text = text_of(tmp_path, (WHOLE, html))
    assert [sentence for sentence in sentences if sentence not in text] == []


def test_a_page_of_hebrew_is_read_with_its_tables(tmp_path):
    rows = [("פריט", "מחיר", "מקום"), ("ציר", "45", "רציף 3"), ("בריח", "7.50", "רציף 12")]
    cells = [
        ((left, 100 + 30 * down, left + 70, 130 + 30 * down), f'<p dir="rtl">{cell}</p>')
        for down, row in enumerate(rows)
        for left, cell in zip((430, 360, 290), row, strict=True)
    ]
    above = (290, 50, 500, 80), '<p dir="rtl">המחיר הוא 45 שקל.</p>'
    assert text_of(tmp_path, above, *cells, rules=[corners for corners, _ in cells]) == (
        "המחיר הוא 45 שקל.\n\nפריט | מחיר | מקום\nציר | 45 | רציף 3\nבריח | 7.50 | רציף 12"
    )


def test_a_blank_parts_the_end_of_a_latin_word_from_what_follows():
    assert read("םכח Python ב") == ["ב Python חכם"]
    assert read("םכחPython ב") == ["ב Python חכם"]
    assert read("Rגבא") == ["אבגR"]


ARABIC = "فتح الميناء القديم أبوابه، لأن الآلات ثقيلة والإضاءة ضعيفة في ١٥ مارس (أي 45%)."


@pytest.mark.parametrize(
    "text",
    [
        ARABIC,
        "بِسْمِ اللَّهِ الرَّحْمَٰنِ الرَّحِيمِ وَإِيَّاكَ نَسْتَعِينُ شُكْرًا",
        "کتاب کتابخانه را می توان از ساعت ۸ صبح گرفت. چگونگی اجرای طرح را شرح داد.",
        "בְּרֵאשִׁית בָּרָא אֱלֹהִים. המחיר הוא 45.20 שקל (לפי Harbour Board).",
    ],
    ids=["Arabic", "Arabic with vowels", "Persian", "Hebrew"],
)
def test_every_letter_and_mark_of_a_page_comes_back(tmp_path, text):
    read_back = text_of(tmp_path, ((60, 60, 300, 700), f'<p dir="rtl">{text}</p>'))
    assert unicodedata.normalize("NFC", " ".join(read_back.split())) == unicodedata.normalize("NFC", text)


def test_lines_that_reach_into_each_other_stay_apart(tmp_path):
    lines = ["המזח הצפוני נפתח באביב", "השוער סופר את הספינות"]
    html = f'<p dir="rtl" style="line-height:0.65">{"<br>".join(lines)}</p>'
    assert text_of(tmp_path, (WHOLE, html)).split() == " ".join(lines).split()


def test_an_upright_line_is_read_from_its_own_start(tmp_path):
    level = (60, 60, 500, 100), '<p dir="rtl">المحلات والبلدان كلها</p>'
    upright = [
        ((left, 200, left + 40, 400), '<p dir="rtl">الترتيب الأول</p>', turn)
        for turn, left in ((90, 100), (270, 300))
    ]
    assert text_of(tmp_path, level, *upright).count("الترتيب الأول") == 2
