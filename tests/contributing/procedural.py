"""Procedural questions: the steps of one manual, in their order."""

from __future__ import annotations

import numpy as np

from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.graph.strategies.strategy import Strategy, build_pipeline
from adaptive_rag.nodes import enhance, rerank

STEPS = 6


def steps_in_order(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the best sentences of the best passage as numbered steps, in the order of the manual."""
    scores = ranking.score(request.question, request.question_vector)
    best = ranking.sentences[int(np.argmax(scores))].document
    same = np.array([sentence.document == best for sentence in ranking.sentences])
    chosen = ranking.choose(np.where(same, scores, -np.inf), STEPS, request.style.nearness * scores.max())
    return [Block(sorted(chosen, key=lambda sentence: sentence.start), numbered=True)]


STRATEGY = Strategy(
    name="procedural",
    purpose="the steps of a manual, in order",
    build=lambda: build_pipeline(enhance, rerank),
    style=AnswerStyle(
        arrange=steps_in_order,
        evidence=0.2,
        nearness=0.3,
        instruction="This question asks for a procedure. Give its steps as a numbered list, in their order.",
    ),
    colour="#a33a5b",
    routable=False,
)
