"""The analysis that the classify step runs: pure, deterministic, without an index or a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from adaptive_rag.analysis import router
from adaptive_rag.analysis.complexity import measure_complexity
from adaptive_rag.analysis.confidence import combine
from adaptive_rag.analysis.entities import find_entities
from adaptive_rag.analysis.features import Question, take_apart
from adaptive_rag.analysis.intent import find_intent
from adaptive_rag.analysis.language import find_doubt
from adaptive_rag.analysis.learned import Learned, load_learned
from adaptive_rag.state import QUERY_TYPES, QueryAnalysis, QueryType, Turn

if TYPE_CHECKING:
    from adaptive_rag.analysis.ontology import Ontology
    from adaptive_rag.models.onnx import Vectors

# Below this probability of the likeliest type the question is unsure: ask a model, or hedge.
UNSURE_THRESHOLD = 0.6

# The domain relevance where no ontology is given: neither near the domain nor far from it.
NEUTRAL_RELEVANCE = 0.5


def analyse(
    question: str,
    *,
    user_context: str = "",
    history: Sequence[Turn] = (),
    vector: Vectors | None = None,
    ontology: Ontology | None = None,
    threshold: float | None = None,
) -> QueryAnalysis:
    """Analyse one question.

    Args:
        question: what the user asked.
        user_context: what the user says of themselves.
        history: the conversation before the question, oldest first.
        vector: the question's unit vector (384,) from the embedded MiniLM, where the caller has it.
        ontology: terms of the domain, for the domain relevance.
        threshold: the probability below which to hedge; default `UNSURE_THRESHOLD`.
    """
    apart = take_apart(question, user_context, history)
    vectors = None if vector is None or apart.altered else np.asarray(vector, dtype=np.float32)[None]
    return _analyse_all([apart], vectors, ontology, threshold)[0]


def analyse_batch(
    questions: Sequence[str],
    *,
    user_contexts: Sequence[str] | None = None,
    histories: Sequence[Sequence[Turn]] | None = None,
    ontology: Ontology | None = None,
    threshold: float | None = None,
) -> list[QueryAnalysis]:
    """Analyse many questions, embedding them together."""
    contexts = user_contexts if user_contexts is not None else [""] * len(questions)
    turns = histories if histories is not None else [()] * len(questions)
    parts = [take_apart(*item) for item in zip(questions, contexts, turns, strict=True)]
    return _analyse_all(parts, None, ontology, threshold)


def _analyse_all(
    parts: list[Question], vectors: Vectors | None, ontology: Ontology | None, threshold: float | None
) -> list[QueryAnalysis]:
    if vectors is None:
        from adaptive_rag.models.onnx import load_minilm

        vectors = load_minilm().encode([part.text for part in parts])
    limit = UNSURE_THRESHOLD if threshold is None else threshold
    judge = _Judge(router.load_router(), load_learned(), ontology, limit)
    return [judge(part, vector) for part, vector in zip(parts, vectors, strict=True)]


class _Judge(NamedTuple):
    """What all questions of one call are judged with."""

    model: router.Router
    learned: Learned | None
    ontology: Ontology | None
    limit: float

    def __call__(self, part: Question, vector: Vectors) -> QueryAnalysis:
        scores = router.score(self.model, part, vector, self.learned).total
        doubt = find_doubt(part.text, part.words)
        spread = router.softmax(scores) * (1 - doubt.weight) + doubt.weight / len(scores)
        order = np.argsort(-spread, kind="stable")
        best, second = (QUERY_TYPES[i] for i in order[:2])
        top = float(spread[order[0]])
        entities = find_entities(part.text)
        relevance = self.ontology.relevance(part.text) if self.ontology else None
        confidence, factors = combine(part, spread, entities, relevance, doubt.weight)
        return {
            "type": best,
            "probabilities": cast(dict[QueryType, float], router.by_type(spread)),
            "intent": find_intent(part.words, best),
            "complexity": measure_complexity(part.words, part.text, best, entities)[0],
            "entities": entities,
            "ontology_terms": self.ontology.find_terms(part.text) if self.ontology else {},
            "domain_relevance": NEUTRAL_RELEVANCE if relevance is None else relevance,
            "confidence": confidence,
            "factors": factors,
            "decided_by": "hedge" if top < self.limit else "local",
            "reason": _reason(part, best, second, top, self.limit, doubt.reason),
            "alternatives": [second] if top < self.limit else [],
        }


def _reason(part: Question, best: str, second: str, top: float, limit: float, doubt: str) -> str:
    parts = []
    if top < limit:
        parts.append(f"unsure: {best} at {top:.2f} is under {limit:.2f}, so {best} and {second} are both run")
    else:
        parts.append(f"{best} at {top:.2f}")
    if doubt:
        parts.append(doubt)
    if part.references.dangling:
        word = part.references.dangling[0]
        if part.has_history:
            parts.append(f"{word!r} points back at the conversation")
        elif part.user_context.strip():
            parts.append(f"{word!r} points at the user's context")
        else:
            parts.append(f"it has a reference without antecedent ({word!r}) and there is no history")
    elif part.has_history and not part.references.openers:
        parts.append("it stands alone in the conversation")
    if part.orders_removed:
        parts.append("an instruction about its own type was set aside")
    return "; ".join(parts)
