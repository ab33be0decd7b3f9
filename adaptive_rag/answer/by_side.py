"""The answer to a question for opinions: the views of each side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.aspects import score_aspects, share_out
from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.answer.sides import ONE_SIDED, quote_views
from adaptive_rag.answer.views import DECLARED, SIGNS, agreement, read_views, view_bonus
from adaptive_rag.rank.stances import LABELS, asked_side, misplaced, side_of


def by_side(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the views of each side, or of the one that the question asks about, then those of no clear side.

    Where a model named the viewpoints, each has a paragraph; sentences that look wrong under a label that
    takes sides are held back.
    """
    asked = asked_side(request.question)
    if {aspect.label for aspect in request.aspects} <= set(LABELS.values()):
        views = read_views(request, ranking)
        agreed = np.zeros(len(views.scores))
        if request.aspects:  # else no passage takes a side
            agreed = agreement(request, ranking)
        near, missing = request.style.nearness, request.missing
        if asked and asked == missing and not (SIGNS[asked] * views.declared > 0).any():
            return []
        quoted = quote_views(views, request.question, agreed, near, asked=asked, missing=missing)
        blocks = [Block(shown, heading, listed=True) for heading, shown in quoted.groups]
        return _opened(blocks, quoted.opening)
    if asked and asked == request.missing:
        return []
    gained = view_bonus(ranking)
    whole = ranking.score(request.question, request.question_vector) + gained
    scores = score_aspects(request, ranking, whole)
    sides = [side_of(aspect.label) for aspect in request.aspects]
    for row, side in zip(scores, sides, strict=True):
        if side is not None:
            row += gained - DECLARED * np.array([misplaced(side, s.text) for s in ranking.sentences])
    shown_aspects = [not asked or side in (asked, None) for side in sides]
    blocks = share_out(request, ranking, scores, shown_aspects)
    return _opened(blocks, ONE_SIDED[request.missing]) if request.missing else blocks


def _opened(blocks: Sequence[Block], opening: str) -> list[Block]:
    """Return the blocks that hold sentences, the first of them with what is said above it."""
    shown = [block for block in blocks if block.sentences]
    return [replace(block, opening=opening if block is shown[0] else "") for block in shown]


# Views rarely use the asker's words.
OPINION_STYLE = AnswerStyle(arrange=by_side, evidence=0.1, wording=0.1, nearness=0.55, heeds_speakers=True)
