"""One skill's exchange with a chat model: what is sent, what is tried again, when it is given up.

The exchange is a generator that never waits itself: it yields what shall be done (a call, a pause) and is
sent what came of it, so that `run` can drive the same steps in threads or on an event loop.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, ValidationError

from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.llm.budget import Ledger
from adaptive_rag.llm.faults import Fault, fault_of
from adaptive_rag.llm.messages import format_messages, load_prompt
from adaptive_rag.llm.replies import json_values, without_thoughts
from adaptive_rag.llm.request import Ask, Outcome, SkillName, SkillRequest
from adaptive_rag.llm.structured import METHODS, Method, forget_method, known_method
from adaptive_rag.models.prices import price_of

if TYPE_CHECKING:
    from adaptive_rag.context import Context

# How often one skill is called again because the server failed, and because the reply was not usable.
SERVER_RETRIES = 2
REPLY_RETRIES = 1
# Seconds before the first repetition; doubled each time.
BACKOFF = 0.5


@dataclass(frozen=True)
class Call:
    """Send these messages and return the model's message."""

    messages: list[BaseMessage]
    method: Method | None  # how the form is asked for; None for free text, which is streamed
    schema: dict[str, Any]


@dataclass(frozen=True)
class Pause:
    """Wait for these seconds."""

    seconds: float


Wish: TypeAlias = Call | Pause
Exchange: TypeAlias = Generator[Wish, Any, Outcome[Any] | None]


class GivenUp(Exception):
    """The model will not do it; the text says why."""


@dataclass
class Progress:
    """What an exchange has spent so far; readable from outside when it has to be abandoned."""

    calls: int = 0
    rounds: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    cost: float | None = None
    notes: list[str] = field(default_factory=list)
    unreachable: bool = False

    def spent(self) -> dict[str, Any]:
        """Return the fields that an Outcome takes."""
        return {
            "calls": self.calls,
            "rounds": self.rounds,
            "tokens": dict(self.tokens),
            "cost": self.cost,
            "notes": tuple(self.notes),
            "unreachable": self.unreachable,
        }


def converse(
    ask: Ask[Any, Any],
    model: BaseChatModel,
    context: Context,
    ledger: Ledger,
    progress: Progress,
    seconds_left: Callable[[], float],
) -> Exchange:
    """Ask the model until its reply is usable, at most as often as the ledger allows.

    Raises:
        GivenUp: no usable reply could be had.
        ConfigurationError: the server refuses the key or does not know the model.
    """
    skill, request = ask.skill, ask.request
    messages = format_messages(skill.name, request, context.prompts)
    schema = wire_schema(skill.schema, skill.narrow(request) if skill.narrow else {})
    method = None if skill.free_text else known_method(model)
    server_failures = reply_failures = 0
    while True:
        if not ledger.take(skill.role):
            raise GivenUp(_because(f"the budget of {context.max_llm_calls} calls is spent", progress))
        progress.calls += 1
        progress.rounds += 1
        try:
            reply: AIMessage = yield Call(messages, method, schema)
        except AdaptiveRAGError:
            raise
        except Exception as error:  # every provider raises its own; `fault_of` knows what they mean
            fault = fault_of(error, model)
            shorter = request.shortened() if fault.kind == "too long" else None
            if (
                method is not None
                and fault.kind in ("unsupported", "unknown model")
                and (method != METHODS[-1] and (fault.kind == "unsupported" or fault.names_feature))
            ):
                forget_method(model, method)
                progress.notes.append(f"{method} is not supported: {fault.text}")
                method = known_method(model)
                continue
            fault.raise_if_misconfigured()
            progress.notes.append(fault.text)
            if shorter is not None and reply_failures < REPLY_RETRIES:
                reply_failures += 1
                request = shorter
                messages = format_messages(skill.name, request, context.prompts)
                continue
            if not fault.passing or server_failures == SERVER_RETRIES:
                progress.unreachable = fault.passing
                raise GivenUp(fault.text) from error
            pause = _pause(fault, server_failures)
            server_failures += 1
            if pause >= seconds_left():
                progress.unreachable = True
                raise GivenUp(
                    f"{fault.text}; it asks to wait for {pause:.0f} s, longer than is left"
                ) from error
            yield Pause(pause)
            continue
        _count(reply, model, context, progress)
        try:
            result = read_reply(ask, request, reply)
            _refuse_echo(skill.name, result, context.prompts)
        except ValueError as error:
            reason = _short(error)
            progress.notes.append(f"the reply was not usable: {reason}")
            if reply_failures == REPLY_RETRIES:
                raise GivenUp(f"the model's reply was not usable: {reason}") from error
            reply_failures += 1
            messages = [*messages, *_correction(reply, reason, free_text=skill.free_text)]
            continue
        return Outcome(result=result, by="model", **progress.spent())


