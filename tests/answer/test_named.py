"""Which rows and sections a question names, and which of their siblings do not answer it."""

import pytest

from adaptive_rag.answer.compose import extract_answer
from tests.answer.made import CHANGES, candidate, request, scored_texts, sections

TERM = {
    "1. Kiln": "The kiln opens at nine and shuts at noon.",
    "2. Glaze": "The glaze has to dry for three whole days.",
}
YEARS = {
    "The flood of 1953": "The sea came over the wall in the night.",
    "The new wall, 1955-1958": "The wall was raised to stop the sea.",
}
HEADER = "| {} | {} | {} |\n|--|--|--|\n"
ERRORS = HEADER.format("Code", "Name", "Cause") + (
    "| 409 | `same_key` | The key was used. |\n| 429 | `slow_down` | Too many calls came. |\n"
)
PATHS = HEADER.format("Method", "Path", "Limit") + (
    "| POST | `/events` | 600 |\n| POST | `/events/batch` | 60 |\n| GET | `/queues` | 30 |\n"
)
PLANS = HEADER.format("Plan", "Queues", "Team size") + "| Team | 20 | 7 |\n| Business | 200 | 30 |\n"
GRADES = "| Grade | Wage |\n|--|--|\n| 3 | £900 |\n| 4 | £990 |\n| 5 | £1090 |\n"
ROTA = "| Day | Lead |\n|--|--|\n| 2024-09-07 | Shaw |\n| Thu 19 Sept | Tolley |\n| 21.09.2024 | Birch |\n"
MACHINES = "| Model | Price |\n|--|--|\n| Kestrel 45 | £1290 |\n| Kestrel 20 | £480 |\n| Delivery | £9 |\n"


@pytest.mark.parametrize(
    ("question", "document", "kept", "dropped"),
    [
        ("What changed in 2.3.0?", sections(CHANGES), ["dark", "light"], ["Parquet"]),
        ("What changed in v2.4.0?", sections(CHANGES), ["Parquet", "light"], ["dark"]),
        ("What changed in 2.3?", sections(CHANGES), ["dark", "Parquet"], []),
        ("What is newer than 2.3.0?", sections(CHANGES), ["dark", "Parquet"], []),
        ("What does section 2 say?", sections(TERM), ["glaze"], ["kiln"]),
        ("Is it open on 2 May?", sections(TERM), ["glaze", "kiln"], []),
        ("Why was it raised in 1953?", sections(YEARS), ["raised", "night"], []),
        ("What does error 409 mean?", candidate(ERRORS), ["409"], ["429"]),
        ("What does SAME_KEY mean?", candidate(ERRORS), ["409"], ["429"]),
        ("What is the limit of POST /events?", candidate(PATHS), ["/events`"], ["batch", "queues"]),
        ("How many queues has the Team plan?", candidate(PLANS), ["Team"], ["Business"]),
        ("Team or not, how many queues?", candidate(PLANS), ["Team", "Business"], []),
        ("What does grade 4 get for 3 days?", candidate(GRADES), ["990"], ["900", "1090"]),
        ("What does grade 3 or 4 get?", candidate(GRADES), ["900", "990"], ["1090"]),
        ("Does the Business or the Team plan have queues?", candidate(PLANS), ["Team", "Business"], []),
        ("What changed in 2.3.0 and later?", sections(CHANGES), ["dark", "Parquet"], []),
        ("Who leads on sat 7 sept?", candidate(ROTA), ["Shaw"], ["Tolley", "Birch"]),
        ("Who leads on the 21st of September 2024?", candidate(ROTA), ["Birch"], ["Shaw", "Tolley"]),
        ("How much is the kestrel 45 with delivery?", candidate(MACHINES), ["1290", "Delivery"], ["480"]),
    ],
)  # fmt: skip
def test_the_siblings_of_what_a_question_names_do_not_answer(question, document, kept, dropped) -> None:
    texts = scored_texts(request(question, [document], {text: 0.1 for text in [*kept, *dropped]}))
    assert all(any(part in text for text in texts) for part in kept)
    assert not any(part in text for text in texts for part in dropped)


def test_a_follow_up_may_name_another_one() -> None:
    asked = request(
        "And in 2.3.0?", [sections(CHANGES)], {"dark": 0.3, "Parquet": 0.5},
        previous_question="What changed in 2.4.0?",
    )  # fmt: skip
    assert extract_answer(asked).text == "The editor has a dark theme at last. [1]"


def test_a_follow_up_that_asks_for_the_others_keeps_them() -> None:
    asked = request(
        "And in the others?", [sections(CHANGES)], {"dark": 0.3, "Parquet": 0.5},
        previous_question="What changed in 2.4.0?",
    )  # fmt: skip
    assert "dark theme" in extract_answer(asked).text


def test_sections_below_the_named_one_answer_too() -> None:
    rules = {
        "4 Fees": "The fee is due in May.",
        "4.1 Late": "A late fee is nine pounds.",
        "5 Dogs": "Dogs may swim.",
    }
    texts = scored_texts(request("What does section 4 say?", [sections(rules)], {"fee": 0.3, "Dogs": 0.3}))
    assert any("late" in text for text in texts) and not any("Dogs" in text for text in texts)
