import pytest

from adaptive_rag.query.parts import split_question


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("When was it founded and who runs it now?", ["When was it founded", "who runs it now"]),
        ("What does it cost? And can I return it?", ["What does it cost", "can I return it"]),
        ("who opened the bath and when did it burn down", ["who opened the bath", "when did it burn down"]),
        ("When and where was Euler born?", ["When was Euler born", "where was Euler born"]),
        ("Is the pool heated and can I bring a guest?", ["Is the pool heated", "can I bring a guest"]),
        (
            "Who built it and when did it open and what did it cost?",
            ["Who built it", "when did it open", "what did it cost"],
        ),
    ],
)
def test_questions_in_one_are_told_apart(question, parts):
    assert [part.partition("\n")[0] for part in split_question(question)] == parts


@pytest.mark.parametrize(
    "question",
    [
        "What is the difference between a lease and a licence?",
        "Which firm was founded in 1990 and has its office in Leeds?",
        "Who was the man who built the bridge and who drained the marsh?",
        "Do we know when and why it was closed?",
        "I bought a saw. Can I return it?",
        "Hello! When is payday?",
    ],
)
def test_one_question_stays_whole(question):
    assert split_question(question) == [question]


@pytest.mark.parametrize(
    ("question", "lent"),
    [
        ("When was the canal opened and who built it?", "canal"),
        ("Who opened the canal and when did it close?", "canal"),
        ("How much does the medium box cost and what is in it?", "medium box"),
        ("when's the next puppy course and what does it cost", "next puppy course"),
        ("Where is the office and when does the museum shop open?", ""),
    ],
)
def test_a_later_part_without_a_subject_is_given_that_of_the_first(question, lent):
    assert split_question(question)[1].partition("\n")[2] == lent
