"""Resolves a question against the asker's context and the conversation, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.conversation import format_history
from adaptive_rag.llm.replies import labelled, one_text, pick, single_line
from adaptive_rag.llm.request import Skill, SkillRequest
from adaptive_rag.query.expansion import contextual_query
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
    one_text(result.query, "query")
    if not request.user_context:
        return result
    return result.model_copy(update={"context": request.user_context[:2000]})


def read(request: ContextualizeRequest, value: Any) -> dict[str, Any]:
    """Read the query, and the context where there is one, from a form or from labelled lines."""
    if isinstance(value, Mapping):
        plain = {str(key).lower(): item for key, item in value.items()}
        context = plain.pop("context", None) or plain.pop("user_context", None) or ""
        query = one_text(pick(plain, "query", "question", "rewritten_query", "standalone_question"), "query")
        return {"context": context if isinstance(context, str) else str(context), "query": query}
    if not isinstance(value, str):
        return {"query": one_text(value, "query")}
    found = labelled(value, "context", "query", "question", "rewritten query", "standalone question")
    context = found.pop("context", "")
    if found:
        return {"context": context, "query": one_text(list(found.values())[-1], "query")}
    return {"query": single_line(value, "query")}


CONTEXTUALIZE = Skill("contextualize", ContextualizedQuery, resolve_locally, check=keep_context, read=read)
