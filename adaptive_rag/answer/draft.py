"""Asks a chat model for an answer from the passages."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from adaptive_rag.answer.request import AnswerStyle
from adaptive_rag.llm.messages import format_history, style_prompt
from adaptive_rag.llm.passages import format_passages, neutralize
from adaptive_rag.llm.replies import answer_text
from adaptive_rag.llm.request import Request
from adaptive_rag.rank.stances import Side
from adaptive_rag.state import Candidate, Turn

# What a model is told where all passages that take a side take the same one.
ONE_SIDED_PROMPT = (
    "By their words, the passages seem to hold no argument {missing} what the question proposes. If that is "
    "so, say it plainly, and do not supply one."
)
# What a model is told where its sub-questions were searched for.
ASPECTS_PROMPT = "These are the aspects; leave out one on which the passages hold nothing:"


class DraftAnswer(BaseModel):
    """The answer's text."""

    text: str = Field(min_length=1)
    # names the streamed message, so that the final one replaces it instead of appearing twice
    message_id: str | None = None


def ask_to_draft(
    question: str,
    strategy: str,
    style: AnswerStyle,
    passages: Sequence[Candidate],
    *,
    budget: int,
    user_context: str = "",
    history: Sequence[Turn] = (),
    prompts: str | None = None,
    missing: Side | None = None,
    aspects: Sequence[str] = (),
) -> Request[DraftAnswer]:
    """Ask the model for an answer.

    `strategy` names the prompt that says how; `style` says it where there is no such prompt, and how long.
    Passages are numbered in this order; `budget` counts characters of their text; `missing` is the side of
    the debate that none of them takes; `aspects` are the sub-questions that they were found for.
    """

    def shortened() -> Request[DraftAnswer]:
        return ask_to_draft(
            question,
            strategy,
            style,
            passages,
            budget=budget // 3,
            user_context=user_context,
            history=history,
            prompts=prompts,
            missing=missing,
            aspects=aspects,
        )

    told = [ONE_SIDED_PROMPT.format(missing=missing)] if missing else []
    if aspects and not style.views:
        told.append("\n".join([ASPECTS_PROMPT, *(f"- {neutralize(aspect)}" for aspect in aspects)]))
    return Request(
        "generate",
        DraftAnswer,
        values=lambda: {
            "question": question,
            "query_type": strategy,
            "user_context": user_context or "(none)",
            "history": format_history(history) or "(none)",
            "passages": format_passages(passages, budget),
            "style": "\n".join([style_prompt(strategy, prompts, style.instruction, style.sentences), *told]),
        },
        check=lambda result: result.model_copy(update={"text": answer_text(result.text)}),
        shortened=shortened,
        role="answer",
        free_text=True,
    )
