"""Factual questions: one exact passage matters, so the query is rewritten and weak candidates are dropped."""

from __future__ import annotations

from adaptive_rag.answer.styles import FACTUAL_STYLE
from adaptive_rag.graph.strategies.strategy import Strategy, build_pipeline
from adaptive_rag.nodes import enhance, rerank
from adaptive_rag.rank.window import ReadingBudget

READING = ReadingBudget(tokens=1000, least=4, most=8)

STRATEGY = Strategy(
    name="factual",
    purpose="one exact passage",
    build=lambda: build_pipeline(enhance.given(reading=READING), rerank.given(reading=READING)),
    style=FACTUAL_STYLE,
    colour="#2f6fb3",
)
