"""Rerankers in the whole graph: every strategy uses the one that the setting names."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.testing import ScriptedChatModel
from tests.answer.made import ScriptedReader
from tests.conftest import EVERY_STEP, TOWN
from tests.models.made_cross_encoder import forget_rerankers, write_cross_encoder
from tests.traces import stand_ins

QUESTION = "How long is the sea wall?"
RETRIEVAL = build_retrieval_graph().compile()


@pytest.fixture(autouse=True)
def _nothing_loaded() -> Iterator[None]:
    forget_rerankers()
    yield
    forget_rerankers()


def crossing(folder: Path) -> dict[str, str]:
    return {"reranker": "cross-encoder", "reranker_model": str(folder)}


def scored_by(output: dict[str, Any]) -> list[str]:
    return [reason for skill, reason in stand_ins(output) if skill == "score"]


@pytest.mark.parametrize("route", STRATEGIES)
def test_the_whole_graph_scores_with_a_cross_encoder(town: MemoryIndex, tmp_path, route):
    write_cross_encoder(tmp_path, *TOWN, QUESTION)
    context = make_context(index=town, route=route, without="window", retrieval=crossing(tmp_path))
    output = RETRIEVAL.invoke({"question": QUESTION}, context=context)
    assert output["documents"]
    assert all("cross_encoder" in document["scores"] for document in output["documents"])
    assert scored_by(output) == [f"scored by the cross-encoder {tmp_path}"]


@pytest.mark.parametrize("route", STRATEGIES)
def test_a_reader_that_fails_costs_no_answer(town: MemoryIndex, route):
    class Failing(ScriptedReader):
        def read(self, question, passages):
            raise RuntimeError("broken")

    settings = {"index": town, "route": route, "reader": Failing(), "strict": False}
    context = make_context(settings, retrieval={"reranker": "reader"})
    output = build_graph().compile().invoke({"question": QUESTION}, context=context)
    assert output["documents"] and output["answer"]
    assert scored_by(output) == ["the reader does not score; the scores of the search stand"]


@pytest.mark.parametrize("route", STRATEGIES)
def test_where_there_is_no_cross_encoder_the_order_of_the_search_stands(town: MemoryIndex, tmp_path, route):
    settings = {"index": town, "route": route, "without": "window,diversify,balance"}
    missing = make_context(settings, retrieval=crossing(tmp_path / "nowhere"))
    with pytest.warns(RuntimeWarning, match="nowhere") as warned:
        outputs = [RETRIEVAL.invoke({"question": QUESTION}, context=missing) for _ in range(2)]
    assert len(warned) == 1
    documents = outputs[0]["documents"]
    fused = [document["scores"]["fused"] for document in documents]
    assert fused == sorted(fused, reverse=True)
    assert all("relevance" not in document["scores"] for document in documents)
    for output in outputs:
        [reason] = scored_by(output)
        assert "is not a folder" in reason and "the scores of the search stand" in reason


@pytest.mark.filterwarnings("error")
def test_without_reranking_no_cross_encoder_is_loaded(town: MemoryIndex, tmp_path):
    context = make_context(index=town, without="rerank", retrieval=crossing(tmp_path / "nowhere"))
    assert RETRIEVAL.invoke({"question": QUESTION}, context=context)["documents"]


def asked(town: MemoryIndex, route: str, settings: Mapping[str, Any], **retrieval: Any) -> list[str]:
    model = ScriptedChatModel()
    context = make_context(settings, index=town, route=route, model=model, retrieval=retrieval)
    RETRIEVAL.invoke({"question": QUESTION}, context=context)
    return sorted(set(model.skills))


@pytest.mark.parametrize(
    ("route", "settings", "before", "scores"),
    [
        ("factual", {}, [], ["score"]),
        ("factual", EVERY_STEP, ["enhance"], ["score"]),
        ("contextual", {}, [], ["score"]),
        ("contextual", EVERY_STEP, ["contextualize"], ["score"]),
        # coverage and balance decide there; a score for the whole question would favour one aspect
        ("analytical", {}, [], []),
        ("analytical", EVERY_STEP, ["decompose"], []),
        ("opinion", {}, ["viewpoints"], []),
    ],
)
def test_branches_are_scored_by_what_they_found_unless_a_setting_says_otherwise(
    town: MemoryIndex, route: str, settings: dict[str, Any], before: list[str], scores: list[str]
):
    assert asked(town, route, settings) == [*before, *scores]
    assert asked(town, route, settings, reranker="fused") == before
    assert asked(town, route, settings, reranker="listwise") == sorted([*before, "score"])


@pytest.mark.parametrize(
    ("route", "settings", "before"),
    [("analytical", {}, []), ("analytical", EVERY_STEP, ["decompose"]), ("opinion", {}, ["viewpoints"])],
)
def test_a_model_selects_the_set_where_the_setting_asks_for_it(
    town: MemoryIndex, route: str, settings: dict[str, Any], before: list[str]
):
    assert asked(town, route, settings, selection="model") == sorted([*before, "select"])
