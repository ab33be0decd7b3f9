"""Chat models by name: what is opened, with which settings, and what is said where it cannot be."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelRateLimitError,
)
from langchain_openai import ChatOpenAI

from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError, MissingExtraError
from adaptive_rag.llm import structured
from adaptive_rag.llm.faults import fault_of
from adaptive_rag.models.chat import PROVIDERS, chat_model_of, limit_length, load_chat_model
from adaptive_rag.models.prices import price_of
from adaptive_rag.testing import ScriptedChatModel

URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_server_of_ones_own_needs_none():
    model = load_chat_model("openai:llama3:8b", base_url=URL)
    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.openai_api_base, model.max_retries) == ("llama3:8b", URL, 0)


def test_the_address_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    assert load_chat_model("openai:any").openai_api_base == URL


def test_a_key_that_changes_opens_another_model(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    first = load_chat_model("openai:gpt-4.1-mini")
    assert load_chat_model("openai:gpt-4.1-mini") is first
    monkeypatch.setenv("OPENAI_API_KEY", "two")
    assert load_chat_model("openai:gpt-4.1-mini") is not first


def test_other_providers_do_not_repeat_calls_themselves_and_take_a_key_that_changes(monkeypatch):
    opened = []
    monkeypatch.setattr("adaptive_rag.models.chat.import_extra", lambda *args, **options: None)
    monkeypatch.setattr(
        "langchain.chat_models.init_chat_model",
        lambda spec, **settings: opened.append((spec, settings)) or ScriptedChatModel(),
    )
    for key in ("one", "one", "two"):
        monkeypatch.setenv("GROQ_API_KEY", key)
        load_chat_model("groq:llama")
    assert opened == [("groq:llama", {"max_retries": 0})] * 2


def test_a_name_of_openai_without_its_provider_is_opened_with_our_settings(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    model = load_chat_model("gpt-4.1-mini", timeout=8.0)
    assert (model.model_name, model.max_retries, model.request_timeout) == ("gpt-4.1-mini", 0, 8.0)


def test_every_event_loop_has_a_model_of_its_own():
    async def opened():
        return load_chat_model("openai:any", base_url=URL)

    first, second = asyncio.run(opened()), asyncio.run(opened())
    assert first is not second


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "expected 'provider:name'"),
        ("openai:", "expected 'provider:name'"),
        ("nonsense:model", "cannot be opened"),
        ("no-such-model", "cannot be opened"),
        ("nonsense:model", "such as openai"),
        ("openai:gpt-4.1-mini", r"OPENAI_API_KEY.*base_url"),
    ],
)
def test_a_spec_that_names_nothing_is_explained(spec, said):
    with pytest.raises(ConfigurationError, match=said) as refused:
        load_chat_model(spec)
    assert "Supported providers" not in str(refused.value), "a list that breaks off"


@pytest.mark.parametrize(
    ("spec", "url", "said"),
    [("ollama:llama3", URL, "openai:NAME"), ("openai:any", "localhost:8080/v1", "http://")],
)
def test_a_base_url_that_does_not_fit_is_refused(spec, url, said):
    with pytest.raises(ConfigurationError, match=said):
        load_chat_model(spec, base_url=url)


@pytest.mark.parametrize("provider", [name for name, (extra, _) in PROVIDERS.items() if extra])
def test_a_missing_package_is_named_with_its_install_line(provider, monkeypatch):
    # None in sys.modules is how Python remembers a module that cannot be imported.
    monkeypatch.setitem(sys.modules, f"langchain_{provider}", None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'adaptive-rag\[{PROVIDERS[provider][0]}\]'"):
        load_chat_model(f"{provider}:some-model")


def test_extras_named_in_the_errors_exist():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    named = {extra for extra, _ in PROVIDERS.values() if extra}
    assert named <= set(project["optional-dependencies"])


def test_the_length_of_answers_is_the_smaller_of_both_limits():
    model = load_chat_model("openai:any", base_url=URL)
    assert limit_length(model, 77).max_tokens == 77
    assert limit_length(limit_length(model, 50), 77).max_tokens == 50
    assert model.max_tokens is None, "the shared model is not changed"


def test_each_role_has_its_model():
    answers, routes = ScriptedChatModel(), ScriptedChatModel()
    context = make_context(model=answers, models={"fast_model": routes})
    assert chat_model_of(context, "answer") is answers
    assert chat_model_of(context, "fast") is routes
    assert chat_model_of(make_context(model=answers), "fast") is answers
    assert chat_model_of(make_context(), "answer") is None


def test_what_only_a_model_that_is_called_needs_is_loaded_only_then():
    code = (
        "import sys, adaptive_rag.runnable; from adaptive_rag.testing import ScriptedChatModel;"
        "from adaptive_rag.models.prices import price_of; price_of(ScriptedChatModel(), {});"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "adaptive_rag.testing" in loaded and not loaded & {"langchain_openai", "genai_prices"}


def test_structured_output_takes_the_strictest_way_that_is_offered():
    assert structured.strictest_method(load_chat_model("openai:any", base_url=URL)) == "json_schema"
    assert structured.strictest_method(ScriptedChatModel()) == "plain"


def test_a_refused_way_is_not_tried_again(monkeypatch):
    monkeypatch.setattr(structured, "_refused", {})
    model = load_chat_model("openai:any", base_url=URL)
    structured.remember_refusals(model, ["json_schema"])
    assert structured.strictest_method(model) == "function_calling"
    structured.remember_refusals(model, ["function_calling"])
    assert structured.strictest_method(model) == "plain"
    assert structured.strictest_method(load_chat_model("openai:other", base_url=URL)) == "json_schema"


class Answered(Exception):
    """An error as HTTP clients raise it."""

    def __init__(self, status, text="", headers=None, code=None):
        super().__init__(text)
        self.code = code
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}, "status_code": status})()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelAuthenticationError("x"), "key"),
        (ModelNotFoundError("x"), "unknown model"),
        (ModelRateLimitError(f"{'You exceeded your quota. ' * 20}insufficient_quota"), "other"),
        (ContextOverflowError("x"), "too long"),
        (ModelInvalidRequestError("x"), "unsupported"),
        (ModelInvalidRequestError(f"{'No. ' * 80}maximum context length is 2048"), "too long"),
        (Answered(422), "unsupported"),
        (Answered(429), "busy"),
        (Answered(429, "You exceeded your current quota", code="insufficient_quota"), "other"),
        (Answered(503), "server"),
        (ConnectionResetError("x"), "connection"),
        (RuntimeError("Event loop is closed"), "connection"),
        (KeyError("choices"), "other"),
    ],
)
def test_errors_are_told_apart(error, kind):
    assert fault_of(error, ScriptedChatModel()).kind == kind


class Misread(Answered, AttributeError):
    """What OpenAI's client raises over a page of HTML."""


