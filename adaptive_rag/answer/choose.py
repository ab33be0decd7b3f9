"""Which sentences an answer quotes, and how many: the one that answers, and only what it needs.

The reader says how likely each sentence is the one that answers. A sure answer is one sentence; of an unsure
one so many are quoted that together they hold most of the chance, within what the strategy's style allows.
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
# "No." may be the answer, but tells nothing beside another one.
FEWEST_WORDS = 3
# Minimum share of the best sentence's score at which the next one is quoted before others
# (`python -m benchmarks.real`).
GOES_ON = 0.05
# Words of a list that is quoted whole where its lead-in or one of its items answers.
LONGEST_LIST = 150


def answer_first(request: AnswerRequest, judged: ScoredSentences) -> list[Block]:
    """Show the sentence that answers, what it needs, and others that may answer where it is not sure."""
    style = request.style
    return [Block(choose(judged, judged.scores, style.quotes, mass=style.mass, words=style.words))]


def choose(
    judged: ScoredSentences,
    scores: Scores,
    limit: int,
    *,
    mass: float = 1.0,
    words: float = math.inf,
    used: Sequence[AnswerSentence] = (),
) -> list[AnswerSentence]:
    """Choose the best sentences until they hold a share of all scores, without repeats.

    The best one comes first, then the others in reading order. What a chosen one refers back to, and the
    list that it leads to, come on top of the limit.

    Args:
        judged: the sentences.
        scores: of each for this purpose, shape (sentences,); -inf for one that must not be chosen.
        limit: sentences, at most.
        mass: share of the sum of the scores, 0 to 1.
        words: of all together; the first sentence is chosen however long, others where they fit.
        used: sentences that the answer shows already, and that no chosen one repeats.
    """
    sentences = judged.sentences
    chosen, groups = list[AnswerSentence](), 0
    lead = 0  # how many of them are the best one and what belongs to it
    missing = mass * float(scores[np.isfinite(scores)].sum())
    for best in _order(sentences, scores):
        sentence = sentences[best]
        if groups == limit or scores[best] == -np.inf or (groups and missing <= 0):
            break
        missing -= float(scores[best])
        led = _list_after(sentences, best) if sentence.leads else []
        if (sentence.quality == 0 and not led) or sentence in chosen:
            continue
        if (chosen or used) and len(sentence.text.split()) < FEWEST_WORDS:
            continue
        group = [*_referred_to(sentences, best), sentence, *led]
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


def _order(sentences: Sequence[AnswerSentence], scores: Scores) -> list[int]:
    """Return the sentences by score; what goes on from the best one comes second: it often tells the rest."""
    order = [int(at) for at in np.argsort(-scores, kind="stable")]
    after = order[0] + 1 if order else len(sentences)
    if after == len(sentences) or not sentences[after].follows(sentences[after - 1]):
        return order
    if scores[after] >= GOES_ON * scores[after - 1]:
        order.remove(after)
        order.insert(1, after)
    return order


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
