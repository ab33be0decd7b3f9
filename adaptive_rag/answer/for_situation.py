"""The answer to a question that depends on who asks: the rule for their situation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.factual import FACTUAL_STYLE, factual
from adaptive_rag.answer.follow_up import of_the_follow_up
from adaptive_rag.answer.forms import expected_form
from adaptive_rag.answer.lead import (
    FOLLOWS,
    LEFT_OUT,
    best_readable,
    lead_of,
    off_the_matter,
    rows_beside_the_question,
)
from adaptive_rag.answer.order import following, in_document_order, under_heading, with_steps
from adaptive_rag.answer.ranking import NAMED, RANK, READABLE, Ranking
from adaptive_rag.answer.relations import asks_for_prose, stating
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.situation import speaks_to
from adaptive_rag.answer.speakers import SAYS_I, in_first_person
from adaptive_rag.answer.views import VIEW, speaker_of
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import stem, terms, words

# Share of the score for the asker's context in what fits their situation; the question has the rest.
CONTEXT_SHARE = 0.6
# Weight of a passage's nearness to the situation beside its relevance, 0 to 1: for a tenant who would leave
# the lease comes before the handbook's "Leave". On half of ShARC 0.25 loses a gold passage, 0.1 none.
SITUATED = 0.1
# Added to a passage and to the sentences of a section whose heading has all its words from what the asker
# says of themselves: "If you own a boat". Of 0.1 to 0.4 the one with which most sample questions quote the
# right sentence; no answer to ShARC changes.
HEADED = 0.2
# A section of at most this many words is quoted whole where it ranks first.
SHORT_PASSAGE = 80
SITUATION_HEADING = "For your situation"


def for_situation(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the rule that was found first, with what its section adds.

    A short section is quoted whole, of a longer one the best sentences; where the asker's situation is known,
    they are those that fit it. A follow-up that asks for a fact is answered as such.
    """
    is_fact = expected_form(request.question).is_sure and not asks_for_prose(request.question)
    if request.said and not request.user_context.strip() and is_fact:
        return factual(replace(request, style=FACTUAL_STYLE), ranking)
    whole = ranking.score(request.question, request.question_vector) + of_the_follow_up(request, ranking)
    # What somebody else says about themselves is no advice.
    whole -= VIEW * np.array([in_first_person(s.text) for s in ranking.sentences])
    whole -= LEFT_OUT * off_the_matter(request, ranking)
    whole -= LEFT_OUT * rows_beside_the_question(request, ranking)
    whole += RANK * stating(request.question, ranking.sentences)
    headed = under_heading(request.user_context, ranking.sentences)
    fitting, known, passage = whole, False, _passage_of(request, ranking, headed)
    if request.user_context.strip() and request.context_vector is not None:
        told = _beyond_the_title(request, passage)
        near, known = ranking.score(told, request.context_vector), True
        fitting = (1 - CONTEXT_SHARE) * whole + CONTEXT_SHARE * near
    inside = _rule_of(request, ranking, fitting + HEADED * headed, passage)
    for_them = float(headed[inside].max())
    if for_them:
        fitting = whole  # what is asked tells the sentences of a section apart that is all for the asker
    lead = lead_of(request, ranking, np.where(inside, fitting, -np.inf))
    if ranking.sentences[lead].cells:
        return [Block([ranking.sentences[lead]])]
    limit, least = request.style.sentences, request.style.nearness * fitting[lead]
    lengths = np.array([len(s.text.split()) for s in ranking.sentences])
    if lengths[inside].sum() <= SHORT_PASSAGE:
        limit, least = len(inside), -math.inf
    fitting = fitting + FOLLOWS * following(ranking.sentences, lead)
    fitting[lead] = np.nextafter(fitting.max(), np.inf)
    rule = ranking.choose(np.where(inside, fitting, -np.inf), limit, least)
    rule = with_steps(request.question, ranking, rule, fitting)
    rule = in_document_order(rule, ranking.sentences[lead])
    theirs = for_them >= NAMED or (known and _is_theirs(request, rule))
    return [Block(rule, SITUATION_HEADING if theirs else "")]


def _beyond_the_title(request: AnswerRequest, passage: int) -> str:
    """Return what the asker says of themselves without numbers and the words that name the document.

    "I joined gym 7 and move away" finds the gym's terms; in them "gym" tells no rule from another.
    """
    source = request.documents[passage]["source"]
    sections = [document["section"] or "" for document in request.documents if document["source"] == source]
    title = set(terms(" ".join([PurePath(source).stem.replace("_", " "), *sections])))
    told = words(request.user_context)
    return " ".join(word for word in told if stem(word) not in title and not word.isdigit())


def _passage_of(request: AnswerRequest, ranking: Ranking, headed: Scores) -> int:
    """Return the index of the passage that comes first, or nearly so and nearer to the asker's situation.

    One under a heading that names the situation gains; one in which others speak of themselves loses.

    Args:
        request: with the passages.
        ranking: of their sentences.
        headed: the share of the words of each sentence's heading that the asker says of themselves.
    """
    readable = np.array([s.quality >= READABLE for s in ranking.sentences])
    if not readable.any():
        return 0
    documents = np.array([s.document for s in ranking.sentences])
    of_others = np.array([_is_of_somebody(request, s) for s in ranking.sentences])

    def fit(passage: int) -> float:
        scores, inside = request.documents[passage]["scores"], readable & (documents == passage)
        near = scores.get("relevance", 0) / 10 + SITUATED * scores.get("situation", 0)
        return float(near + HEADED * headed[inside].max() - VIEW * of_others[inside].mean())

    return max(sorted({s.document for s in ranking.sentences if s.quality >= READABLE}), key=fit)


def _is_of_somebody(request: AnswerRequest, sentence: AnswerSentence) -> bool:
    """Tell whether somebody says a sentence, as the text marks it or by its "I"."""
    return bool(SAYS_I.search(sentence.text)) or speaker_of(sentence, request.contributions) is not None


def _rule_of(request: AnswerRequest, ranking: Ranking, fitting: Scores, passage: int) -> NDArray[np.bool_]:
    """Return which sentences belong to the rule that fits best: those of its section in a passage.

    Where a sentence of it is for the asker ("under 8"), those for others ("from 14") are left out.
    """
    there = np.array([s.document == passage for s in ranking.sentences])
    first = ranking.sentences[best_readable(ranking, np.where(there, fitting, -np.inf))]
    inside = there & np.array([s.heading == first.heading for s in ranking.sentences])
    here = [s for s, is_here in zip(ranking.sentences, inside, strict=True) if is_here]
    if any(speaks_to(s.text, request.user_context) for s in here):
        inside &= ~_for_others(request, ranking)
    return np.asarray(inside)


def _for_others(request: AnswerRequest, ranking: Ranking) -> NDArray[np.bool_]:
    """Return which sentences hold for another age or stage than the asker's."""
    return np.array([speaks_to(s.text, request.user_context) is False for s in ranking.sentences])


def _is_theirs(request: AnswerRequest, rule: Sequence[AnswerSentence]) -> bool:
    """Tell whether a rule speaks of what the asker says of themselves, beside what they ask."""
    theirs = set(terms(request.user_context)) - set(terms(request.question))
    return any(theirs & set(s.terms) or speaks_to(s.text, request.user_context) for s in rule)


CONTEXTUAL_STYLE = AnswerStyle(arrange=for_situation, evidence=0.55, sentences=4, nearness=0.6)
