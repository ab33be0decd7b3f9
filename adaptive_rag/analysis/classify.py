"""Asks a chat model for the question's type where the local classifier is unsure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.conversation import format_history
from adaptive_rag.llm.replies import pick
from adaptive_rag.llm.request import Skill, SkillRequest
from adaptive_rag.state import QUERY_TYPES, QueryAnalysis, QueryType, Turn

_LABEL = re.compile(rf"\b({'|'.join(QUERY_TYPES)})", re.I)
_DENIED = re.compile(
    rf"\b(?:not|n't|isn.t|rather than|instead of|never)\s+(?:an?\s+|\w+ly\s+)?(?:{'|'.join(QUERY_TYPES)})",
    re.I,
)


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


def read(request: ClassifyRequest, value: Any) -> dict[str, Any]:
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


CLASSIFY = Skill("classify", Classification, keep_local, read=read)
