"""Explains the type of a question: what counted for each type."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from adaptive_rag.analysis.features import KINDS, Features, find_kind, letter_runs
from adaptive_rag.analysis.parse import ParsedQuestion, parse_question
from adaptive_rag.analysis.router import Floats, embed_questions, load_learned, load_router
from adaptive_rag.state import ROUTED_TYPES, RoutedType

# Maximum number of reasons that are reported, and the minimum weight of a reason.
MAX_REASONS, MIN_WEIGHT = 6, 0.02


@dataclass(frozen=True)
class Reason:
    """A part of a question and its weight for a type, compared with the other types."""

    what: str
    weight: float


def explain_contributions(question: str, *, user_context: str = "") -> dict[RoutedType, list[Reason]]:
    """Return, for each type, the parts of a question that counted most for it in the linear model."""
    weights = _weights(parse_question(question, user_context))
    return {
        query_type: _strongest({what: row[i] for what, row in weights.items()})
        for i, query_type in enumerate(ROUTED_TYPES)
    }


def _strongest(weights: dict[str, np.float32]) -> list[Reason]:
    ranked = sorted(weights.items(), key=lambda item: -item[1])[:MAX_REASONS]
    return [Reason(what, round(float(weight), 4)) for what, weight in ranked if weight > MIN_WEIGHT]


def _weights(parsed: ParsedQuestion) -> dict[str, Floats]:
    """Return what each readable part of a question added to the four scores, minus their mean."""
    [vector] = embed_questions([parsed])
    scores = load_router().score(parsed, vector, load_learned())
    weights: dict[str, Floats] = defaultdict(lambda: np.zeros(len(ROUTED_TYPES), dtype=np.float32))
    for family, names, added in scores.contributions:
        centred = added - added.mean(axis=1, keepdims=True)
        for name, row in zip(names, centred, strict=True):
            for label in (labels := _labels(family, name, parsed, scores.features)):
                weights[label] += row * (1 / len(labels))
    return dict(weights)


def _labels(family: str, name: str, parsed: ParsedQuestion, features: Features) -> list[str]:
    """Return readable names of a feature; a run of letters is named by all words that contain it."""
    if family == "letters":
        return [f'"{word}"' for word in dict.fromkeys(parsed.words) if name in letter_runs(word)]
    if family == "embedding":
        return [f"the meaning, for a question of the kind {KINDS[find_kind(features['form'])]!r}"]
    if family in ("form", "learned"):
        return [name]
    phrase = name.removeprefix("< ").removesuffix(" >").replace("_", "…")
    place = " at the start" if name.startswith("< ") else " at the end" if name.endswith(" >") else ""
    return [f'"{phrase}"{place}']
