"""Weighs meaning against words: alpha, the weight of the dense score, by what the question is."""

from __future__ import annotations

from adaptive_rag.state import Intent, QueryAnalysis

ALPHA_BY_INTENT: dict[Intent, float] = {
    "factual": 0.5,
    "technical": 0.5,
    "procedural": 0.5,
    "troubleshooting": 0.5,
    "conceptual": 0.8,
    "comparison": 0.8,
}


def choose_alpha(analysis: QueryAnalysis) -> tuple[float, str]:
    """Return alpha for an analysed question, and why."""
    alpha = ALPHA_BY_INTENT[analysis["intent"]]
    return alpha, f"intent {analysis['intent']}"
