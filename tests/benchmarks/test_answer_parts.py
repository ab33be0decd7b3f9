"""The questions that are made from tables, and the ones whose names no document has."""

import random
from pathlib import Path

from adaptive_rag import AdaptiveRAG, Index
from benchmarks.answer_parts import count_answers, make_questions, with_other_numbers

PARTS = "Part,Price,Stock\nP-100,12,4\nP-103,15,9\nLamp,3,1\n"


def test_questions_ask_for_the_cells_of_named_rows(tmp_path: Path) -> None:
    (tmp_path / "parts.csv").write_text(PARTS)
    Index.build(tmp_path, tmp_path / "index")
    index = Index.open(tmp_path / "index")
    questions = make_questions(index, random.Random(1))
    assert {question.name for question in questions} == {"P-100", "P-103", "Lamp"}
    assert all(question.column.lower() in ("price", "stock") for question in questions)
    assert all(
        str(question) == f"what is the {question.column.lower()} of {question.name}" for question in questions
    )
    others = with_other_numbers(questions, index)
    # P-103 is taken, and the lamp has no number.
    assert {other.rpartition(" ")[2] for other in others} == {"P-104", "P-106"}
    asked = [(str(question), [question.value]) for question in questions]
    assert count_answers(AdaptiveRAG(index), asked, without=frozenset()) == 3
    assert count_answers(AdaptiveRAG(index), [("what is the price of P-100", ["99"])]) == 0
