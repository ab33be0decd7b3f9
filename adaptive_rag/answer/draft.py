"""Writes the answer from the documents, in free text with [n] markers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from adaptive_rag.llm.conversation import format_history
from adaptive_rag.llm.request import Skill, SkillRequest
from adaptive_rag.state import Candidate, QueryType, Turn


@dataclass(frozen=True)
class GenerateRequest(SkillRequest):
    """A question of a known type, what was found for it, and a local way to answer."""

    question: str
    query_type: QueryType
    user_context: str
    history: list[Turn]
    documents: list[Candidate]
    answer_locally: Callable[[], str]
    # Characters of passage text in the prompt.
    passage_budget: int = 12_000

    @property
    def style_prompt(self) -> str:
        """Name the prompt that says how a question of this type is answered."""
        return f"generate-{self.query_type}"

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        from adaptive_rag.llm.passages import format_passages

        return {
            "question": self.question,
            "query_type": self.query_type,
            "user_context": self.user_context or "(none)",
            "history": format_history(self.history) or "(none)",
            "passages": format_passages(self.documents, self.passage_budget),
        }

    def shortened(self) -> GenerateRequest:
        """Return the same request with passages of a third the length."""
        return replace(self, passage_budget=self.passage_budget // 3)


class DraftAnswer(BaseModel):
    """The answer's text."""

    text: str = Field(min_length=1)
    # Names the streamed message, so that the final one replaces it instead of appearing twice.
    message_id: str | None = None


def extract(request: GenerateRequest) -> DraftAnswer:
    """Answer with sentences that stand in the documents."""
    return DraftAnswer(text=request.answer_locally())


GENERATE = Skill("generate", DraftAnswer, extract, role="answer", free_text=True)
