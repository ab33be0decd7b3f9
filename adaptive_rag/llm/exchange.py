"""One request's exchange with a chat model: what is sent, what is retried, and when it is given up.

The exchange is a generator that does not wait itself. It yields the next action (a call or a pause) and is
sent the outcome, so that it can run both in a thread and on an event loop.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, ValidationError

from adaptive_rag.context import Context
from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.llm.budget import Ledger
from adaptive_rag.llm.faults import Fault, fault_of
from adaptive_rag.llm.messages import format_messages, load_prompt
from adaptive_rag.llm.receive import form_text, storable
from adaptive_rag.llm.replies import json_values
from adaptive_rag.llm.request import Reply, Request
from adaptive_rag.llm.structured import METHODS, Method, remember_refusals, strictest_method
from adaptive_rag.models.chat import Role
from adaptive_rag.models.prices import price_of

# Retries of one request after a failure of the server, and after an unusable reply.
SERVER_RETRIES = 2
REPLY_RETRIES = 1
# Maximum number of JSON values of one reply that are tried.
MAX_VALUES = 64
# Seconds before the first retry; doubled for each further one.
BACKOFF = 0.5


@dataclass(frozen=True)
class Call:
    """Send these messages and return the model's message."""

    messages: list[BaseMessage]
    method: Method | None  # how the form is requested; None for free text, which is streamed
    schema: dict[str, Any]


# A call, or the seconds of a pause.
Action: TypeAlias = Call | float


class GivenUp(Exception):
    """The request was given up; the message says why."""


@dataclass
class Spending:
    """What an exchange has spent so far; it can also be read if the exchange is abandoned."""

    calls: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    cost: float | None = None
    notes: list[str] = field(default_factory=list)
    cut: str = ""
    unreachable: bool = False

    def spent(self) -> dict[str, Any]:
        """Return what was spent as fields of a `Reply`."""
        return {**vars(self), "tokens": dict(self.tokens), "notes": tuple(self.notes)}


def converse(
    request: Request[Any],
    model: BaseChatModel,
    context: Context,
    ledger: Ledger,
    spending: Spending,
    seconds_left: Callable[[], float],
) -> Generator[Action, Any, Reply[Any]]:
    """Ask the model until its reply is usable, within the calls of the ledger.

    Raises:
        GivenUp: there was no usable reply.
        ConfigurationError: the server refuses the key or does not know the model.
    """
    prompts = context.models.prompts
    messages = format_messages(request, prompts)
    method = None if request.free_text else strictest_method(model)
    schema = {} if method is None else wire_schema(request.schema, request.bounds)
    refused_methods, server_failures, reply_failures = list[Method](), 0, 0
    while True:
        _take_call(ledger, request.role, context, spending)
        try:
            reply: AIMessage = yield Call(messages, method, schema)
        except AdaptiveRAGError:
            raise
        except Exception as error:  # every provider raises its own errors; `fault_of` classifies them
            fault = fault_of(error, model)
            if method not in (None, METHODS[-1]) and fault.refuses_form:
                refused_methods.append(method)
                if fault.names_form:
                    # Counts even if no call is left for a method that the server accepts.
                    remember_refusals(model, refused_methods[-1:])
                spending.notes.append(f"{method} is not supported: {fault.text}")
                method = strictest_method(model, refused_methods)
                continue
            fault.raise_if_misconfigured(error)
            spending.notes.append(fault.text)
            spending.unreachable = fault.passing
            if fault.kind == "too long" and request.shortened and reply_failures < REPLY_RETRIES:
                reply_failures += 1
                request = request.shortened()
                messages = format_messages(request, prompts)
                continue
            pause = _pause(fault, server_failures, seconds_left())
            if ledger.has(request.role):
                yield pause
            server_failures += 1
            continue
        remember_refusals(model, refused_methods)
        _add_reply(reply, model, context, spending)
        try:
            result = read_reply(request, reply)
            _refuse_echo(request, result, prompts)
        except ValueError as error:
            if request.otherwise is not None:
                return Reply(result=request.otherwise, **spending.spent())
            reason = _short(error)
            spending.notes.append(f"the reply was not usable: {reason}")
            if reply_failures == REPLY_RETRIES:
                raise GivenUp(f"the model's reply was not usable: {reason}") from error
            reply_failures += 1
            messages = [*messages, *_correction(reply, reason, free_text=request.free_text)]
            continue
        return Reply(result=result, **spending.spent())


def _take_call(ledger: Ledger, role: Role, context: Context, spending: Spending) -> None:
    if not ledger.take(role):
        last_note = f"{spending.notes[-1]}; " if spending.notes else ""
        raise GivenUp(f"{last_note}the budget of {context.budget.max_llm_calls} calls is spent")
    spending.calls += 1


