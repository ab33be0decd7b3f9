"""Picks a diverse and relevant set of candidates; local by default, by the model as an option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.numbers import read_numbers
from adaptive_rag.llm.replies import pick
from adaptive_rag.llm.request import Skill, SkillRequest
from adaptive_rag.rank.score import SCORING_BUDGET
from adaptive_rag.state import Candidate


@dataclass(frozen=True)
class SelectRequest(SkillRequest):
    """A question, its candidates, and how many are wanted."""

    question: str
    candidates: list[Candidate]
    k: int
    select_locally: Callable[[], list[int]]
    passage_budget: int = SCORING_BUDGET

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        from adaptive_rag.llm.passages import format_passages

        return {
            "question": self.question,
            "k": str(self.k),
            "n": str(len(self.candidates)),
            "passages": format_passages(self.candidates, self.passage_budget),
        }

    def shortened(self) -> SelectRequest:
        """Return the same request with passages of a third the length."""
        return replace(self, passage_budget=self.passage_budget // 3)


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


def read(request: SelectRequest, value: Any) -> dict[str, Any]:
    """Read passage numbers from a list, a form, or a sentence that names them."""
    if isinstance(value, Mapping):
        value = pick(value, "passages", "selection", "selected", "indices", "chosen", "numbers")
    return {"passages": read_numbers(value, len(request.candidates))}


def narrow(request: SelectRequest) -> dict[str, dict[str, Any]]:
    """Ask for at most k numbers that name a passage."""
    item = {"type": "integer", "minimum": 1, "maximum": len(request.candidates)}
    most = min(request.k, len(request.candidates))
    return {"passages": {"items": item, "minItems": 1, "maxItems": most}}


SELECT = Skill("select", Selection, select_locally, check=check, read=read, narrow=narrow)
