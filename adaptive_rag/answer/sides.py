"""The views that an opinion's answer quotes: those of each side, and those that take none clearly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adaptive_rag.answer.ranking import READABLE
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import asked_speakers, bare_name, in_words, without_label
from adaptive_rag.answer.views import SIGNS, Views
from adaptive_rag.rank.agreement import reported_side
from adaptive_rag.rank.stances import LABELS, Side
from adaptive_rag.text.vectors import Scores

# How clearly a sentence must take a side to stand under its heading; benchmarks/answer_sides.py measures it.
CLEAR = 0.1
# Views under one heading, at most, and the words of a side and of the whole answer; one view may be longer.
VIEWS, SIDE_WORDS, ALL_WORDS = 6, 48, 108
# Sentences of one speaker under a heading, at most.
LINES = 2
# A declaration of at most so many words ("I am against it.") is quoted with the sentence after it.
BARE = 8
# The share of the score that others must reach from which on a named speaker is heard.
NAMED = 0.7
# What stands above the views that take no clear side, where others do.
NEITHER_HEADING = "Without a clear side"
# What an answer says where all passages that take a side take the same one, and where none holds a view.
ONE_SIDED: Mapping[Side, str] = {
    "against": "Only arguments for it were found, none against it.",
    "for": "Only arguments against it were found, none for it.",
}
NO_VIEW = "The passages that were read describe this, but hold no opinion on it. The closest:"


@dataclass(frozen=True)
class QuotedViews:
    """The views that an answer quotes, each group under its heading, and what is said above them."""

    groups: list[tuple[str, list[AnswerSentence]]]
    opening: str = ""


def quote_views(
    views: Views, question: str, agreed: Scores, nearness: float, *, asked: Side | None, missing: Side | None
) -> QuotedViews:
    """Quote the views of each side, or of the one that the question asks about, then those of no clear side.

    Where the question names a speaker, theirs are quoted; where no sentence holds a view, the nearest
    ones are.

    Args:
        views: of all sentences.
        question: as it is asked.
        agreed: how far each speaks for the proposal (above 0) or against it by its tone; shape (sentences,).
        nearness: the share of the best score that a view must reach.
        asked: the side that the question asks about.
        missing: the side that no passage seems to take.
    """
    choice = _Choice(views, nearness)
    of_group = views.of_group & views.holds
    heard = {name for name, theirs in zip(views.voices, of_group, strict=True) if theirs}
    named = asked_speakers(question, {name for name in views.voices if name})
    if named or (len(heard) == 1 and None not in heard):
        own = [name in named for name in views.voices] if named else of_group
        theirs = np.where(own, views.scores, -np.inf)
        return QuotedViews(
            [("", choice.take(theirs, 2 * SIDE_WORDS, NAMED * float(theirs.max()), lines=np.inf))]
        )
    if heard:
        views = replace(views, holds=of_group, both=views.both & of_group)
        choice = _Choice(views, nearness)
    if not views.holds.any():
        return QuotedViews([("", choice.take(views.scores, SIDE_WORDS))], NO_VIEW)
    if missing and (SIGNS[missing] * views.declared > 0).any():
        missing = None
    if missing:  # nothing stands under a side that is said to be missing
        agreed = SIGNS[missing] * np.minimum(SIGNS[missing] * agreed, 0.0)
    if asked and not views.declared[views.holds].any():  # who complains does so by their tone
        agreed = np.where(SIGNS[asked] * agreed > 0, SIGNS[asked], 0.0)
    else:
        agreed = np.where(views.declared, views.declared, np.where(views.toned, agreed, 0.0))
    both = [] if asked else choice.take_both()
    groups = choice.take_sides(agreed, [asked] if asked else ["for", "against"])
    told = ONE_SIDED[missing] if missing and not asked else choice.summary(groups)
    return QuotedViews([("", both), *groups], told)


class _Choice:
    """Chooses among the views, none twice."""

    def __init__(self, views: Views, nearness: float) -> None:
        self.views = views
        self.sentences = views.ranking.sentences
        self.used: list[AnswerSentence] = []
        self._nearness = nearness
        self._at = {(s.document, s.position): i for i, s in enumerate(self.sentences)}
        # Where all statements that were read fit beside each other, none is left out.
        held = [s for s, held in zip(self.sentences, views.holds, strict=True) if held]
        few = views.statements and bool(held) and self._spoken(held) <= SIDE_WORDS
        best = float(views.scores[views.holds].max() if held else views.scores.max())
        self._least = -np.inf if few else nearness * best

    def take_sides(self, agreed: Scores, shown: Sequence[Side]) -> list[tuple[str, list[AnswerSentence]]]:
        """Choose the views of each side that is shown, then those that take none clearly; with headings."""
        held = np.where(self.views.holds, self.views.scores, -np.inf)
        unclear = np.where(np.abs(agreed) < CLEAR, held, -np.inf)
        groups = []
        spare = ALL_WORDS - self._spoken(self.used) - self._labels(self.used)
        for side in shown:
            theirs = np.where(SIGNS[side] * agreed >= CLEAR, held, -np.inf)
            words = min(SIDE_WORDS, spare // len(shown)) if len(shown) > 1 else spare
            # who takes this side is heard, however near the other side's come
            own = np.where(SIGNS[side] * self.views.declared > 0, theirs, -np.inf)
            least = min(self._least, self._nearness * float(own.max())) if np.isfinite(own).any() else None
            if np.isfinite(theirs[self.views.rated]).any():  # a review is of it, in whatever words
                least = -np.inf
            groups.append((LABELS[side][:1].upper() + LABELS[side][1:], self.take(theirs, words, least)))
        if len(shown) == 1 and any(chosen for _, chosen in groups):
            return groups  # who takes no clear side is not asked for
        rest = self.take(
            unclear, ALL_WORDS - self._spoken(self.used) - self._labels(self.used), spare=bool(self.used)
        )
        sided = [s for _, chosen in groups for s in chosen]
        if len(self.thoughts(sided)) < len(self.thoughts(rest)):  # most take no side: none is headed
            return [("", [*sided, *rest])]
        return [*groups, (NEITHER_HEADING if sided else "", rest)]

    def take_both(self) -> list[AnswerSentence]:
        """Choose what reports both sides best, in one or two sentences; it stands first, under no heading."""
        both = np.where(self.views.both, self.views.scores, -np.inf)
        best = self.views.ranking.choose(both, 1, self._least)
        if best and reported_side(best[-1].text):  # the other side stands before or after it
            last = best.pop()
            at = [(last.document, last.position + step) for step in (-1, 0, 1)]
            pair = [self.sentences[self._at[key]] for key in at if key in self._at]
            best += [s for s in pair if s not in best and self.views.both[self._index(s)]]
        self.used += best
        return best

    def take(
        self,
        scores: Scores,
        words: int,
        least: float | None = None,
        *,
        spare: bool = False,
        lines: float = LINES,
    ) -> list[AnswerSentence]:
        """Choose views of so many words: one of each speaker, one of each passage, then others.

        The first is chosen however long it is, unless the group can be spared. A named speaker is heard
        from a lower score on, in at most so many lines; what one says stands together.
        """
        least = self._least if least is None else least
        first = self._first_of_each(scores)
        named = np.where([name is not None for name in self.views.voices], first, -np.inf)
        chosen: list[AnswerSentence] = []
        for some, enough in ((named, NAMED * least if least > 0 else least), (first, least), (scores, least)):
            left = some.copy()
            while np.isfinite(left).any() and len(self.thoughts(chosen)) < VIEWS:
                more = self.views.ranking.choose(left, 1, enough, [*self.used, *chosen])
                if not more:
                    break
                left[self._index(more[-1])] = -np.inf
                more = [s for s in more if self._sign(s) in (0, self._sign(more[-1]))]
                if self._heard(more[-1], chosen) >= lines:
                    continue
                whole = self._with_reasons([*chosen, *more])
                if self._spoken(whole) + spare * self._labels(whole) <= words or (not chosen and not spare):
                    chosen = whole
        self.used += chosen
        keys = [self._key(self._index(s)) for s in chosen]
        order = sorted(range(len(chosen)), key=lambda i: keys.index(keys[i]))
        return [chosen[i] for i in order]

    def _heard(self, sentence: AnswerSentence, chosen: Sequence[AnswerSentence]) -> int:
        """Count the chosen sentences of whoever says a sentence; 0 where nobody is named."""
        key = self._key(self._index(sentence))
        return sum(isinstance(key, str) and self._key(self._index(s)) == key for s in chosen)

    def _key(self, index: int) -> str | int:
        """Return who says a sentence, or else its passage."""
        name = self.views.voices[index]
        return bare_name(name) if name else self.sentences[index].document

    def _first_of_each(self, scores: Scores) -> Scores:
        """Return the scores of the best sentence of each speaker, or of each passage without one."""
        best: dict[str | int, int] = {}
        for i in range(len(self.sentences)):
            key = self._key(i)
            if key not in best or scores[i] > scores[best[key]]:
                best[key] = i
        first = np.full(len(scores), -np.inf)
        first[list(best.values())] = scores[list(best.values())]
        return first

    def summary(self, groups: Sequence[tuple[str, Sequence[AnswerSentence]]]) -> str:
        """Say how many views of which side are quoted, and of how many people, where the text marks them."""
        sides = {LABELS["for"]: "for it", LABELS["against"]: "against it"}
        counts = [(len(self.thoughts(views)), heading.lower()) for heading, views in groups if views]
        total = sum(count for count, _ in counts)
        voices = [self.views.voices[self._index(s)] for _, views in groups for s in views]
        # where nobody is named for one of the views, people are not counted
        people = 0 if None in voices else len({bare_name(name) for name in voices if name})
        told = f"{total} views" + (f" of {people} people" if people > 1 else "")
        named = [f"{count} {sides.get(heading, heading)}" for count, heading in counts if heading]
        if total < 2 or not (named or people > 1):
            return ""
        if len(named) > 1:
            return f"{told}: {in_words(named)}."
        return (
            f"{told}, {'both' if total == 2 else 'all'} {named[0].partition(' ')[2]}."
            if named
            else f"{told}."
        )

    def thoughts(self, sentences: Sequence[AnswerSentence]) -> list[AnswerSentence]:
        """Return the sentences that do not go on from the one before, by standing beside it or by speaker."""
        return [
            s
            for i, s in enumerate(sentences)
            if not i or not (s.is_beside(sentences[i - 1]) or self._same_speaker(s, sentences[i - 1]))
        ]

    def _with_reasons(self, chosen: Sequence[AnswerSentence]) -> list[AnswerSentence]:
        """Return the views, each bare declaration of a speaker with the sentence after it."""
        whole: list[AnswerSentence] = []
        for s in chosen:
            if s in whole:
                continue
            whole.append(s)
            after = self._at.get((s.document, s.position + 1))
            bare = self.views.declared[self._index(s)] and len(without_label(s.text).split()) <= BARE
            if after is None or not bare:
                continue
            reason = self.sentences[after]
            if reason in whole:  # the declaration comes first
                whole.remove(s)
                whole.insert(whole.index(reason), s)
            elif self._same_speaker(s, reason) and reason.quality >= READABLE and reason not in self.used:
                whole.append(reason)
        return whole

    def _same_speaker(self, one: AnswerSentence, other: AnswerSentence) -> bool:
        speaker = self.views.speakers[self._index(one)]
        return speaker is not None and speaker == self.views.speakers[self._index(other)]

    def _sign(self, sentence: AnswerSentence) -> float:
        return float(self.views.declared[self._index(sentence)])

    def _index(self, sentence: AnswerSentence) -> int:
        return self._at[sentence.document, sentence.position]

    def _spoken(self, sentences: Sequence[AnswerSentence]) -> int:
        """Count the words of the sentences themselves."""
        return sum(len(without_label(s.text).split()) for s in sentences)

    def _labels(self, sentences: Sequence[AnswerSentence]) -> int:
        """Count the words of the speakers that are shown before them."""
        labels = [self.views.speakers[self._index(s)] or "" for s in self.thoughts(sentences)]
        return sum(len(label.split()) for label in labels)
