"""Recipes as settings: what they set, who wins over them, where they are offered."""

import warnings
from pathlib import Path

import pytest

from adaptive_rag import AdaptiveRAG, Context
from adaptive_rag.context import CONFIG_FILE, make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.arms import ARMS
from adaptive_rag.graph.builder import context_schema
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.recipes import NAMES, load_recipe
from adaptive_rag.state import ROUTED_TYPES
from tests.recipes.made import QUESTIONS, ask
from tests.traces import stand_ins

FOLDER = Path(__file__).parents[2] / "adaptive_rag" / "recipes"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_file_is_a_recipe_of_the_table() -> None:
    assert {file.stem for file in FOLDER.glob("*.toml")} == set(NAMES)
    assert len(NAMES) == 5


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_is_five_lines_and_ordinary_settings(name: str) -> None:
    recipe = load_recipe(name)
    assert len(recipe.about) == 5 and all(line.endswith(".") for line in recipe.about)
    assert set(recipe.calls) <= set(ROUTED_TYPES) and "factual" in recipe.calls
    assert make_context(recipe.settings).k in (None, 4, 5)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ROUTED_TYPES)
def test_without_a_chat_model_every_recipe_answers_every_type(
    town: MemoryIndex, name: str, kind: str
) -> None:
    rag = AdaptiveRAG(town, recipe=name, route=kind, retrieval={"reranker": "fused"})
    output = rag.invoke("What do people say about raising the sea wall?")
    assert output["documents"] and output["answer"]


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("adaptive-retrieval", {"factual": 11, "analytical": 3, "opinion": 3, "contextual": 12}),
        ("bounded-selection", {}),
        ("schema-routing", {}),
    ],
)
def test_its_calls_are_those_that_it_states(
    town: MemoryIndex, name: str, calls: dict[str, int], kind: str
) -> None:
    output, model = ask(town, name, kind)
    assert output["query_type"] == kind
    stated = load_recipe(name).calls[kind]
    assert len(model.asked) == stated == calls.get(kind, stated)
    assert (model.skills[0], model.skills[-1]) == ("classify", "generate")
    assert not stand_ins(output)


@pytest.mark.parametrize("name", NAMES)
def test_each_has_an_arm_and_a_place_in_the_form(name: str) -> None:
    assert f"recipe-{name}" in ARMS
    schema = context_schema().model_json_schema()
    assert name in str(schema["properties"]["recipe"])


def test_an_unknown_recipe_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"recipe = 'adaptive' is not usable.*faq-hybrid"):
        make_context(recipe="adaptive")


def test_what_is_set_besides_wins_over_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(CONFIG_FILE).write_text("[scoring]\nmissing = 4.0\n")
    monkeypatch.setenv("ADAPTIVE_RAG_SCORING__CHARACTERS", "900")
    context = make_context(recipe="adaptive-retrieval", retrieval={"pool": 3})
    assert (context.scoring.missing, context.scoring.characters, context.retrieval.pool) == (4.0, 900, 3)
    # All that nobody else set is the recipe's.
    assert (context.scoring.weight, context.retrieval.branch_candidates) == (1.0, 2)
    assert context.models.temperatures["generate"] == 0.2


def test_what_was_set_before_wins_over_a_recipe_that_is_named_later() -> None:
    context = make_context({"k": 6, "retrieval.pool": 5}, {"recipe": "schema-routing"})
    assert (context.k, context.retrieval.pool, context.scoring.characters) == (6, 5, 1000)


def test_a_recipe_is_named_in_the_environment_or_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(CONFIG_FILE).write_text("recipe = 'faq-hybrid'\n")
    assert make_context().retrieval.alpha_by == "intent"
    monkeypatch.setenv("ADAPTIVE_RAG_RECIPE", "vector-bm25-fusion")
    assert make_context().retrieval.lexical == "okapi"
    assert Context(recipe="schema-routing").scoring.characters == 1000


def test_a_recipe_for_one_call(town: MemoryIndex) -> None:
    rag = AdaptiveRAG(town)
    output = rag.invoke("How long is the sea wall?", context={"recipe": "vector-bm25-fusion"})
    assert len(output["documents"]) == 5


@pytest.mark.parametrize("reranker", ["none", "cross-encoder", "fused"])
def test_a_situation_is_heard_whatever_ordered_the_candidates(
    town: MemoryIndex, reranker: str, tmp_path: Path
) -> None:
    # Only some rerankers write a relevance; a cross-encoder that is missing writes none.
    settings = {"reranker": reranker, "reranker_model": str(tmp_path / "nowhere")}
    rag = AdaptiveRAG(town, route="contextual", retrieval=settings)
    question = {"question": "How should I prepare for a flood?", "user_context": "I use a wheelchair."}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        output = rag.invoke(question)
    assert any("wheelchair" in document["text"] for document in output["documents"])
