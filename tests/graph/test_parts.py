"""Several questions in one: each is answered for itself, about the subject of the first."""

from __future__ import annotations

import pytest

from adaptive_rag import AdaptiveRAG, Index

VISITORS = """Month,Visitors,Revenue
March,1274,12100
April,1330,12800
May,1548,13400
June,1711,14500
"""
GRADES = """# Pay

| Grade | Salary | Bonus |
|---|---|---|
| A | 31000 | 500 |
| B | 36000 | 900 |
"""


@pytest.fixture(scope="module")
def rag(tmp_path_factory: pytest.TempPathFactory) -> AdaptiveRAG:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "visitors.csv").write_text(VISITORS)
    (folder / "grades.md").write_text(GRADES)
    Index.build(folder, folder / "index")
    return AdaptiveRAG(Index.open(folder / "index"))


@pytest.mark.parametrize(
    ("question", "held", "other"),
    [
        ("How many visitors came in May and what was the revenue?", ("1548", "13400"), ("14500", "12100")),
        ("How many visitors were there in March and what was the revenue?", ("1274", "12100"), ("13400",)),
        ("How much is the salary of grade A and what is the bonus?", ("31000", "500"), ("900",)),
    ],
)
def test_two_questions_about_a_row_are_both_answered_from_it(
    rag: AdaptiveRAG, question: str, held: tuple[str, ...], other: tuple[str, ...]
) -> None:
    answer = rag.invoke(question)["answer"]
    assert all(value in answer for value in held), answer
    assert not any(value in answer for value in other), answer


def test_a_row_is_shown_once_where_both_questions_ask_for_the_same_cell(rag: AdaptiveRAG) -> None:
    question = "What was the revenue in May and how much revenue was there in May?"
    assert rag.invoke(question)["answer"].count("13400") == 1
