"""Opinion questions: every side matters, so each viewpoint is searched for and each side is represented."""

from __future__ import annotations

from adaptive_rag.answer.styles import OPINION_STYLE
from adaptive_rag.graph.strategies.strategy import Strategy, build_fan_out
from adaptive_rag.nodes import balance, viewpoints
from adaptive_rag.rank.window import ReadingBudget

# Views on a subject are far apart in long documents, so eight full chunks are read instead of four.
READING = ReadingBudget(tokens=2000, least=4, most=24, drops_weak=False)

STRATEGY = Strategy(
    name="opinion",
    purpose="the sides of a debate",
    build=lambda: build_fan_out(viewpoints, balance.given(reading=READING)),
    style=OPINION_STYLE,
    colour="#c06a1f",
)
