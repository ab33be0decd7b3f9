"""The request of a step to a chat model, and the reply."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel

from adaptive_rag.models.chat import Role
from adaptive_rag.state import Phrase

StepName = Literal[
    "classify", "enhance", "decompose", "viewpoints", "infer", "contextualize", "score", "select", "generate"
]
ResultT = TypeVar("ResultT", bound=BaseModel)
ReturnT = TypeVar("ReturnT")

# The step that is asking while a model is called; a scripted model chooses its reply by it.
asking_step: ContextVar[str] = ContextVar("asking_step", default="")


@dataclass(frozen=True)
class Request(Generic[ResultT]):
    """One thing that a step asks a chat model for: its prompt, the form of the reply, and its checks."""

    # names the prompt file, and the request in the trace and the budget
    step: StepName
    schema: type[ResultT]
    # fills the prompt's placeholders; called only if a model is really asked
    values: Callable[[], Mapping[str, str]]
    # turns what a model wrote (a parsed JSON value, or its text) into the schema's fields; raises ValueError
    # rather than guess
    read: Callable[[Any], dict[str, Any]] | None = None
    # checks what the schema cannot, such as a number beyond the candidates; raises ValueError
    check: Callable[[ResultT], ResultT] | None = None
    # JSON-schema bounds that hold for this request only, by the schema's fields
    bounds: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    # replaces a reply that cannot be read; the model is then not asked again
    otherwise: ResultT | None = None
    # makes the same request with shorter passages, for a prompt that was too long
    shortened: Callable[[], Request[ResultT]] | None = None
    role: Role = "fast"
    # the result is the text that the model writes, not a form that it fills; it is streamed
    free_text: bool = False
    # a setting asks for this call, beyond the calls that are planned by default
    by_setting: bool = False
    # left out if two strategies run side by side and share the planned calls
    optional: bool = False
    # why no model is to be asked at all; the trace then says so
    locally_because: str = ""


@dataclass(frozen=True)
class Reply(Generic[ResultT]):
    """The result of a request, and what it cost."""

    # None if no usable reply came; the step then does its work locally
    result: ResultT | None = None
    # why there is no result
    reason: str = ""
    # the same as a phrase, where no model was asked
    said: Phrase | None = None
    calls: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    # US dollars; None if a call's price is not known
    cost: float | None = None
    # what went wrong on the way to the result, such as a reply that had to be asked for again
    notes: tuple[str, ...] = ()
    # what was left out of a reply that was too long
    cut: str = ""
    # the model could not be reached, or hung; asking it again for the same question is not worth the wait
    unreachable: bool = False


# A step yields the requests that it can make at once, is sent their replies, and returns its result.
Asking: TypeAlias = Generator[list[Request[Any]], list[Reply[Any]], ReturnT]
