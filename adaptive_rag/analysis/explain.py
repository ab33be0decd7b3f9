"""Explains the type of a question: what counted for each type, and which variants have another type."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.analyse import analyse_batch
from adaptive_rag.analysis.features import KINDS, Features, find_kind, letter_runs
from adaptive_rag.analysis.parse import ParsedQuestion, parse_question
from adaptive_rag.analysis.question_types import TYPES
from adaptive_rag.analysis.router import Floats, embed_questions, load_learned, load_router
from adaptive_rag.analysis.wording import adjust_by_wording
from adaptive_rag.context.groups import RoutingSettings
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import ROUTED_TYPES, QueryAnalysis, RoutedType

# How many of its first words are left out, one at a time, to analyse a question again.
MAX_TRIALS = 24
# Maximum number of reasons and of changes that are reported, and the minimum weight of a reason.
MAX_REASONS, MIN_WEIGHT = 6, 0.02


@dataclass(frozen=True)
class Reason:
    """A part of a question and its weight for a type, compared with the other types."""

    what: str
    weight: float


@dataclass(frozen=True)
class Change:
    """A variant of a question, its probability of the wanted type, and whether that type wins."""

    what: str
    question: str
    probability: float
    wins: bool


@dataclass(frozen=True)
class WhyNot:
    """Why a question is not of a type: what counted against it and for it, and what would change that."""

    type: RoutedType
    decided: str
    probability: float
    decided_probability: float
    against: list[Reason]
    in_favour: list[Reason]
    changes: list[Change]


def explain_contributions(question: str, *, user_context: str = "") -> dict[RoutedType, list[Reason]]:
    """Return, for each type, the parts of a question that counted most for it in the linear model."""
    weights = _weights(parse_question(question, user_context))
    return {
        query_type: _strongest({what: row[i] for what, row in weights.items()})
        for i, query_type in enumerate(ROUTED_TYPES)
    }


def why_not(question: str, query_type: str, *, user_context: str = "") -> WhyNot:
    """Explain why a question is not of a type, and which changes would give it that type.

    The variants that are analysed leave out one word each, or ask about the topic in another way.

    Raises:
        ConfigurationError: the type is not one of the four.
    """
    if query_type not in ROUTED_TYPES:
        raise ConfigurationError(
            f"type = {query_type!r} is not known; expected one of {', '.join(ROUTED_TYPES)}."
        )
    [analysis] = _analyse([question], [user_context])
    decided = analysis["type"]
    parsed = parse_question(question, user_context)
    i, best = ROUTED_TYPES.index(query_type), ROUTED_TYPES.index(decided)
    gaps = {what: row[best] - row[i] for what, row in _weights(parsed).items()}
    changes = [] if query_type == decided else _try_changes(parsed, query_type, user_context)
    return WhyNot(
        type=query_type,
        decided=decided,
        probability=analysis["probabilities"][query_type],
        decided_probability=analysis["probabilities"][decided],
        against=_strongest(gaps),
        in_favour=_strongest({what: -gap for what, gap in reversed(gaps.items())}),
        changes=changes[:MAX_REASONS],
    )


def _strongest(weights: dict[str, np.float32]) -> list[Reason]:
    ranked = sorted(weights.items(), key=lambda item: -item[1])[:MAX_REASONS]
    return [Reason(what, round(float(weight), 4)) for what, weight in ranked if weight > MIN_WEIGHT]


def _try_changes(parsed: ParsedQuestion, wanted: RoutedType, user_context: str) -> list[Change]:
    """Analyse variants of a question, and return those with the wanted type first."""
    words = parsed.text.split()
    variants: list[tuple[str, str]] = []
    for i, word in enumerate(words[:MAX_TRIALS] if len(words) > 1 else []):
        variants.append((f"without {word.strip('?.,!')!r}", " ".join(words[:i] + words[i + 1 :])))
    if topic := " ".join(word for word in parsed.words if word not in lx.SHAPE_WORDS):
        variants += [("asked as", rewording.format(topic=topic)) for rewording in TYPES[wanted].rewordings]
    if user_context:
        variants.append(("without the context", parsed.text))
    results = _analyse(
        [text for _, text in variants],
        ["" if what == "without the context" else user_context for what, _ in variants],
    )
    changes = [
        Change(what, text, result["probabilities"][wanted], result["type"] == wanted)
        for (what, text), result in zip(variants, results, strict=True)
    ]
    return sorted(changes, key=lambda change: (not change.wins, -change.probability))


def _analyse(questions: Sequence[str], contexts: Sequence[str]) -> list[QueryAnalysis]:
    """Analyse questions without a conversation, as `ask` does by default."""
    analyses = analyse_batch(questions, user_contexts=contexts)
    return [
        adjust_by_wording(analysis, question, context, (), RoutingSettings(), situated=bool(context))
        for analysis, question, context in zip(analyses, questions, contexts, strict=True)
    ]


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
