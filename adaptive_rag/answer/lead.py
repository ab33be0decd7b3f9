"""Which sentence leads an answer, and which are left out beside it: rules that several strategies share."""

from __future__ import annotations

import numpy as np

from adaptive_rag.answer.ranking import READABLE, Flags, Ranking
from adaptive_rag.answer.relations import asks_about_the_text, asks_for_steps, speaks_of_the_text
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import coverage, terms, weighted_terms

# Taken from a sentence that is left out where there is anything else: it speaks of the text itself, was said
# before, or is a row where prose is asked for.
LEFT_OUT = 1.0
# Added to what follows the lead in its paragraph: on both halves of CLAP NQ more of the reference is covered
# in as many words.
FOLLOWS = 0.3


def best_readable(ranking: Ranking, scores: Scores) -> int:
    """Return the index of the best sentence that can be read."""
    readable = np.array([s.quality >= READABLE for s in ranking.sentences])
    return int(np.argmax(np.where(readable, scores, -np.inf) if readable.any() else scores))


def lead_of(request: AnswerRequest, ranking: Ranking, scores: Scores) -> int:
    """Return the index of the sentence that leads: the best one, or what its section begins with.

    Where it is asked what to do, and a heading alone names for whom ("If you run a café"), its advice is
    given from the beginning.
    """
    lead = best_readable(ranking, scores)
    best = ranking.sentences[lead]
    asked = set(weighted_terms(request.question))
    if (
        not asks_for_steps(request.question)
        or asked & set(best.terms)
        or not asked & set(terms(best.heading))
    ):
        return lead
    section = (best.document, best.heading)
    return next(
        i
        for i, s in enumerate(ranking.sentences)
        if (s.document, s.heading) == section and (s.quality >= READABLE or s is best) and scores[i] > -np.inf
    )


def off_the_matter(request: AnswerRequest, ranking: Ranking) -> Scores:
    """Return 1 for each sentence that speaks of the text itself, unless the question does, else 0."""
    asked = asks_about_the_text(request.question)
    return np.array([float(not asked and speaks_of_the_text(s.text)) for s in ranking.sentences])


def rows_beside_the_question(request: AnswerRequest, ranking: Ranking) -> Flags:
    """Tell which rows name less of the question than another sentence; shape (sentences,)."""
    weights = weighted_terms(request.question)
    named = np.array([coverage(weights, set(s.terms)) if s.quality else 0.0 for s in ranking.sentences])
    return np.asarray(np.array([bool(s.cells) for s in ranking.sentences]) & (named < named.max()))
