"""Beside the query analysis: says what spoke for each type, and what would have to differ for another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis import router
from adaptive_rag.analysis.analyse import analyse, analyse_batch
from adaptive_rag.analysis.features import KINDS, Question, find_kind, spell_letters, take_apart
from adaptive_rag.analysis.learned import load_learned
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import QUERY_TYPES, QueryType, Turn

if TYPE_CHECKING:
    from adaptive_rag.models.onnx import Vectors

# A question is retried without each of its first words, up to so many.
MAX_TRIALS = 24

# How the topic of a question would be asked about, had another type been meant.
_REWORDINGS: dict[QueryType, tuple[str, ...]] = {
    "factual": ("What is {topic}?", "When was {topic}?", "How many {topic} are there?"),
    "analytical": ("How does {topic} work, and why?", "What causes {topic}?", "Explain {topic}."),
    "opinion": ("What are the different views on {topic}?", "Should {topic} be allowed?"),
    "contextual": ("What does {topic} mean for me in my situation?", "Should I worry about {topic}?"),
}


class Reason(NamedTuple):
    """One thing in a question and how much it spoke for a type, against the mean of the four."""

    what: str
    weight: float


class Change(NamedTuple):
    """One way to alter a question, and the probability that the asked-for type then has."""

    what: str
    question: str
    probability: float
    wins: bool


class WhyNot(NamedTuple):
    """Why a question is not of a type: what spoke against it and for it, and what would change it."""

    type: QueryType
    decided: QueryType
    probability: float
    decided_probability: float
    against: list[Reason]
    in_favour: list[Reason]
    changes: list[Change]


def explain_contributions(
    question: str,
    *,
    user_context: str = "",
    history: Sequence[Turn] = (),
    vector: Vectors | None = None,
    limit: int = 6,
) -> dict[QueryType, list[Reason]]:
    """List, for each type, what in the question spoke most for it: the linear model's own terms."""
    reasons = _weigh(take_apart(question, user_context, history), vector)
    explained: dict[QueryType, list[Reason]] = {}
    for column, query_type in enumerate(QUERY_TYPES):
        ranked = sorted(reasons.items(), key=lambda item: -float(item[1][column]))
        explained[query_type] = [
            Reason(what, round(float(weights[column]), 4))
            for what, weights in ranked[:limit]
            if weights[column] > 0.02
        ]
    return explained


def why_not(
    question: str,
    query_type: str,
    *,
    user_context: str = "",
    history: Sequence[Turn] = (),
    limit: int = 6,
) -> WhyNot:
    """Say what would have had to differ for a question to be of a type.

    Words are left out one at a time and the topic is asked about in other ways; each variant is analysed.

    Raises:
        ConfigurationError: the type is none of the four.
    """
    if query_type not in QUERY_TYPES:
        raise ConfigurationError(
            f"type = {query_type!r} is not known; expected one of {', '.join(QUERY_TYPES)}."
        )
    wanted: QueryType = query_type
    analysis = analyse(question, user_context=user_context, history=history)
    decided = analysis["type"]
    part = take_apart(question, user_context, history)
    reasons = _weigh(part, None)
    row, best = QUERY_TYPES.index(wanted), QUERY_TYPES.index(decided)
    gaps = {what: float(weights[best] - weights[row]) for what, weights in reasons.items()}
    ranked = sorted(gaps.items(), key=lambda item: -item[1])
    return WhyNot(
        type=wanted,
        decided=decided,
        probability=analysis["probabilities"][wanted],
        decided_probability=analysis["probabilities"][decided],
        against=[Reason(what, round(gap, 4)) for what, gap in ranked[:limit] if gap > 0.02],
        in_favour=[Reason(what, round(-gap, 4)) for what, gap in reversed(ranked[-limit:]) if gap < -0.02],
        changes=[] if wanted == decided else _try_changes(part, wanted, user_context, history)[:limit],
    )


def _try_changes(
    part: Question, wanted: QueryType, user_context: str, history: Sequence[Turn]
) -> list[Change]:
    variants: list[tuple[str, str]] = []
    words = part.text.split()
    for i, word in enumerate(words[:MAX_TRIALS]):
        if len(words) > 1:
            variants.append((f"without {word.strip('?.,!')!r}", " ".join(words[:i] + words[i + 1 :])))
    topic = " ".join(word for word in part.words if word not in lx.SHAPE_WORDS)
    if topic:
        variants += [("asked as", form.format(topic=topic)) for form in _REWORDINGS[wanted]]
    if history:
        variants.append(("without the conversation", part.text))
    if user_context:
        variants.append(("without the context", part.text))
    contexts = ["" if what == "without the context" else user_context for what, _ in variants]
    histories: list[Sequence[Turn]] = [
        () if what == "without the conversation" else history for what, _ in variants
    ]
    results = analyse_batch([text for _, text in variants], user_contexts=contexts, histories=histories)
    changes = [
        Change(what, text, result["probabilities"][wanted], result["type"] == wanted)
        for (what, text), result in zip(variants, results, strict=True)
    ]
    return sorted(changes, key=lambda change: (not change.wins, -change.probability))


def _weigh(part: Question, vector: Vectors | None) -> dict[str, router.Floats]:
    """Give what each readable part of a question added to the four scores, less their mean."""
    if vector is None or part.altered:
        from adaptive_rag.models.onnx import load_minilm

        vector = load_minilm().encode([part.text])[0]
    scored = router.score(router.load_router(), part, vector, load_learned())
    weights: dict[str, router.Floats] = defaultdict(lambda: np.zeros(len(QUERY_TYPES), dtype=np.float32))
    for family, names, scores in scored.contributions:
        centred = scores - scores.mean(axis=1, keepdims=True)
        for name, row in zip(names, centred, strict=True):
            for label, share in _label(family, name, part, scored.features["form"]):
                weights[label] += row * share
    return dict(weights)


def _label(family: str, name: str, part: Question, form: dict[str, float]) -> list[tuple[str, float]]:
    """Name a feature for a reader; a run of letters is shared among the words that hold it."""
    if family == "letters":
        holders = [word for word in dict.fromkeys(part.words) if name in spell_letters(word)]
        return [(f'"{word}"', 1 / len(holders)) for word in holders]
    if family == "embedding":
        return [(f"the meaning, for a question of the kind {KINDS[find_kind(form)]!r}", 1.0)]
    if family in ("form", "learned"):
        return [(name, 1.0)]
    phrase = name.removeprefix("< ").removesuffix(" >").replace("_", "…")
    place = " at the start" if name.startswith("< ") else " at the end" if name.endswith(" >") else ""
    return [(f'"{phrase}"{place}', 1.0)]
