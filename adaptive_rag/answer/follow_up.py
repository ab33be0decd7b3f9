"""What a follow-up adds to the scores: its own words, near the last answer, and nothing told twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptive_rag.answer.forms import expected_form
from adaptive_rag.answer.lead import LEFT_OUT
from adaptive_rag.answer.ranking import AROUND, Ranking
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.query.follow_up import own_words
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import coverage, terms, words


def of_the_follow_up(request: AnswerRequest, ranking: Ranking) -> Scores:
    """Return what is added to each sentence for a follow-up, and taken where it was said before.

    "And when did it close?" after its opening asks for a sentence that says "closed", where the opening was
    told, and does not want the opening again. What was said before stays where it names what is asked now
    ("is it in stock?"), or holds a form that was not asked for before ("and what did it cost?").
    """
    if not (request.said and "\n" in request.question):
        return np.zeros(len(ranking.sentences))
    own = own_words(request.question)
    named = np.array([coverage(own, set(s.terms)) for s in ranking.sentences])
    # Of a row another cell may have been shown, but its name was.
    texts = [_plain(s.cells[0][1] if s.cells else s.text) for s in ranking.sentences]
    told = _plain("\n".join(request.said))
    said = np.array([text in told for text in texts])
    expected, asked = expected_form(request.question), set(terms(request.question))
    if expected.is_sure and expected.form != expected_form(request.asked_before).form:
        said &= np.array([expected.fit(s.text, asked) < 1 for s in ranking.sentences])
    away = _distance(request, ranking, texts, _plain(request.said[-1]))
    return np.asarray(AROUND * (named - away) - LEFT_OUT * said * (1 - named))


def _distance(request: AnswerRequest, ranking: Ranking, texts: Sequence[str], answer: str) -> Scores:
    """Return 0 for the section that an answer begins with, 0.5 for the rest of its document, 1 for others."""
    places = [(answer.find(text), i) for i, text in enumerate(texts) if text in answer]
    if not places:
        return np.zeros(len(texts))
    first = ranking.sentences[min(places)[1]]
    source = request.documents[first.document]["source"]
    elsewhere = [request.documents[s.document]["source"] != source for s in ranking.sentences]
    section = [(s.document, s.heading) != (first.document, first.heading) for s in ranking.sentences]
    return np.asarray(np.mean([elsewhere, section], axis=0, dtype=np.float64))


def _plain(text: str) -> str:
    return " ".join(words(text))
