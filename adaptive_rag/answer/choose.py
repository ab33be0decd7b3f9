"""Which sentences an answer quotes, and how many: the one that answers, and only what it needs.

A strategy's style names how many further sentences may join, and how likely each must answer beside the best
one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.request import AnswerRequest, Block
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.text.vectors import Scores

# A sentence that refers back is shown with up to so many before it.
PREDECESSORS = 2
# Words of a list that is quoted whole where its lead-in or one of its items answers.
LONGEST_LIST = 150


def answer_first(request: AnswerRequest, judged: ScoredSentences) -> list[Block]:
    """Show the sentence that answers, what it needs, and others that answer nearly as likely."""
    style = request.style
    chosen = choose(judged, judged.scores, 1 + style.further, style.share * judged.best, style.words)
    return [Block(chosen)]


def choose(
    judged: ScoredSentences,
    scores: Scores,
    limit: int,
    least: float,
    words: float = math.inf,
    used: Sequence[AnswerSentence] = (),
) -> list[AnswerSentence]:
    """Choose up to `limit` sentences that score at least `least`, without repeats.

    The best one comes first, then the others in reading order. What a chosen one refers back to, and the
    list that it leads to, come on top of the limit. After the first, one that would make it more than `words`
    words is left out, and so is whatever says again what is `used`.

    Args:
        judged: the sentences.
        scores: of each for this purpose, shape (sentences,); -inf for one that must not be chosen.
        limit: sentences.
        least: the score that each must reach.
        words: of all together.
        used: sentences that the answer shows already.
    """
    sentences = judged.sentences
    chosen, groups = list[AnswerSentence](), 0
    lead = 0  # how many of them are the best one and what belongs to it
    for best in np.argsort(-scores, kind="stable"):
        sentence, score = sentences[best], float(scores[best])
        if groups == limit or score < least or score == -np.inf:
            break
        led = _list_after(sentences, int(best)) if sentence.leads else []
        if (sentence.quality == 0 and not led) or sentence in chosen:
            continue
        group = [*_referred_to(sentences, int(best)), sentence, *led]
        if any(s is o or s.repeats(o) for s in group for o in used):
            continue
        if any(s is not o and s.repeats(o) for s in group for o in chosen):
            continue
        length = sum(len(s.text.split()) for s in group if s not in chosen)
        if chosen and length > words:
            continue
        words -= length
        groups += 1
        chosen += [s for s in group if s not in chosen]
        lead = lead or len(chosen)
    return chosen[:lead] + _in_reading_order(chosen[lead:], chosen[lead - 1]) if lead else []


def _in_reading_order(chosen: Sequence[AnswerSentence], lead: AnswerSentence) -> list[AnswerSentence]:
    """Put sentences in the order of their passages; what goes on from the lead comes first."""

    def place(sentence: AnswerSentence) -> tuple[bool, bool, int, int]:
        here = sentence.document == lead.document
        return not here, here and sentence.position < lead.position, sentence.document, sentence.position

    return sorted(chosen, key=place)


def _referred_to(sentences: Sequence[AnswerSentence], at: int) -> list[AnswerSentence]:
    """Return the sentences before this one that it needs to be understood."""
    found = list[AnswerSentence]()
    while sentences[at].refers_back and len(found) < PREDECESSORS and at > 0:
        before = sentences[at - 1]
        if not sentences[at].follows(before) or before.quality == 0:
            break
        found.insert(0, before)
        at -= 1
    return found


def _list_after(sentences: Sequence[AnswerSentence], at: int) -> list[AnswerSentence]:
    """Return the items that a sentence leads to; the first ones of a very long list."""
    lead, items, place = sentences[at], list[AnswerSentence](), sentences[at].position
    for item in sentences[at + 1 :]:
        place += 1
        goes_on = items and item.paragraph == items[-1].paragraph
        if (item.document, item.position) != (lead.document, place):
            break
        if item.text.startswith(lead.text):  # an item that names its lead-in, to be quoted alone
            item = replace(item, text=item.text[len(lead.text) :].strip(), alone=False, listed=True)
        elif item.alone or not (item.listed or goes_on):
            break
        items.append(item)
    return items if sum(len(item.text.split()) for item in items) <= LONGEST_LIST else items[:3]
