"""The settings of a run: bounds, precedence, and what Studio's form is drawn from."""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.runtime import Runtime
from pydantic import ValidationError

from adaptive_rag.context import (
    CONFIG_FILE,
    Context,
    context_of,
    digest_of_files,
    is_setting,
    make_context,
    setting_names,
)
from adaptive_rag.context.groups import GROUPS, MECHANISMS, Fusion, Profile, RetrievalSettings
from adaptive_rag.errors import AdaptiveRAGWarning, ConfigurationError
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.index import Index
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.testing import ScriptedChatModel


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings_of(context: Context) -> dict[str, Any]:
    """Return every setting by its full name."""
    values = {name: context for name in setting_names()}
    for name in values:
        for part in name.split("."):
            values[name] = getattr(values[name], part)
    return values


def test_the_defaults_are_those_of_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADAPTIVE_RAG_STRICT")
    context = make_context()
    schema = Context.model_json_schema()
    for name, field in schema["properties"].items():
        if name in GROUPS:
            form = schema["$defs"][GROUPS[name].__name__]["properties"]
            for part, inner in form.items():
                value = getattr(getattr(context, name), part)
                listed = set(value) if isinstance(value, frozenset) else value
                default = set(inner["default"]) if isinstance(value, frozenset) else inner.get("default", {})
                assert default == listed, f"{name}.{part}"
        elif name == "without":
            assert list(field["default"]) == sorted(context.without)
        else:
            assert field["default"] == getattr(context, name), name


def test_every_field_has_a_description_that_ends() -> None:
    for kind in (Context, *GROUPS.values()):
        for name, field in kind.model_fields.items():
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
    group = "[retrieval]\nalpha = 0.2\nfusion = 'dense'\nsub_questions = 5\n"
    Path(CONFIG_FILE).write_text(f"k = 2\nprofile = 'balanced'\nroute = 'opinion'\n{group}")
    values = {"K": "3", "PROFILE": "aggressive", "RETRIEVAL__ALPHA": "0.3", "RETRIEVAL__FUSION": "sparse"}
    for name, value in values.items():
        monkeypatch.setenv(f"ADAPTIVE_RAG_{name}", value)
    context = make_context(k=4, retrieval={"alpha": 0.4})
    assert (context.k, context.profile, context.route) == (4, "aggressive", "opinion")
    retrieval = context.retrieval
    assert (retrieval.alpha, retrieval.fusion, retrieval.sub_questions) == (0.4, "sparse", 5)
    assert retrieval.diversity == "none"
    assert make_context().retrieval.alpha == 0.3


def test_a_setting_is_read_from_text_as_the_shell_passes_it() -> None:
    text = {"k": "7", "without": "hedge,window", "retrieval.alpha": "0.25", "budget.deadline_s": "2"}
    context = make_context(text)
    assert (context.k, context.retrieval.alpha, context.budget.deadline_s) == (7, 0.25, 2.0)
    assert context.without == {"hedge", "window"}


def test_a_group_is_read_from_the_environment_as_json_and_one_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_RETRIEVAL", '{"alpha": 0.5}')
    assert make_context().retrieval.alpha == 0.5
    monkeypatch.setenv("ADAPTIVE_RAG_RETRIEVAL", "dense")
    with pytest.raises(ConfigurationError, match=r"environment cannot be read.*retrieval"):
        make_context()
    monkeypatch.delenv("ADAPTIVE_RAG_RETRIEVAL")
    with pytest.raises(ConfigurationError, match=r"^retrieval = 'dense' is not usable"):
        make_context(retrieval="dense")
    monkeypatch.setenv("ADAPTIVE_RAG_RETRIEVAL__ALFA", "0.5")
    with pytest.raises(ConfigurationError, match=r"'retrieval\.alfa' is not a setting"):
        make_context()


def test_later_layers_win_setting_by_setting() -> None:
    layers = (
        {"k": 2, "retrieval": {"alpha": 0.1, "fusion": "dense"}},
        {"retrieval.alpha": 0.2, "budget": {"max_tokens": 99}},
        {"retrieval": {"sub_questions": 5}},
    )
    context = make_context(*layers, k=3)
    assert (context.k, context.budget.max_tokens) == (3, 99)
    retrieval = context.retrieval
    assert (retrieval.alpha, retrieval.fusion, retrieval.sub_questions) == (0.2, "dense", 5)
    assert layers[0] == {"k": 2, "retrieval": {"alpha": 0.1, "fusion": "dense"}}


def test_a_group_that_was_made_before_is_a_layer_of_what_was_set_in_it() -> None:
    group = RetrievalSettings(fusion="dense", alpha=0.1)
    context = make_context({"retrieval": group}, {"retrieval.alpha": 0.2})
    assert (context.retrieval.fusion, context.retrieval.alpha) == ("dense", 0.2)
    context = make_context({"retrieval": {"sub_questions": 5}}, {"retrieval": group})
    assert (context.retrieval.fusion, context.retrieval.sub_questions) == ("dense", 5)


