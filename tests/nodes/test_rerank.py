"""What the steps do with a reranker, as its row in the table says."""

from typing import Any

import pytest

from adaptive_rag.analysis import analyse
from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.llm.request import Asking
from adaptive_rag.nodes import balance, diversify, rerank
from adaptive_rag.nodes.rerank import search_to_score
from adaptive_rag.rank.rerankers import RERANKERS, Reranker, check_calls
from adaptive_rag.rank.scoring import RerankRequest
from adaptive_rag.state import Candidate
from adaptive_rag.testing import ScriptedChatModel, run_node
from tests.nodes.made import first_hits, hits_of

QUESTION = "How do the waves affect the town?"


@pytest.fixture
def requests() -> list[RerankRequest]:
    return []


@pytest.fixture
def add_reranker(monkeypatch: pytest.MonkeyPatch, requests: list[RerankRequest]) -> Any:
    """Add the reranker "made", which notes what it is asked."""

    def keep(request: RerankRequest) -> Asking[list[Candidate]]:
        yield from ()
        requests.append(request)
        return list(request.candidates)

    return lambda **more: monkeypatch.setitem(RERANKERS, "made", Reranker(keep, **more))


def settings(town: MemoryIndex, **more: Any) -> Any:
    return make_context({"retrieval": {"reranker": "made"}, "index": town, "k": 4, **more})


def state_of(town: MemoryIndex, type_: str) -> dict[str, Any]:
    found = first_hits(town, QUESTION)
    hits = hits_of(found, None, "What should farmers do?")
    state = {"question": QUESTION, "query_type": type_, "analysis": analyse(QUESTION)}
    return {**state, "hits": hits, "candidates": found, "queries": []}


@pytest.mark.parametrize(
    ("step", "branches", "is_asked"),
    [
        (diversify, "together", True),
        (diversify, "scored", False),
        (diversify, "kept", False),
        (balance, "together", True),
        (balance, "scored", False),
        (balance, "kept", True),
    ],
)
def test_a_reranker_scores_several_branches_as_its_row_says(
    town: MemoryIndex, add_reranker: Any, requests: list[Any], step: Any, branches: str, is_asked: bool
) -> None:
    add_reranker(branches=branches)
    state = state_of(town, "opinion")
    update = run_node(step, state, settings(town, without="window"))
    assert update["documents"] and bool(requests) == is_asked
    if step is diversify:
        ids = [document["id"] for document in update["documents"]]
        assert (ids == [c["id"] for c in state["candidates"][:4]]) == (branches != "scored")


@pytest.mark.parametrize("asks_early", [True, False])
def test_only_a_reranker_that_asks_early_is_asked_before_the_search(
    town: MemoryIndex, add_reranker: Any, asks_early: bool
) -> None:
    add_reranker(asks_early=asks_early)
    state = {"question": QUESTION, "analysis": analyse(QUESTION)}
    asked, candidates = search_to_score(state, QUESTION, settings(town, model=ScriptedChatModel()))
    assert bool(asked) == bool(candidates) == asks_early


def test_a_reranker_with_a_call_for_each_candidate_needs_a_budget_for_them(
    town: MemoryIndex, add_reranker: Any
) -> None:
    add_reranker(calls_each=True)
    with pytest.raises(ConfigurationError, match=r"'made' makes 2 \* k = 8 calls"):
        check_calls(settings(town, model=ScriptedChatModel()))


def test_without_the_mechanism_that_a_reranker_needs_the_local_scores_stand(
    town: MemoryIndex, add_reranker: Any, requests: list[Any]
) -> None:
    add_reranker(needs="reader")
    update = run_node(rerank, state_of(town, "factual"), settings(town, without="reader"))
    assert "relevance" in update["documents"][0]["scores"] and not requests
    run_node(rerank, state_of(town, "factual"), settings(town))
    assert len(requests) == 1
