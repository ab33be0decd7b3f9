import time
from itertools import pairwise

import pytest

from adaptive_rag.text.sentences import sentence_spans

CASES = {
    "titles": ["Dr. Smith met Mrs. Jones.", "They left."],
    "initials": ["J. R. R. Tolkien wrote it.", "J. A. Smith read it."],
    "a letter that names something": ["They chose plan B.", "The others were dropped."],
    "a question behind one": ["I live in Zone A.", "Can I stay?", "The U.S. Should Act."],
    "decimals and times": ["It rose 3.5 cm at 9.30 today.", "Nobody saw it."],
    "abbreviations inside": ["Some metals, e.g. iron, i.e. ferrous ones, cf. p. 12, rust.", "Gold does not."],
    "codes": ["Replace the filter, part no. BF-31, every month.", "He said no.", "Rinse it."],
    "figures and numbers": ["See Fig. 3 and No. 7 in Vol. II.", "It is clear."],
    "abbreviations that may end": ["It opens at 9 a.m. and shuts at 5 p.m.", "The staff go home."],
    "an abbreviation before a name": ["The U.S. Army came to the U.K. Parliament.", "It rained."],
    "German": [
        "Die Frist endet am 3. März 2024 nach § 5 Abs. 2 Satz 1 BGB.",
        "Sie zahlen 5 Mio. Euro inkl. Zinsen.",
    ],
    "amounts and telephones": ["It costs Rs. 500 or 40 incl. VAT.", "Call Tel. 020 7946.", "Lift max. 5 kg."],
    "a number before a month's English name": ["There were 3.", "May came."],
    "etc.": ["Bring ropes, lamps, etc.", "The boat is small."],
    "brackets": ["(This stands alone.)", "This does not (see there)."],
    "reference marks": ["The rule is old. [1]", "It was broken twice.” [3, 6]", "Nobody minds."],
    "lower case goes on": ["He cried out! and fell ... then rose.", "All was well."],
    "Chinese": ["今天下雨。", "明天晴天！"],
}


@pytest.mark.parametrize("sentences", CASES.values(), ids=CASES.keys())
def test_sentences_end_where_a_reader_would_end_them(sentences):
    glue = "" if sentences[0].endswith("。") else " "
    text = glue.join(sentences)
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


def test_headings_items_and_labelled_lines_are_sentences_of_their_own():
    text = (
        "# Warning levels\nThere are two. Both count.\n\n- First level\n- Second level, which is\n"
        "  the higher one\n\n1. Shut the gate.\n2. Ring the bell:\n   - twice\n3. Wait\n\n"
        "height: 3\ncolour: red"
    )
    assert [text[start:end] for start, end in sentence_spans(text)] == [
        "# Warning levels",
        "There are two.",
        "Both count.",
        "- First level",
        "- Second level, which is\n  the higher one",
        "1. Shut the gate.",
        "2. Ring the bell:",
        "- twice",
        "3. Wait",
        "height: 3",
        "colour: red",
    ]


def test_a_wrapped_line_does_not_end_a_sentence():
    text = (
        "The sea wall at the southern end of the town, which\n"
        "Mr. Ford built in one hot summer, when there were\n"
        "13. Visitors came to see it, and some of them stayed."
    )
    assert [text[start:end] for start, end in sentence_spans(text)] == [
        "The sea wall at the southern end of the town, which\n"
        "Mr. Ford built in one hot summer, when there were\n13.",
        "Visitors came to see it, and some of them stayed.",
    ]


@pytest.mark.parametrize("text", ["", "   ", "\n\n\n", "---", "* * *\n\n***"])
def test_text_without_words_has_no_sentences(text):
    assert sentence_spans(text) == []


def test_spans_are_in_order_and_keep_every_word():
    text = "A. b. C! d?\n\n\n1.2.3 e.g. \n x… Y.” (Z.) " * 40
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    kept = "".join(text[start:end] for start, end in spans)
    assert [char for char in kept if char.isalnum()] == [char for char in text if char.isalnum()]


@pytest.mark.few(1)
@pytest.mark.parametrize("text", ["Mr. " * 100_000, "No. 1 " * 100_000, "1. " * 100_000])
def test_a_text_that_never_ends_a_sentence_is_read_in_linear_time(text):
    started = time.process_time()
    assert sentence_spans(text)
    assert time.process_time() - started < 10


def test_each_line_of_a_price_list_with_dots_is_a_sentence():
    lines = ["Charges", "Whole costume, period (pre-1900) ....... £18", "Hat . . . . . . . £3.50"]
    text = "\n".join([*lines, "He paid.... Then he left."])
    assert [text[a:b] for a, b in sentence_spans(text)] == [*lines, "He paid....", "Then he left."]
