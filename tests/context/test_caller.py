"""What a caller of a server may set, pass and read."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.runtime import Runtime, ServerInfo

from adaptive_rag.context import CONFIG_FILE, Context, context_of, make_context, setting_names
from adaptive_rag.context.caller import (
    ALLOWED,
    caller_settings,
    check_input,
    check_settings,
    describe_allowed,
    newest_turns,
    shown_to_callers,
    user_of,
)
from adaptive_rag.context.groups import ServingSettings
from adaptive_rag.errors import (
    ConfigurationError,
    IndexingError,
    IndexMismatchError,
    InputError,
    MissingExtraError,
    ServedError,
)
from adaptive_rag.state import Turn
from tests.test_context import an_other_value


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def form(**operator: Any) -> Any:
    return caller_settings(make_context(**operator), ("factual", "opinion"))


def served(**given: Any) -> Runtime[Any]:
    return Runtime(context=form()(**given))


def nested(name: str, value: Any) -> dict[str, Any]:
    group, _, part = name.rpartition(".")
    return {group: {part: value}} if group else {part: value}


def test_callers_may_set_these_settings_and_no_others() -> None:
    # What callers may set is a security boundary: a new mark in the settings must be written here, and in
    # docs/security.md, too.
    names = ["route", "k", "profile", "where", "retrieval.alpha", "budget.deadline_s"]
    assert sorted(ALLOWED) == sorted(names)
    assert {name: mark.ceiling for name, mark in ALLOWED.items() if mark.ceiling} == {
        "k": "serving.max_k",
        "budget.deadline_s": "budget.deadline_s",
    }
    assert list(form().model_fields) == ["route", "k", "profile", "where", "budget", "retrieval"]
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"\*\*Settings\.\*\* A caller may set (.*?), and\s+`recipe`", page)
    assert re.findall(r"`(.*?)`", sentence) == names


def test_every_api_describes_each_setting_that_callers_may_set() -> None:
    text = describe_allowed(("factual", "opinion"))
    assert [re.match(r"- (\S+): ", line)[1] for line in text.splitlines()[1:]] == list(ALLOWED)  # type: ignore[index]
    assert "One of factual, opinion." in text and "One of conservative, balanced, aggressive." in text


@pytest.mark.few(12)
@pytest.mark.parametrize("name", [name for name in setting_names() if name not in ALLOWED])
def test_every_other_setting_is_refused(name: str) -> None:
    value = an_other_value(name) if name not in ("retriever", "recipe") else "faq-hybrid"
    with pytest.raises(
        InputError, match=r"cannot be set by a caller.*The settings are: budget\.deadline_s, k"
    ):
        check_settings(form(), nested(name, value))


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_named_is_set_over_the_operators_own(name: str) -> None:
    Path(CONFIG_FILE).write_text("k = 2\nmodel = 'openai:own'\n[retrieval]\nfusion = 'dense'\n")
    given = nested(name, an_other_value(name))
    check_settings(form(), given)
    context = context_of(served(**given))
    assert context == make_context(given)
    assert context.model == "openai:own" and context.retrieval.fusion == "dense"


def test_what_is_null_is_as_the_operator_has_set_it() -> None:
    Path(CONFIG_FILE).write_text("k = 2\nprofile = 'balanced'\n")
    nulls = {"k": None, "profile": None, "retrieval": None, "budget": {"deadline_s": None}}
    assert context_of(served(**nulls)) == make_context()


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ({"k": 51}, "less than or equal to 50"),
        ({"k": 0}, "greater than or equal to 1"),
        ({"budget": {"deadline_s": 60.1}}, "less than or equal to 60"),
        ({"budget": {"deadline_s": float("nan")}}, "finite number"),
        ({"retrieval": {"alpha": float("nan")}}, "finite number"),
        ({"route": "sideways"}, "'factual' or 'opinion'"),
        ({"profile": "bold"}, "'conservative', 'balanced' or 'aggressive'"),
        ({"where": "page <"}, "cannot be read at its end"),
        ({"where": "page = " + "1" * 5000}, "too long"),
        ({"where": ["page = 1"]}, "valid string"),
    ],
)
def test_a_value_beyond_its_bound_is_refused_with_the_bound(given: dict[str, Any], bound: str) -> None:
    with pytest.raises(InputError, match=bound):
        check_settings(form(), given)


def test_the_operators_own_settings_are_the_ceilings() -> None:
    strict = form(budget={"deadline_s": 5}, serving={"max_k": 3})
    check_settings(strict, {"k": 3, "budget": {"deadline_s": 5}})
    for given in ({"k": 4}, {"budget": {"deadline_s": 5.1}}):
        with pytest.raises(InputError, match="less than or equal to"):
            check_settings(strict, given)


def test_a_callers_condition_holds_beside_the_operators() -> None:
    Path(CONFIG_FILE).write_text("where = 'not tags = draft'\n")
    for given in ({}, {"where": None}, {"where": " "}):
        assert context_of(served(**given)).where == "not tags = draft"
    context = context_of(served(where="page < 9 or tags = draft"))
    assert context.where == "(not tags = draft) and (page < 9 or tags = draft)"
    with pytest.raises(InputError, match="too long"):
        context_of(served(where="page = " + "1" * 1990))


def test_a_recipe_is_taken_only_where_the_operator_lists_it() -> None:
    Path(CONFIG_FILE).write_text("[serving]\nrecipes = ['faq-hybrid']\n[budget]\nmax_llm_calls = 2\n")
    given = {"recipe": "faq-hybrid"}
    check_settings(form(), given)
    context = context_of(served(**given))
    assert context == make_context(recipe="faq-hybrid") and context.retrieval.qa_views
    assert context.budget.max_llm_calls == 2
    with pytest.raises(InputError, match="'faq-hybrid'"):
        check_settings(form(), {"recipe": "bounded-selection"})


def test_a_long_value_is_not_repeated_whole() -> None:
    with pytest.raises(InputError) as refused:
        check_settings(form(), {"k": "9" * 100_000, "x" * 100_000: 1})
    assert len(str(refused.value)) < 1000


TURN = {"role": "user", "text": "x" * 10}


@pytest.mark.parametrize(
    "given",
    [
        {"question": "x" * 30},
        {"question": "x", "user_context": "x" * 20, "history": [TURN] * 3},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        # One turn is as good as a list of one; what it lacks is seen when it is read.
        {"messages": "x"},
        {"history": "x"},
        {"question": None, "history": None},
        None,
    ],
)
def test_an_input_within_the_bounds_passes(given: Any) -> None:
    check_input(given, ServingSettings(max_question=30, max_user_context=20, max_turns=3, max_characters=90))


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ({"question": "x" * 31}, "max_question"),
        ({"user_context": "x" * 21}, "max_user_context"),
        ({"history": [TURN] * 4}, "max_turns"),
        ({"messages": [{"content": [{"a": [{"b": "x" * 91}]}]}]}, "max_characters"),
        ({"messages": [{"x" * 91: 1}]}, "max_characters"),
        ({"history": [["x"]]}, "expected a list of objects"),
        ({"user_context": {"a": "x"}}, "expected a text"),
        ({"started_at": 1e12}, "expected an object with question"),
        ([], "expected an object"),
        ({"paths": "/"}, "expected a list"),
        ({"paths": ["a.md"] * 101}, "at most 100"),
        ({"paths": ["x" * 5000]}, "expected a list"),
    ],
)
def test_an_input_beyond_a_bound_is_refused(given: Any, bound: str) -> None:
    serving = ServingSettings(max_question=30, max_user_context=20, max_turns=3, max_characters=90)
    with pytest.raises(InputError, match=bound):
        check_input(given, serving)


def test_of_a_long_thread_the_newest_turns_are_read() -> None:
    turns = [Turn(role="user", text=str(number) * 10) for number in range(9)]
    assert newest_turns(turns, ServingSettings(max_turns=3)) == turns[-3:]
    assert newest_turns(turns, ServingSettings(max_characters=25)) == turns[-2:]
    assert newest_turns(turns, ServingSettings(max_characters=5)) == []
    assert newest_turns([], ServingSettings()) == []


def test_a_served_caller_is_the_authenticated_one_and_nobody_else() -> None:
    operator = make_context(user_id="operator")
    ada = ServerInfo("a", "g", SimpleNamespace(identity="ada"))  # type: ignore[arg-type]
    assert user_of(served(), operator) is None
    assert user_of(Runtime(context=form()(), server_info=ada), operator) == "ada"
    # A program of one's own says itself who asks, also where it runs behind a server.
    assert user_of(Runtime(context=operator, server_info=ada), operator) == "operator"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (IndexMismatchError("There is no index at /srv/private"), "no index that can be searched"),
        (IndexingError("The embedding model 'openai:m' failed: no route to 10.0.0.1"), "index or search"),
        (ConfigurationError("The key sk-1 is refused by 10.0.0.1"), "not set up for that"),
        (MissingExtraError("pip install x"), "not set up for that"),
        (FileNotFoundError("/srv/private"), "could not do this"),
        (KeyError("secret"), "could not do this"),
    ],
)
def test_what_goes_wrong_on_a_server_is_logged_and_shown_as_a_reference(
    error: Exception, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ServedError, match=sentence) as shown, shown_to_callers(served()):
        raise error
    assert not any(word in str(shown.value) for word in ("srv", "sk-1", "10.0.0.1", "secret", "pip"))
    [record] = caplog.records
    assert str(error) in record.getMessage()
    assert str(shown.value).split("reference ")[1].rstrip(".") in record.getMessage()


def test_a_callers_own_mistake_is_told_as_it_is() -> None:
    with pytest.raises(InputError, match="The question is empty"), shown_to_callers(served()):
        raise InputError("The question is empty.")


@pytest.mark.parametrize("context", [None, Context()])
def test_in_ones_own_process_every_error_is_told_as_it_is(context: Context | None) -> None:
    with pytest.raises(FileNotFoundError, match="private"), shown_to_callers(Runtime(context=context)):
        raise FileNotFoundError("/srv/private")
