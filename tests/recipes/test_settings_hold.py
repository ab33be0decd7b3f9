"""Settings hold in every strategy, and beside a recipe."""

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.testing import ScriptedChatModel
from tests.recipes.made import QUESTIONS, Watched, passages_in
from tests.traces import decisions

HALF_AND_HALF = [
    *(f"Uniforms are good: they help pupils and protect them, reason {i}." for i in range(5)),
    *(f"Uniforms are bad: they harm pupils and hurt families, reason {i}." for i in range(5)),
]


def test_what_a_model_picks_says_nothing_of_the_sides_there_are() -> None:
    index = MemoryIndex.from_texts(HALF_AND_HALF)

    def script(step: str, messages: list) -> object:
        if step == "select":
            shown = passages_in(messages[-1].text)
            return {"passages": [i for i, text in enumerate(shown, 1) if "good" in text][:4]}
        return None

    settings = {"models": {"steps": []}, "retrieval": {"selection": "model"}, "route": "opinion", "k": 4}
    rag = AdaptiveRAG(index, model=ScriptedChatModel(script=script), **settings)
    output = rag.invoke("Should pupils wear uniforms?")
    assert decisions(output, "sides")[0]["chosen"]["missing"] is None
    assert "Only arguments" not in output["answer"]


def test_after_a_hedge_no_side_is_said_to_be_missing() -> None:
    index = MemoryIndex.from_texts(HALF_AND_HALF[:5])
    rag = AdaptiveRAG(index, routing={"threshold": 1.0})
    for question in ("Why do people like uniforms?", "Should pupils wear uniforms?"):
        output = rag.invoke(question)
        assert output["analysis"]["alternatives"]
        assert "Only arguments" not in output["answer"]


@pytest.mark.parametrize("kind", ["analytical", "opinion"])
def test_the_selecting_model_reads_as_many_characters_as_are_set(town: MemoryIndex, kind: str) -> None:
    model = Watched()
    retrieval = {"selection": "model", "selection_characters": {kind: 20}}
    AdaptiveRAG(town, model=model, route=kind, retrieval=retrieval).invoke(QUESTIONS[kind])
    assert all(len(text) <= 20 for text in passages_in(model.prompt("select")))


@pytest.mark.parametrize("kind", ["analytical", "opinion"])
def test_a_profile_is_read_by_where_passages_are_drawn_in_turn_too(town: MemoryIndex, kind: str) -> None:
    rag = AdaptiveRAG(town, route=kind, profile="aggressive", retrieval={"draw": "in-turn"})
    output = rag.invoke(QUESTIONS[kind])
    [window] = decisions(output, "window")
    assert "aggressive profile" in window["why"]
    assert window["chosen"] == len(output["documents"]) > 4


def test_a_profile_beside_a_recipe_wins_over_its_k() -> None:
    assert make_context(recipe="adaptive-retrieval", profile="aggressive").k is None
    assert make_context(recipe="adaptive-retrieval", profile="aggressive", k=3).k == 3


def test_scores_are_for_the_rewritten_query_by_the_default_reranker_too(town: MemoryIndex) -> None:
    model = Watched(script={"enhance": {"query": "length of the sea wall in metres"}})
    models = {"steps": ["enhance", "score"]}
    AdaptiveRAG(town, model=model, route="factual", models=models, scoring={"against": "query"}).invoke(
        QUESTIONS["factual"]
    )
    assert model.skills == ["enhance", "score"]
    assert "Question: length of the sea wall in metres" in model.prompt("score")


def test_a_recipe_beyond_its_budget_is_refused_with_every_call_counted(town: MemoryIndex) -> None:
    rag = AdaptiveRAG(town, model=ScriptedChatModel(), recipe="adaptive-retrieval", k=11)
    with pytest.raises(ConfigurationError, match="Set it to at least 26"):
        rag.invoke(QUESTIONS["factual"])
    rag = AdaptiveRAG(town, model=ScriptedChatModel(), recipe="adaptive-retrieval", k=8)
    assert rag.invoke(QUESTIONS["factual"])["documents"]
