"""The set of an analytical question: who scores and who selects it."""

from typing import Any

from adaptive_rag.context import make_context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.nodes import diversify
from adaptive_rag.nodes.diversify import LOCALLY
from adaptive_rag.testing import ScriptedChatModel, run_node
from tests.nodes.made import first_hits, hits_of
from tests.traces import decisions, stand_ins

QUESTION = "How do the waves affect the town?"


def run(town: MemoryIndex, script: Any = None, **settings: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what the step changed, and what it asked the model for."""
    hits = hits_of(first_hits(town, QUESTION), None)
    analysis = {"type": "analytical", "complexity": "basic", "domain_relevance": 0.5, "alternatives": []}
    state = {"question": QUESTION, "query_type": "analytical", "analysis": analysis, "hits": hits}
    model = ScriptedChatModel(script=script or {})
    settings = {"without": "window", "retrieval": {}, "k": 4, **settings}
    update = run_node(diversify, state, make_context(index=town, model=model, **settings))
    return update, model.skills


def reasons(update: dict[str, Any]) -> list[str]:
    return [reason for _, reason in stand_ins(update)]


def chosen(update: dict[str, Any]) -> list[Any]:
    return [decision["chosen"] for decision in decisions(update, "selection")]


def test_candidates_are_scored_by_what_their_branches_found(town: MemoryIndex) -> None:
    update, asked = run(town)
    assert (asked, reasons(update)) == ([], [LOCALLY])


def test_a_setting_has_the_model_score_them_all_the_same(town: MemoryIndex) -> None:
    eighth = first_hits(town, QUESTION)[7]["id"]
    script = {"score": {"scores": [0, 0, 0, 0, 0, 0, 0, 10]}}
    settings = {"retrieval": {"reranker": "listwise", "diversity": "none"}, "scoring": {"weight": 1}}
    update, asked = run(town, script, **settings)
    assert (asked, reasons(update)) == (["score"], [])
    assert update["documents"][0]["id"] == eighth
    assert run(town)[0]["documents"][0]["id"] != eighth


def test_the_set_is_selected_locally_as_the_setting_says(town: MemoryIndex) -> None:
    update, asked = run(town, retrieval={"diversity": "coverage"})
    assert (asked, chosen(update), len(update["documents"])) == ([], ["coverage"], 4)


def test_a_models_choice_leads_and_is_filled_up_from_the_local_set(town: MemoryIndex) -> None:
    local = [document["id"] for document in run(town)[0]["documents"]]
    update, asked = run(town, {"select": {"passages": [6, 2]}}, retrieval={"selection": "model"})
    ids = [document["id"] for document in update["documents"]]
    assert asked == ["select"]
    assert chosen(update) == ["the model's choice"]
    assert ids[0] not in local and ids[1:] == [local[1], local[0], local[2]]


def test_a_choice_that_cannot_be_used_leaves_the_local_set(town: MemoryIndex) -> None:
    update, asked = run(town, {"select": "none of them"}, retrieval={"selection": "model"})
    assert asked == ["select", "select"]
    assert chosen(update) == ["none"]
    assert update["documents"] == run(town)[0]["documents"]


def test_without_diversity_the_most_relevant_are_kept_and_no_model_selects(town: MemoryIndex) -> None:
    update, asked = run(town, without="window,diversify", retrieval={"selection": "model"})
    assert (asked, chosen(update)) == ([], [])
    scores = [document["scores"]["relevance"] for document in update["documents"]]
    assert scores == sorted(scores, reverse=True)
