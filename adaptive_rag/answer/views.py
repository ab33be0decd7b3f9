"""Arranges the answer to a question for views, by what speaks for the proposal and what against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.choose import answer_first, choose
from adaptive_rag.answer.request import (
    AGAINST,
    CLEAR_SIDE,
    FOR,
    MIN_SPEAKERS,
    NEITHER,
    AnswerRequest,
    Block,
)
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import bare_name
from adaptive_rag.rank.stances import Side, asked_side
from adaptive_rag.state import Phrase
from adaptive_rag.text.phrases import say, say_heading
from adaptive_rag.text.vectors import Scores

COLUMNS: Mapping[Side, int] = {"for": FOR, "against": AGAINST}
# Maximum number of words of a view that is added for a side without one.
OTHER_SIDE_WORDS = 40
# Sentences count whose chunk has at least this share of the best chunk's relevance.
RELEVANT_SHARE = 0.1
# A speaker is shown whose best sentence has at least this share of the best score; others speak of something
# else. Set by eye on seven questions to four debates.
SPEAKER_SHARE = 0.01
# The code of the answer's opening where the passages take only one side, by the missing side.
ONE_SIDED: Mapping[Side, str] = {"against": "only_for", "for": "only_against"}


def by_side(request: AnswerRequest, scored: ScoredSentences) -> list[Block]:
    """Quote the sentences that answer best, those that clearly take a side under its heading.

    In a debate, each speaker is quoted with the sentence that answers best. If the question asks for one
    side, only that side is quoted. If no sentence takes a side, the answer is arranged as by `answer_first`.
    """
    asked = asked_side(request.question)
    is_relevant = scored.relevance >= RELEVANT_SHARE * scored.relevance.max(initial=0.0)
    is_quotable = is_relevant & np.array([s.quality > 0 for s in scored.sentences], dtype=bool)
    has_speaker = np.array([name is not None for name in request.speakers], dtype=bool)
    is_debate = request.is_debate and bool((has_speaker & is_relevant).sum() >= MIN_SPEAKERS)
    speaker_sides = _find_speaker_sides(request, is_relevant)
    sides = np.where(is_quotable, request.clear_sides, NEITHER)
    if is_debate:
        sides = np.array(
            [
                speaker_sides.get(bare_name(name or ""), side)
                for name, side in zip(request.speakers, sides, strict=True)
            ],
            dtype=int,
        )
    elif not np.isin(sides, [COLUMNS[asked]] if asked else [FOR, AGAINST]).any():
        # If the side that the question asks for is missing, the other side is no answer.
        return [] if asked and asked == request.missing_side else answer_first(request, scored)
    is_wanted = is_quotable & (sides == COLUMNS[asked]) if asked else is_relevant
    scores, speakers = scored.scores, list[str | None]()
    if is_debate:
        speakers = [name and bare_name(name) for name in request.speakers]
        if (has_speaker & is_wanted).any():
            scores = np.where(has_speaker, scores, -np.inf)
        scores = np.where(scores >= SPEAKER_SHARE * scores.max(), scores, -np.inf)
    style = request.style
    best_scores = _keep_best_of_each(np.where(is_wanted, scores, -np.inf), speakers)
    chosen = choose(
        scored, best_scores, style.quotes, extent=style.extent, words=style.words, speakers=speakers
    )
    if not asked:
        chosen = _add_missing_sides(request, scored, scores, chosen, is_quotable)
    return _arrange(request, chosen, _sides_of(chosen, scored, sides), speaker_sides)


def _find_speaker_sides(request: AnswerRequest, is_relevant: NDArray[np.bool_]) -> dict[str, int]:
    """Return the side that each speaker clearly takes, by the clearest of their sentences."""
    clearest = dict[str, Scores]()
    for name, sides, relevant in zip(request.speakers, request.side_probabilities, is_relevant, strict=True):
        if name and relevant:
            clearest[bare_name(name)] = np.maximum(clearest.get(bare_name(name), np.zeros(3)), sides)
    return {
        name: int(sides[:NEITHER].argmax()) if sides[:NEITHER].max() >= CLEAR_SIDE else NEITHER
        for name, sides in clearest.items()
    }


def _keep_best_of_each(scores: Scores, speakers: Sequence[str | None]) -> Scores:
    """Return the scores, with -inf for all but the best sentence of each named speaker."""
    kept, heard = scores.copy(), set[str]()
    for index in np.argsort(-scores, kind="stable") if speakers else ():
        if name := speakers[index]:
            if name in heard:
                kept[index] = -np.inf
            heard.add(name)
    return kept


def _add_missing_sides(
    request: AnswerRequest,
    scored: ScoredSentences,
    scores: Scores,
    chosen: list[AnswerSentence],
    is_quotable: NDArray[np.bool_],
) -> list[AnswerSentence]:
    """Add the best sentence of each side that the chosen ones leave out, by the likelier side of each."""
    probabilities = request.side_probabilities
    likelier_sides = np.where(is_quotable, probabilities.argmax(axis=1), NEITHER)
    for side in (FOR, AGAINST):
        if side not in _sides_of(chosen, scored, likelier_sides):
            side_scores = np.where(likelier_sides == side, scores * probabilities[:, side], -np.inf)
            chosen = [
                *chosen,
                *choose(scored, side_scores, 1, words=OTHER_SIDE_WORDS, already_shown=chosen),
            ]
    return chosen


def _sides_of(
    chosen: Sequence[AnswerSentence], scored: ScoredSentences, sides: NDArray[np.intp]
) -> list[int]:
    """Return the side of each chosen sentence; a sentence before one that refers back has that one's side."""
    index_of = {id(sentence): index for index, sentence in enumerate(scored.sentences)}
    result = list[int]()
    for sentence in chosen:
        # None for a list item without its lead-in, which `choose` has made from the original sentence.
        index = index_of.get(id(sentence))
        result.append(int(sides[index]) if index is not None else result[-1])
    for before in range(len(chosen) - 2, -1, -1):
        if chosen[before + 1].refers_back and chosen[before + 1].follows(chosen[before]):
            result[before] = result[before + 1]
    return result


