"""Arranges the answer to a question for views, by what speaks for the proposal and what against it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.choose import MIN_WORDS, READABLE, answer_first, choose
from adaptive_rag.answer.people import share_subject
from adaptive_rag.answer.request import AGAINST, FOR, NEITHER, AnswerRequest, Block
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import TURN, bare_name, message_text
from adaptive_rag.rank.stances import Side, asked_side
from adaptive_rag.state import Phrase
from adaptive_rag.text.phrases import say, say_heading
from adaptive_rag.text.vectors import Scores

COLUMNS: Mapping[Side, int] = {"for": FOR, "against": AGAINST}
# Maximum number of words of a view that is added for a side without one.
OTHER_SIDE_WORDS = 40
# Sentences count whose chunk has at least this share of the best chunk's relevance.
RELEVANT_SHARE = 0.1
# A sentence is quoted that has at least this share of the best score, by whether somebody is known to say it.
# With .01 for both, answers hold .04 more of what answers, in a fifth more words.
VIEW_SHARE, SHARE_WITHOUT_HOLDER = 0.03, 0.05
# Maximum number of words in the answer to a debate, without the names: with 150, a third of the answers to
# the 15 questions for views of `benchmarks.typed_questions` are too long.
DEBATE_WORDS = 120
# In a debate, a sentence is quoted that has at least this share of the most that any has in common with the
# question, or this share of the best score: a chunk of minutes holds what was said on other items too.
SUBJECT_SHARE, ANSWERS_SHARE = 0.5, 0.1
# How much more the score of a sentence counts that says what somebody thinks, or why: of the same 15
# questions, 10 instead of 8 are then answered well.
ARGUES = 3.0
_ARGUES = re.compile(
    r"\b(?:I|we) (?:\w+ )?(?:think|believe|find|feel|fear|hope|wish|want|would|demand|prefer|oppose|support|"
    r"agree|disagree|doubt|love|like|dislike|hate|welcome)\b|\bin (?:my|our|his|her) (?:opinion|view|eyes)\b|"
    r"(?:\b(?:am|is|are|was|were)|['’](?:m|re)) (?:\w+ )?(?:for|against|in favou?r)\b|\bbecause\b|"
    r"\b(?:thinks|thought|believes|finds|considers|feels|fears|objects|opposes|supports|prefers|says|said|"
    r"argue[sd]?|complain(?:s|ed))\b",
    re.IGNORECASE,
)
# The code of the answer's opening where the passages take only one side, by the missing side.
ONE_SIDED: Mapping[Side, str] = {"against": "only_for", "for": "only_against"}


def by_side(request: AnswerRequest, scored: ScoredSentences) -> list[Block]:
    """Quote the sentences that answer best, those that surely take a side under its heading.

    Of each speaker, only the best sentence is quoted, with what belongs to it. If the question asks for one
    side, only that side is quoted; if it asks for one person's view, only that person is. If nobody is known
    to speak and no sentence takes a side, the answer is arranged as by `answer_first`.
    """
    asked, style = asked_side(request.question), request.style
    is_view = np.array([_is_view(s) for s in scored.sentences], dtype=bool)
    if request.own_words is not None and request.own_words.mask.any():
        return [Block(_choose_own(request, scored, is_view), bulleted=True)]
    is_view &= scored.relevance >= RELEVANT_SHARE * scored.relevance.max(initial=0.0)
    takes_side = np.where(is_view, request.clear_sides, NEITHER) != NEITHER
    if asked:
        takes_side &= request.clear_sides == COLUMNS[asked]
        if not takes_side.any() and asked == request.missing_side:
            return []  # the other side is no answer
        if not takes_side.any():
            takes_side = is_view & (request.side_probabilities.argmax(axis=1) == COLUMNS[asked])
    if not takes_side.any() and not request.is_debate:
        return answer_first(request, scored)
    is_wanted = takes_side if asked and takes_side.any() else is_view
    scores, holders = scored.scores, list[str | None]()
    if request.is_debate:
        holders = _bare_holders(request)
        shares = share_subject(request.question, request.documents, scored.sentences)
        on_subject = shares >= SUBJECT_SHARE * shares[is_view].max(initial=0.0)
        is_wanted = is_wanted & (on_subject | (scores >= ANSWERS_SHARE * scores.max(initial=0.0)))
        scores = np.where([bool(_ARGUES.search(s.text)) for s in scored.sentences], ARGUES * scores, scores)
    scores = _without_weak(request, np.where(is_wanted, scores, -np.inf))
    words = DEBATE_WORDS if holders else style.words
    best_scores = _keep_best_of_each(scores, holders)
    chosen = choose(scored, best_scores, style.quotes, extent=style.extent, words=words, speakers=holders)
    if asked or not takes_side.any():
        return [Block(chosen, bulleted=True)]
    return _arrange(request, _add_missing_sides(request, scored, scores, chosen, is_view), scored)


def _choose_own(
    request: AnswerRequest, scored: ScoredSentences, is_view: NDArray[np.bool_]
) -> list[AnswerSentence]:
    """Choose the sentences of the person whose view the question asks for."""
    style, holders = request.style, _bare_holders(request)
    scores = np.where(is_view, scored.scores, -np.inf) if is_view.any() else scored.scores
    scores = _without_weak(request, scores)
    return choose(scored, scores, style.quotes, extent=style.extent, words=DEBATE_WORDS, speakers=holders)


def _bare_holders(request: AnswerRequest) -> list[str | None]:
    return [name and bare_name(name) for name in request.holders]


def _without_weak(request: AnswerRequest, scores: Scores) -> Scores:
    shares = np.where([holder is None for holder in request.holders], SHARE_WITHOUT_HOLDER, VIEW_SHARE)
    return np.where(scores >= shares * scores.max(initial=0.0), scores, -np.inf)


def _is_view(sentence: AnswerSentence) -> bool:
    """Return whether a sentence may express a view: not a heading, nor short values, nor "me too"."""
    said = message_text(sentence.text) if sentence.speaker else sentence.text
    texts = [value for _, value in sentence.cells] or [said]
    is_long_enough = any(len(text.split()) >= MIN_WORDS for text in texts)
    is_piece = sentence.standalone or sentence.is_list_item or bool(TURN.match(sentence.text))
    is_readable = sentence.quality >= READABLE or (sentence.quality > 0 and is_piece)
    return is_readable and is_long_enough and not sentence.is_value


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
    is_view: NDArray[np.bool_],
) -> list[AnswerSentence]:
    """Add the best sentence of each side that the chosen ones leave out, by the likelier side of each."""
    probabilities = request.side_probabilities
    likelier_sides = np.where(is_view, probabilities.argmax(axis=1), NEITHER)
    for side in (FOR, AGAINST):
        if side not in _sides_of(chosen, scored, likelier_sides):
            # A probability of 0 has no product with the -inf of a sentence that is not quoted.
            factors = np.where(likelier_sides == side, probabilities[:, side], 1.0)
            side_scores = np.where(likelier_sides == side, scores * factors, -np.inf)
            added = choose(scored, side_scores, 1, words=OTHER_SIDE_WORDS, already_shown=chosen)
            chosen = [*chosen, *added]
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
    request: AnswerRequest, chosen: Sequence[AnswerSentence], scored: ScoredSentences
) -> list[Block]:
    """Return a block for each side of the chosen sentences, the first one with the opening of the answer."""
    sides = _sides_of(chosen, scored, request.clear_sides)
    headings: list[tuple[int, Phrase | str]] = [(NEITHER, "")]
    headings += [(column, say_heading(f"side_{side}")) for side, column in COLUMNS.items()]
    blocks = [
        Block([s for s, side in zip(chosen, sides, strict=True) if side == column], heading, bulleted=True)
        for column, heading in headings
        if column in sides
    ]
    missing = request.missing_side
    if blocks and missing and COLUMNS[missing] not in sides:
        blocks[0] = replace(blocks[0], opening=say(ONE_SIDED[missing]))
    return blocks
