"""The answer to a question for views: what speaks for it, what against it, and whose words they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.choose import answer_first, choose
from adaptive_rag.answer.request import AGAINST, FOR, NEITHER, SEVERAL, SURE, AnswerRequest, Block
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import bare_name
from adaptive_rag.rank.stances import Side, asked_side
from adaptive_rag.state import Phrase
from adaptive_rag.text.phrases import say, say_heading
from adaptive_rag.text.vectors import Scores

COLUMNS: Mapping[Side, int] = {"for": FOR, "against": AGAINST}
# Words of the one view that is added where the best sentences leave a side out.
OTHER_SIDE_WORDS = 40
# The share of the best chunk's relevance that a chunk must have whose views count.
ON_MATTER = 0.1
# The share of the best sentence's score that the best of a speaker must have who is shown: others speak of
# something else. Set by eye on seven questions to four debates.
LEAST_OF_SPEAKER = 0.01
# What an answer says first where the passages take one side alone, by the side that is missing.
ONE_SIDED: Mapping[Side, str] = {"against": "only_for", "for": "only_against"}


def by_side(request: AnswerRequest, judged: ScoredSentences) -> list[Block]:
    """Show what answers best, with the sentences that surely argue under the heading of their side.

    Of a debate the views of its speakers are shown, of each the sentence that answers best. Where the
    question asks for one side, only that one is shown; where no sentence takes one, what answers.
    """
    asked = asked_side(request.question)
    on_matter = judged.relevance >= ON_MATTER * judged.relevance.max(initial=0.0)
    quotable = np.array([s.quality > 0 for s in judged.sentences], dtype=bool)
    side_of = np.where(on_matter & quotable, request.taken, NEITHER)
    said = np.array([name is not None for name in request.speakers], dtype=bool)
    spoken = request.is_debate and (said & on_matter).sum() >= SEVERAL
    stands, shown_as = _stands(request, on_matter), side_of
    if spoken:
        # What a speaker says stands on the side that they clearly take.
        of_speaker = [
            stands.get(bare_name(name or ""), side)
            for name, side in zip(request.speakers, side_of, strict=True)
        ]
        shown_as = np.array(of_speaker, dtype=int)
        side_of = np.where(on_matter & quotable, shown_as, NEITHER)
    if not spoken and not np.isin(side_of, [COLUMNS[asked]] if asked else [FOR, AGAINST]).any():
        # Who asks for the side that no passage takes is not given the other.
        return [] if asked and asked == request.missing else answer_first(request, judged)
    wanted = side_of == COLUMNS[asked] if asked else on_matter
    answers = np.where(said, judged.scores, -np.inf) if spoken and (said & wanted).any() else judged.scores
    if spoken:
        answers = np.where(answers >= LEAST_OF_SPEAKER * answers.max(), answers, -np.inf)
    worth = _best_of_each(np.where(wanted, answers, -np.inf), request.speakers if spoken else [])
    style = request.style
    voices = [name and bare_name(name) for name in request.speakers] if spoken else []
    chosen = choose(judged, worth, style.quotes, extent=style.extent, words=style.words, voices=voices)
    likelier = np.where(on_matter & quotable, request.sides.argmax(axis=1), NEITHER)
    for side in () if asked else (FOR, AGAINST):
        if side not in _sides_of(chosen, judged, likelier):
            others = np.where(likelier == side, answers * request.sides[:, side], -np.inf)
            chosen += choose(judged, others, 1, words=OTHER_SIDE_WORDS, used=chosen)
    taken = _sides_of(chosen, judged, shown_as)

    def block(side: int, heading: Phrase | str = "") -> Block:
        own = [sentence for sentence, of in zip(chosen, taken, strict=True) if of == side]
        return Block(own, heading, listed=True)

    blocks = [
        block(NEITHER),
        *(block(column, say_heading(f"side_{side}")) for side, column in COLUMNS.items()),
    ]
    shown = [block for block in blocks if block.sentences]
    missing = [side for side, column in COLUMNS.items() if column not in taken]
    opening = _count(list(stands.values()))
    if not asked and missing and request.missing == missing[0]:
        opening = say(ONE_SIDED[request.missing])
    return [replace(block, opening=opening if block is shown[0] else None) for block in shown]


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
    for at in np.argsort(-scores, kind="stable") if speakers else ():
        if name := speakers[at]:
            if bare_name(name) in heard:
                kept[at] = -np.inf
            heard.add(bare_name(name))
    return kept


def _stands(request: AnswerRequest, on_matter: np.ndarray) -> dict[str, int]:
    """Return the side on which each speaker clearly stands, by the clearest of their sentences."""
    clearest = dict[str, Scores]()
    for name, side, counts in zip(request.speakers, request.sides, on_matter, strict=True):
        if name and counts:
            clearest[bare_name(name)] = np.maximum(clearest.get(bare_name(name), np.zeros(3)), side)
    return {
        name: int(sides[:NEITHER].argmax()) if sides[:NEITHER].max() >= SURE else NEITHER
        for name, sides in clearest.items()
    }


def _count(stands: Sequence[int]) -> Phrase | None:
    """Say how many speakers were read and on which side each stands, where the text names several."""
    if len(stands) < SEVERAL:
        return None
    sides = ("speakers_for", FOR), ("speakers_against", AGAINST)
    views = [say(code, n=stands.count(side)) for code, side in sides if side in stands]
    if not views:
        views = [say("speakers_without_side")]
    elif NEITHER in stands:
        views.append(say("speakers_unclear", n=stands.count(NEITHER)))
    return say("speakers", n=len(stands), views=views)
