"""Fuses scores and rankings: by vector and by words, of several branches, and of two strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adaptive_rag.context.groups import AlphaKey, Fusion
from adaptive_rag.state import Candidate, Hit, QueryAnalysis
from adaptive_rag.text.vectors import Scores, min_max

RRF_K = 60  # Cormack, Clarke and Buettcher (SIGIR 2009)

# Alpha, the weight of the vector score, falls linearly from questions whose words do not distinguish chunks
# to those whose words single out one. Chosen by cross-validation over data sets; words always count a little.
ALPHA_START, ALPHA_SLOPE = 1.0, 0.6
HIGHEST_ALPHA = 0.95
IN_DOMAIN_ALPHA = 0.8
OPINION_ALPHA = 0.8
# Alpha by intent, and by whether an ontology places the question in its domain or outside. The bounds also
# apply to a caller's own entries. For intents that are not in the table, the words decide.
ALPHA_TABLE: dict[AlphaKey, float] = {
    "technical": 0.5,
    "procedural": 0.5,
    "conceptual": 0.8,
    "comparison": 0.8,
    "in-domain": 0.8,
    "off-domain": 0.5,
}
ALPHA_BOUNDS = 0.3, 0.9
# Domain relevance above which a question is in the domain, and below which it is outside.
IN_DOMAIN, OFF_DOMAIN = 0.8, 0.3
# The ranks (from 0) with which the best hit by words is compared: close to it, and not just the runner-up.
RIVALS = slice(4, 10)
# Total weight of the branches of a fan-out; the question's own search has weight 1.
BRANCH_WEIGHT = 0.5


def reciprocal_rank(scores: Scores) -> Scores:
    """Return 1 / (60 + rank) for each score; the best has rank 1."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.asarray(1 / (RRF_K + ranks))


def fuse(candidates: Sequence[Candidate], *, method: Fusion, alpha: float) -> list[Candidate]:
    """Return the candidates with `scores["fused"]`, best first."""
    dense = np.array([candidate["scores"]["dense"] for candidate in candidates])
    sparse = word_scores(candidates)
    if method == "dense":
        fused = dense
    elif method == "sparse":
        fused = sparse
    elif method == "reciprocal-rank":
        fused = reciprocal_rank(dense) + reciprocal_rank(sparse)
    else:
        fused = alpha * min_max(dense) + (1 - alpha) * min_max(sparse)
    return order_by(fused, candidates)


def word_scores(candidates: Sequence[Candidate]) -> Scores:
    """Return the word score of each candidate: BM25 combined with TF-IDF if present, else BM25."""
    names = ("words" if "words" in candidate["scores"] else "sparse" for candidate in candidates)
    return np.array([candidate["scores"][name] for candidate, name in zip(candidates, names, strict=True)])


