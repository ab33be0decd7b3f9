"""Viewpoints: whose a chunk is, and in which order they are heard."""

from importlib import import_module
from typing import Any

from adaptive_rag.analysis import analyse
from adaptive_rag.context import make_context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.nodes import balance
from adaptive_rag.nodes.balance import draw_named
from adaptive_rag.state import Candidate, Query, SearchPlan
from adaptive_rag.testing import ScriptedChatModel, run_node
from tests.conftest import make_candidate
from tests.nodes.made import first_hits, hits_of
from tests.traces import decisions


def candidate(name: str, *labels: str) -> Candidate:
    return {**make_candidate(name, name, fused=1.0), "labels": list(labels)}


def names(candidates: list[Candidate]) -> str:
    return "".join(c["id"] for c in candidates)


def test_named_viewpoints_are_heard_first_then_the_rest_in_order() -> None:
    found = [candidate(*given) for given in ("ax", "bx", "cyx", "d", "ez")]
    drawn = draw_named(found, [["x"], ["y"], ["z"]], 4)
    assert names(drawn) == "aceb"
    assert [c["labels"][0] for c in drawn[:3]] == ["x", "y", "z"]


PLAN = SearchPlan(alpha=0.8, dense_only=False, why="opinions share few words")
TRAMS = [
    "Trams are a joy to ride, they save money and make the streets safer for everyone.",
    "Trams are slow, noisy and dangerous, and they waste money that schools need.",
]


def test_a_passage_has_no_label_of_a_viewpoint_that_it_argues_against() -> None:
    memory = MemoryIndex.from_texts(TRAMS)
    question = "Should trams be built?"
    state = {
        "question": question,
        "query_type": "opinion",
        "analysis": analyse(question),
        "hits": hits_of(first_hits(memory, question), None, "riders", "taxpayers"),
        "queries": [
            Query(text=question),
            Query(text="riders", label="riders", side="for"),
            Query(text="taxpayers", label="taxpayers", side="against"),
        ],
    }
    update = run_node(balance, state, make_context(index=memory, k=2))
    labels = {document["text"]: document["labels"] for document in update["documents"]}
    assert labels == {TRAMS[0]: ["riders"], TRAMS[1]: ["taxpayers"]}


def opinion(memory: MemoryIndex, question: str, **more: Any) -> dict[str, Any]:
    """Return the state after a search for the question alone."""
    hits, analysis = hits_of(first_hits(memory, question), None), analyse(question)
    return {"question": question, "query_type": "opinion", "analysis": analysis, "hits": hits, **more}


def test_opinions_that_cannot_be_scored_keep_the_order_of_the_search(monkeypatch) -> None:
    def fail(*args: Any) -> list[float]:
        raise OSError("the disk is gone")

    monkeypatch.setattr(import_module("adaptive_rag.nodes.balance"), "score_opinions", fail)
    memory = MemoryIndex.from_texts(TRAMS)
    context = make_context(index=memory, strict=False)
    update = run_node(balance, opinion(memory, "Should trams be built?", plan=PLAN), context)
    assert len(update["documents"]) == 2
    assert [decision["chosen"] for decision in decisions(update, "left out")] == ["relevance"]


def test_a_model_scores_a_follow_up_with_its_subject() -> None:
    memory, model = MemoryIndex.from_texts(TRAMS), ScriptedChatModel()
    state = opinion(memory, "What do people think of it?", subject="overhead wires", plan=PLAN)
    context = make_context(index=memory, model=model, retrieval={"reranker": "listwise"})
    run_node(balance, state, context)
    [(_, messages)] = model.asked
    assert "overhead wires" in "".join(message.text for message in messages)


def test_a_small_k_does_not_make_a_side_look_missing() -> None:
    memory = MemoryIndex.from_texts([*(f"Line {n}: trams are good." for n in range(10)), *TRAMS])
    state = opinion(memory, "Should trams be built?", plan=PLAN)
    update = run_node(balance, state, make_context(index=memory, k=1, without="window"))
    [decision] = decisions(update, "sides")
    assert decision["why"].startswith("of 10 passages")
