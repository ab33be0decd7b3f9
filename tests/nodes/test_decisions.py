"""What a decision of the trace claims is what it changed: without its step, the claim would not hold."""

import re
from typing import Any

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.state import Decision
from tests import traces

GRAPH = build_retrieval_graph().compile()
QUESTIONS = (
    "How long is the sea wall?",
    "How do the waves affect the town?",
    "What do people think of a higher sea wall?",
    "How should I prepare for a flood?",
    "Why does the marsh shrink?",
)
CHANGED_NOTHING = "it changed nothing"


def ask(town: MemoryIndex, question: str, **settings: Any) -> tuple[list[str], list[Decision]]:
    """Return the ids of what was read, and the decisions of all steps."""
    context = make_context(index=town, **settings)
    asked = {"question": question, "user_context": "I run a shop on the quay."}
    output = GRAPH.invoke(asked, context=context)
    return [document["id"] for document in output["documents"]], traces.decisions(output)


def said(decisions: list[Decision], what: str) -> list[str]:
    return [decision["why"] for decision in decisions if decision["what"] == what]


@pytest.mark.parametrize("k", [2, 4, 6])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    ("route", "without", "what", "settings"),
    [
        ("analytical", "diversify", "selection", {"retrieval": {"diversity": "coverage"}}),
        ("opinion", "balance", "draw", {}),
    ],
)
def test_a_selection_says_how_many_passages_it_replaced(
    town: MemoryIndex, route: str, without: str, what: str, settings: Any, question: str, k: int
) -> None:
    kept, decisions = ask(town, question, route=route, k=k, **settings)
    plain, rest = ask(town, question, route=route, k=k, without=without, **settings)
    [why] = said(decisions, what)
    assert said(rest, what) == []
    if replaced := len(set(kept) - set(plain)):
        assert why == f"{replaced} of {len(kept)} passages replace more relevant ones"
    elif kept != plain:
        assert why == "these are the most relevant passages, in another order"
    else:
        assert why.startswith(CHANGED_NOTHING)


@pytest.mark.parametrize("k", [4, 8])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_situation_says_how_many_passages_it_chose(town: MemoryIndex, question: str, k: int) -> None:
    _, decisions = ask(town, question, route="contextual", k=k)
    *_, why = said(decisions, "situation")
    found = re.match(r"(\d+) of \d+ passages", why)
    assert found or why.startswith(CHANGED_NOTHING)
    assert found is None or int(found[1]) <= k // 4


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("route", ["factual", "contextual"])
def test_what_the_window_drops_is_read_without_it(town: MemoryIndex, route: str, question: str) -> None:
    kept, decisions = ask(town, question, route=route)
    whole, rest = ask(town, question, route=route, without="window")
    dropped = [why for why in said(decisions, "window") if why.startswith("the others score under")]
    assert bool(dropped) == (len(kept) < len(whole))
    assert not any(why.startswith("the others score under") for why in said(rest, "window"))


def test_alpha_is_what_weighs_the_scores(town: MemoryIndex) -> None:
    _, decisions = ask(town, QUESTIONS[0], route="factual")
    [decision] = [decision for decision in decisions if decision["what"] == "fusion"]
    alpha = decision["alpha"]
    assert decision["chosen"] == f"alpha {alpha:.2f}"
    kept, _ = ask(town, QUESTIONS[0], route="factual")
    fixed, _ = ask(town, QUESTIONS[0], route="factual", retrieval={"alpha": alpha})
    assert kept == fixed
