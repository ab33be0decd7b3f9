"""What a chat model may be asked for, and the deterministic function that stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import StandIn

SkillName = Literal[
    "classify", "enhance", "decompose", "viewpoints", "contextualize", "score", "select", "generate"
]
Role = Literal["fast", "answer"]

RequestT = TypeVar("RequestT", bound="SkillRequest")
ResultT = TypeVar("ResultT", bound=BaseModel)

PROMPTS = Path(__file__).parent.parent / "prompts"


class SkillRequest:
    """The question of one call: `prompt_values` fills the prompt, the stand-in reads the rest."""

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        raise NotImplementedError


@dataclass(frozen=True)
class Skill(Generic[RequestT, ResultT]):
    """One thing that a chat model can do for us, and how it is done without one."""

    name: SkillName
    schema: type[ResultT]
    stand_in: Callable[[RequestT], ResultT]
    role: Role = "fast"
    # Checks what the schema cannot know, such as an index beyond the candidates; raises ValueError.
    check: Callable[[RequestT, ResultT], ResultT] | None = None


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
    tokens: dict[str, int] = field(default_factory=dict)

    def stand_in(self, name: SkillName) -> list[StandIn]:
        """Return the record of the stand-in, or nothing where a model answered."""
        return [] if self.by == "model" else [StandIn(skill=name, reason=self.reason)]


@cache
def load_prompt(name: SkillName, folder: str | None = None) -> str:
    """Read a skill's prompt, the user's own where the folder has one.

    Raises:
        ConfigurationError: the folder does not exist.
    """
    if folder is not None:
        if not Path(folder).is_dir():
            raise ConfigurationError(f"prompts = {folder!r} is not a folder; expected one with .md files.")
        own = Path(folder) / f"{name}.md"
        if own.is_file():
            return own.read_text(encoding="utf-8")
    return (PROMPTS / f"{name}.md").read_text(encoding="utf-8")
