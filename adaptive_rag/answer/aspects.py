"""Sentences shared out among the sub-questions or viewpoints that passages were found for."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from adaptive_rag.answer.passages import labels_at
from adaptive_rag.answer.ranking import RANK, Ranking
from adaptive_rag.answer.request import AnswerRequest, Block
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.text.vectors import Scores

# Share of the score for an aspect's label; the whole question has the rest.
ASPECT_SHARE = 0.65
# Added to a sentence that was found for the aspect: what the first rank adds to one of the last.
FOUND_FOR = RANK
# A sentence is left to another aspect for which it scores higher by more than this.
LEFT_TO_OTHERS = 0.05
# An aspect whose best score is far below this share of the best aspect's has no sentence worth showing.
FAR_BEHIND = 0.9
_ASKS = re.compile(
    r"(?:what|who|whom|whose|when|where|which|why|how|is|are|was|were|do|does|did|can|could|should|will|would)\b",
    re.IGNORECASE,
)


def score_aspects(request: AnswerRequest, ranking: Ranking, whole: Scores) -> Scores:
    """Return the scores of all sentences for each aspect, shape (aspects, sentences)."""
    labels = [labels_at(request.documents[s.document], s.start, s.end) for s in ranking.sentences]
    rows = [
        ASPECT_SHARE * ranking.score(aspect.label, aspect.vector)
        + (1 - ASPECT_SHARE) * whole
        + FOUND_FOR * np.array([aspect.label in found for found in labels])
        for aspect in request.aspects
    ]
    return np.stack(rows) if rows else np.zeros((0, len(whole)))


def share_out(
    request: AnswerRequest,
    ranking: Ranking,
    scores: Scores,
    shown: Sequence[bool] | None = None,
) -> list[Block]:
    """Give each aspect its best sentences; none is used twice.

    Args:
        request: with the aspects.
        ranking: of all sentences.
        scores: of `score_aspects`.
        shown: which aspects are shown; all where it is not given.
    """
    near = request.style.nearness
    # An aspect whose best sentence falls far behind the other aspects' has nothing to say.
    floors = near * np.maximum(scores.max(axis=1), FAR_BEHIND * scores.max())
    used: list[AnswerSentence] = []
    blocks = []
    headed = [i for i in range(len(request.aspects)) if shown is None or shown[i]]
    for number, i in enumerate(headed):
        # A sentence that serves another aspect clearly better is left to it.
        own = np.where(scores[i] >= scores.max(axis=0) - LEFT_TO_OTHERS, scores[i], -np.inf)
        left = request.style.words - sum(len(sentence.text.split()) for sentence in used)
        words = left / (len(headed) - number)
        chosen = ranking.choose(own, request.style.sentences, floors[i], used, words)
        used += chosen
        blocks.append(Block(chosen, _heading(request.aspects[i].label, request.question)))
    return blocks


def _heading(label: str, question: str) -> str:
    """Return what stands above an aspect's sentences; a label that repeats the question heads nothing."""
    label, question = (" ".join(text.split()).strip(" .:;,?") for text in (label, question))
    if label.casefold().startswith(question.casefold()):
        return ""
    return f"{label[:1].upper()}{label[1:]}{'?' if _ASKS.match(label) else ''}"
