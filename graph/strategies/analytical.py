"""Analytical questions: several aspects matter, so more passages are read; sub-questions are a setting."""

from __future__ import annotations

from adaptive_rag.answer.styles import ANALYTICAL_STYLE
from adaptive_rag.graph.strategies.strategy import Strategy, build_fan_out
from adaptive_rag.nodes import decompose, diversify
from adaptive_rag.rank.window import ReadingBudget

READING = ReadingBudget(tokens=1000, least=4, most=16, drops_weak=False)

STRATEGY = Strategy(
    name="analytical",
    purpose="several aspects of one matter",
    build=lambda: build_fan_out(decompose, diversify.given(reading=READING)),
    style=ANALYTICAL_STYLE,
    colour="#2f8f6b",
)
