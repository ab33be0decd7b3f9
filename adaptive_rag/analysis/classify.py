"""Asks a chat model for the question's type, where the router is unsure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.messages import format_history
from adaptive_rag.llm.replies import pick
from adaptive_rag.llm.request import Request
from adaptive_rag.state import QUERY_TYPES, QueryType, Turn

_LABEL = re.compile(rf"\b({'|'.join(QUERY_TYPES)})", re.I)
# "not factual", "isn't really an opinion": a type that the model rules out.
_DENIED = re.compile(
    rf"\b(?:not|n't|isn.t|rather than|instead of|never)\s+(?:an?\s+|\w+ly\s+)?(?:{'|'.join(QUERY_TYPES)})",
    re.I,
)


class Classification(BaseModel):
    """The question's type."""

    type: QueryType = Field(description="factual, analytical, opinion or contextual")
    reason: str = Field("", max_length=300, description="Why, in at most one sentence.")


def ask_to_classify(question: str, user_context: str, history: Sequence[Turn]) -> Request[Classification]:
    """Ask the model for the type; without a usable reply the router's decision stands."""
    return Request(
        "classify",
        Classification,
        values=lambda: {
            "question": question,
            "user_context": user_context or "(none given)",
            "history": format_history(history) or "(none)",
        },
        read=_read,
    )


def _read(value: Any) -> dict[str, Any]:
    """Read a type in any case, alone or in a sentence that names no other."""
    reason = ""
    if isinstance(value, Mapping):
        plain = {str(key).lower(): item for key, item in value.items()}
        reason = str(plain.get("reason") or "")[:300]
        rest = {key: item for key, item in plain.items() if key != "reason"}
        value = pick(rest, "type", "query_type", "question_type", "category", "classification", "label")
    elif isinstance(value, list) and len(value) == 1:
        value = value[0]
    named = {match.lower() for match in _LABEL.findall(str(value))}
    if len(named) != 1 or _DENIED.search(str(value)):
        raise ValueError(f"expected one of {', '.join(QUERY_TYPES)}, got {str(value)[:80]!r}")
    return {"type": named.pop(), "reason": reason}