def order_by(fused: Scores, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with these scores as `scores["fused"]`, best first."""
    order = np.argsort(-fused, kind="stable")
    return [with_scores(candidates[i], fused=float(fused[i])) for i in order]


def word_margin(sparse: Scores) -> float | None:
    """Return how far the best hit by words is above its rivals, as a share of its score.

    Near 1, the question's words single out one chunk. Near 0, many chunks contain them, and the vectors
    must decide which one answers. Among fewer than ten candidates, which are a whole small index, all others
    are rivals. If fewer than ten of many contain any of the words, there is no margin: a question phrased in
    other words than its answer matches at most stray words, and there are no rivals. This is a measure of
    query clarity after retrieval, as in Shtok et al. (TOIS 2012).
    """
    ranked = np.sort(sparse)[::-1]
    is_small = len(ranked) < RIVALS.stop
    matching = int((ranked > 0).sum())
    if matching < (1 if is_small else RIVALS.stop) or len(ranked) < 2:
        return None
    rivals = ranked[1:] if is_small else ranked[RIVALS]
    return float((ranked[0] - rivals.mean()) / ranked[0])


def choose_alpha(sparse: Scores, analysis: QueryAnalysis) -> tuple[float, str]:
    """Return alpha for a question's candidates, and why.

    If an ontology knows the question's terms (relevance above 0.8), alpha is at least 0.8.
    """
    margin = word_margin(sparse)
    alpha, why = ALPHA_START, "too few passages hold the question's words to compare them"
    if margin is not None:
        alpha -= ALPHA_SLOPE * margin
        why = f"the best hit by words stands {margin:.0%} above its rivals"
    if analysis["ontology_terms"] and analysis["domain_relevance"] > IN_DOMAIN:
        alpha, why = max(alpha, IN_DOMAIN_ALPHA), f"{why}, in the domain"
    return min(alpha, HIGHEST_ALPHA), why


def alpha_by_intent(
    analysis: QueryAnalysis, own: Mapping[AlphaKey, float] | None = None
) -> tuple[float, str] | None:
    """Return alpha by the question's intent and domain, and why; None if the table has neither.

    If both have an entry, alpha is their mean. Entries of `own` replace those of the table. A relevance
    that no ontology measured is 0.5, which is neither in the domain nor outside.
    """
    relevance = analysis["domain_relevance"]
    domain: AlphaKey | None = None
    if relevance > IN_DOMAIN:
        domain = "in-domain"
    elif relevance < OFF_DOMAIN:
        domain = "off-domain"
    table = {**ALPHA_TABLE, **(own or {})}
    alphas = {key: table[key] for key in (analysis["intent"], domain) if key is not None and key in table}
    if not alphas:
        return None
    entries = " and ".join(f"{key} {alpha:.2f}" for key, alpha in alphas.items())
    return bound_alpha(sum(alphas.values()) / len(alphas), f"by intent and domain: {entries}")


def bound_alpha(alpha: float, why: str) -> tuple[float, str]:
    """Return alpha within the bounds of the table, and the reason."""
    low, high = ALPHA_BOUNDS
    bounded = min(max(alpha, low), high)
    return bounded, why if bounded == alpha else f"{why}, held between {low} and {high}"


def join_branches(hits: Sequence[Hit]) -> list[Candidate]:
    """Return the candidates of all branches, best first, each chunk once.

    The first branch searches for the question itself, and its fused score has weight 1. The mean of the
    other branches' scores (0 where a branch did not find the chunk) has weight BRANCH_WEIGHT. If the best
    score of any branch were kept instead, a sub-question that went astray could fill the top ranks.
    """
    ordered = sorted(hits, key=lambda hit: hit["order"])
    if not ordered:
        return []
    first: dict[str, Candidate] = {}
    fused: dict[str, float] = {}
    labels: dict[str, dict[str, None]] = {}
    for number, hit in enumerate(ordered):
        share = 1.0 if number == 0 else BRANCH_WEIGHT / (len(ordered) - 1)
        for candidate in hit["candidates"]:
            id_ = candidate["id"]
            first.setdefault(id_, candidate)
            fused[id_] = fused.get(id_, 0.0) + share * candidate["scores"]["fused"]
            labels.setdefault(id_, {}).update(dict.fromkeys(candidate["labels"]))
    return [
        {**with_scores(first[id_], fused=fused[id_]), "labels": list(labels[id_])}
        for id_ in sorted(first, key=lambda id_: -fused[id_])
    ]


def fuse_rankings(
    rankings: Sequence[Sequence[Candidate]],
    weights: Sequence[float],
    *,
    name: str = "hedged",
    smoothing: int = RRF_K,
) -> list[Candidate]:
    """Fuse rankings by weighted reciprocal rank, weight / (smoothing + rank), as `scores[name]`.

    The other scores of a chunk come from the first ranking that contains it, its labels from all of them.
    """
    fused: dict[str, Candidate] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, candidate in enumerate(ranking, start=1):
            first = fused.get(candidate["id"]) or with_scores(candidate, **{name: 0.0})
            score = first["scores"][name] + weight / (smoothing + rank)
            labels = list(dict.fromkeys([*first["labels"], *candidate["labels"]]))
            fused[candidate["id"]] = {**with_scores(first, **{name: score}), "labels": labels}
    return sorted(fused.values(), key=lambda candidate: -candidate["scores"][name])


def with_scores(candidate: Candidate, **scores: float) -> Candidate:
    """Return a copy of a candidate with additional scores."""
    return {**candidate, "scores": {**candidate["scores"], **scores}}
