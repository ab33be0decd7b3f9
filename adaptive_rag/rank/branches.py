"""Joins the results of the branches of a fan-out: by rank, or in the order of the branches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adaptive_rag.search.fusion import fuse_rankings, with_scores
from adaptive_rag.state import Candidate, Hit

# Weight of each sub-question, where the question itself has 1, and the smoothing of reciprocal ranks. Chosen
# on the public analytical questions with a strong model's sub-questions; see docs/calls.md for the effect.
BRANCH_WEIGHT, SMOOTHING = 0.2, 10
# A chunk is labelled with the sub-questions and viewpoints whose search has it among the first LABELLED.
LABELLED = 5


def attribute(candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Candidate]:
    """Return the candidates, each labelled with the branches whose search ranks it high, the best rank first.

    The searches of all viewpoints find much the same chunks, but they rank them differently. Each hit has its
    candidates best first.
    """
    ranks = {
        hit["label"]: {c["id"]: rank for rank, c in enumerate(hit["candidates"][:LABELLED])}
        for hit in hits
        if hit["label"] is not None
    }

    def labels_of(id_: str) -> list[str]:
        labels = [label for label, rank in ranks.items() if id_ in rank]
        return sorted(labels, key=lambda label: ranks[label][id_])

    return [{**candidate, "labels": labels_of(candidate["id"])} for candidate in candidates]


def join_by_rank(hits: Sequence[Hit]) -> list[Candidate]:
    """Return the candidates of all branches, each chunk once, ordered by their ranks in the branches.

    relevance = 10 * joined / best, where joined = sum over the branches of weight / (SMOOTHING + rank) and
    the question's own branch has weight 1: a passage that one sub-question ranks first may be far from the
    question as a whole. Each chunk is labelled with the sub-questions that rank it high, the best rank first.
    The question's own hit is first; the candidates of each hit are in the order of relevance to its text.
    """
    weights = [1.0 if hit["label"] is None else BRANCH_WEIGHT for hit in hits]
    rankings = [hit["candidates"] for hit in hits]
    joined = fuse_rankings(rankings, weights, name="joined", smoothing=SMOOTHING)
    best = max((candidate["scores"]["joined"] for candidate in joined), default=1.0)
    scored = [with_scores(c, relevance=10 * c["scores"]["joined"] / best) for c in joined]
    return attribute(scored, hits)


def take_in_turn(hits: Sequence[Hit], k: int) -> list[Candidate]:
    """Return the results of the sub-questions, one sub-question after the other, each text once.

    If they are fewer than k, results of the question's own search fill them up.
    """
    return _fill_up(_without_repeats(_label(hits)), hits, k)


def take_first_of_each(hits: Sequence[Hit], k: int) -> list[Candidate]:
    """Return the first result of each viewpoint, then the rest by their cosine, each text once.

    If they are fewer than k, results of the question's own search fill them up.
    """
    branches = [hit for hit in hits if hit["label"] is not None]
    firsts = [Hit(**{**hit, "candidates": hit["candidates"][:1]}) for hit in branches]
    rest = [Hit(**{**hit, "candidates": hit["candidates"][1:]}) for hit in branches]
    nearest = sorted(_label(rest), key=lambda candidate: -candidate["scores"]["dense"])
    return _fill_up(_without_repeats([*_label(firsts), *nearest]), hits, k)


def _fill_up(results: list[Candidate], hits: Sequence[Hit], k: int) -> list[Candidate]:
    """Return the results; if they are fewer than k, with results of the question's own search."""
    if len(results) >= k:
        return results
    own_results = (candidate for hit in hits if hit["label"] is None for candidate in hit["candidates"])
    return _without_repeats([*results, *own_results])[:k]


def _label(hits: Sequence[Hit]) -> list[Candidate]:
    """Return the candidates of the labelled branches, each with its branch's label."""
    return [
        {**candidate, "labels": [hit["label"]]}
        for hit in hits
        if hit["label"] is not None
        for candidate in hit["candidates"]
    ]


def _without_repeats(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the first candidate with each text."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate["text"], candidate)
    return list(first.values())
