import time

import pytest

from adaptive_rag.answer.grading import grade
from adaptive_rag.answer.posts import asks_of_mail
from adaptive_rag.answer.sentences import collect_sentences
from tests.answer.made import candidate, sentences_of


def collect(*documents):
    return collect_sentences(documents, [sentences_of(document) for document in documents])


def quoted(*documents, least=0.5):
    return [s.text for s in collect(*documents) if s.quality >= least]


GOOD = "The wall was built between 1955 and 1958 by the county."


@pytest.mark.parametrize(
    "poor",
    [
        "Chapter 5: The Future of the Wall",
        "The History of the Harbour",
        "## If you keep animals",
        "Why was the wall built so low?",
        "of the wall, which was then lowered by hand.",
        "The three options are these:",
        "= 4 + 5 × 12 − (7 / 9) = 21.3 + 14",
        "22 The School of Pythagoras.",
        "p. 4.",
        "Page 1068",
        "The Wall and the Marsh 17",
        "THE NORTH SEA 12",
        "Town Meeting 3 May 2026",
        "Price: see below:",
        "Storms .......... 1200",
        "Olga Harker",
        "7. Changes to the gates",
        "pandas is faster on large files, but takes longer to start.",
        "| Tool | Deposit | Days |\n| --- | --- | --- |",
        "```go-html-template",
        "~~~ yaml title=x",
        "[cfg(not(foo))]:",
        "~~~ .rs\n// feature(phase)",
        "Write ``` `True ```/``False``/``None``` for `True`, `False` and `None`.",
    ],
)
def test_what_is_no_sentence_is_not_quoted(poor):
    gates = "It has fourteen gates that are closed by hand."
    after = "" if "~~~" in poor or "```" in poor else f"\n\n{gates}"
    assert quoted(candidate(f"{GOOD}\n\n{poor}{after}")) == ([GOOD, gates] if after else [GOOD])


@pytest.mark.parametrize("short", ["Seats 26.", "Until nine."])
def test_a_short_sentence_may_be_quoted(short):
    assert quoted(candidate(f"{short} Booked by the office only.")) == [short, "Booked by the office only."]


MOVE = "Move the boats to the upper quay before dusk."
NEXT = "**Next meeting:** Tuesday 12 November 2024, 7.30 pm."
REGION = "Region: Frankfurt\nBackups are kept in Dublin."
SAID = "pandas is faster on large files, but takes longer to start."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a list item without its bullet
        *[(f"{GOOD}\n\n{bullet} {MOVE}", [GOOD, MOVE]) for bullet in "- • * 1. (b) 5.1 12.3.1.".split()],
        # short sentences, one below a heading that begins with a small letter, one of a script without blanks
        ("231 people attended.", ["231 people attended."]),
        ("The wall held.", ["The wall held."]),
        (NEXT, [NEXT]),
        ("`tide run` ends with code 3.", ["`tide run` ends with code 3."]),
        (f"## Why not pandas?\n\n{SAID}", [SAID]),
        ("办公室早上九点开门。会议室在二楼吗？", ["办公室早上九点开门。"]),
        # a name with its value is no heading of the line below
        (REGION, [REGION]),
        # an index in code is no mark of a note
        ("It is of 1957[3], see `walls[1]` for it.", ["It is of 1957, see `walls[1]` for it."]),
    ],
)
def test_sentences_are_quoted(text, expected):
    assert quoted(candidate(text)) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Deposit: EUR 450",
        "**Region:** Frankfurt",
        "MAX_BODY = 262144\nRETENTION = 14",
        "Port 7410",
        "VAT 20% £178.00",
        "Due 1 May 2026",
        "Invoice no. BR-0417",
    ],
)
def test_a_name_with_its_value_is_quoted(line):
    assert quoted(candidate(f"{line}\n\n{GOOD}"), least=0.1) == [line, GOOD]


def test_a_line_of_a_bill_is_quoted_but_no_heading_with_a_colon():
    bill = "Description Qty Amount\n1 Office cleaning, March 22 £770.00\n\n**Step 1: Open the box**"
    assert quoted(candidate(bill), least=0.1) == ["1 Office cleaning, March 22 £770.00"]


def test_names_with_the_same_value_do_not_repeat_each_other():
    saturday, sunday = collect(candidate("Saturday: 9:00 - 17:00\nSunday: 9:00 - 17:00"))
    assert not sunday.repeats(saturday)


def test_a_docstring_that_is_cut_at_a_full_stop_is_closed():
    signature = "def wait_before(attempt: int, *, base: float, cap: float) -> float:"
    code = f'{signature}\n    """Seconds before it.\n\n    It doubles.\n    """\n    return min(cap, base)'

    assert [sentence.text for sentence in collect(candidate(code))] == [
        f'{signature}\n    """Seconds before it."""',
        "It doubles.",
        "return min(cap, base)",
    ]
    last = collect(candidate('"""Waits between deliveries. The gateway waits longer each time."""'))[-1]
    assert last.text == "The gateway waits longer each time."