@pytest.mark.parametrize(
    "given", ["hedge,window", " hedge , window,", ["hedge", "window"], {"window", "hedge"}]
)
def test_parts_to_leave_out_are_listed_in_any_form(given: Any) -> None:
    context = make_context(without=given)
    assert context.without == {"hedge", "window"}
    assert {name for name in MECHANISMS if not context.uses(name)} == {"hedge", "window"}


def test_parts_are_left_out_by_the_environment_and_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(CONFIG_FILE).write_text("without = ['join']\n")
    assert make_context().without == {"join"}
    monkeypatch.setenv("ADAPTIVE_RAG_WITHOUT", "hedge,window")
    assert make_context().without == {"hedge", "window"}
    assert make_context(without="").without == frozenset()


def test_a_condition_that_nobody_has_set_may_be_none() -> None:
    assert make_context({"where": "page < 9"}, where=None).where == ""


# Values for settings that take more than any text or number.
VALUES = {
    "strict": False,  # tests are strict
    "route": "opinion",
    "where": "page < 10",
    "without": "hedge",
    "recipes": "faq-hybrid",
    "steps": "generate",
    "temperatures": "generate=0.2",
    "alpha_table": "technical=0.4",
    "selection_characters": "opinion=100",
    "users": f"ada={'0' * 64}",
}


@cache
def an_other_value(name: str) -> Any:
    """Return a value of a setting that is not its default: the first of some that it takes."""
    group, _, part = name.rpartition(".")
    field = (GROUPS[group] if group else Context).model_fields[part]
    choices = [value for each in (field.annotation, *get_args(field.annotation)) for value in get_args(each)]
    for value in (VALUES.get(part), *choices, 0.5, 2, 500, True, False, "elsewhere"):
        with suppress(ConfigurationError):
            other = settings_of(make_context({name: value}))[name]
            if part in VALUES or other != field.get_default(call_default_factory=True):
                return other
    raise AssertionError(f"no value for {name}")


# A recipe sets others too; tests/recipes has what each of them sets.
SETTINGS = [name for name in setting_names() if name not in ("retriever", "recipe")]


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_read_by_its_full_name(name: str) -> None:
    before, after = settings_of(make_context()), settings_of(make_context({name: an_other_value(name)}))
    assert after == {**before, name: an_other_value(name)} != before
    assert is_setting(name)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_number_and_switch_can_be_written_as_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = "ADAPTIVE_RAG_" + name.upper().replace(".", "__")
    for value in (settings_of(make_context())[name], an_other_value(name)):
        if isinstance(value, bool | int | float):
            assert settings_of(make_context({name: str(value)}))[name] == value
            monkeypatch.setenv(variable, str(value))
            assert settings_of(make_context())[name] == value


