"""The answer to a question for a fact: the sentence that gives it, and what completes it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from adaptive_rag.answer.follow_up import of_the_follow_up
from adaptive_rag.answer.forms import expected_form
from adaptive_rag.answer.lead import FOLLOWS
from adaptive_rag.answer.ranking import Flags, Ranking
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import coverage, terms, weighted_terms

# A sentence that has the date, number or name asked for leads where it reaches this share of the best score:
# "how much would closing the street cost" is answered by the cost, not by the proposal to close it.
FITTING = 0.8


def factual(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the sentence that answers, and others only where they answer what it leaves open.

    Where a date, a number or a name is asked for, a sentence that has it leads.
    """
    scores = ranking.score(request.question, request.question_vector) + of_the_follow_up(request, ranking)
    nearest, nearness = ranking.sentences[int(np.argmax(scores))], request.style.nearness
    least = nearness * float(scores.max())
    scores[~ranking.showable] = -np.inf
    if nearest.quality > 0 and scores.max() < least:
        # No sentence comes near the row or the label that answers: "Next meeting: 12 November, 7.30 pm".
        return [Block([nearest])]
    asked = request.question.partition("\n")[0]
    fits = (ranking.fit(request.question) == 1) & expected_form(request.question).is_sure
    best = _lead(scores, fits)
    highest = max(scores[best], 0.0)  # so that the best one is shown even where all score below 0
    joins, goes_on = _joining(ranking, best, asked, fits)
    scores = np.where(joins, scores + FOLLOWS * goes_on, -np.inf)
    scores[_other_rows(ranking, best, asked)] = -np.inf
    scores[best] = max(highest, scores.max())
    return [Block(ranking.choose(scores, 1 + request.style.sentences, nearness * highest, known=True))]


def _lead(scores: Scores, fits: Flags) -> int:
    """Return the index of the best sentence that has the form asked for, where it comes near the best."""
    fitting = int(np.argmax(np.where(fits, scores, -np.inf)))
    best = int(np.argmax(scores))
    return fitting if fits[fitting] and scores[fitting] >= FITTING * scores[best] else best


def _joining(ranking: Ranking, best: int, question: str, fits: Flags) -> tuple[Flags, Flags]:
    """Tell which sentences may be shown with the best one, and which of them go on from it.

    A sentence joins that names what the question names and the best one lacks; from another passage it has
    to name more of it. Where the best one has the date, number or name that is asked for, so has a sentence
    that joins. Where it may not answer, its passage's sentences that name as much join too, and the next one
    that refers back to it or has what was asked for: "It in turn evolved into Modern English."
    """
    weights, lead = weighted_terms(question), ranking.sentences[best]
    lacks = {term: weight for term, weight in weights.items() if term not in lead.terms}
    named = np.array([coverage(weights, set(s.terms)) for s in ranking.sentences])
    here = np.array([s.document == lead.document for s in ranking.sentences])
    adds = np.array([coverage(lacks, set(s.terms)) > 0 for s in ranking.sentences])
    adds &= here | (named > named[best])
    if fits[best]:
        return adds & fits, np.zeros_like(fits)
    follows = here & np.array([s.position == lead.position + 1 for s in ranking.sentences])
    goes_on = follows & (fits | np.array([s.refers_back for s in ranking.sentences]))
    return adds | goes_on | here & (named >= named[best]), goes_on


def _other_rows(ranking: Ranking, best: int, question: str) -> Flags:
    """Tell which rows are about something else than the best one: they name less of the question.

    In "11-speed cassette" the number counts with the word beside it: "9-speed, 11-34" lacks it.
    """
    weights, pairs = weighted_terms(question), _numbered(terms(question))
    named = np.array(
        [
            coverage(weights, set(s.terms)) + len(pairs & _numbered(s.terms)) if s.cells else 0.0
            for s in ranking.sentences
        ]
    )
    rows = np.array([bool(s.cells) for s in ranking.sentences])
    return np.asarray(rows[best] & rows & (named < named[best]))


def _numbered(words: Sequence[str]) -> set[tuple[str, str]]:
    return {pair for pair in pairwise(words) if any(word[0].isdigit() for word in pair)}


# A fact stands in a document or not. `benchmarks/evidence.py` chose `evidence` and `wording` of each style.
FACTUAL_STYLE = AnswerStyle(arrange=factual, evidence=0.5, nearness=0.9, splits=True)
