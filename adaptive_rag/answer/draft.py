"""Writes the answer from the passages: by the chat model as free text, or of their own sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.sentences import speaker_of
from adaptive_rag.answer.styles import AnswerRequest, AnswerStyle, Block, by_aspect
from adaptive_rag.llm.messages import format_history, style_prompt
from adaptive_rag.llm.passages import format_passages, neutralize
from adaptive_rag.llm.replies import answer_text
from adaptive_rag.llm.request import Request
from adaptive_rag.rank.stances import Side
from adaptive_rag.state import Candidate, Citation, Turn
from adaptive_rag.text.markers import respell_markers, write_marker

# What an answer says where all passages that take a side take the same one, and what a model is told then.
ONE_SIDED: dict[Side, str] = {
    "against": "Only arguments for it were found, none against it.",
    "for": "Only arguments against it were found, none for it.",
}
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
    if aspects and style.arrange is by_aspect:
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


@dataclass(frozen=True)
class ExtractedAnswer:
    """An answer of quoted sentences, each followed by its marker [n], and where each one stands."""

    text: str
    citations: list[Citation]


def extract_answer(request: AnswerRequest) -> ExtractedAnswer:
    """Answer with exact sentences of the documents, in the blocks of the request's style.

    A sentence that refers back ("It ...") comes with the one before it. Headings are set in bold on a line
    of their own. A side of the debate that is missing is said to be so first. The answer is empty where the
    documents hold no readable sentence. An image is shown by its description, and no tag is left that a
    page would act on; the quotes of the citations stay exact.
    """
    sentences = request.answer_sentences
    blocks = request.style.arrange(request, Ranking(sentences, request.question)) if sentences else []
    blocks = [block for block in blocks if block.sentences]
    told = [ONE_SIDED[request.missing]] if request.missing and blocks else []
    text, _ = keep_own_links("\n\n".join([*told, *(_format_block(request, block) for block in blocks)]), None)
    return ExtractedAnswer(
        text,
        [
            cite_span(request.documents[s.document], s.document + 1, s.start, s.end)
            for block in blocks
            for s in block.sentences
        ],
    )


def _format_block(request: AnswerRequest, block: Block) -> str:
    shown, last = [], None
    for number, sentence in enumerate(block.sentences, start=1):
        # On one line; a bracketed number of the sentence's own would read as a marker of ours.
        text = respell_markers(" ".join(sentence.text.split()))
        passage = request.documents[sentence.document]
        # A message names its own.
        speaker = None if sentence.alone else speaker_of(passage, sentence.start, sentence.text)
        if speaker:
            text = f"“{text}”" if speaker == last else f"{speaker}: “{text}”"
        last = speaker
        shown.append(f"{f'{number}. ' if block.numbered else ''}{text} {write_marker(sentence.document + 1)}")
    body = ("\n" if block.numbered else " ").join(shown)
    return f"**{block.heading}**\n{body}" if block.heading else body
