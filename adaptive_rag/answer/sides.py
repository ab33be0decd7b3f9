"""The views that an opinion's answer quotes: those of each side, and those that take none clearly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.sentences import AnswerSentence, in_first_person
from adaptive_rag.rank.agreement import agreements, centred
from adaptive_rag.rank.stances import CUES, LABELS, Side, reports_view
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Scores

# What a sentence gains that holds or reports a view, and one that says which side its speaker takes.
VIEW, DECLARED = 0.12, 0.25
# What one of a passage of its own gains, at most, by how relevant the search found it.
PASSAGE = 2.0
# How clearly a sentence must take a side to stand under its heading; benchmarks/answer_sides.py measures it.
CLEAR = 0.1
SIGNS: Mapping[Side, int] = {"for": 1, "against": -1}
# Views under one heading, at most, and the words of a side and of the whole answer; one view may be longer.
VIEWS, SIDE_WORDS, ALL_WORDS = 5, 55, 140
# What stands above the views that take no clear side, where others do.
NEITHER_HEADING = "Without a clear side"
# A passage of fewer words without a full stop is a title.
FEWEST_WORDS = 4
# The quality of a passage that is one view without its full stop ("Sea walls ruin the beach").
UNPOINTED = 0.7
_DATE = re.compile(
    r"\b(?:1\d|20)\d\d\b|\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)\b"
)
# "I am for option B", "I'm against it", "We recommend a wall"; not "I asked for a map".
_DECLARES = re.compile(
    r"\b(?:I|we)(?:['’]m| am|['’]re| are)(?: \w+)? (?:for|against|opposed to|in favou?r of)\b|"
    r"\b(?:I|we)(?:['’]d| would| still| do not| don['’]t| do)? (?:support|oppose|recommend|reject|favou?r|"
    r"believe|think|prefer|vote|rather)\b",
    re.IGNORECASE,
)
# "I'm asked whether the wall should be raised" and "Record of the debate on the wall" name the matter alone.
_NAMES_MATTER = re.compile(
    r"\b(?:asked|questions?|debates?|discuss\w*|decisions?)\b[^.;:]{0,40}?\b(?:whether|if|on)\b",
    re.IGNORECASE,
)


def passage_bonus(documents: Sequence[Candidate], found: Sequence[Sentences], ranking: Ranking) -> Scores:
    """Return what each sentence gains from its passage's relevance; shape (sentences,).

    It counts by the share of passages of one sentence: the search has weighed such a passage against all
    others of its matter, and its words alone say less.
    """
    alone = float(np.mean([len(held.spans) == 1 for held in found]))
    scores = [document["scores"] for document in documents]
    relevance = np.array([own.get("relevance", own.get("fused", 0.0)) for own in scores])
    share = relevance / max(float(relevance.max()), 1e-9)
    return np.asarray(PASSAGE * alone * share[[s.document for s in ranking.sentences]], dtype=np.float64)


def view_bonus(sentences: Sequence[AnswerSentence]) -> Scores:
    """Return what each sentence gains where it holds or reports a view; shape (sentences,)."""
    views = np.array([in_first_person(s.text) or reports_view(s.text) for s in sentences])
    return VIEW * views + DECLARED * np.array([bool(_DECLARES.search(s.text)) for s in sentences])


def states_view(text: str, *, alone: bool) -> bool:
    """Tell whether a sentence may stand as a view, and not what happened, what the matter is or a title.

    Args:
        text: the sentence.
        alone: whether it is a passage of its own. Beside others a plain fact is what they argue from.
    """
    if len(text.split()) < FEWEST_WORDS or _NAMES_MATTER.search(text):
        return False
    if reports_view(text):
        return True
    cue = any(words.search(text) for words in CUES.values())
    return not _DATE.search(text) and (alone or cue or in_first_person(text))


def with_short_views(ranking: Ranking, documents: Sequence[Candidate]) -> Ranking:
    """Return the ranking, where a passage that is one view without its full stop reads as a sentence."""
    return Ranking(
        [
            replace(s, text=f"{s.text}.", quality=max(s.quality, UNPOINTED))
            if _is_short_view(s, documents[s.document])
            else s
            for s in ranking.sentences
        ]
    )


def choose_views(
    ranking: Ranking, scores: Scores, agreed: Scores, nearness: float, shown: Sequence[Side]
) -> list[tuple[str, list[AnswerSentence]]]:
    """Choose the views of each side that is shown, then those that take none clearly; each with its heading.

    Args:
        ranking: of all sentences.
        scores: of the sentences for the question; shape (sentences,).
        agreed: how far each speaks for the proposal (above 0) or against it (below 0); shape (sentences,).
        nearness: the share of the best score that a view must reach.
        shown: the sides whose views are shown.
    """
    several = {s.document for s in ranking.sentences if s.position > 0}
    holds = [states_view(s.text, alone=s.document not in several) for s in ranking.sentences]
    views = np.where(holds, scores, -np.inf)
    # Where all views that were read fit beside each other, none is left out.
    few = _words([s for s, held in zip(ranking.sentences, holds, strict=True) if held]) <= SIDE_WORDS
    least = -np.inf if few else nearness * float(views.max())
    used: list[AnswerSentence] = []
    groups = []
    for side in shown:
        theirs = np.where(SIGNS[side] * agreed >= CLEAR, views, -np.inf)
        chosen = _choose(ranking, theirs, least, used, SIDE_WORDS)
        used += chosen
        groups.append((LABELS[side][:1].upper() + LABELS[side][1:], chosen))
    if len(shown) == 1 and used:
        return groups
    unclear = np.where(np.abs(agreed) < CLEAR, views, -np.inf)
    rest = _choose(ranking, unclear, least, used, ALL_WORDS - _words(used))
    if not used and not rest:
        # Nobody takes a stand: what comes nearest is said, under no side.
        rest = _choose(ranking, scores, nearness * float(scores.max()), (), ALL_WORDS)
    return [*groups, (NEITHER_HEADING if used else "", rest)]


def agreement(
    question: str, documents: Sequence[Candidate], found: Sequence[Sentences], ranking: Ranking
) -> Scores:
    """Return how far each sentence speaks for what the question proposes, or against it; shape (sentences,).

    It counts from the middle between the sides of the passages that were read.
    """
    held = centred(agreements(question, documents, found))
    return np.array([held[s.document][s.position] for s in ranking.sentences])


def _choose(
    ranking: Ranking, scores: Scores, least: float, used: Sequence[AnswerSentence], words: int
) -> list[AnswerSentence]:
    """Choose as many views as have so many words together, at least one."""
    for limit in range(VIEWS, 0, -1):
        chosen = ranking.choose(scores, limit, least, used)
        if _words(chosen) <= words:
            break
    return chosen


def _words(sentences: Sequence[AnswerSentence]) -> int:
    return sum(len(sentence.text.split()) for sentence in sentences)


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
