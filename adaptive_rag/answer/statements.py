"""Which sentences may stand as views on the matter that a question asks about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.ranking import READABLE, Flags, Ranking
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import without_label
from adaptive_rag.rank.stances import reports_view, view_strength
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Scores

# From which strength on a sentence is taken to judge: 78 % of the statements of opinion_perspectrum reach it,
# 4 % of the sentences of SQuAD's passages and 9 % of ShARC's rules.
JUDGES = 0.15
# A document whose nearest sentence reaches less than this share of the nearest of all is on something else.
ON_MATTER = 0.75
# So is a sentence below this share, unless somebody says it who takes a side.
NEAR_ENOUGH = 0.5
# A passage of fewer words without a full stop is a title.
FEWEST_WORDS = 4
_DATE = re.compile(
    r"\b(?:1\d|20)\d\d\b|\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)\b"
)
# "I'm asked whether the wall should be raised", "Record of the debate on the wall" and "The building of the
# houses was disputed." name the matter alone.
_NAMES_MATTER = re.compile(
    r"\b(?:asked|questions?|debates?|discuss\w*|decisions?)\b[^.;:]{0,40}?\b(?:whether|if|on)\b|"
    r"\b(?:town|city|council|county|government|board|committee) proposes to\b|"
    r"\b(?:is|was|were|are) (?:much |hotly |long )?(?:disputed|debated|discussed)\.$",
    re.IGNORECASE,
)
# "I own the café on the corner of Silver Street." says who speaks, and no more.
_INTRODUCES = re.compile(
    r"(?:I|We) (?:have )?(?:own|run|drive|live|teach|taught|work|keep|farm|use|am an?)\b[^,;]*$|"
    r"(?:I|We) have \w+ [^,;]*\bfor [\w-]+ years\b[^,;]*$"
)


def find_judging(ranking: Ranking, read: Sequence[bool] | None = None) -> Flags:
    """Tell which sentences report a view, or judge by their `view_strength`; of those `read`, else of all."""
    strengths = view_strength(ranking.vectors)
    read = [True] * len(strengths) if read is None else read
    found = zip(ranking.sentences, strengths.tolist(), read, strict=True)
    return np.array([one and is_view(s.text, strength) for s, strength, one in found])


def is_view(text: str, strength: float) -> bool:
    """Tell whether a sentence reports a view, or judges by its `view_strength`."""
    return strength >= JUDGES or reports_view(text)


def may_stand(text: str, *, judges: bool, alone: bool) -> bool:
    """Tell whether a sentence may stand as a view, and not what happened, what the matter is or a title.

    Args:
        text: the sentence.
        judges: whether it reports a view or judges.
        alone: whether it is a passage of its own, or what somebody says on the matter: a plain fact is a
            reason there.
    """
    if (
        len(text.split()) < FEWEST_WORDS
        or _NAMES_MATTER.search(text)
        or _INTRODUCES.match(without_label(text))
    ):
        return False
    return judges or (alone and not _DATE.search(text))


def find_statements(ranking: Ranking) -> Flags:
    """Tell which sentences are passages of their own, where at least half of all passages are."""
    passages = {s.document for s in ranking.sentences}
    single = passages - {s.document for s in ranking.sentences if s.position > 0}
    told = 2 * len(single) >= len(passages)
    return np.array([told and s.document in single for s in ranking.sentences])


def find_on_matter(
    ranking: Ranking, documents: Sequence[Candidate], relevance: Scores
) -> tuple[Flags, Flags]:
    """Tell which sentences stand in a document on the matter, and which of them come near to it themselves.

    A document is judged by its sentence nearest to the question, be it a heading.

    Args:
        ranking: of the sentences.
        documents: the passages.
        relevance: of the sentences for the question; shape (sentences,).
    """
    sources = [documents[s.document]["source"] for s in ranking.sentences]
    nearest: dict[str, float] = {}
    for source, score in zip(sources, relevance.tolist(), strict=True):
        nearest[source] = max(score, nearest.get(source, 0.0))
    within = np.array([nearest[source] for source in sources]) >= ON_MATTER * max(nearest.values())
    readable = np.array([s.quality >= READABLE for s in ranking.sentences])
    best = relevance[readable].max() if readable.any() else relevance.max()
    return within, within & (relevance >= NEAR_ENOUGH * best)


def with_short_views(ranking: Ranking, documents: Sequence[Candidate]) -> Ranking:
    """Return the ranking, where a passage that is one view without its full stop reads as a sentence."""
    short = [_is_short_view(s, documents[s.document]) for s in ranking.sentences]
    if not any(short):
        return ranking
    return Ranking(
        [
            replace(s, text=f"{s.text}.", quality=1.0) if is_short else s
            for s, is_short in zip(ranking.sentences, short, strict=True)
        ]
    )


def _is_short_view(sentence: AnswerSentence, document: Candidate) -> bool:
    """Tell whether a passage is one sentence that lacks its full stop, and no title."""
    text = sentence.text
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    capitals = sum(word[0].isupper() for word in words)
    return (
        text == document["text"].strip()
        and len(text.split()) >= FEWEST_WORDS
        and text[-1].isalnum()
        and capitals <= len(words) / 2
    )
