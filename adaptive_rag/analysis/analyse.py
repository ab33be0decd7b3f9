"""Analyses questions for the classify step; deterministic, without an index or a network connection."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.ontology import Ontology
from adaptive_rag.analysis.parse import ParsedQuestion, parse_question
from adaptive_rag.analysis.router import Floats, load_learned, load_router
from adaptive_rag.analysis.traits import find_entities, find_intent, measure_complexity
from adaptive_rag.state import ROUTED_TYPES, Phrase, QueryAnalysis, Turn
from adaptive_rag.text.phrases import join_reasons, say
from adaptive_rag.text.vectors import softmax

# The router is unsure if the likeliest type has a lower probability; see the curve in docs/routing.md.
UNSURE_THRESHOLD = 0.6
# The domain relevance if there is no ontology: neither in the domain nor outside it.
NEUTRAL_RELEVANCE = 0.5
LOWEST_CONFIDENCE, HIGHEST_CONFIDENCE = 0.2, 0.9
# Weights of the factors of the confidence. The last three measure how well the question works as a query.
_FACTORS = {"type probability": 0.5, "margin": 0.15, "specificity": 0.15, "references": 0.1, "domain": 0.1}

# Signs of program code.
_CODE = re.compile(
    r"^\s*(?:def|class|import|from|function|const|let|var|public|private|static|#include|SELECT|INSERT|<\?php|<html)\b"
    r"|[{};]\s*$|=>|\breturn\b.*[;)]|==|\+\+|->|\w\(\w*\)\s*[:{;]",
    re.MULTILINE,
)


def analyse(
    question: str,
    *,
    user_context: str = "",
    history: Sequence[Turn] = (),
    ontology: Ontology | None = None,
    threshold: float = UNSURE_THRESHOLD,
    low_confidence: float = 0.0,
    learned: Path | None = None,
) -> QueryAnalysis:
    """Analyse one question.

    Args:
        question: what the user asked.
        user_context: what the user says about themselves.
        history: the conversation before the question, oldest first.
        ontology: terms of the domain, for the domain relevance.
        threshold: the router is unsure if the likeliest type has a probability below this.
        low_confidence: the router is also unsure if the confidence is below this.
        learned: the file with the weights learned from use; by default the user's own.
    """
    parsed = parse_question(question, user_context, history)
    return _analyse_parsed(parsed, ontology, (threshold, low_confidence), learned)


def analyse_batch(
    questions: Sequence[str],
    *,
    user_contexts: Sequence[str] | None = None,
    histories: Sequence[Sequence[Turn]] | None = None,
    ontology: Ontology | None = None,
    threshold: float = UNSURE_THRESHOLD,
    low_confidence: float = 0.0,
) -> list[QueryAnalysis]:
    """Analyse several questions."""
    contexts, turns = user_contexts or [""] * len(questions), histories or [()] * len(questions)
    parsed = [parse_question(*item) for item in zip(questions, contexts, turns, strict=True)]
    return [_analyse_parsed(question, ontology, (threshold, low_confidence)) for question in parsed]


def _analyse_parsed(
    question: ParsedQuestion,
    ontology: Ontology | None,
    limits: tuple[float, float],
    learned: Path | None = None,
) -> QueryAnalysis:
    routed = load_router().score(question.full_text, question.user_context)
    weights = load_learned(learned)
    scores = routed.total if weights is None else routed.total + weights.score(routed.vector)
    doubt, doubt_code = find_doubt(question.text, question.words)
    # A doubt moves the probabilities towards equal ones.
    probabilities = softmax(scores) * (1 - doubt) + doubt / len(scores)
    order = np.argsort(-probabilities, kind="stable")[:2]
    best, second = (ROUTED_TYPES[i] for i in order)
    best_share, second_share = probabilities[order].tolist()
    entities = find_entities(question.text)
    relevance = ontology.relevance(question.text) if ontology else None
    confidence, factors = measure_confidence(question, probabilities, entities, relevance, doubt)
    threshold, low_confidence = limits
    verdict, unsure = say("type_at", type=best, share=best_share), None
    if confidence < low_confidence:
        unsure = say("confidence_under", confidence=confidence, limit=low_confidence)
    if best_share < threshold:
        unsure = say("share_under", share=best_share, limit=threshold)
    if unsure:
        shares = {"share": best_share, "other_share": second_share}
        verdict = say("unsure_between", type=best, other_type=second, **shares, why=unsure)
    reasons = [verdict, *_other_reasons(question, doubt_code)]
    return {
        "type": best,
        "probabilities": dict(zip(ROUTED_TYPES, probabilities.tolist(), strict=True)),
        "intent": find_intent(question.words, best),
        "complexity": measure_complexity(question.words, question.text, best, entities),
        "entities": entities,
        "ontology_terms": ontology.find_terms(question.text) if ontology else {},
        "domain_relevance": NEUTRAL_RELEVANCE if relevance is None else relevance,
        "confidence": confidence,
        "factors": factors,
        "decided_by": "hedge" if unsure else "local",
        "reason": join_reasons(reasons),
        "reasons": reasons,
        "alternatives": [second] if unsure else [],
        "is_personal": not lx.FIRST_PERSON.isdisjoint(question.words),
    }


def _other_reasons(question: ParsedQuestion, doubt_code: str) -> list[Phrase]:
    reasons = [say(doubt_code)] if doubt_code else []
    if dangling := question.references.dangling:
        code = "points_at_user" if question.user_context.strip() else "points_at_nothing"
        reasons.append(say("points_back" if question.has_history else code, word=repr(dangling[0])))
    elif question.has_history and not question.references.openers:
        reasons.append(say("stands_alone"))
    if question.instruction_removed:
        reasons.append(say("instruction_set_aside"))
    return reasons


def find_doubt(text: str, words: tuple[str, ...]) -> tuple[float, str]:
    """Return how little the router can be trusted with a text (0 to 1), and the code of the reason."""
    letters = [character for character in text if character.isalpha()]
    if not letters:
        return 1.0, "no_words"
    if sum(character.isascii() for character in letters) < 0.6 * len(letters):
        return 0.9, "not_english"
    foreign = sum(word in lx.FOREIGN_WORDS for word in words)
    if foreign and foreign > sum(word in lx.ENGLISH_WORDS for word in words):
        return 0.9, "hardly_english"
    if len(words) == 1 and words[0] not in lx.SHAPE_WORDS:
        return 0.7, "one_word"
    if len(_CODE.findall(text)) >= 2 and lx.WH_WORDS.isdisjoint(words):
        return 0.6, "like_code"
    return 0.0, ""


def measure_confidence(
    question: ParsedQuestion, probabilities: Floats, entities: list[str], domain: float | None, doubt: float
) -> tuple[float, dict[str, float]]:
    """Return the confidence, between 0.2 and 0.9, and its factors, each between 0 and 1.

    Without an ontology, `domain` is None and has no factor.
    """
    second, first = sorted(probabilities.tolist())[-2:]
    references = 1.0
    if question.references.dangling or question.references.openers:
        references = 0.7 if question.has_history or question.user_context.strip() else 0.0
    factors: dict[str, float] = {
        # The probability by chance is one in four.
        "type probability": max((first - 0.25) / 0.75, 0.0),
        "margin": first - second,
        "specificity": min((len(set(question.words) - lx.SHAPE_WORDS) + len(entities)) / 5, 1.0),
        "references": references,
    }
    if domain is not None:
        factors["domain"] = domain
    weight = sum(_FACTORS[name] for name in factors)
    mean = sum(_FACTORS[name] * value for name, value in factors.items()) / weight
    confidence = LOWEST_CONFIDENCE + (HIGHEST_CONFIDENCE - LOWEST_CONFIDENCE) * (mean * (1 - doubt))
    if doubt:
        factors["readable"] = 1 - doubt
    return round(confidence, 4), {name: round(value, 4) for name, value in factors.items()}