def _arrange(
    request: AnswerRequest,
    chosen: Sequence[AnswerSentence],
    sides: Sequence[int],
    speaker_sides: Mapping[str, int],
) -> list[Block]:
    """Return a block for each side of the chosen sentences, the first one with the opening of the answer."""
    headings: list[tuple[int, Phrase | str]] = [(NEITHER, "")]
    headings += [(column, say_heading(f"side_{side}")) for side, column in COLUMNS.items()]
    blocks = [
        Block([s for s, side in zip(chosen, sides, strict=True) if side == column], heading, bulleted=True)
        for column, heading in headings
        if column in sides
    ]
    if not blocks:
        return []
    opening = _count_speakers(list(speaker_sides.values()))
    missing = [side for side, column in COLUMNS.items() if column not in sides]
    if not asked_side(request.question) and request.missing_side and request.missing_side in missing[:1]:
        opening = say(ONE_SIDED[request.missing_side])
    return [replace(blocks[0], opening=opening), *blocks[1:]]


def _count_speakers(sides: Sequence[int]) -> Phrase | None:
    """Say how many speakers there are and how many take each side; None for fewer than two speakers."""
    if len(sides) < MIN_SPEAKERS:
        return None
    codes = ("speakers_for", FOR), ("speakers_against", AGAINST)
    views = [say(code, n=sides.count(side)) for code, side in codes if side in sides]
    if not views:
        views = [say("speakers_without_side")]
    elif NEITHER in sides:
        views.append(say("speakers_unclear", n=sides.count(NEITHER)))
    return say("speakers", n=len(sides), views=views)
