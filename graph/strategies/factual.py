"""Factual questions: one exact passage counts, so the query is sharpened and ranking is strict."""

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