def test_a_sentence_that_two_overlapping_chunks_share_is_quoted_once():
    text = "The first sentence stands here. The second sentence stands here. The third one ends it all."
    cut = text.index("The second")
    assert quoted(candidate(text), candidate(text[cut:], start=cut)) == text.replace(". ", ".|").split("|")


def test_the_same_span_of_another_source_is_another_sentence():
    assert len(quoted(candidate(GOOD), candidate(GOOD, source="other.txt"))) == 2


def test_different_parts_that_all_start_at_0_are_all_quoted():
    other = "The ferry crosses the estuary every hour from six to nine."
    assert quoted(candidate(GOOD), candidate(other)) == [GOOD, other]


# In lower case, the name of a further column does not begin a sentence.
@pytest.mark.parametrize("column", [[], ["team: Office"], ["Team: Office"]])
def test_of_a_question_and_its_answer_only_the_answer_and_further_columns_are_quoted(column):
    question, answer = "When are the sirens tested?", "On the first Monday. If it is a holiday, on Tuesday."
    further = dict(line.split(": ") for line in column)
    metadata = {"kind": "qa", "question": question, "answer": answer, **further}
    assert quoted(candidate("\n".join([question, answer, *column]), metadata=metadata)) == [
        "On the first Monday.",
        "If it is a holiday, on Tuesday.",
        *column,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was closed in 2019 for good.", True),
        ("AI enhances their precision and speed.", True),
        ("In this state, both are known.", True),
        ("There is a second wall behind it.", False),
        ("The following are not insured: glass, bicycles.", False),
        ("The following year at 10:30 it closed.", True),
        ("There they met the others at noon.", True),
        ("Itō's lemma is a rule of calculus.", False),
    ],
)
def test_sentences_that_refer_back_are_known(text, expected):
    last = collect(candidate(f"Something stands in front here. {text}"))[-1]
    assert last.refers_back is expected


def test_sentences_with_other_numbers_do_not_repeat_each_other():
    full, pool = collect(
        candidate(
            "A full ticket for the pool costs 39 pounds a month. A pool ticket costs 24 pounds a month."
        )
    )
    again, shorter = collect(
        candidate("The ticket for the pool costs 24 pounds. The pool ticket costs 24 pounds a month.")
    )

    assert not full.repeats(pool)
    assert again.repeats(shorter)


@pytest.mark.parametrize(
    "text",
    [
        "Dogs are allowed in the garden. Dogs are not allowed in the garden after nine.",
        "Dogs are allowed in the garden. Dogs aren’t allowed in the garden after nine.",
        "The town library opens at ten on Saturday. The town library opens at ten on Sunday.",
        "| Day | Hours |\n|---|---|\n| Saturday | 10:00-14:00 |\n| Sunday | 10:00-14:00 |",
    ],
)
def test_a_denial_another_day_and_a_row_of_another_name_are_no_repetition(text):
    one, other = collect(candidate(text))
    assert not one.repeats(other) and not other.repeats(one)


def test_a_row_whose_numbers_stand_in_a_sentence_repeats_it():
    sentence, *rows = collect(
        candidate(
            "The highest level was 4.83 metres, on 14 January 2015.\n\n"
            "| Record | Height |\n|---|---|\n"
            "| Highest, 14 January 2015 | 4.83 |\n| Second, 3 May 2019 | 4.71 |"
        )
    )
    assert [row.repeats(sentence) for row in rows] == [True, False]


def test_what_leads_to_code_is_not_quoted_as_the_name_of_a_link():
    said = collect(candidate("[cold]:\n```\n  Rare => {}\n}\n```"))
    assert not any("[cold]" in sentence.text for sentence in said)


@pytest.mark.parametrize(
    "text",
    ["1" * 20_000, f"Invoice no. {'1' * 20_000} x", "1." * 10_000, "x" * 20_000, f"Alpha… {' ' * 100_000}b."],
)
def test_a_long_line_is_graded_in_linear_time(text):
    started = time.process_time()
    grade(text)
    assert time.process_time() - started < 2


def test_reference_marks_of_a_long_word_are_sought_in_linear_time():
    document = candidate(f"The pump is {'x' * 100_000}[3] and red.")
    started = time.process_time()
    [sentence] = collect(document)
    assert sentence.text.endswith("xx and red.") and time.process_time() - started < 5


MAIL = candidate(
    "Subject: Safety boats\nFrom: Ann Lee <ann@mill.example>\nDate: Monday, 8 June 2026, 20:44\n\n"
    "The raft race starts at three from the old slip.\n"
)


def test_the_headers_of_a_mail_are_quoted_only_if_it_is_asked_for():
    assert quoted(MAIL) == ["The raft race starts at three from the old slip."]
    with_headers = collect_sentences([MAIL], [sentences_of(MAIL)], with_headers=True)
    assert "Date: Monday, 8 June 2026, 20:44" in [sentence.text for sentence in with_headers]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("when did Ann send the mail about the boats?", True),
        ("who wrote to the office?", True),
        ("when is the raft race?", False),
        ("who is the harbour master?", False),
    ],
)
def test_a_question_asks_of_a_mail(question, asks):
    assert asks_of_mail(question) is asks
