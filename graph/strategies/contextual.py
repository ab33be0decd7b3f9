"""Contextual questions: the user's situation and the conversation enter the query and the scoring."""

from __future__ import annotations

from adaptive_rag.answer.styles import CONTEXTUAL_STYLE
from adaptive_rag.graph.strategies.strategy import Strategy, build_pipeline
from adaptive_rag.nodes import contextualize, rerank
from adaptive_rag.rank.window import ReadingBudget

READING = ReadingBudget(tokens=1000, least=4, most=10)

STRATEGY = Strategy(
    name="contextual",
    purpose="what applies to the asker",
    build=lambda: build_pipeline(contextualize.given(reading=READING), rerank.given(reading=READING)),
    style=CONTEXTUAL_STYLE,
    colour="#7d55b8",
)
