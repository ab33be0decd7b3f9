"""Factual questions: a query that says what the answering passage will say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.replies import labelled, one_text, pick, single_line
from adaptive_rag.llm.request import Request


class EnhancedQuery(BaseModel):
    """A query for the index."""

    query: str = Field(min_length=1, max_length=1000, description="The rewritten search query.")


def ask_to_enhance(question: str) -> Request[EnhancedQuery]:
    """Ask the model for a search query.

    Without a model the question is searched as it stands: feedback terms gained nothing on factual questions.
    """
    return Request(
        "enhance",
        EnhancedQuery,
        values=lambda: {"question": question},
        read=_read,
        check=lambda result: _check(question, result),
    )


def _read(value: Any) -> dict[str, Any]:
    """Read a query from a form, a labelled line or a text of one line."""
    if isinstance(value, Mapping):
        return {"query": one_text(pick(value, "query", "rewritten_query", "search_query"), "query")}
    if not isinstance(value, str):
        return {"query": one_text(value, "query")}
    found = labelled(
        value, "rewritten query", "enhanced query", "search query", "query", "rewritten question"
    )
    return {"query": one_text(list(found.values())[-1], "query") if found else single_line(value, "query")}


def _check(question: str, result: EnhancedQuery) -> EnhancedQuery:
    """Require that the query is still about what was asked."""
    one_text(result.query, "query")
    asked, written = _stems(question), _stems(result.query)
    if asked and not asked & written:
        raise ValueError(f"the query {result.query[:80]!r} has no word in common with the question")
    return result


def _stems(text: str) -> set[str]:
    # Four letters make a stem that survives a plural or another tense. Only Latin words are compared,
    # since a query may rightly be written in the language of the documents.
    return {word[:4].lower() for word in re.findall(r"[A-Za-z0-9]{4,}", text)}
