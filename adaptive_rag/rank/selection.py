"""Selects a set that is relevant and says different things: locally, or by the chat model's choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from pydantic import BaseModel, Field

from adaptive_rag.context.groups import Diversity, Selection
from adaptive_rag.llm.numbers import read_numbers
from adaptive_rag.llm.passages import cut_texts, format_passages
from adaptive_rag.llm.replies import pick
from adaptive_rag.llm.request import Asking, Request
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Scores, Vectors, cosines, min_max

# Candidates that a model chooses from, for each that it is to choose, and characters of their texts.
MODEL_READS = 2
SELECTION_BUDGET = 8_000
# Two relevant texts say the same with probability one half near a cosine of SAME, and surely above it.
# Read off one collection of one-sentence opinions in the embedded model; another model needs its own.
SAME, SOFTNESS = 0.82, 0.04
DISCOUNT = 0.6  # what a text that says the same again loses of its worth
# Below it diversity costs relevance where passages do not overlap; at it, only near-repeats step back.
MMR_WEIGHT = 0.95
SHARPNESS = 3.0  # relevance is raised to it: how strictly relevance goes before novelty

Selector: TypeAlias = Callable[[Vectors, Sequence[float], int], list[int]]


def cover(vectors: Vectors, relevance: Sequence[float], k: int) -> list[int]:
    """Return the indices of k items, each the best by relevance times what is still unsaid of it.

    Greedy maximisation of expected alpha-nDCG (Clarke et al., SIGIR 2008): an item is worth
    relevance^SHARPNESS times, for each item chosen before it, 1 - DISCOUNT * P(both say the same);
    the probability is a logistic function of their cosine. Only near-paraphrases are held back, so that
    items on the same topic do not crowd each other out as they do in maximal marginal relevance.
    """
    worth = _scaled(relevance) ** SHARPNESS
    same = 1 / (1 + np.exp(-(cosines(vectors, vectors) - SAME) / SOFTNESS))
    unsaid = np.ones(len(worth))

    def say(best: int) -> None:
        unsaid[:] *= 1 - DISCOUNT * same[best]

    return _greedy(k, lambda: worth * unsaid, say)


def maximal_marginal_relevance(
    vectors: Vectors, relevance: Sequence[float], k: int, *, weight: float = MMR_WEIGHT
) -> list[int]:
    """Return the indices of k items, each the best by weight * relevance - (1 - weight) * redundancy.

    Redundancy is the greatest cosine with an item chosen before. Carbonell and Goldstein, SIGIR 1998.
    """
    scaled = _scaled(relevance)
    redundancy = np.zeros(len(scaled))

    def repeat(best: int) -> None:
        np.maximum(redundancy, cosines(vectors, vectors[best][None])[:, 0], out=redundancy)

    return _greedy(k, lambda: weight * scaled - (1 - weight) * redundancy, repeat)


def facility_location(
    vectors: Vectors, relevance: Sequence[float], k: int, *, weight: float = 0.7
) -> list[int]:
    """Return the indices of k items that are relevant and stand for the relevant mass of all of them.

    Greedy for weight * relevance + (1 - weight) * gain in sum_i relevance_i * max_j cos(i, j), scaled to
    the best gain; a monotone submodular function (Lin and Bilmes, ACL 2011).
    """
    scaled = _scaled(relevance)
    similarity = np.maximum(cosines(vectors, vectors), 0)
    covered = np.zeros(len(scaled))

    def worth() -> Scores:
        gain = (np.maximum(similarity - covered, 0) * scaled).sum(axis=1)
        return np.asarray(weight * scaled + (1 - weight) * min_max(gain))

    return _greedy(k, worth, lambda best: np.maximum(covered, similarity[best], out=covered))


def most_relevant(vectors: Vectors, relevance: Sequence[float], k: int) -> list[int]:
    """Return the indices of the k most relevant items."""
    return [int(i) for i in np.argsort(-np.array(relevance, dtype=np.float64), kind="stable")[:k]]


def _scaled(relevance: Sequence[float]) -> Scores:
    return min_max(np.array(relevance, dtype=np.float64))


def _greedy(k: int, worth: Callable[[], Scores], chosen_one: Callable[[int], object]) -> list[int]:
    """Choose k items, each the one that is worth most then; `chosen_one` is told of each."""
    chosen: list[int] = []
    for _ in range(min(k, len(worth()))):
        value = worth()
        value[chosen] = -np.inf
        chosen.append(int(value.argmax()))
        chosen_one(chosen[-1])
    return chosen


SELECTORS: dict[Diversity, Selector] = {
    "coverage": cover,
    "mmr": maximal_marginal_relevance,
    "facility-location": facility_location,
    "none": most_relevant,
}


class PassageChoice(BaseModel):
    """Numbers of the chosen passages, best first, counted from 1 as the prompt numbers them."""

    passages: list[int] = Field(max_length=200, description="Numbers of the chosen passages, best first.")


def select(
    question: str,
    candidates: list[Candidate],
    local: list[Candidate],
    selection: Selection,
    characters: int | None = None,
) -> Asking[tuple[list[Candidate], bool]]:
    """Return the set that a model chose, where the setting asks for it and it did; else the local one.

    A model's choice is filled up from the local one. The second value says whether the set is the model's.
    `characters` of each text are shown to it; None shows what fits.
    """
    if selection != "model":
        return local, False
    # What was selected locally is always among what the model reads.
    ids = {candidate["id"] for candidate in local}
    read = [*local, *(c for c in candidates if c["id"] not in ids)][: MODEL_READS * len(local)]
    [reply] = yield [ask_to_select(question, cut_texts(read, characters), len(local))]
    if reply.result is None:
        return local, False
    numbers = dict.fromkeys([*reply.result.passages, *range(1, len(local) + 1)])
    return [read[number - 1] for number in numbers][: len(local)], True


def ask_to_select(
    question: str, candidates: Sequence[Candidate], k: int, *, budget: int = SELECTION_BUDGET
) -> Request[PassageChoice]:
    """Ask the model to choose k candidates; `budget` counts characters of passages."""
    n = len(candidates)

    def check(result: PassageChoice) -> PassageChoice:
        """Drop numbers that name no passage; a choice of nothing else is refused."""
        named = [number for number in result.passages if 1 <= number <= n]
        if not named:
            raise ValueError(f"passages are numbered 1 to {n}, got {result.passages!r}")
        return PassageChoice(passages=named)

    def read(value: Any) -> dict[str, Any]:
        if isinstance(value, Mapping):
            value = pick(value, "passages", "selection", "selected", "indices", "chosen", "numbers")
        return {"passages": read_numbers(value, n)}

    return Request(
        "select",
        PassageChoice,
        values=lambda: {
            "question": question,
            "k": str(k),
            "n": str(n),
            "passages": format_passages(candidates, budget),
        },
        read=read,
        check=check,
        bounds={
            "passages": {
                "items": {"type": "integer", "minimum": 1, "maximum": n},
                "minItems": 1,
                "maxItems": min(k, n),
            }
        },
        shortened=lambda: ask_to_select(question, candidates, k, budget=budget // 3),
        by_setting=True,
        optional=True,
    )
