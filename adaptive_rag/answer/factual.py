"""The answer to a question for a fact: the sentence that gives it, and what completes it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.follow_up import of_the_follow_up
from adaptive_rag.answer.forms import expected_form
from adaptive_rag.answer.ranking import READABLE, Ranking
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import coverage, terms, weighted_terms

# Where the best sentence lacks the date, number or name asked for, a neighbour that has it gets this share of
# its score.
COMPLETES = 0.9
# One farther off in the document is shown too where it reaches this share of the best one's.
FARTHEST = 0.75
# A sentence beside one that has the date, number or name asked for must come nearer to it by this share.
ANSWERED = 0.06
# What each word costs a sentence beside the best one: a short one is read at little cost.
PER_WORD = 0.002


def factual(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the sentence that answers best, and others where they come close to it.

    Where a date, a number or a name is asked for and the best one lacks it, a sentence near it that has it
    is shown too: "The borehole stood in Saltpan Road. It was closed in 2019."
    """
    scores = ranking.score(request.question, request.question_vector) + of_the_follow_up(request, ranking)
    nearest, nearness = ranking.sentences[int(np.argmax(scores))], request.style.nearness
    least = nearness * float(scores.max())
    scores[~ranking.showable] = -np.inf
    if nearest.quality > 0 and scores.max() < least:
        # No sentence comes near the row or the label that answers: "Next meeting: 12 November, 7.30 pm".
        return [Block([nearest])]
    completing = _completing(ranking, scores, request.question)
    best = int(np.argmax(scores))
    highest = max(scores[best], 0.0)  # so that the best one is shown even where all score below 0
    if expected_form(request.question).is_sure and completing is None:
        nearness += ANSWERED
    scores -= PER_WORD * np.array([len(s.text.split()) for s in ranking.sentences])
    scores[best] = highest
    if completing is not None:
        scores[completing] = max(scores[completing], COMPLETES * highest)
    scores[_other_rows(ranking, best, request.question.partition("\n")[0])] = -np.inf
    limit = 1 + request.style.sentences
    return [Block(ranking.choose(scores, limit, nearness * highest, known=True))]


def _completing(ranking: Ranking, scores: Scores, question: str) -> int | None:
    """Return the index of a sentence near the best one that has the date, number or name which it lacks."""
    expected, asked = expected_form(question), set(terms(question))
    best = ranking.sentences[int(np.argmax(scores))]
    if not expected.is_sure or expected.fit(best.text, asked) == 1:
        return None
    beside = {
        s.position - best.position: i for i, s in enumerate(ranking.sentences) if s.document == best.document
    }
    for i in (beside[step] for step in (1, 2, -1, 3, -2, 4) if step in beside):
        s = ranking.sentences[i]
        if s.quality >= READABLE and expected.fit(s.text, asked) == 1:
            return i
    if expected.fit(best.text, asked) > 0:
        return None
    fitting = [
        score if s.document == best.document and expected.fit(s.text, asked) == 1 else -np.inf
        for s, score in zip(ranking.sentences, scores, strict=True)
    ]
    far = int(np.argmax(fitting))
    return far if fitting[far] >= FARTHEST * scores.max() else None


def _other_rows(ranking: Ranking, best: int, question: str) -> NDArray[np.bool_]:
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
FACTUAL_STYLE = AnswerStyle(arrange=factual, evidence=0.5, nearness=0.82, splits=True)