@pytest.mark.parametrize("k", [0, -1, 1001, 1_000_000, "many", 1.5])
def test_k_out_of_bounds_is_refused(k: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^k = .* is not usable: expected "):
        make_context(k=k)


@pytest.mark.parametrize(
    ("name", "allowed", "given"),
    [
        ("profile", get_args(Profile), "something else"),
        ("retrieval.fusion", get_args(Fusion), "something else"),
        ("without", MECHANISMS, "something else,window"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(
    name: str, allowed: tuple[str, ...], given: str
) -> None:
    for value in allowed:
        assert settings_of(make_context({name: value}))[name] in (value, {value})
    with pytest.raises(ConfigurationError, match=f"^{name} = 'something else' is not usable") as refused:
        make_context({name: given})
    assert all(f"'{value}'" in str(refused.value) for value in allowed)


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as refused:
        make_context(k=0, retrieval={"alpha": 2}, colour="red")
    message = str(refused.value)
    assert "k = 0" in message and "retrieval.alpha = 2" in message and "'colour' is not a setting" in message
    assert message.endswith("All settings: adaptive-rag settings")


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ({"rout": "opinion"}, "route"),
        ({"retrieval": {"alfa": 0.5}}, "retrieval.alpha"),
        ({"retrieval.rerankers": "none"}, "retrieval.reranker"),
        ({"deadline": 5}, "budget.deadline_s"),
        ({"reranker": "none"}, "retrieval.reranker"),
        ({"fan_out": False}, "without=fan-out"),
        ({"retrival": {"alpha": 0.5}}, "retrieval'"),
        ({"kay": 3}, "k', 'retrieval.ray'"),
        ({"retrival.alpha": 0.5}, "retrieval.alpha"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(wrong: dict[str, Any], nearest: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"is not a setting\. Did you mean '{nearest}"):
        make_context(wrong)


def test_a_variable_that_is_no_setting_is_named_once_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_KAY", "3")
    monkeypatch.setenv("ADAPTIVE_RAG_RETRIVAL__ALPHA", "0.5")
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__PORT", "80")
    with pytest.warns(AdaptiveRAGWarning) as caught:
        make_context()
        make_context()
    assert sorted(str(warning.message).partition(" is not")[0] for warning in caught) == [
        "The variable ADAPTIVE_RAG_KAY",
        "The variable ADAPTIVE_RAG_RETRIVAL__ALPHA",
    ]
    nearest = {str(warning.message).split()[-1] for warning in caught}
    assert nearest == {"ADAPTIVE_RAG_K.", "ADAPTIVE_RAG_RETRIEVAL__ALPHA."}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"kk = 3\n", "'kk' is not a setting"),
        (b"k = 0\n", "k = 0 is not usable"),
        (b"[retrieval]\nalfa = 3\n", "'retrieval.alfa' is not a setting. Did you mean 'retrieval.alpha'"),
        (b"[budget]\nmax_tokens = 3\n", "budget.max_tokens = 3 is not usable"),
        (b"not TOML\n", f"{CONFIG_FILE} cannot be read"),
        (b"\xff\xfe", f"{CONFIG_FILE} cannot be read"),
    ],
)
def test_a_config_file_that_cannot_be_used_is_named(content: bytes, complaint: str) -> None:
    Path(CONFIG_FILE).write_bytes(content)
    with pytest.raises(ConfigurationError, match=complaint) as refused:
        make_context()
    assert CONFIG_FILE in str(refused.value)


def test_a_config_file_may_begin_with_a_byte_order_mark() -> None:
    Path(CONFIG_FILE).write_text("k = 2\n", encoding="utf-8-sig")
    assert make_context().k == 2


def test_live_objects_are_taken_as_they_are(town: MemoryIndex) -> None:
    model, embeddings = ScriptedChatModel(), DeterministicFakeEmbedding(size=4)
    context = make_context(index=town, model=model, embeddings=embeddings)
    assert context.index is town
    assert context.model is model
    assert context.embeddings is embeddings


def test_a_path_is_taken_as_its_text() -> None:
    context = make_context(index=Path("kb"), ontology=Path("a.yaml"), models={"prompts": Path("own")})
    assert (context.index, context.ontology, context.models.prompts) == ("kb", "a.yaml", "own")


def test_a_context_does_not_change() -> None:
    with pytest.raises(ValidationError):
        make_context().k = 5  # type: ignore[misc]


def test_without_a_context_the_defaults_serve() -> None:
    assert context_of(Runtime(context=None)) == make_context()  # type: ignore[arg-type]
    given = make_context(k=9)
    assert context_of(Runtime(context=given)) is given


def test_a_question_reads_the_settings_once(
    built_town: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_INDEX", str(tmp_path / "index"))
    asked: Any = {"question": "How long is the sea wall?"}
    updates = build_graph().compile().stream(asked, stream_mode="updates")
    next(updates)
    monkeypatch.setenv("ADAPTIVE_RAG_K", "0")
    assert [name for update in updates for name in update] == ["factual", "generate"]
    with pytest.raises(ConfigurationError, match="k = '0'"):
        build_graph().compile().invoke(asked)


SAME_ANSWER = {
    "budget.deadline_s",
    "index",
    "retrieval.ray",
    "user_id",
    *(name for name in SETTINGS if name.startswith(("serving.", "web.", "bucket."))),
}


@pytest.mark.few(20)
@pytest.mark.parametrize("name", SETTINGS)
def test_the_fingerprint_changes_with_what_changes_an_answer_and_with_nothing_else(name: str) -> None:
    plain = make_context().fingerprint()
    assert make_context().fingerprint() == plain
    changed = make_context({name: an_other_value(name)}).fingerprint()
    assert (changed == plain) is (name in SAME_ANSWER)


@pytest.mark.parametrize("name", ["ontology", "models.prompts", "reader"])
def test_the_fingerprint_changes_with_the_files_that_settings_name(name: str, tmp_path: Path) -> None:
    file, prints = tmp_path / "own.md", set()
    place = {"ontology": str(file), "models.prompts": str(tmp_path), "reader": f"onnx:{file}"}[name]
    for text in ("one", "two"):
        file.write_text(text)
        digest_of_files.cache_clear()
        prints.add(make_context({name: place}).fingerprint())
    assert len(prints) == 2


def test_the_fingerprint_knows_live_objects_apart_and_parts_in_any_order() -> None:
    model, other = ScriptedChatModel(), ScriptedChatModel()
    prints = [make_context(model=each).fingerprint() for each in (model, model, other, None)]
    assert prints[0] == prints[1] and len(set(prints)) == 3
    # Python gives the id of an object that is gone to the next one.
    assert len({make_context(model=ScriptedChatModel()).fingerprint() for _ in range(9)}) == 9
    parts = [make_context(without=each).fingerprint() for each in ("hedge,window", "window,hedge", "window")]
    assert parts[0] == parts[1] != parts[2]
    assert make_context(k=None).fingerprint() == make_context().fingerprint()
