"""Chooses how a chat model fills a form: by JSON schema, by a tool call, or by plain JSON."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableSequence

from adaptive_rag.models.chat import model_name

Method = Literal["json_schema", "function_calling", "plain"]
# In the order in which they are tried: what constrains the model most comes first.
METHODS: tuple[Method, ...] = ("json_schema", "function_calling", "plain")

_refused: dict[str, set[Method]] = {}
_lock = threading.Lock()


def known_method(model: BaseChatModel, failed: Collection[Method] = ()) -> Method:
    """Return the strictest method that the model offers, not one that it has refused or that just failed."""
    refused = _refused.get(_name(model), set()).union(failed)
    return next(method for method in _offered(model) if method not in refused)


def forget_method(model: BaseChatModel, method: Method) -> None:
    """Remember for the rest of the process that the model's server refuses a method."""
    if method != "plain":
        with _lock:
            _refused.setdefault(_name(model), set()).add(method)


def bind_schema(model: BaseChatModel, schema: dict[str, Any], method: Method) -> Runnable[Any, Any]:
    """Return a runnable that returns the model's message, complete and unparsed."""
    # A form is useless in pieces, and clients that parse a streamed form raise on its errors.
    whole = model.model_copy(update={"disable_streaming": True})
    if method == "plain":
        return whole
    options: dict[str, Any] = {"method": method} if _takes(model, "method") else {}
    if method == "json_schema" and _takes(model, "strict"):
        options["strict"] = True
    form = whole.with_structured_output(schema, **options)
    # LangChain parses a form in time quadratic in its length, so we parse it ourselves.
    return form.first if isinstance(form, RunnableSequence) and len(form.steps) == 2 else whole


def _offered(model: BaseChatModel) -> list[Method]:
    profile = model.profile or {}
    offered: list[Method] = ["plain"]
    if type(model).bind_tools is not BaseChatModel.bind_tools and profile.get("tool_calling", True):
        offered.insert(0, "function_calling")
    if _takes(model, "method", "json_schema") and profile.get("structured_output", True):
        offered.insert(0, "json_schema")
    return offered


def _takes(model: BaseChatModel, parameter: str, value: str = "") -> bool:
    """Tell whether the model's with_structured_output has a parameter that accepts a value."""
    parameters = _parameters(type(model))
    return parameter in parameters and value in parameters[parameter]


@lru_cache(maxsize=64)
def _parameters(kind: type[BaseChatModel]) -> dict[str, str]:
    signature = inspect.signature(kind.with_structured_output)
    return {name: str(parameter.annotation) for name, parameter in signature.parameters.items()}


def _name(model: BaseChatModel) -> str:
    address = getattr(model, "openai_api_base", None) or getattr(model, "base_url", None) or ""
    return f"{type(model).__name__}:{model_name(model)}@{address}"
