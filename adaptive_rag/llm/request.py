"""The request of a step to a chat model, and the reply."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from adaptive_rag.context.groups import StepName
from adaptive_rag.models.chat import Role
from adaptive_rag.state import Phrase

ResultT = TypeVar("ResultT", bound=BaseModel)
ReturnT = TypeVar("ReturnT")

# The step that calls the model at the moment; a scripted model selects its reply by it.
asking_step: ContextVar[str] = ContextVar("asking_step", default="")


@dataclass(frozen=True)
class Request(Generic[ResultT]):
    """What a step asks of a chat model: the prompt, the form of the reply, and the checks of it."""

    # the name of the prompt's file, and of the request in the trace and the budget
    step: StepName
    schema: type[ResultT]
    # returns the values of the prompt's placeholders; called only if a model is asked
    values: Callable[[], Mapping[str, str]]
    # converts what a model wrote (a parsed JSON value, or its text) into the schema's fields; raises
    # ValueError instead of guessing
    read: Callable[[Any], dict[str, Any]] | None = None
    # checks what the schema cannot, such as the number of a passage that does not exist; raises ValueError
    check: Callable[[ResultT], ResultT] | None = None
    # bounds in JSON Schema for this request only, by the schema's fields
    bounds: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    # the result if the reply cannot be read; the model is then not asked again
    otherwise: ResultT | None = None
    # returns the same request with shorter passages, for a prompt that was too long
    shortened: Callable[[], Request[ResultT]] | None = None
    role: Role = "fast"
    # the result is a text, which is streamed, and not a form that the model fills
    free_text: bool = False
    # a setting requires this call, in addition to the calls that are planned by default
    by_setting: bool = False
    # left out if two strategies run in parallel and share the planned calls
    optional: bool = False
    # why no model should be asked, for the trace; "" if one should
    locally_because: str = ""


@dataclass(frozen=True)
class Reply(Generic[ResultT]):
    """The result of a request, and its cost."""

    # None if there was no usable reply; the step then uses its local method
    result: ResultT | None = None
    # why there is no result
    reason: str = ""
    # the reason as a phrase, if no model was asked
    phrase: Phrase | None = None
    calls: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    # in US dollars; None if the price of a call is not known
    cost: float | None = None
    # what went wrong before the result, such as a reply that was not usable
    notes: tuple[str, ...] = ()
    # what is missing from a reply that was too long
    cut: str = ""
    # the model could not be reached, or hung, so it is not asked again for the same question
    unreachable: bool = False


# A step yields the requests that it can make in parallel, is sent their replies, and returns its result.
Asking: TypeAlias = Generator[list[Request[Any]], list[Reply[Any]], ReturnT]
