"""The answer to a question that depends on who asks: the rule for their situation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.factual import FACTUAL_STYLE, factual
from adaptive_rag.answer.follow_up import of_the_follow_up
from adaptive_rag.answer.forms import expected_form
from adaptive_rag.answer.lead import FOLLOWS, OF_THE_TEXT, best_readable, off_the_matter
from adaptive_rag.answer.order import following, in_document_order, with_steps
from adaptive_rag.answer.ranking import RANK, READABLE, Ranking
from adaptive_rag.answer.relations import asks_for_prose, stating
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.situation import speaks_to
from adaptive_rag.answer.speakers import in_first_person
from adaptive_rag.answer.views import VIEW
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import terms

# Share of the score for the asker's context in what fits their situation; the question has the rest.
CONTEXT_SHARE = 0.6
# A section of at most this many words is quoted whole where it ranks first.
SHORT_PASSAGE = 80
# Sentences of what holds in general, and their nearness both to the question and to the asker's situation: on
# half of ShARC more of them, or less near ones, added words but not the right passage.
GENERAL_SENTENCES, GENERAL_NEARNESS = 1, 0.9
SITUATION_HEADING = "For your situation"
GENERAL_HEADING = "In general"


def for_situation(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the rule that was found first, with what its section adds, and what else scores nearly as high.

    A short section is quoted whole, of a longer one the best sentences; where the asker's situation is known,
    they are those that fit it. A follow-up that asks for a fact is answered as such.
    """
    is_fact = expected_form(request.question).is_sure and not asks_for_prose(request.question)
    if request.said and not request.user_context.strip() and is_fact:
        return factual(replace(request, style=FACTUAL_STYLE), ranking)
    whole = ranking.score(request.question, request.question_vector) + of_the_follow_up(request, ranking)
    # What somebody else says about themselves is no advice.
    whole -= VIEW * np.array([in_first_person(s.text) for s in ranking.sentences])
    whole -= OF_THE_TEXT * off_the_matter(request, ranking)
    whole += RANK * stating(request.question, ranking.sentences)
    fitting, known = whole, False
    if request.user_context.strip() and request.context_vector is not None:
        theirs, known = ranking.score(request.user_context, request.context_vector), True
        fitting = (1 - CONTEXT_SHARE) * whole + CONTEXT_SHARE * theirs
    inside = _rule_of(request, ranking, fitting)
    lead = best_readable(ranking, np.where(inside, fitting, -np.inf))
    limit, least = request.style.sentences, request.style.nearness * fitting[lead]
    lengths = np.array([len(s.text.split()) for s in ranking.sentences])
    if lengths[inside].sum() <= SHORT_PASSAGE:
        limit, least = len(inside), -math.inf
    far = fitting < GENERAL_NEARNESS * fitting[lead]
    fitting = fitting + FOLLOWS * following(ranking.sentences, lead)
    rule = ranking.choose(np.where(inside, fitting, -np.inf), limit, least)
    rule = with_steps(request.question, ranking, rule, fitting)
    rule = in_document_order(rule, ranking.sentences[lead])
    if any(speaks_to(s.text, request.user_context) for s in rule):
        far |= _for_others(request, ranking)
    others = np.where(inside | far, -np.inf, whole)
    more = ranking.choose(others, GENERAL_SENTENCES, GENERAL_NEARNESS * whole.max(), rule)
    if not known or not _is_theirs(request, rule):
        return [Block([*rule, *more])]
    return [Block(rule, SITUATION_HEADING), Block(more, GENERAL_HEADING)]


def _rule_of(request: AnswerRequest, ranking: Ranking, fitting: Scores) -> NDArray[np.bool_]:
    """Return which sentences belong to the rule that fits best: those of its section in its chunk.

    One chunk may hold the end of one section and the beginning of the next. Where a sentence of it is for
    the asker ("under 8"), those for others ("from 14") are left out.
    """
    ranks = np.array([s.rank if s.quality >= READABLE else math.inf for s in ranking.sentences])
    first = ranking.sentences[best_readable(ranking, np.where(ranks == ranks.min(), fitting, -np.inf))]
    inside = np.array([(s.rank, s.heading) == (first.rank, first.heading) for s in ranking.sentences])
    here = [s for s, is_here in zip(ranking.sentences, inside, strict=True) if is_here]
    if any(speaks_to(s.text, request.user_context) for s in here):
        inside &= ~_for_others(request, ranking)
    return inside


def _for_others(request: AnswerRequest, ranking: Ranking) -> NDArray[np.bool_]:
    """Return which sentences hold for another age or stage than the asker's."""
    return np.array([speaks_to(s.text, request.user_context) is False for s in ranking.sentences])


def _is_theirs(request: AnswerRequest, rule: Sequence[AnswerSentence]) -> bool:
    """Tell whether a rule speaks of what the asker says of themselves, beside what they ask."""
    theirs = set(terms(request.user_context)) - set(terms(request.question))
    return any(theirs & set(s.terms) or speaks_to(s.text, request.user_context) for s in rule)


CONTEXTUAL_STYLE = AnswerStyle(arrange=for_situation, evidence=0.55, sentences=4, nearness=0.6)
