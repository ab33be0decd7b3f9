"""Which sentences an answer quotes, and how many: the one that answers, with the text around it.

The reader says how likely each sentence is the one that answers. A fact is quoted from that sentence on;
where a question needs breadth, whole paragraphs are. So much is quoted that it holds most of the chance,
within what the strategy's style allows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.request import AnswerRequest, Block, Extent
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.text.vectors import Scores

# A sentence that refers back is shown with up to so many before it.
PREDECESSORS = 2
# "No." may be the answer, but tells nothing beside another one.
FEWEST_WORDS = 3
# Words of a paragraph, or of a list with its lead-in, that is quoted whole; of a longer one the part around
# the best sentence (`python -m benchmarks.real`).
LONGEST_PARAGRAPH, LONGEST_LIST = 100, 150
# Words of one speaker in a debate, of whom others are heard as well.
LONGEST_SPEECH = 40
# Items that are shown of a longer list.
FIRST_ITEMS = 3


def answer_first(request: AnswerRequest, judged: ScoredSentences) -> list[Block]:
    """Show the sentence that answers with the text around it, and others where it is not sure."""
    style = request.style
    chosen = choose(
        judged, judged.scores, style.quotes, extent=style.extent, mass=style.mass, words=style.words
    )
    return [Block(chosen, apart=style.extent == "paragraph")]


def choose(
    judged: ScoredSentences,
    scores: Scores,
    limit: int,
    *,
    extent: Extent = "sentence",
    mass: float = 1.0,
    words: float = math.inf,
    used: Sequence[AnswerSentence] = (),
    voices: Sequence[str | None] = (),
) -> list[AnswerSentence]:
    """Choose the best sentences, each with the text around it, until they hold a share of all scores.

    The best comes first, then the others in reading order, none of them twice.

    Args:
        judged: the sentences.
        scores: of each for this purpose, shape (sentences,); -inf for one that must not be chosen.
        limit: places that are quoted, at most.
        extent: what is quoted of a place. "sentence": the sentence, with what it refers to and the list that
            it leads to; "onward": the same where it holds the mass alone, else up to the end of its
            paragraph; "paragraph": the whole paragraph.
        mass: share of the sum of the scores, 0 to 1.
        words: of all together; the first place is quoted however long, others where they fit.
        used: sentences that the answer shows already, and that no chosen one repeats.
        voices: who says each sentence. A place then goes on while the same person speaks, for a shorter
            while, also over sentences of -inf.
    """
    sentences = judged.sentences
    chosen, places = list[int](), 0
    lead = 0  # how many of them are the best place
    missing = mass * float(scores[np.isfinite(scores)].sum())
    for best in map(int, np.argsort(-scores, kind="stable")):
        if places == limit or scores[best] == -np.inf or (places and missing <= 0):
            break
        sentence = sentences[best]
        if best in chosen:
            continue
        shown = [*used, *(sentences[at] for at in chosen)]
        if (
            (sentence.quality == 0 and _list_end(sentences, best) == best + 1)
            or (shown and len(sentence.text.split()) < FEWEST_WORDS)
            or any(sentence.repeats(other) for other in shown)
        ):
            missing -= float(scores[best])
            continue
        alone = extent == "onward" and not chosen and scores[best] >= missing
        beside = scores
        if voices:
            beside = np.where([voice == voices[best] for voice in voices], np.maximum(scores, 0.0), -np.inf)
        longest = LONGEST_SPEECH if voices else LONGEST_PARAGRAPH
        around = _around(sentences, beside, best, "sentence" if alone else extent, longest)
        fresh = [
            at
            for at in around
            if at not in chosen and not any(sentences[at].repeats(other) for other in shown)
        ]
        length = sum(len(sentences[at].text.split()) for at in fresh)
        if chosen and length > words:
            missing -= float(scores[best])
            continue
        missing -= float(sum(scores[at] for at in fresh if np.isfinite(scores[at])))
        words -= length
        places += 1
        chosen += fresh
        lead = lead or len(chosen)
    ordered = chosen[:lead] + _in_reading_order(sentences, chosen[lead:], chosen[lead - 1]) if lead else []
    return _without_lead_ins([sentences[at] for at in ordered])


def _around(
    sentences: Sequence[AnswerSentence], scores: Scores, best: int, extent: Extent, longest: int
) -> range:
    """Return the place of a sentence: what it needs to be understood, and what goes on from it."""
    first, last = best, _list_end(sentences, best)
    if extent == "paragraph":
        first, last = _paragraph(sentences, scores, best, longest)
    elif extent == "onward":
        last = max(last, _paragraph(sentences, scores, best, longest)[1])
    return range(_first_needed(sentences, first), last)


def _paragraph(
    sentences: Sequence[AnswerSentence], scores: Scores, best: int, longest: int
) -> tuple[int, int]:
    """Return the bounds of a sentence's paragraph, lead-in and list with it; of a long one the best part."""
    first, last = best, best + 1
    words = _length(sentences, first, last)
    if sentences[best].listed and longest == LONGEST_PARAGRAPH:
        longest = LONGEST_LIST
    while True:
        beside = [first - 1] if first > 0 and sentences[first].goes_on_from(sentences[first - 1]) else []
        beside += (
            [last] if last < len(sentences) and sentences[last].goes_on_from(sentences[last - 1]) else []
        )
        beside = [
            at for at in beside if scores[at] > -np.inf and words + _length(sentences, at, at + 1) <= longest
        ]
        if not beside:
            break
        at = max(beside, key=lambda at: (scores[at], at))
        words += _length(sentences, at, at + 1)
        first, last = min(first, at), max(last, at + 1)
    # A signature, a question or a fragment at its edge tells nothing.
    while last - 1 > best and sentences[last - 1].quality == 0 and not sentences[last - 1].leads:
        last -= 1
    while first < best and sentences[first].quality == 0 and not sentences[first].leads:
        first += 1
    return first, max(last, *(_list_end(sentences, at) for at in range(first, last)))


