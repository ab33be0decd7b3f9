"""Procedural questions: the steps of one manual, in their order."""

from __future__ import annotations

import numpy as np

from adaptive_rag.answer.choose import choose
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.graph.strategies.strategy import Strategy, build_pipeline
from adaptive_rag.nodes import enhance, rerank


def steps_in_order(request: AnswerRequest, scored: ScoredSentences) -> list[Block]:
    """Show the best sentences of the best passage as numbered steps, in the order of the manual."""
    best = scored.sentences[int(np.argmax(scored.scores))].document
    same = np.array([sentence.document == best for sentence in scored.sentences])
    scores = np.where(same, scored.scores, -np.inf)
    chosen = choose(scored, scores, request.style.quotes)
    return [Block(sorted(chosen, key=lambda sentence: sentence.start), numbered=True)]


STRATEGY = Strategy(
    name="procedural",
    purpose="the steps of a manual, in order",
    build=lambda: build_pipeline(enhance, rerank),
    style=AnswerStyle(
        arrange=steps_in_order,
        quotes=6,
        instruction="This question asks for a procedure. Give its steps as a numbered list, in their order.",
    ),
    colour="#a33a5b",
    routable=False,
)
