"""Asks a chat model for the question's type where the local classifier is unsure."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from adaptive_rag.skills.base import Skill, SkillRequest
from adaptive_rag.skills.conversation import format_history
from adaptive_rag.state import QueryAnalysis, QueryType, Turn


@dataclass(frozen=True)
class ClassifyRequest(SkillRequest):
    """A question to be typed, with what the local classifier made of it."""

    question: str
    user_context: str
    history: list[Turn]
    local: QueryAnalysis

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        return {
            "question": self.question,
            "user_context": self.user_context or "(none given)",
            "history": format_history(self.history) or "(none)",
        }


class Classification(BaseModel):
    """The question's type."""

    type: QueryType = Field(description="factual, analytical, opinion or contextual")
    reason: str = Field("", max_length=300, description="Why, in at most one sentence.")


def keep_local(request: ClassifyRequest) -> Classification:
    """Return what the local classifier decided."""
    return Classification(type=request.local["type"], reason=request.local["reason"][:300])


CLASSIFY = Skill("classify", Classification, keep_local)
