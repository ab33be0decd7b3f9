"""Which sentence leads an answer, and which are left out beside it: rules that several strategies share."""

from __future__ import annotations

import numpy as np

from adaptive_rag.answer.ranking import AROUND, READABLE, Ranking
from adaptive_rag.answer.relations import asks_about_the_text, speaks_of_the_text
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.query.follow_up import own_words
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import coverage, words

# Taken from a sentence that speaks of the text itself, or that the last answers said already: it is left out
# where there is anything else.
OF_THE_TEXT = 1.0
# Added to what follows the lead in its paragraph: on both halves of CLAP NQ more of the reference is covered
# in as many words.
FOLLOWS = 0.3


def of_the_follow_up(request: AnswerRequest, ranking: Ranking) -> Scores:
    """Return what a follow-up's own words add to each sentence, and what is taken where it was said before.

    "And when did it close?" after its opening asks for a sentence that says "closed", and does not want the
    opening again. What was said before stays where it names what is asked now: "is it in stock?".
    """
    own = own_words(request.question)
    if not (own and request.said):
        return np.zeros(len(ranking.sentences))
    named = np.array([coverage(own, set(s.terms)) for s in ranking.sentences])
    told = _plain(request.said)
    # Of a row another cell may have been shown, but its name was.
    said = np.array([_plain(s.cells[0][1] if s.cells else s.text) in told for s in ranking.sentences])
    return np.asarray(AROUND * named - OF_THE_TEXT * said * (1 - named))


def _plain(text: str) -> str:
    return " ".join(words(text))


def best_readable(ranking: Ranking, scores: Scores) -> int:
    """Return the index of the sentence that leads: the best one that can be read."""
    readable = np.array([s.quality >= READABLE for s in ranking.sentences])
    return int(np.argmax(np.where(readable, scores, -np.inf) if readable.any() else scores))


def off_the_matter(request: AnswerRequest, ranking: Ranking) -> Scores:
    """Return 1 for each sentence that speaks of the text itself, unless the question does, else 0."""
    asked = asks_about_the_text(request.question)
    return np.array([float(not asked and speaks_of_the_text(s.text)) for s in ranking.sentences])
