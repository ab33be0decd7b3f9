"""Decides how many of the ranked candidates reach the answer, and joins those that lie side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adaptive_rag.context import Context, Profile
from adaptive_rag.state import Candidate, Complexity, Decision, QueryAnalysis

BASE: dict[Profile, int] = {"conservative": 3, "balanced": 5, "aggressive": 8}
BY_COMPLEXITY: dict[Complexity, float] = {"basic": 0.8, "intermediate": 1.0, "advanced": 1.3}
CHARACTERS_PER_TOKEN = 4  # of English text, on average
RANKED_BY = ("relevance", "hedged", "fused")


def window_size(context: Context, analysis: QueryAnalysis) -> tuple[int, str]:
    """Return how many chunks to keep, and why."""
    if context.profile is None:
        return context.k, "k"
    size = BASE[context.profile] * BY_COMPLEXITY[analysis["complexity"]]
    relevance = analysis["domain_relevance"]
    size *= 1.1 if relevance > 0.8 else 0.7 if relevance < 0.3 else 1.0
    return max(1, round(size)), f"{context.profile} profile, {analysis['complexity']} question"


def threshold(scores: Sequence[float]) -> float:
    """Return the score under which a candidate is dropped: mean - standard deviation of all of them."""
    return float(np.mean(scores) - np.std(scores)) if scores else 0.0


def keep_window(
    candidates: Sequence[Candidate],
    context: Context,
    analysis: QueryAnalysis,
    *,
    cut_at: float | None = None,
    token_budget: int | None = None,
) -> tuple[list[Candidate], list[Decision]]:
    """Return the first candidates, and the decisions for the trace; one is kept whatever it scores.

    Args:
        candidates: ranked, best first.
        context: the run's settings; `window` switches the threshold.
        analysis: complexity and domain relevance set the size where a profile is given.
        cut_at: the threshold, where it was taken from more candidates than these.
        token_budget: tokens that the kept texts may have together.
    """
    size, why = window_size(context, analysis)
    kept = list(candidates[:size])
    decisions = [Decision(what="window", chosen=size, why=why)]
    if context.window and kept:
        limit = threshold([_score(candidate) for candidate in candidates]) if cut_at is None else cut_at
        strong = [candidate for candidate in kept if _score(candidate) >= limit] or kept[:1]
        if len(strong) < len(kept):
            decisions.append(
                Decision(what="window", chosen=len(strong), why=f"the others score under {limit:.3f}")
            )
        kept = strong
    if token_budget is not None:
        fitting = within_budget(kept, token_budget)
        if len(fitting) < len(kept):
            why = f"more would exceed {token_budget} tokens"
            decisions.append(Decision(what="window", chosen=len(fitting), why=why))
        kept = fitting
    return kept, decisions


def within_budget(
    candidates: Sequence[Candidate], tokens: int, count: Callable[[str], int] | None = None
) -> list[Candidate]:
    """Return the first candidates whose texts fit into a number of tokens together, never fewer than one."""
    count = count or (lambda text: -(-len(text) // CHARACTERS_PER_TOKEN))
    spent = 0
    for kept, candidate in enumerate(candidates):
        spent += count(candidate["text"])
        if spent > tokens and kept:
            return list(candidates[:kept])
    return list(candidates)


def join_neighbours(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Join chunks of one source whose spans overlap or touch into one passage, at the best one's rank.

    A passage keeps every joined span under `metadata["spans"]`, and the highest of each score.
    A chunk whose text is not the plain text of its span stays as it is.
    """
    passages: list[Candidate] = []
    for candidate in candidates:
        joined = candidate
        at = len(passages)
        # What is joined may now touch a further passage: look again until none does.
        while (i := next((i for i, p in enumerate(passages) if _touch(p, joined)), None)) is not None:
            found = passages.pop(i)
            joined = _join(found, joined) if i < at else _join(joined, found)
            at = min(at, i)
        passages.insert(min(at, len(passages)), joined)
    return passages


def _touch(a: Candidate, b: Candidate) -> bool:
    plain = all(len(c["text"]) == c["end"] - c["start"] for c in (a, b))
    return plain and a["source"] == b["source"] and max(a["start"], b["start"]) <= min(a["end"], b["end"])


def _join(better: Candidate, other: Candidate) -> Candidate:
    first, second = sorted((better, other), key=lambda c: (c["start"], c["end"]))
    text = first["text"] + second["text"][max(0, first["end"] - second["start"]) :]
    scores = {
        name: max(c["scores"][name] for c in (better, other) if name in c["scores"])
        for name in {**better["scores"], **other["scores"]}
    }
    spans = [s for c in (first, second) for s in c["metadata"].get("spans", [[c["start"], c["end"]]])]
    return {
        **better,
        "page": first["page"],
        "start": first["start"],
        "end": first["start"] + len(text),
        "text": text,
        "scores": scores,
        "labels": list(dict.fromkeys([*better["labels"], *other["labels"]])),
        "metadata": {**better["metadata"], "spans": sorted(spans)},
    }


def _score(candidate: Candidate) -> float:
    scores = candidate["scores"]
    return next((scores[name] for name in RANKED_BY if name in scores), 0.0)