def _first_needed(sentences: Sequence[AnswerSentence], at: int) -> int:
    """Return the first of the sentences up to this one that it needs to be understood."""
    for _ in range(PREDECESSORS):
        before = sentences[at - 1]
        if (
            at == 0
            or not sentences[at].refers_back
            or not sentences[at].follows(before)
            or before.quality == 0
        ):
            break
        at -= 1
    return at


def _list_end(sentences: Sequence[AnswerSentence], at: int) -> int:
    """Return where the list ends that a sentence leads to; of a very long one, behind its first items."""
    lead, end = sentences[at], at + 1
    while lead.leads and end < len(sentences):
        item, before = sentences[end], sentences[end - 1]
        adjacent = (item.document, item.position) == (before.document, before.position + 1)
        goes_on = end > at + 1 and item.paragraph == before.paragraph
        if not adjacent or not (_names(item, lead) or (not item.alone and (item.listed or goes_on))):
            break
        end += 1
    return end if _length(sentences, at + 1, end) <= LONGEST_LIST else min(end, at + 1 + FIRST_ITEMS)


def _names(item: AnswerSentence, lead: AnswerSentence) -> bool:
    """Return whether a list item begins with its lead-in, to be quoted alone."""
    return item.text.startswith(lead.text)


def _without_lead_ins(chosen: Sequence[AnswerSentence]) -> list[AnswerSentence]:
    """Say a lead-in once, above the items that begin with it."""
    shown, lead = list[AnswerSentence](), None
    for sentence in chosen:
        before = shown[-1] if shown else None
        if not before or (sentence.document, sentence.position) != (before.document, before.position + 1):
            lead = None
        if lead and _names(sentence, lead):
            text = sentence.text[len(lead.text) :].strip()
            sentence = replace(sentence, text=text, alone=False, listed=True)
        elif sentence.leads:
            lead = sentence
        shown.append(sentence)
    return shown


def _length(sentences: Sequence[AnswerSentence], first: int, last: int) -> int:
    return sum(len(sentence.text.split()) for sentence in sentences[first:last])


def _in_reading_order(sentences: Sequence[AnswerSentence], chosen: Sequence[int], lead: int) -> list[int]:
    """Put sentences in the order of their passages; what goes on from the lead comes first."""

    def place(at: int) -> tuple[bool, bool, int]:
        here = sentences[at].document == sentences[lead].document
        return not here, here and at < lead, at

    return sorted(chosen, key=place)
