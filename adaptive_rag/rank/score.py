"""Scores candidates for relevance, all of them in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.numbers import read_scores
from adaptive_rag.llm.request import Skill, SkillRequest
from adaptive_rag.state import Candidate

# Characters of passage text: every candidate is in the prompt, and relevance shows in few sentences.
SCORING_BUDGET = 8_000


@dataclass(frozen=True)
class ScoreRequest(SkillRequest):
    """A question, the context it is asked in, and the candidates with a local way to score them."""

    question: str
    context: str
    candidates: list[Candidate]
    score_locally: Callable[[], list[float]]
    passage_budget: int = SCORING_BUDGET

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        from adaptive_rag.llm.passages import format_passages

        return {
            "question": self.question,
            "context": self.context or "(none)",
            "n": str(len(self.candidates)),
            "passages": format_passages(self.candidates, self.passage_budget),
        }

    def shortened(self) -> ScoreRequest:
        """Return the same request with passages of a third the length."""
        return replace(self, passage_budget=self.passage_budget // 3)


class Scores(BaseModel):
    """A relevance for each candidate, 0 (useless) to 10 (answers the question), in their order."""

    scores: list[float] = Field(description="One number from 0 to 10 a passage, in order.")


def score_locally(request: ScoreRequest) -> Scores:
    """Score by fused retrieval score and best-sentence similarity, scaled to 0-10."""
    return Scores(scores=request.score_locally())


def check(request: ScoreRequest, result: Scores) -> Scores:
    """Require one score within 0-10 for every candidate."""
    if len(result.scores) != len(request.candidates):
        raise ValueError(f"expected {len(request.candidates)} scores, got {len(result.scores)}")
    if any(not 0 <= score <= 10 for score in result.scores):
        raise ValueError(f"every score must lie between 0 and 10, got {result.scores!r}")
    return result


def read(request: ScoreRequest, value: Any) -> dict[str, Any]:
    """Read the scores from a list, a mapping, or lines of text."""
    return {"scores": read_scores(value, len(request.candidates))}


def narrow(request: ScoreRequest) -> dict[str, dict[str, Any]]:
    """Ask for whole numbers from 0 to 10, one for each candidate."""
    n = len(request.candidates)
    item = {"type": "integer", "minimum": 0, "maximum": 10}
    return {"scores": {"items": item, "minItems": n, "maxItems": n}}


SCORE = Skill("score", Scores, score_locally, check=check, read=read, narrow=narrow)
