"""Chooses the sentences that an answer quotes: the one that answers, with the text around it, and others.

The reader gives the probability that a sentence answers. A fact is quoted by its sentences; where a
question needs breadth, their paragraphs are. Quotes are added until they contain most of the probability,
within the limits of the strategy's style.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.request import AnswerRequest, Block, Extent
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.validity import cancels
from adaptive_rag.text.vectors import Scores

# Maximum number of sentences shown before one that refers back to them.
PREDECESSORS = 2
# Minimum share of the best sentence's score of one in its paragraph that is not next to it.
FURTHER_SENTENCE = 0.05
# A shorter sentence ("No.") may be the answer, but adds nothing to another one.
MIN_WORDS = 3
# The quality from which a piece without a speaker is a sentence rather than a heading.
READABLE = 0.5
# Maximum number of words of a quoted paragraph, and of a list with its lead-in; of a longer one, the part
# around the best sentence is quoted (`python -m benchmarks.real`).
LONGEST_PARAGRAPH, LONGEST_LIST = 100, 150
# Maximum number of words of one speaker in a debate: with 40, two speakers fewer fit into an answer.
LONGEST_SPEECH = 35
# Number of items shown of a list that is longer than LONGEST_LIST.
FIRST_ITEMS = 3


def answer_first(request: AnswerRequest, scored: ScoredSentences) -> list[Block]:
    """Quote the sentence that answers best with the text around it, and others where it is uncertain."""
    style = request.style
    chosen = choose(
        scored,
        scored.scores,
        style.quotes,
        extent=style.extent,
        mass=style.mass,
        share=style.share,
        words=style.words,
        in_order=style.paragraphs and style.extent == "sentence",
    )
    return [Block(chosen, paragraphs=style.paragraphs)]


def choose(
    scored: ScoredSentences,
    scores: Scores,
    limit: int,
    *,
    extent: Extent = "sentence",
    mass: float = 1.0,
    share: float = 0.0,
    words: float = math.inf,
    in_order: bool = False,
    already_shown: Sequence[AnswerSentence] = (),
    speakers: Sequence[str | None] = (),
) -> list[AnswerSentence]:
    """Choose the best sentences, each with the text around it; the best first, the others in reading order.

    Args:
        scored: the sentences.
        scores: their scores for this purpose, shape (sentences,); -inf for one that must not be chosen.
        limit: maximum number of quotes.
        extent: what a quote contains. "sentence": the sentence, with what it refers to and the list that it
            introduces; "paragraph": its paragraph, without the sentences at a distance that do not matter.
        mass: share of the sum of the scores, 0 to 1, that the quotes shall reach.
        share: minimum score of a further quote, as a share of the first one's, 0 to 1.
        words: maximum number of words; the first quote may be longer, others are left out if they do not fit.
        in_order: whether what stands before the best quote in its paragraph comes before it.
        already_shown: sentences that the answer shows already; none that repeats one of them is chosen.
        speakers: the speaker of each sentence, in a debate. A quote then contains only one speaker's words,
            including sentences with the score -inf, and is shorter.
    """
    sentences = scored.sentences
    chosen = list[int]()
    quotes = best_quote_size = 0
    missing = mass * float(scores[np.isfinite(scores)].sum())
    longest = LONGEST_SPEECH if speakers else LONGEST_PARAGRAPH
    least = -math.inf
    for best in map(int, np.argsort(-scores, kind="stable")):
        if quotes == limit or scores[best] == -np.inf or scores[best] < least or (quotes and missing <= 0):
            break
        if best in chosen:
            continue
        shown = [*already_shown, *(sentences[index] for index in chosen)]
        if not _is_worth_quoting(sentences, best, shown):
            missing -= float(scores[best])
            continue
        usable = scores
        if speakers:
            is_same_speaker = [speaker == speakers[best] for speaker in speakers]
            usable = np.where(is_same_speaker, np.maximum(scores, 0.0), -np.inf)
        quote = _quote_around(sentences, usable, best, extent, longest)
        new = [i for i in quote if i not in chosen and not _is_repeated(sentences[i], shown)]
        length = sum(sentences[i].word_count for i in new)
        if chosen and length > words:
            missing -= float(scores[best])
            continue
        missing -= float(sum(scores[i] for i in new if np.isfinite(scores[i])))
        words -= length
        if not quotes and share:
            least = share * float(scores[best])
        quotes += 1
        chosen += new
        best_quote_size = best_quote_size or len(chosen)
    chosen += _between(sentences, scores, chosen, words)
    return _without_lead_ins(
        [sentences[index] for index in _order(sentences, chosen, best_quote_size, in_order)]
    )


def _between(
    sentences: Sequence[AnswerSentence], scores: Scores, chosen: Sequence[int], words: float
) -> list[int]:
    """Return the sentences that stand alone between two chosen ones of their paragraph.

    One without a score is about another thing, or must not be chosen. `words` is how many may be added.
    """
    between = list[int]()
    for index in (first + 1 for first in chosen):
        if index in chosen or index + 1 not in chosen or scores[index] <= 0 or sentences[index].cells:
            continue
        before, middle, after = sentences[index - 1 : index + 2]
        if middle.continues(before) and after.continues(middle) and middle.word_count <= words:
            between.append(index)
            words -= middle.word_count
    return between


def _is_worth_quoting(
    sentences: Sequence[AnswerSentence], index: int, shown: Sequence[AnswerSentence]
) -> bool:
    sentence = sentences[index]
    if sentence.quality == 0 and _list_end(sentences, index) == index + 1:
        return False  # a fragment that introduces no list
    if shown and sentence.word_count < MIN_WORDS:
        return False
    return not _is_repeated(sentence, shown)


def _is_repeated(sentence: AnswerSentence, shown: Sequence[AnswerSentence]) -> bool:
    return any(sentence.repeats(other) for other in shown)


def _quote_around(
    sentences: Sequence[AnswerSentence], scores: Scores, best: int, extent: Extent, longest: int
) -> range:
    """Return the indices of a quote: the best sentence, what it needs to be understood, what follows it."""
    first, end = best, _list_end(sentences, best)
    if extent == "paragraph" or _is_step(sentences, best):
        first, end = _paragraph(sentences, scores, best, longest)
    # "This version was valid until 2023."
    if end < len(sentences) and sentences[end].continues(sentences[end - 1]) and cancels(sentences[end].text):
        end += 1
    needed = _first_needed(sentences, first)
    if longest == LONGEST_SPEECH:  # what another speaker said before is not part of a speech
        needed = max([needed, *(i + 1 for i in range(needed, first) if scores[i] == -np.inf)])
    return range(needed, end)


def _is_step(sentences: Sequence[AnswerSentence], index: int) -> bool:
    """Return whether a sentence is a step, which needs the others, and not one of numbered rules.

    It is the whole item of a numbered list. Where this item or the one before has several sentences, they
    are rules.
    """
    if not sentences[index].list_mark[:1].isdigit():
        return False
    before = index > 0 and sentences[index].continues(sentences[index - 1]) and sentences[index - 1]
    after = index + 1 < len(sentences) and sentences[index + 1]
    follows_clause = before and not (before.is_list_item or before.is_lead_in)
    return not follows_clause and not (after and after.continues(sentences[index]) and not after.is_list_item)


def _paragraph(
    sentences: Sequence[AnswerSentence], scores: Scores, best: int, longest: int
) -> tuple[int, int]:
    """Return the start and end of a sentence's paragraph, with its lead-in and list.

    A paragraph of more than `longest` words is cut: the neighbour with the higher score is added first. In a
    debate, in which it has LONGEST_SPEECH words, the words of a speaker belong together whatever their score.
    """
    least = FURTHER_SENTENCE * scores[best] if longest == LONGEST_PARAGRAPH else 0.0
    first, end = best, best + 1
    words = sentences[best].word_count
    if sentences[best].is_list_item and longest == LONGEST_PARAGRAPH:
        longest = LONGEST_LIST
    while True:
        neighbours = list[int]()
        if first > 0 and sentences[first].continues(sentences[first - 1]):
            neighbours.append(first - 1)
        if end < len(sentences) and sentences[end].continues(sentences[end - 1]):
            neighbours.append(end)
        fitting = [
            index
            for index in neighbours
            if scores[index] > -np.inf
            and words + sentences[index].word_count <= longest
            and (abs(index - best) == 1 or _belongs(sentences[index]) or scores[index] >= least)
        ]
        if not fitting:
            break
        added = max(fitting, key=lambda index: (scores[index], index))
        words += sentences[added].word_count
        first, end = min(first, added), max(end, added + 1)
    # Drop a heading, a signature, a question or a fragment at the edges.
    while end - 1 > best and _is_fragment(sentences[end - 1]):
        end -= 1
    while first < best and _is_fragment(sentences[first]):
        first += 1
    lists = [_list_end(sentences, index) for index in range(first, end) if scores[index] >= least]
    return first, max(end, *lists)


def _belongs(sentence: AnswerSentence) -> bool:
    """Return whether it belongs to what stands beside it: a numbered step, or the lead-in of a list."""
    return sentence.is_lead_in or sentence.list_mark[:1].isdigit()


def _is_fragment(sentence: AnswerSentence) -> bool:
    is_piece = sentence.is_lead_in or sentence.is_list_item or sentence.cells or sentence.standalone
    return sentence.quality < READABLE and not is_piece


def _first_needed(sentences: Sequence[AnswerSentence], index: int) -> int:
    """Return the index of the first sentence that is needed to understand this one; its own if none is."""
    first = max(0, index - PREDECESSORS)
    while index > first:
        before = sentences[index - 1]
        # "No." is the answer, and the sentence after it the reason.
        is_reply = before.is_reply and before.word_count < MIN_WORDS and sentences[index].continues(before)
        is_needed = sentences[index].refers_back or cancels(before.text)
        if not is_reply and not (is_needed and sentences[index].follows(before) and before.quality > 0):
            break
        index -= 1
    return index


def _list_end(sentences: Sequence[AnswerSentence], index: int) -> int:
    """Return the end of the list that a sentence introduces; of a very long list, of its first items.

    For a sentence that introduces no list, it is the index after the sentence.
    """
    lead_in, first, end = sentences[index], index + 1, index + 1
    while lead_in.is_lead_in and end < len(sentences):
        item, before = sentences[end], sentences[end - 1]
        continues_item = end > first and item.paragraph == before.paragraph
        is_item = _after_lead_in(item, lead_in) is not None or (
            not item.standalone and (item.is_list_item or continues_item)
        )
        # The line that opens a code block stands between the code and what leads to it.
        is_its_code = end == first and _is_code(item) and item.document == lead_in.document
        if not is_its_code and not (is_item and item.comes_right_after(before)):
            break
        end += 1
    length = sum(sentence.word_count for sentence in sentences[first:end])
    return end if length <= LONGEST_LIST else min(end, first + FIRST_ITEMS)


def _after_lead_in(item: AnswerSentence, lead_in: AnswerSentence) -> str | None:
    """Return the text of a list item after its lead-in, which it repeats so that it can be quoted alone."""
    repeated = " ".join(lead_in.text.split())
    return item.text.removeprefix(repeated).strip() if item.text.startswith(repeated) else None


def _is_code(sentence: AnswerSentence) -> bool:
    return sentence.is_row and not sentence.cells and sentence.text.endswith("`")


def _without_lead_ins(chosen: Sequence[AnswerSentence]) -> list[AnswerSentence]:
    """Show a lead-in once: remove it from the items that repeat it, or the sentence before its code."""
    shown = list[AnswerSentence]()
    lead_in: AnswerSentence | None = None
    for sentence in chosen:
        text = _after_lead_in(sentence, lead_in) if lead_in else None
        if lead_in and text is not None and shown[-1] is lead_in and _is_code(sentence):
            shown.pop()  # the lead-in of code stays on the line above the block
            sentence, lead_in = replace(sentence, start=lead_in.start), None
        elif not shown or not sentence.comes_right_after(shown[-1]):
            lead_in = None
        if lead_in and text is not None:
            sentence = replace(sentence, text=text, standalone=False, list_mark="-")
        elif sentence.is_lead_in:
            lead_in = sentence
        shown.append(sentence)
    return shown


def _order(
    sentences: Sequence[AnswerSentence], chosen: Sequence[int], best_quote_size: int, in_order: bool
) -> list[int]:
    """Put the best quote first, then the rest of its passage after it, before it, and other passages.

    If `in_order`, the best quote includes all that is chosen of its paragraph.
    """
    first = set(chosen[:best_quote_size])
    if in_order:
        places = {(sentences[i].document, sentences[i].paragraph) for i in chosen[:1]}
        first |= {i for i in chosen if (sentences[i].document, sentences[i].paragraph) in places}
    best_quote, others = sorted(first), [index for index in chosen if index not in first]
    if not others:
        return list(best_quote)
    last = best_quote[-1]

    def position(index: int) -> tuple[bool, bool, int]:
        is_same_passage = sentences[index].document == sentences[last].document
        return not is_same_passage, is_same_passage and index < last, index

    return [*best_quote, *sorted(others, key=position)]
