"""The answer to a question for views: what speaks for it, what against it, and whose words they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.choose import answer_first, choose
from adaptive_rag.answer.request import AGAINST, FOR, NEITHER, SEVERAL, AnswerRequest, Block
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import bare_name, in_words
from adaptive_rag.rank.stances import LABELS, Side, asked_side
from adaptive_rag.text.vectors import Scores

COLUMNS: Mapping[Side, int] = {"for": FOR, "against": AGAINST}
# Words of the one view that is added where the best sentences leave a side out.
OTHER_SIDE_WORDS = 40
# The share of the best chunk's relevance that a chunk must have whose views count.
ON_MATTER = 0.1
ONE_SIDED: Mapping[Side, str] = {
    "against": "Only arguments for it were found, none against it.",
    "for": "Only arguments against it were found, none for it.",
}


def by_side(request: AnswerRequest, judged: ScoredSentences) -> list[Block]:
    """Show what answers best, with the sentences that argue under the heading of their side.

    Of a debate the views of its speakers are shown, one of each. Where the question asks for one side, only
    that one is shown; where no sentence takes one, what answers.
    """
    asked = asked_side(request.question)
    on_matter = judged.relevance >= ON_MATTER * judged.relevance.max(initial=0.0)
    quotable = np.array([s.quality > 0 for s in judged.sentences], dtype=bool)
    side_of = np.where(on_matter & quotable, request.sides.argmax(axis=1), NEITHER)
    if not np.isin(side_of, [COLUMNS[asked]] if asked else [FOR, AGAINST]).any():
        # Who asks for the side that no passage takes is not given the other.
        return [] if asked and asked == request.missing else answer_first(request, judged)
    speakers = request.speakers
    said = np.array([name is not None for name in speakers], dtype=bool)
    wanted = side_of == COLUMNS[asked] if asked else side_of != NEITHER
    if request.is_debate and (said & wanted).any():
        # Of each speaker the clearest view: none answers the question by itself.
        worth = _best_of_each(np.where(said & wanted, np.abs(request.leans), -np.inf), speakers)
    else:
        worth = np.where(wanted if asked else ~(said & (side_of == NEITHER)), judged.scores, -np.inf)
    chosen = choose(judged, worth, request.style.quotes, words=request.style.words)
    for side in () if asked else (FOR, AGAINST):
        if side not in _sides_of(chosen, judged, side_of):
            others = np.where(side_of == side, worth, -np.inf)
            chosen += choose(judged, others, 1, words=OTHER_SIDE_WORDS, used=chosen)
    taken = _sides_of(chosen, judged, side_of)

    def block(side: int, heading: str = "") -> Block:
        own = [sentence for sentence, of in zip(chosen, taken, strict=True) if of == side]
        return Block(own, heading, listed=True)

    heads = {side: f"{LABELS[side][:1].upper()}{LABELS[side][1:]}" for side in COLUMNS}
    blocks = [block(NEITHER), *(block(COLUMNS[side], head) for side, head in heads.items())]
    shown = [block for block in blocks if block.sentences]
    missing = [side for side, column in COLUMNS.items() if column not in taken]
    opening = _count(request, judged, speakers, on_matter)
    if not asked and missing and request.missing == missing[0]:
        opening = ONE_SIDED[request.missing]
    return [replace(block, opening=opening if block is shown[0] else "") for block in shown]


def _sides_of(chosen: Sequence[AnswerSentence], judged: ScoredSentences, side_of: np.ndarray) -> list[int]:
    """Return the side of each chosen sentence; what one needs to be understood has that one's side."""
    place = {id(sentence): at for at, sentence in enumerate(judged.sentences)}
    sides = list[int]()
    for sentence in chosen:
        at = place.get(id(sentence))  # None for an item of a list, which is shown after what leads to it
        sides.append(int(side_of[at]) if at is not None else sides[-1])
    for before in range(len(chosen) - 2, -1, -1):
        if chosen[before + 1].refers_back and chosen[before + 1].follows(chosen[before]):
            sides[before] = sides[before + 1]
    return sides


def _best_of_each(scores: Scores, speakers: Sequence[str | None]) -> Scores:
    """Return the scores; of a speaker who is named only the best sentence keeps its own, others have -inf."""
    kept, heard = scores.copy(), set[str]()
    for at in np.argsort(-scores, kind="stable"):
        if name := speakers[at]:
            if bare_name(name) in heard:
                kept[at] = -np.inf
            heard.add(bare_name(name))
    return kept


def _count(
    request: AnswerRequest, judged: ScoredSentences, speakers: Sequence[str | None], on_matter: np.ndarray
) -> str:
    """Say how many speakers were read and on which side each stands, where the text names several."""
    stands = dict[str, Scores]()
    for name, side, counts in zip(speakers, request.sides, on_matter, strict=True):
        if name and counts:
            stands[bare_name(name)] = stands.get(bare_name(name), np.zeros(3)) + side
    if len(stands) < SEVERAL:
        return ""
    leans = [_lean(total) for total in stands.values()]
    counts = [
        (leans.count(FOR), "for it"),
        (leans.count(AGAINST), "against it"),
        (leans.count(NEITHER), "undecided"),
    ]
    told = [f"{count} {'are' if count > 1 else 'is'} {where}" for count, where in counts if count]
    return f"Of {len(stands)} speakers that were read, {in_words(told)}."


def _lean(total: Scores) -> int:
    """Return where somebody stands by all that they say: for, against, or neither where it is about even."""
    against, favour, _ = map(float, total)
    if max(against, favour) < 0.5 or abs(favour - against) < 0.25 * (favour + against):
        return NEITHER
    return FOR if favour > against else AGAINST
