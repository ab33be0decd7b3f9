"""Rewrites a factual question into a query that names what it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.replies import labelled, one_text, pick, single_line
from adaptive_rag.llm.request import Skill, SkillRequest


@dataclass(frozen=True)
class EnhanceRequest(SkillRequest):
    """A question to be rewritten."""

    question: str

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        return {"question": self.question}


class EnhancedQuery(BaseModel):
    """A query for the index."""

    query: str = Field(min_length=1, max_length=1000, description="The rewritten search query.")


def keep_question(request: EnhanceRequest) -> EnhancedQuery:
    """Search for the question as it stands: feedback terms gained nothing on factual questions."""
    return EnhancedQuery(query=request.question[:1000])


def read(request: EnhanceRequest, value: Any) -> dict[str, Any]:
    """Read a query from a form, a labelled line or a text of one line."""
    if isinstance(value, Mapping):
        return {"query": one_text(pick(value, "query", "rewritten_query", "search_query"), "query")}
    if not isinstance(value, str):
        return {"query": one_text(value, "query")}
    found = labelled(
        value, "rewritten query", "enhanced query", "search query", "query", "rewritten question"
    )
    if found:
        return {"query": one_text(list(found.values())[-1], "query")}
    return {"query": single_line(value, "query")}


def check(request: EnhanceRequest, result: EnhancedQuery) -> EnhancedQuery:
    """Require that the query is still about what was asked."""
    one_text(result.query, "query")
    asked, written = _stems(request.question), _stems(result.query)
    if asked and not asked & written:
        raise ValueError(f"the query {result.query[:80]!r} has no word in common with the question")
    return result


def _stems(text: str) -> set[str]:
    # Four letters make a stem that survives a plural or another tense; only Latin words are compared,
    # since a query may rightly be written in the language of the documents.
    return {word[:4].lower() for word in re.findall(r"[A-Za-z0-9]{4,}", text)}


ENHANCE = Skill("enhance", EnhancedQuery, keep_question, check=check, read=read)
