"""Picks a diverse and relevant set of candidates; local by default, by the model as an option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, Field

from adaptive_rag.skills.base import Skill, SkillRequest
from adaptive_rag.state import Candidate


@dataclass(frozen=True)
class SelectRequest(SkillRequest):
    """A question, its candidates, and how many are wanted."""

    question: str
    candidates: list[Candidate]
    k: int
    select_locally: Callable[[], list[int]]

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        from adaptive_rag.answering.passages import format_passages

        return {
            "question": self.question,
            "k": str(self.k),
            "n": str(len(self.candidates)),
            "passages": format_passages(self.candidates),
        }


class Selection(BaseModel):
    """Numbers of the chosen passages, best first, counted from 1 as the prompt numbers them."""

    passages: list[int] = Field(max_length=200, description="Numbers of the chosen passages, best first.")


def select_locally(request: SelectRequest) -> Selection:
    """Choose by coverage and relevance without a model."""
    return Selection(passages=[index + 1 for index in request.select_locally()])


def check(request: SelectRequest, result: Selection) -> Selection:
    """Drop repeats, refuse numbers that name no passage, and fill up to k from the local choice."""
    wrong = [number for number in result.passages if not 1 <= number <= len(request.candidates)]
    if wrong:
        raise ValueError(f"passages are numbered 1 to {len(request.candidates)}, got {wrong!r}")
    local = (index + 1 for index in request.select_locally())
    return Selection(passages=list(dict.fromkeys([*result.passages, *local]))[: request.k])


SELECT = Skill("select", Selection, select_locally, check=check)
