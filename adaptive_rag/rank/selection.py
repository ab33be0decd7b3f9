"""Selects relevant and diverse passages: locally, or by the chat model's choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from adaptive_rag.context.groups import Selection
from adaptive_rag.llm.numbers import read_numbers
from adaptive_rag.llm.passages import cut_texts, format_passages
from adaptive_rag.llm.replies import pick
from adaptive_rag.llm.request import Asking, Request
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Vectors, cosines, min_max

# Candidates that a model reads for each one it chooses, and the characters of all their texts.
MODEL_READS = 2
SELECTION_BUDGET = 8_000
# Two relevant texts say the same with probability one half at a cosine near SAME, and surely well above it.
# Measured on one collection of one-sentence opinions with the embedded model; other models need other values.
SAME, SOFTNESS = 0.82, 0.04
DISCOUNT = 0.6  # share of its value that a text loses if it repeats another
SHARPNESS = 3.0  # exponent of relevance: how strictly relevance comes before novelty


def cover(vectors: Vectors, relevance: Sequence[float], k: int) -> list[int]:
    """Return the indices of k items, each the best by relevance times novelty.

    Greedy maximisation of expected alpha-nDCG (Clarke et al., SIGIR 2008): the value of an item is
    relevance^SHARPNESS times 1 - DISCOUNT * P(both say the same) for each item chosen before it; the
    probability is a logistic function of their cosine. Only near-paraphrases are held back, so that
    items on the same topic do not crowd each other out as they do in maximal marginal relevance.
    """
    values = min_max(np.array(relevance, dtype=np.float64)) ** SHARPNESS
    same = 1 / (1 + np.exp(-(cosines(vectors, vectors) - SAME) / SOFTNESS))
    novelty = np.ones(len(values))
    chosen: list[int] = []
    for _ in range(min(k, len(values))):
        current = values * novelty
        current[chosen] = -np.inf
        best = int(current.argmax())
        chosen.append(best)
        novelty *= 1 - DISCOUNT * same[best]
    return chosen


def compare(kept: Sequence[Candidate], relevant: Sequence[Candidate]) -> str:
    """Say for the trace how a selection differs from the first of the candidates, given best first."""
    chosen = [candidate["id"] for candidate in kept]
    best = [candidate["id"] for candidate in relevant[: len(kept)]]
    if replaced := len(set(chosen) - set(best)):
        return f"{replaced} of {len(chosen)} passages replace more relevant ones"
    if chosen != best:
        return "these are the most relevant passages, in another order"
    return "it changed nothing: these are the most relevant passages"


class PassageChoice(BaseModel):
    """Numbers of the chosen passages, best first, counted from 1 as the prompt numbers them."""

    passages: list[int] = Field(description="Numbers of the chosen passages, best first.")


def select(
    question: str,
    candidates: list[Candidate],
    local: list[Candidate],
    selection: Selection,
    characters: int | None = None,
) -> Asking[tuple[list[Candidate], bool]]:
    """Return the set that a model chose, if the setting asks for it and the model replied, or the local set.

    A model's choice is filled up from the local one. The second value says whether the set is the model's.
    `characters` of each text are shown to the model; None shows what fits.
    """
    if selection != "model" or not local:
        return local, False
    # The model always reads the local selection too.
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
        """Drop numbers that name no passage; raise ValueError if none remain."""
        known = [number for number in result.passages if 1 <= number <= n]
        if not known:
            raise ValueError(f"passages are numbered 1 to {n}, got {result.passages!r}")
        return PassageChoice(passages=known)

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
