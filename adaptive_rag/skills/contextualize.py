"""Resolves a question against the asker's context and the conversation, in one call."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from adaptive_rag.retrieval.expansion import contextual_query
from adaptive_rag.skills.base import Skill, SkillRequest
from adaptive_rag.skills.conversation import format_history
from adaptive_rag.state import Turn


@dataclass(frozen=True)
class ContextualizeRequest(SkillRequest):
    """A question with all that is known about who asks it."""

    question: str
    user_context: str
    history: list[Turn]

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        return {
            "question": self.question,
            "user_context": self.user_context or "(none given: infer the likely one)",
            "history": format_history(self.history) or "(none)",
        }


class ContextualizedQuery(BaseModel):
    """The question as it would be asked by someone who says everything."""

    context: str = Field("", max_length=2000, description="The asker's context, given or inferred.")
    query: str = Field(min_length=1, max_length=2000, description="The question, self-contained.")


def resolve_locally(request: ContextualizeRequest) -> ContextualizedQuery:
    """Resolve references from the history and add the salient terms of the user's context."""
    query = contextual_query(request.question, request.user_context, request.history)
    return ContextualizedQuery(context=request.user_context[:2000], query=query[:2000])


def keep_context(request: ContextualizeRequest, result: ContextualizedQuery) -> ContextualizedQuery:
    """Keep the user's own words where they gave a context: a model's summary may lose some."""
    if not request.user_context:
        return result
    return result.model_copy(update={"context": request.user_context[:2000]})


CONTEXTUALIZE = Skill("contextualize", ContextualizedQuery, resolve_locally, check=keep_context)
