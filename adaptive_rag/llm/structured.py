"""Chooses how a chat model fills a form: by JSON schema, by a tool call, or by plain JSON."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableSequence

from adaptive_rag.models.chat import model_name

Method = Literal["json_schema", "function_calling", "plain"]
# In the order in which they are tried: the method that constrains the model most comes first.
METHODS: tuple[Method, ...] = ("json_schema", "function_calling", "plain")

_refused: dict[str, set[Method]] = {}


def strictest_method(model: BaseChatModel, failed: Collection[Method] = ()) -> Method:
    """Return the strictest method that the model offers, except those that it refused or that just failed."""
    refused = _refused.get(_name(model), set()).union(failed)
    return next(method for method in _offered_methods(model) if method not in refused)


def remember_refusals(model: BaseChatModel, methods: Collection[Method]) -> None:
    """Remember the methods that a server refused for a request which it then answered by another one.

    The answer shows that it refused the methods and not the request, as a content filter does.
    """
    _refused.setdefault(_name(model), set()).update(methods)


def bind_schema(model: BaseChatModel, schema: dict[str, Any], method: Method) -> Runnable[Any, Any]:
    """Return a runnable that returns the model's message, complete and unparsed."""
    # A form is useless in pieces, and clients that parse a streamed form raise an error if it is malformed.
    unstreamed = model.model_copy(update={"disable_streaming": True})
    if method == "plain":
        return unstreamed
    options: dict[str, Any] = {"method": method} if _accepts(model, "method") else {}
    if method == "json_schema" and _accepts(model, "strict"):
        options["strict"] = True
    chain = unstreamed.with_structured_output(schema, **options)
    # LangChain takes quadratic time to parse a form, so its parser is left out and we parse the message.
    if isinstance(chain, RunnableSequence) and len(chain.steps) == 2:
        return chain.first
    return unstreamed


def _offered_methods(model: BaseChatModel) -> list[Method]:
    profile = model.profile or {}
    methods: list[Method] = ["plain"]
    if type(model).bind_tools is not BaseChatModel.bind_tools and profile.get("tool_calling", True):
        methods.insert(0, "function_calling")
    if _accepts(model, "method", "json_schema") and profile.get("structured_output", True):
        methods.insert(0, "json_schema")
    return methods


def _accepts(model: BaseChatModel, parameter: str, value: str = "") -> bool:
    """Return whether the model's with_structured_output has a parameter that accepts a value."""
    parameters = _parameters(type(model))
    return parameter in parameters and value in parameters[parameter]


@lru_cache(maxsize=64)
def _parameters(kind: type[BaseChatModel]) -> dict[str, str]:
    signature = inspect.signature(kind.with_structured_output)
    return {name: str(parameter.annotation) for name, parameter in signature.parameters.items()}


def _name(model: BaseChatModel) -> str:
    address = getattr(model, "openai_api_base", None) or getattr(model, "base_url", None) or ""
    return f"{type(model).__name__}:{model_name(model)}@{address}"