def read_reply(request: Request[Any], reply: AIMessage) -> BaseModel:
    """Convert a model's message into the request's result, leniently but without guessing.

    Raises:
        ValueError: it cannot be read, or fails the request's check; the error can be shown to the model.
    """
    if request.free_text:
        if not (text := reply.text.strip()):
            raise ValueError(_describe_empty(reply))
        return _validate(request, {"text": text, "message_id": reply.id})
    text = form_text(reply.text)
    values: list[Any] = [call["args"] for call in reply.tool_calls]
    values += json_values(text)[:MAX_VALUES]
    # The text itself is tried last, unless it is only JSON.
    if text and (not values or not (reply.tool_calls or _is_only_json(text))):
        values.append(text)
    if not values:
        raise ValueError(_describe_empty(reply))
    problems = []
    for value in values:
        try:
            value = storable(value)
            return _validate(request, request.read(value) if request.read else value)
        except ValidationError as error:
            problems.append(
                "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
            )
        except ValueError as error:
            problems.append(_short(error))
    raise ValueError(problems[0])


def _validate(request: Request[Any], fields: Any) -> BaseModel:
    result: BaseModel = request.schema.model_validate(fields)
    checked: BaseModel = request.check(result) if request.check else result
    return checked


def _refuse_echo(request: Request[Any], result: BaseModel, folder: str | None) -> None:
    """Refuse texts that are copied from the prompt, as small models do with its examples and placeholders.

    What the user wrote may stand in the prompt by chance, such as "I run a bakery."

    Raises:
        ValueError: a text of the result is part of the prompt, and not of the values that fill it.
    """
    if request.step in ("classify", "generate"):
        return
    prompt = load_prompt(request.step, folder).casefold()
    properties = _full_schema(type(result))["properties"]
    for name, value in result.model_dump().items():
        # A value that the form offers, such as "for", is supposed to be copied.
        if "enum" in properties[name].get("items", {}):
            continue
        for text in value if isinstance(value, list) else [value]:
            if not isinstance(text, str) or not text:
                continue
            is_copied = text.casefold() in prompt and text.casefold() not in _values_of(request)
            if is_copied or not re.search(r"\w", text):
                raise ValueError(f"{text[:80]!r} is copied from the instructions; write your own")


def _values_of(request: Request[Any]) -> str:
    return "\n".join(request.values().values()).casefold()


def wire_schema(schema: type[BaseModel], bounds: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a schema in the form that providers accept: all keys required, no others, no titles of fields.

    Limits on the lengths of texts are left out, since strict modes refuse them; the pydantic schema checks
    them.
    """
    full = _full_schema(schema)
    properties = {
        name: {
            **{key: part[key] for key in ("type", "enum", "items", "description") if key in part},
            **bounds.get(name, {}),
        }
        for name, part in full["properties"].items()
    }
    return {
        "title": schema.__name__,
        "description": " ".join((schema.__doc__ or "").split()),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@cache
def _full_schema(schema: type[BaseModel]) -> dict[str, Any]:
    return schema.model_json_schema()


def _is_only_json(text: str) -> bool:
    """Return whether a text is one JSON value rather than prose with brackets."""
    return text[:1] in "{[" and text[-1:] in "}]" and "\n[" not in text


def _correction(reply: AIMessage, reason: str, *, free_text: bool) -> list[BaseMessage]:
    reply_text = reply.text or ", ".join(str(call["args"]) for call in reply.tool_calls) or "(nothing)"
    if free_text:
        instruction = "Answer the question again."
    else:
        instruction = "Reply again with the JSON alone, in the form asked for."
    return [
        AIMessage(reply_text[:2000]),
        HumanMessage(f"This could not be used: {reason[:500]}\n{instruction}"),
    ]


def _add_reply(reply: AIMessage, model: BaseChatModel, context: Context, spending: Spending) -> None:
    """Add what a reply cost, and whether it was cut, to what the question has spent."""
    spending.unreachable = False
    spending.cut = reply.response_metadata.get("cut") or spending.cut
    usage = reply.usage_metadata
    if usage is None:
        return
    spent = {"input": usage["input_tokens"], "output": usage["output_tokens"]}
    spending.tokens.update(spent)
    price = price_of(model, spent)
    if price is not None:
        spending.cost = (spending.cost or 0.0) + price


def _pause(fault: Fault, failures: int, seconds_left: float) -> float:
    """Return the seconds to wait before the call is repeated.

    Raises:
        GivenUp: a repetition is of no use, or there is no time for one.
    """
    if not fault.passing or failures == SERVER_RETRIES:
        raise GivenUp(fault.text)
    # Random, so that questions that failed at the same time do not retry at the same time.
    pause: float = BACKOFF * 2**failures * random.uniform(0.75, 1.25)
    if fault.retry_after is not None:
        pause = fault.retry_after
    if pause >= seconds_left:
        raise GivenUp(f"{fault.text}; it asks to wait for {pause:.0f} s, longer than is left")
    return pause


def _describe_empty(reply: AIMessage) -> str:
    if refusal := reply.additional_kwargs.get("refusal"):
        return f"the model refused: {refusal}"
    if reply.response_metadata.get("finish_reason") == "length":
        return "the reply was cut off before its first word; raise max_tokens"
    return str(reply.response_metadata.get("cut", "the reply was empty"))


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
