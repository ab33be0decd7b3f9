"""What a chat model may be asked for, and the deterministic function that stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from adaptive_rag.state import StandIn

SkillName = Literal[
    "classify", "enhance", "decompose", "viewpoints", "contextualize", "score", "select", "generate"
]
Role = Literal["fast", "answer"]

RequestT = TypeVar("RequestT", bound="SkillRequest")
ResultT = TypeVar("ResultT", bound=BaseModel)


# The skill that is being asked for while a model is called; how a scripted model knows its cue.
asked_skill: ContextVar[str] = ContextVar("asked_skill", default="")


class SkillRequest:
    """The question of one call: `prompt_values` fills the prompt, the stand-in reads the rest."""

    @property
    def style_prompt(self) -> str | None:
        """Name a prompt beside the skill's own, whose text fills the placeholder {style}."""
        return None

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        raise NotImplementedError

    def shortened(self) -> SkillRequest | None:
        """Return the same request with shorter passages, or None where nothing can be cut."""
        return None


@dataclass(frozen=True)
class Skill(Generic[RequestT, ResultT]):
    """One thing that a chat model can do for us, and how it is done without one."""

    name: SkillName
    schema: type[ResultT]
    stand_in: Callable[[RequestT], ResultT]
    role: Role = "fast"
    # Checks what the schema cannot know, such as an index beyond the candidates; raises ValueError.
    check: Callable[[RequestT, ResultT], ResultT] | None = None
    # Turns what a model wrote instead of the schema's form (a parsed JSON value, or its text) into the
    # schema's fields; raises ValueError where that would be guessing.
    read: Callable[[RequestT, Any], dict[str, Any]] | None = None
    # Bounds that hold for this request only, such as the number of scores, by the schema's fields.
    narrow: Callable[[RequestT], dict[str, dict[str, Any]]] | None = None
    # The result is what the model writes, not a form it fills; it is streamed.
    free_text: bool = False


@dataclass(frozen=True)
class Ask(Generic[RequestT, ResultT]):
    """A node's wish to have a skill performed; `step` grants it, sync or async."""

    skill: Skill[RequestT, ResultT]
    request: RequestT
    # Why the stand-in must do it even where a model is configured; None lets the model do it.
    locally_because: str | None = None


@dataclass(frozen=True)
class Outcome(Generic[ResultT]):
    """What a skill returned, who did it, and what it cost."""

    result: ResultT
    by: Literal["model", "stand-in"]
    reason: str = ""
    calls: int = 0
    rounds: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    # US dollars; None where a call's price is not known
    cost: float | None = None
    # What went wrong on the way to the result, such as a reply that had to be asked for again.
    notes: tuple[str, ...] = ()
    # The model could not be reached, or hung; asking it again for the same question is not worth the wait.
    unreachable: bool = False

    def stand_in(self, name: SkillName) -> list[StandIn]:
        """Return the record of the stand-in, or nothing where a model answered."""
        return [] if self.by == "model" else [StandIn(skill=name, reason=self.reason)]
