"""What is measured of sentence vectors: on a part of a data set, in all ways, over the same questions."""

from pathlib import Path

import pytest

from adaptive_rag.evaluation.datasets import Dataset, Question
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.state import Chunk
from benchmarks.sentence_vectors import cut, measure

TEXTS = [f"House {n} stands by the sea. Its wall is {n} metres long. It was painted." for n in range(12)]
PASSAGES = tuple(
    Chunk(
        id=f"p{n}",
        source=f"p{n}",
        page=None,
        section=None,
        start=0,
        end=len(text),
        text=text,
        metadata={"_id": f"p{n}"},
    )
    for n, text in enumerate(TEXTS)
)
QUESTIONS = tuple(
    Question(f"q{n}", f"How long is the wall of house {n}?", type="factual", gold={f"p{n}": 1})
    for n in (2, 5, 9)
)
TOWN = Dataset("town", questions=QUESTIONS, passages=PASSAGES)


def test_a_part_holds_what_is_judged_for_its_questions() -> None:
    part = cut(TOWN, questions=2, passages=4)
    assert (len(part.questions), len(part.passages)) == (2, 4)
    assert {id_ for question in part.questions for id_ in question.gold} < {p["id"] for p in part.passages}
    assert len(cut(TOWN, questions=3, passages=1).passages) == 3, "of what is judged nothing is left out"
    assert cut(TOWN, questions=3, passages=99).passages == PASSAGES


def test_a_row_has_the_scores_of_all_ways_and_the_times(tmp_path: Path) -> None:
    [row] = measure(TOWN, tmp_path, 6, build_retrieval_graph().compile())
    name, n, passages, none, apart, pooled, difference, p, *times = row.strip("| ").split(" | ")
    assert (name, n, passages) == ("town, ndcg@10", "3", "12")
    assert all(0.3 < float(score) <= 1 for score in (none, apart, pooled))
    assert float(difference.split()[0]) == pytest.approx(float(pooled) - float(apart), abs=0.002)
    assert 0 < float(p) <= 1
    assert len(times) == 2
