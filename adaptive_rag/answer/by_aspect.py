"""The answer to an analytical question: the main point and what goes with it, or each aspect in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adaptive_rag.answer.aspects import score_aspects, share_out
from adaptive_rag.answer.by_side import by_side
from adaptive_rag.answer.lead import FOLLOWS, LEFT_OUT, lead_of, off_the_matter, rows_beside_the_question
from adaptive_rag.answer.order import following, in_document_order, under_heading, with_rows, with_steps
from adaptive_rag.answer.ranking import FORM, RANK, Ranking
from adaptive_rag.answer.relations import asks_for_prose, compared, pairs_of, stating
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.sides import NO_VIEW
from adaptive_rag.rank.stances import LABELS
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import terms

# Added to a sentence of an analysis, divided by the rank of its chunk: most of one is put together from the
# passage that ranks first. Measured by the words of the reference that are covered, on half of CLAP NQ.
FIRST_READ = 0.4
# Share of the lead's score that a sentence of another document must reach in an analysis: on half of CLAP NQ
# fewer words hold as much of the reference; from 0.85 on they hold less.
OTHER_DOCUMENT = 0.8
# Added to a sentence under a heading whose words the question has; where the heading asks the same, three
# times as much, so that a section of lower rank leads. Of 0.4 to 1 the least with which it does.
HEADED = 0.6


def by_aspect(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show a paragraph for each sub-question; without any, the main point and what goes with it."""
    if request.aspects and {aspect.label for aspect in request.aspects} <= set(LABELS.values()):
        views = by_side(request, ranking)
        if not views or views[0].opening != NO_VIEW:
            return views
        request = replace(request, aspects=())  # it was left open whether opinions are asked for
    whole = ranking.score(request.question, request.question_vector)
    whole += FIRST_READ / np.array([sentence.rank for sentence in ranking.sentences])
    stated = stating(request.question, ranking.sentences)
    whole += RANK * stated
    whole -= LEFT_OUT * off_the_matter(request, ranking)
    whole += HEADED * under_heading(request.question, ranking.sentences)
    if asks_for_prose(request.question):
        # Neither a row nor a command says why or how something happens, unless it has the words of a cause
        # and names as much as anything else: other rows stand below "main cause" too.
        beside = rows_beside_the_question(request, ranking) | (stated <= 0)
        whole -= LEFT_OUT * np.array([s.is_row for s in ranking.sentences]) * beside
    if request.aspects:
        return share_out(request, ranking, score_aspects(request, ranking, whole))
    limit, least = 2 * request.style.sentences, request.style.nearness * max(whole.max(), 0.0)
    each = _best_on_each(request.question, ranking, whole)
    lead = each[0] if len(each) > 1 else lead_of(request, ranking, whole)
    whole = _of_its_document(request, ranking, whole, lead)
    rows = len(each) > 1 and all(ranking.sentences[i].is_row for i in each)
    pair = set[str]().union(*compared(request.question))
    if rows or (len(each) > 1 and any(" " in name for name in pair)):
        # of two rows, or of zone A and zone B, what names neither tells nothing
        whole[[pair.isdisjoint(_names_of(s)) for s in ranking.sentences]] = -np.inf
    whole[each] = np.maximum(whole[each], OTHER_DOCUMENT * whole.max())  # both are quoted
    whole += FOLLOWS * following(ranking.sentences, lead)
    whole[lead] = np.nextafter(whole.max(), np.inf)
    chosen = ranking.choose(whole, limit, least, words=request.style.words)
    chosen = with_steps(request.question, ranking, chosen, whole)
    if not rows:
        chosen = with_rows(request.question, ranking, chosen, request.style.words)
    return [Block(in_document_order(chosen, ranking.sentences[lead]))]


def _of_its_document(request: AnswerRequest, ranking: Ranking, scores: Scores, lead: int) -> Scores:
    """Return the scores without the sentences of other documents that do not come near the lead."""
    sources = [request.documents[s.document]["source"] for s in ranking.sentences]
    other = np.array([source != sources[lead] for source in sources])
    return np.where(other & (scores < OTHER_DOCUMENT * scores[lead]), -np.inf, scores)


def _best_on_each(question: str, ranking: Ranking, scores: Scores) -> list[int]:
    """Return the best sentence on each of two things that are compared, the better one first.

    One that begins with a thing tells what it is: "Zone A is the ground that ...".
    """
    if not (pair := compared(question)):
        return []
    held = [_names_of(s) | set(terms(s.heading)) for s in ranking.sentences]
    # What names one of them alone tells more of it than what names both.
    fits = [
        np.array([bool(wanted) and wanted <= words and not (other and other <= words) for words in held])
        for wanted, other in zip(pair, reversed(pair), strict=True)
    ]
    rows = np.array([s.is_row for s in ranking.sentences])
    if all((fit & rows).any() for fit in fits):  # one row is compared with another
        fits = [fit & rows for fit in fits]
    opens = [
        np.array([all(s.text.lower().startswith(name) for name in wanted) for s in ranking.sentences])
        for wanted in pair
    ]
    found = [
        int(np.argmax(np.where(fit, scores + FORM * opening, -np.inf)))
        for fit, opening in zip(fits, opens, strict=False)
        if fit.any()
    ]
    best = int(np.argmax(np.where(ranking.showable, scores, -np.inf)))
    if set[str]().union(*pair) <= held[best]:
        return [best, *(i for i in found if i != best)]  # the best sentence on either tells of both
    return found if all(map(np.any, opens)) else sorted(found, key=lambda i: -scores[i])


def _names_of(sentence: AnswerSentence) -> set[str]:
    """Return the stems of a sentence, and each two words of it: "zone a"."""
    return {*sentence.terms, *pairs_of(sentence.text)}


ANALYTICAL_STYLE = AnswerStyle(arrange=by_aspect, evidence=0.5, sentences=4, nearness=0.65)
