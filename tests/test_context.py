"""The settings of a run: bounds, precedence, and what Studio's form is drawn from."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.runtime import Runtime
from pydantic import ValidationError

from adaptive_rag.context import CONFIG_FILE, Context, Profile, context_of, make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.state import QueryType
from adaptive_rag.testing import ScriptedChatModel


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_defaults_are_those_of_the_form() -> None:
    context = make_context()
    for name, field in Context.model_json_schema()["properties"].items():
        assert field["default"] == getattr(context, name), name


def test_every_field_has_a_description_of_one_sentence() -> None:
    for name, field in Context.model_fields.items():
        assert field.description and field.description.endswith("."), name


def test_the_form_can_be_drawn_and_leaves_out_live_objects() -> None:
    schema = Context.model_json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert "retriever" not in schema["properties"]
    assert schema["properties"]["index"]["type"] == "string"
    assert schema["additionalProperties"] is False


def test_what_is_passed_wins_over_the_environment_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(CONFIG_FILE).write_text("k = 2\nprofile = 'balanced'\nalpha = 0.4\n")
    monkeypatch.setenv("ADAPTIVE_RAG_K", "3")
    monkeypatch.setenv("ADAPTIVE_RAG_PROFILE", "aggressive")
    context = make_context(k=4)
    assert (context.k, context.profile, context.alpha) == (4, "aggressive", 0.4)


def test_a_setting_is_read_from_text_as_the_shell_passes_it() -> None:
    context = make_context(k="7", hedge="false", alpha="0.25", deadline_s="2")
    assert (context.k, context.hedge, context.alpha, context.deadline_s) == (7, False, 0.25, 2.0)


@pytest.mark.parametrize("k", [0, -1, 1001, 1_000_000, "many", 1.5, None])
def test_k_out_of_bounds_is_refused(k: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^k = .* is not usable: expected "):
        make_context(k=k)


@pytest.mark.parametrize(
    ("name", "allowed"), [("route", get_args(QueryType)), ("profile", get_args(Profile))]
)
def test_an_unknown_choice_is_refused_with_the_known_ones(name: str, allowed: tuple[str, ...]) -> None:
    for value in allowed:
        assert getattr(make_context(**{name: value}), name) == value
    with pytest.raises(ConfigurationError) as refused:
        make_context(**{name: "something else"})
    assert all(f"'{value}'" in str(refused.value) for value in allowed)


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as refused:
        make_context(k=0, alpha=2, colour="red")
    message = str(refused.value)
    assert "k = 0" in message and "alpha = 2" in message and "'colour' is not a setting" in message
    assert "reranker_model" in message


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"kk = 3\n", "'kk' is not a setting"),
        (b"k = 0\n", "k = 0 is not usable"),
        (b"not TOML\n", f"{CONFIG_FILE} cannot be read"),
        (b"\xff\xfe", f"{CONFIG_FILE} cannot be read"),
    ],
)
def test_a_config_file_that_cannot_be_used_is_named(content: bytes, complaint: str) -> None:
    Path(CONFIG_FILE).write_bytes(content)
    with pytest.raises(ConfigurationError, match=complaint):
        make_context()


def test_live_objects_are_taken_as_they_are(town: MemoryIndex) -> None:
    model, embeddings = ScriptedChatModel(), DeterministicFakeEmbedding(size=4)
    context = make_context(index=town, model=model, embeddings=embeddings)
    assert context.index is town
    assert context.model is model
    assert context.embeddings is embeddings


def test_a_context_does_not_change() -> None:
    with pytest.raises(ValidationError):
        make_context().k = 5  # type: ignore[misc]


def test_without_a_context_the_defaults_serve() -> None:
    assert context_of(Runtime(context=None)) == make_context()  # type: ignore[arg-type]
    given = make_context(k=9)
    assert context_of(Runtime(context=given)) is given
