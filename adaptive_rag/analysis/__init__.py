"""Question -> QueryAnalysis: what kind of question it is, how sure we are, and why."""

from __future__ import annotations

from adaptive_rag.analysis.analyse import UNSURE_THRESHOLD, analyse, analyse_batch

__all__ = ["UNSURE_THRESHOLD", "analyse", "analyse_batch"]
