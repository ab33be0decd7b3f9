"""Scores candidates for relevance, all of them in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, Field

from adaptive_rag.skills.base import Skill, SkillRequest
from adaptive_rag.state import Candidate


@dataclass(frozen=True)
class ScoreRequest(SkillRequest):
    """A question, the context it is asked in, and the candidates with a local way to score them."""

    question: str
    context: str
    candidates: list[Candidate]
    score_locally: Callable[[], list[float]]

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        from adaptive_rag.answering.passages import format_passages

        return {
            "question": self.question,
            "context": self.context or "(none)",
            "n": str(len(self.candidates)),
            "passages": format_passages(self.candidates),
        }


class Scores(BaseModel):
    """A relevance for each candidate, 0 (useless) to 10 (answers the question), in their order."""

    scores: list[float] = Field(max_length=200, description="One number from 0 to 10 a passage, in order.")


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


SCORE = Skill("score", Scores, score_locally, check=check)