@pytest.mark.parametrize(
    "error", [Misread(200, "'str' object has no attribute 'choices'"), IndexError("list index out of range")]
)
def test_a_reply_in_another_form_is_named_as_one(error):
    text = fault_of(error, ScriptedChatModel()).text
    assert "not in the form of OpenAI's protocol" in text and str(error) in text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers, seconds):
    assert fault_of(Answered(429, headers=headers), ScriptedChatModel()).retry_after == seconds


def test_dated_names_have_the_price_of_their_model(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    tokens = {"input": 1_000_000, "output": 500_000}
    prices = {
        name: price_of(load_chat_model(f"openai:{name}"), tokens)
        for name in ("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", "a-model-of-tomorrow")
    }
    assert prices["gpt-4.1"] > prices["gpt-4.1-mini"] > 0
    assert prices["gpt-4.1-mini-2025-04-14"] == pytest.approx(prices["gpt-4.1-mini"])
    assert prices["a-model-of-tomorrow"] is None


def test_other_providers_have_prices_too():
    class ChatGroq(ScriptedChatModel):
        model_name: str = "llama-3.3-70b-versatile"

    ChatGroq.__module__ = "langchain_groq.chat_models"
    assert price_of(ChatGroq(), {"input": 1_000_000}) > 0
    assert price_of(ScriptedChatModel(), {"input": 1_000_000}) is None


def test_a_known_name_on_a_server_of_ones_own_has_no_price():
    assert price_of(load_chat_model("openai:gpt-4.1-mini", base_url=URL), {"input": 3}) is None
