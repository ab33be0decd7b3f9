"""Splits an analytical question into sub-questions that cover its aspects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.replies import exactly, texts
from adaptive_rag.llm.request import Skill, SkillRequest
from adaptive_rag.query.expansion import aspect_queries
from adaptive_rag.state import Candidate


@dataclass(frozen=True)
class DecomposeRequest(SkillRequest):
    """A question, how many parts it is to have, and a way to look at its first hits."""

    question: str
    n: int
    first_hits: Callable[[], list[Candidate]]

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        return {"question": self.question, "n": str(self.n)}


class SubQuestions(BaseModel):
    """Questions that together cover the main one."""

    sub_questions: list[str] = Field(min_length=1, max_length=8, description="The sub-questions.")


def split_by_aspect(request: DecomposeRequest) -> SubQuestions:
    """Split by the question's coordinated parts and the salient terms of its first hits."""
    return SubQuestions(sub_questions=aspect_queries(request.question, request.first_hits(), request.n))


def check(request: DecomposeRequest, result: SubQuestions) -> SubQuestions:
    """Require exactly n different sub-questions."""
    return SubQuestions(sub_questions=exactly(request.n, result.sub_questions, "sub-questions"))


def read(request: DecomposeRequest, value: Any) -> dict[str, Any]:
    """Read a list, however it is written."""
    return {"sub_questions": exactly(request.n, texts(value, "sub-questions"), "sub-questions")}


def narrow(request: DecomposeRequest) -> dict[str, dict[str, Any]]:
    """Ask for exactly n items."""
    return {"sub_questions": {"minItems": request.n, "maxItems": request.n}}


DECOMPOSE = Skill("decompose", SubQuestions, split_by_aspect, check=check, read=read, narrow=narrow)
