"""Asks a chat model to draft an answer from the passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from adaptive_rag.answer.request import AnswerStyle
from adaptive_rag.llm.messages import format_history, style_prompt
from adaptive_rag.llm.passages import format_passages, neutralize
from adaptive_rag.llm.replies import answer_text
from adaptive_rag.llm.request import Request
from adaptive_rag.rank.stances import Side
from adaptive_rag.state import Candidate, Turn

# Added to the prompt if the passages seem to take only one side.
ONE_SIDED_PROMPT = (
    "By their words, the passages seem to hold no argument {missing} what the question proposes. If that is "
    "so, say it plainly, and do not supply one."
)
# Added to the prompt if sub-questions were searched for.
ASPECTS_PROMPT = "These are the aspects; leave out one on which the passages hold nothing:"


class DraftAnswer(BaseModel):
    """The answer's text."""

    text: str = Field(min_length=1)
    # the id of the streamed message, so that the final message replaces it instead of appearing twice
    message_id: str | None = None


@dataclass(frozen=True)
class DraftQuestion:
    """The question for the model, and what it is told in addition to the passages."""

    question: str
    user_context: str = ""
    history: Sequence[Turn] = ()
    missing_side: Side | None = None  # the side of the debate that no passage takes
    aspects: Sequence[str] = ()  # the sub-questions that the passages were found for


def ask_to_draft(
    asked: DraftQuestion,
    strategy: str,
    style: AnswerStyle,
    passages: Sequence[Candidate],
    *,
    budget: int,
    prompts: str | None = None,
) -> Request[DraftAnswer]:
    """Ask the model for an answer from passages, which the prompt numbers in their order.

    The instructions are the strategy's prompt, which may be in the caller's own folder `prompts`, or else
    those of the style. `budget` is the maximum length of the passages in characters.
    """
    additions = [ONE_SIDED_PROMPT.format(missing=asked.missing_side)] if asked.missing_side else []
    if asked.aspects and not style.views:
        additions.append(
            "\n".join([ASPECTS_PROMPT, *(f"- {neutralize(aspect)}" for aspect in asked.aspects)])
        )
    return Request(
        "generate",
        DraftAnswer,
        values=lambda: {
            "question": asked.question,
            "query_type": strategy,
            "user_context": asked.user_context or "(none)",
            "history": format_history(asked.history) or "(none)",
            "passages": format_passages(passages, budget),
            "style": "\n".join(
                [style_prompt(strategy, prompts, style.instruction, style.sentences), *additions]
            ),
        },
        check=_check_draft,
        shortened=partial(
            ask_to_draft, asked, strategy, style, passages, budget=budget // 3, prompts=prompts
        ),
        role="answer",
        free_text=True,
    )


def _check_draft(draft: DraftAnswer) -> DraftAnswer:
    """Return a draft whose text can be an answer; without the id of its message if that had another text."""
    text = answer_text(draft.text)
    return draft if text == draft.text else DraftAnswer(text=text)
