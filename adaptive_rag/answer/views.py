"""The answer to a question for views: what speaks for it, what against it, and whose words they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adaptive_rag.answer.choose import answer_first, choose
from adaptive_rag.answer.request import AGAINST, FOR, NEITHER, AnswerRequest, Block
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import bare_name, in_words, message_speaker, without_label
from adaptive_rag.rank.stances import LABELS, Side, asked_side
from adaptive_rag.text.vectors import Scores

COLUMNS: Mapping[Side, int] = {"for": FOR, "against": AGAINST}
# Words of the views under one heading, and how many there are of them; the first is shown however long.
SIDE_WORDS, VIEWS = 60, 4
# The share of the best chunk's relevance that a chunk must have whose views count.
ON_MATTER = 0.1
ONE_SIDED: Mapping[Side, str] = {
    "against": "Only arguments for it were found, none against it.",
    "for": "Only arguments against it were found, none for it.",
}


def by_side(request: AnswerRequest, judged: ScoredSentences) -> list[Block]:
    """Show the views of each side, or of the one that is asked about; where none takes a side, what answers.

    A heading stands over sentences that argue alone.
    """
    sides, asked = request.sides, asked_side(request.question)
    on_matter = judged.relevance >= ON_MATTER * judged.relevance.max(initial=0.0)
    sided = (
        on_matter & (sides.argmax(axis=1) != NEITHER) & np.array([s.quality > 0 for s in judged.sentences])
    )
    if not sided.any():
        return answer_first(request, judged)
    worth = (1 - sides[:, NEITHER]) * (judged.relevance + judged.scores)
    speakers = [speaker_of(request, s) for s in judged.sentences]
    blocks, used = list[Block](), list[AnswerSentence]()
    for side in [asked] if asked else list[Side](["for", "against"]):
        own = np.where(sided & (sides.argmax(axis=1) == COLUMNS[side]), worth, -np.inf)
        heard = _hear(judged, own, speakers, used)
        used += heard
        blocks.append(Block(heard, f"{LABELS[side][:1].upper()}{LABELS[side][1:]}", listed=True))
    shown = [block for block in blocks if block.sentences]
    missing = [side for side, block in zip(("for", "against"), blocks, strict=False) if not block.sentences]
    opening = _count(request, judged, speakers, on_matter)
    if not asked and missing and request.missing == missing[0]:
        opening = ONE_SIDED[request.missing]
    return [
        Block(b.sentences, b.heading, listed=True, opening=opening if b is shown[0] else "") for b in shown
    ]


def speaker_of(request: AnswerRequest, sentence: AnswerSentence) -> str | None:
    """Return who says a sentence, as the text marks it; None where nothing does."""
    if sentence.alone:
        return message_speaker(sentence.text)
    return request.contributions[sentence.document].speaker_at(sentence.start, sentence.text)


def _hear(
    judged: ScoredSentences, worth: Scores, speakers: Sequence[str | None], used: Sequence[AnswerSentence]
) -> list[AnswerSentence]:
    """Choose views: the best of each speaker, or of each passage where nobody is named, then others."""
    first = np.full(len(worth), -np.inf)
    heard = set[str | int]()
    for at in np.argsort(-worth, kind="stable"):
        name = speakers[at]
        voice = bare_name(name) if name else judged.sentences[at].document
        if worth[at] > -np.inf and voice not in heard:
            heard.add(voice)
            first[at] = worth[at]
    chosen = choose(judged, first, VIEWS, -np.inf, SIDE_WORDS, used)
    left = SIDE_WORDS - sum(len(without_label(s.text).split()) for s in chosen)
    if left > 0 and len(chosen) < VIEWS:
        others = choose(
            judged, np.where(np.isfinite(first), -np.inf, worth), 1, -np.inf, left, [*used, *chosen]
        )
        if sum(len(s.text.split()) for s in others) <= left:
            chosen += others
    # what one says stands together
    order = list(dict.fromkeys(s.document for s in chosen))
    return sorted(chosen, key=lambda s: (order.index(s.document), s.position))


def _count(
    request: AnswerRequest, judged: ScoredSentences, speakers: Sequence[str | None], on_matter: np.ndarray
) -> str:
    """Say how many speakers were read and on which side each stands, where the text names several."""
    stands = dict[str, Scores]()
    for name, side, counts in zip(speakers, request.sides, on_matter, strict=True):
        if name and counts:
            stands[bare_name(name)] = stands.get(bare_name(name), np.zeros(3)) + side
    if len(stands) < 2:
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
