"""Weighs meaning against words: alpha, the weight of the dense score, by how far the words can be trusted."""

from __future__ import annotations

import numpy as np

from adaptive_rag.rank.features import Scores
from adaptive_rag.state import QueryAnalysis

# A straight line from a question whose words tell nothing apart to one whose words single out a chunk,
# chosen by cross-validation over data sets; words always count a little.
START, SLOPE = 1.0, 0.6
HIGHEST = 0.95
IN_DOMAIN_ALPHA = 0.8
OPINION_ALPHA = 0.8
# The ranks with which the best one is compared: near enough to compete, not the runner-up alone.
RIVALS = slice(4, 10)


def word_margin(sparse: Scores) -> float:
    """Return how far the best hit by words stands above its rivals, as a share of its score.

    Near 1 the question's words single out one chunk; near 0 many chunks hold them, and which one answers
    is for the meaning to say. Where fewer than ten chunks hold any of the words there are no rivals to
    stand above: a question in other words than its answer meets a stray word at best, and the margin is 0.
    A measure of query clarity after retrieval, as in Shtok et al. (TOIS 2012).

    Args:
        sparse: BM25 of all candidates, in any order.
    """
    held = np.sort(sparse[sparse > 0])[::-1]
    if len(held) < RIVALS.stop:
        return 0.0
    return float((held[0] - held[RIVALS].mean()) / held[0])


def choose_alpha(sparse: Scores, analysis: QueryAnalysis) -> tuple[float, str]:
    """Return alpha for a question's candidates, and why.

    Where an ontology knows the question's terms (relevance above 0.8) meaning counts at least 0.8.
    """
    margin = word_margin(sparse)
    alpha, why = START - SLOPE * margin, f"the best hit by words stands {margin:.0%} above its rivals"
    if analysis["ontology_terms"] and analysis["domain_relevance"] > 0.8:
        alpha, why = max(alpha, IN_DOMAIN_ALPHA), f"{why}, in the domain"
    return min(alpha, HIGHEST), why