def read_reply(ask: Ask[Any, Any], request: SkillRequest, reply: AIMessage) -> BaseModel:
    """Turn a reply into the skill's result, leniently but without guessing.

    Raises:
        ValueError: it cannot be read, or fails the skill's check; the message is fit for the model.
    """
    skill = ask.skill
    text = without_thoughts(reply.text)
    if skill.free_text:
        if not text:
            raise ValueError(_empty(reply))
        return _checked(ask, request, skill.schema(text=text, message_id=reply.id))
    values: list[Any] = [call["args"] for call in reply.tool_calls]
    values += json_values(text)
    if text and not values:
        values.append(text)
    elif text and not reply.tool_calls:
        values.append(_outside(text))
    if not values:
        raise ValueError(_empty(reply))
    problems = []
    for value in values:
        if value is None:
            continue
        try:
            return _checked(ask, request, skill.schema.model_validate(_fields(ask, request, value)))
        except ValidationError as error:
            problems.append(
                "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
            )
        except ValueError as error:
            problems.append(_short(error))
    raise ValueError(problems[0])


def _refuse_echo(name: SkillName, result: BaseModel, folder: str | None) -> None:
    """Refuse texts that stand in the prompt itself: small models copy its examples and placeholders.

    Raises:
        ValueError: a text of the result was copied.
    """
    if name in ("classify", "generate"):
        return
    prompt = load_prompt(name, folder).casefold()
    for value in result.model_dump().values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text and (text.casefold() in prompt or not re.search(r"\w", text)):
                raise ValueError(f"{text[:80]!r} is copied from the instructions; write your own")


def wire_schema(schema: type[BaseModel], bounds: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON schema as providers take it: every key required, none besides, titles gone.

    Lengths of texts are left out, since strict modes refuse them; the skill's own schema checks them.
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


def _fields(ask: Ask[Any, Any], request: SkillRequest, value: Any) -> Any:
    if ask.skill.read is None:
        return value
    return ask.skill.read(request, value)


def _checked(ask: Ask[Any, Any], request: SkillRequest, result: BaseModel) -> BaseModel:
    checked: BaseModel = ask.skill.check(request, result) if ask.skill.check else result
    return checked


def _outside(text: str) -> str | None:
    """Return a text that holds brackets as prose; None where it is one JSON value and nothing else."""
    return None if text[:1] in "{[" and text[-1:] in "}]" and "\n[" not in text else text


def _correction(reply: AIMessage, reason: str, *, free_text: bool) -> list[BaseMessage]:
    said = reply.text or ", ".join(str(call["args"]) for call in reply.tool_calls) or "(nothing)"
    form = (
        "Answer the question again."
        if free_text
        else "Reply again with the JSON alone, in the form asked for."
    )
    return [AIMessage(said[:2000]), HumanMessage(f"This could not be used: {reason[:500]}\n{form}")]


def _count(reply: AIMessage, model: BaseChatModel, context: Context, progress: Progress) -> None:
    usage = reply.usage_metadata
    if usage is None:
        return
    spent = {"input": usage["input_tokens"], "output": usage["output_tokens"]}
    for kind, tokens in spent.items():
        progress.tokens[kind] = progress.tokens.get(kind, 0) + tokens
    price = price_of(model, spent, context.prices)
    if price is not None:
        progress.cost = (progress.cost or 0.0) + price


def _pause(fault: Fault, failures: int) -> float:
    if fault.retry_after is not None:
        return fault.retry_after
    # The jitter keeps questions that failed together from coming back together.
    return float(BACKOFF * 2**failures * random.uniform(0.75, 1.25))


def _because(reason: str, progress: Progress) -> str:
    return f"{reason}; before that: {progress.notes[-1]}" if progress.notes else reason


def _empty(reply: AIMessage) -> str:
    if reply.response_metadata.get("finish_reason") == "length":
        return "the reply was cut off before its first word; raise max_tokens"
    return "the reply was empty"


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
