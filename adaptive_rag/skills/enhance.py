"""Rewrites a factual question into a query that names what it is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, Field

from adaptive_rag.retrieval.expansion import feedback_query
from adaptive_rag.skills.base import Skill, SkillRequest
from adaptive_rag.state import Candidate


@dataclass(frozen=True)
class EnhanceRequest(SkillRequest):
    """A question, and a way to look at its first hits."""

    question: str
    first_hits: Callable[[], list[Candidate]]

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        return {"question": self.question}


class EnhancedQuery(BaseModel):
    """A query for the index."""

    query: str = Field(min_length=1, max_length=1000, description="The rewritten search query.")


def add_feedback_terms(request: EnhanceRequest) -> EnhancedQuery:
    """Add terms of the first hits where they are likely to help."""
    return EnhancedQuery(query=feedback_query(request.question, request.first_hits())[:1000])


ENHANCE = Skill("enhance", EnhancedQuery, add_feedback_terms)
