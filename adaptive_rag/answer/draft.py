"""Writes the answer from the passages: by the chat model as free text, or of their own sentences."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from adaptive_rag.answer.by_aspect import by_aspect
from adaptive_rag.answer.by_side import by_side
from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import without_label
from adaptive_rag.answer.units import CODE_FENCE
from adaptive_rag.llm.messages import format_history, style_prompt
from adaptive_rag.llm.passages import format_passages, neutralize
from adaptive_rag.llm.replies import answer_text
from adaptive_rag.llm.request import Request
from adaptive_rag.rank.stances import Side
from adaptive_rag.state import Candidate, Citation, Turn
from adaptive_rag.text.markers import respell_markers, write_marker

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


def extract_answer(request: AnswerRequest, shown: Sequence[Citation] = ()) -> ExtractedAnswer:
    """Answer with exact sentences of the documents, in the blocks of the request's style.

    What is `shown` already is left out. Where none comes near enough to the best one, that one is quoted. A
    sentence that refers back ("It ...") comes with the one before it. Headings are set in bold on a line
    of their own. The answer is empty where the documents hold no readable sentence. An image is shown by its
    description, and no tag is left that a page would act on; the quotes of the citations stay exact.
    """
    sentences = request.answer_sentences
    ranking = Ranking(sentences, request.question) if sentences else None
    blocks = request.style.arrange(request, ranking) if ranking else []
    blocks = [block for block in blocks if block.sentences]
    # Views that were looked for in vain are no reason to quote something else.
    if ranking and not blocks and request.style.arrange is not by_side:
        scores = ranking.score(request.question, request.question_vector)
        blocks = [Block(ranking.choose(scores, 1, -math.inf))]
    told = {(citation["source"], citation["start"]) for citation in shown}
    blocks = [replace(block, sentences=_untold(request, block, told)) for block in blocks]
    blocks = [block for block in blocks if block.sentences]
    text, _ = keep_own_links("\n\n".join(_format_block(request, block) for block in blocks), None)
    return ExtractedAnswer(
        text,
        [
            cite_span(request.documents[s.document], s.document + 1, s.start, s.end)
            for block in blocks
            for s in block.sentences
        ],
    )


def _untold(request: AnswerRequest, block: Block, told: Collection[tuple[str, int]]) -> list[AnswerSentence]:
    return [s for s in block.sentences if (request.documents[s.document]["source"], s.start) not in told]


def _format_block(request: AnswerRequest, block: Block) -> str:
    lines: list[str] = []
    before: tuple[AnswerSentence, str | None] | None = None
    for number, sentence in enumerate(block.sentences, start=1):
        # A message names its own.
        said_by = request.contributions[sentence.document]
        speaker = None if sentence.alone else said_by.speaker_at(sentence.start, sentence.text)
        same = before is not None and speaker is not None and speaker == before[1]
        goes_on = same or (before is not None and sentence.is_beside(before[0]))
        # The marker stands after what leads to a block of code, and the block on lines of its own.
        said, fence, code = _said(sentence, speaker, named=not same).partition(f"\n{CODE_FENCE}\n")
        shown = f"{said} {write_marker(sentence.document + 1)}{fence}{code}"
        if block.numbered:
            lines.append(f"{number}. {shown}")
        elif lines and (goes_on or not block.listed) and not lines[-1].endswith(CODE_FENCE):
            lines[-1] += f" {shown}"
        else:
            lines.append(f"- {shown}" if block.listed else shown)
        before = sentence, speaker
    heading = [f"**{block.heading}**"] if block.heading else []
    body = "\n".join([*heading, *lines])
    return f"{block.opening}\n\n{body}" if block.opening else body


def _said(sentence: AnswerSentence, speaker: str | None, *, named: bool) -> str:
    """Return a sentence on one line, quoted where its speaker is known; a block of code keeps its lines."""
    text = without_label(sentence.text) if speaker else sentence.text
    if not text.endswith(f"\n{CODE_FENCE}"):
        text = " ".join(text.split())
    # A bracketed number of the sentence's own would read as a marker of ours.
    text = respell_markers(text)
    if speaker is None:
        return text
    return f"{speaker}: “{text}”" if named else f"“{text}”"
