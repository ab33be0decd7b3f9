"""Asks a chat model for the answer: free text with [n] markers, written from the passages."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from adaptive_rag.llm.messages import format_history, style_prompt
from adaptive_rag.llm.passages import format_passages
from adaptive_rag.llm.request import Request
from adaptive_rag.state import Candidate, Turn


class DraftAnswer(BaseModel):
    """The answer's text."""

    text: str = Field(min_length=1)
    # names the streamed message, so that the final one replaces it instead of appearing twice
    message_id: str | None = None


def ask_to_draft(
    question: str,
    strategy: str,
    passages: Sequence[Candidate],
    *,
    budget: int,
    user_context: str = "",
    history: Sequence[Turn] = (),
    instruction: str = "",
    prompts: str | None = None,
) -> Request[DraftAnswer]:
    """Ask the model for an answer.

    Args:
        question: what was asked.
        strategy: names the prompt that says how such a question is answered.
        passages: numbered in this order.
        budget: characters of passage text in the prompt.
        user_context: who asks, or in what situation.
        history: the conversation before the question, oldest first.
        instruction: says how such a question is answered, where no prompt of that name is there.
        prompts: folder of the user's own prompts.
    """

    def shortened() -> Request[DraftAnswer]:
        return ask_to_draft(
            question,
            strategy,
            passages,
            budget=budget // 3,
            user_context=user_context,
            history=history,
            instruction=instruction,
            prompts=prompts,
        )

    return Request(
        "generate",
        DraftAnswer,
        values=lambda: {
            "question": question,
            "query_type": strategy,
            "user_context": user_context or "(none)",
            "history": format_history(history) or "(none)",
            "passages": format_passages(passages, budget),
            "style": style_prompt(strategy, prompts, instruction),
        },
        shortened=shortened,
        role="answer",
        free_text=True,
    )
