"""Scores the sentences for a question or an aspect of it, by meaning, words and form, and picks the best."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.analysis.lexicon import AUXILIARIES, OPENERS
from adaptive_rag.answer.forms import expected_form
from adaptive_rag.answer.rows import holds_form
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.text.speech import speakers_asked
from adaptive_rag.text.vectors import Scores, cosines
from adaptive_rag.text.words import coverage, terms, weighted_terms, words

# What each signal adds to the cosine of a sentence with the question. Each signal lies between 0 and 1. The
# weights are those of a conditional logit of the answering sentence over the sentences read, on half of 200
# questions of SQuAD 2.0, rounded and drawn toward equal shares: on the other half the best sentence answers
# in 79 %. There the form counts for little, from 0.2 to 0.5 alike; over everyday documents, with their prices
# and dates, more of it answers more.
WORDS, AROUND, FORM, RANK = 0.3, 0.6, 0.4, 0.2
# A text of lower quality is shown only where there is nothing better.
READABLE = 0.3
# The words around a sentence say what it is about: those of the heading above it, of the 2 sentences before
# it and of the one after.
STEPS_AROUND = range(-2, 2)
# Added to a sentence beside one already chosen: it continues its thought.
CONTINUES = 0.06
# A sentence that refers back but names this share of what is asked about is understood alone.
NAMED = 0.5
# Any other is shown with up to so many before it.
PREDECESSORS = 2
# What stands before these is what was asked for: "That is why 41 homes were flooded."
_CONCLUDES = re.compile(
    r"(?:that|this) (?:is|was) (?:why|how|because)\b|for (?:this|that|these) reasons?\b|"
    r"(?:therefore|hence|consequently|as a result)\b",
    re.IGNORECASE,
)

Flags = NDArray[np.bool_]


class Ranking:
    """The sentences of one answer, ready to be scored for several texts."""

    def __init__(self, sentences: Sequence[AnswerSentence], question: str = "") -> None:
        self.sentences = sentences
        self._asked = weighted_terms(question)
        opening = next((word for word in words(question) if word not in OPENERS), "")
        self._asks_yes_or_no = opening in AUXILIARIES
        self.vectors = np.stack([sentence.vector for sentence in sentences])
        self._terms = [set(sentence.terms) for sentence in sentences]
        self._at = {(s.document, s.position): i for i, s in enumerate(sentences)}
        # What "It" stands for is said in the sentence before: both are read together.
        self._resolved = self.vectors.copy()
        for i, s in enumerate(sentences):
            before = self._at.get((s.document, s.position - 1))
            if s.refers_back and before is not None:
                both = self.vectors[i] + self.vectors[before]
                self._resolved[i] = both / np.linalg.norm(both)
        headings = {s.heading: set(terms(s.heading)) for s in sentences}
        self._near = [
            headings[s.heading].union(
                *(
                    self._terms[self._at[place]]
                    for step in STEPS_AROUND
                    if (place := (s.document, s.position + step)) in self._at and (step == 0 or not s.alone)
                )
            )
            for s in sentences
        ]
        chunks = max(sentence.rank for sentence in sentences)
        # A text that can hardly be read loses as much as the form of the answer gives.
        self._prior = np.array(
            [RANK * (1 - (s.rank - 1) / chunks) - FORM * (1 - s.quality) for s in sentences]
        )

    def score(self, text: str, vector: Vectors) -> Scores:
        """Score the sentences for a question, an aspect or a situation and its vector, 0 to about 2."""
        weights = weighted_terms(text)
        alone, resolved = (cosines(rows, vector[None])[:, 0] for rows in (self.vectors, self._resolved))
        scores: Scores = self._prior + np.maximum(alone, resolved)
        scores += WORDS * self._bm25(list(weights))
        scores += AROUND * np.array([coverage(weights, near) for near in self._near])
        scores += FORM * self.fit(text)
        speakers = speakers_asked(text, {s.speaker for s in self.sentences if s.speaker})
        # The messages of whom a question asks what they said gain as much as the largest weight.
        scores += AROUND * np.array([s.speaker in speakers for s in self.sentences])
        return scores

    def fit(self, question: str) -> Scores:
        """Return how well each sentence has the form of answer that a question asks for, 0 to 1.

        The cells of a table hold sums without their currency, and numbers without what is counted. An answer
        that a document gives has the form that its question asks for: "A household may take 8."
        """
        expected, asked = expected_form(question), set(terms(question))
        return np.array(
            [
                float(
                    holds_form(s.cells, expected.form)
                    or (expected.is_sure and expected.form == expected_form(s.question).form)
                )
                or expected.fit(s.text, asked)
                for s in self.sentences
            ]
        )

    @cached_property
    def showable(self) -> Flags:
        """Tell which sentences may be shown: those that can be read and have what they refer to.

        Where none has both, those that can be read may be shown; where none can be read, all.
        """
        readable = np.array([s.quality >= READABLE and not self._replies_to_other(s) for s in self.sentences])
        readable &= [not s.label or not self._asked.keys().isdisjoint(terms(s.label)) for s in self.sentences]
        readable = readable if readable.any() else ~readable
        understood = readable & [self._referred_to(s) is not None for s in self.sentences]
        return np.asarray(understood if understood.any() else readable)

    def choose(
        self,
        scores: Scores,
        limit: int,
        least: float,
        used: Sequence[AnswerSentence] = (),
        words: float = math.inf,
        *,
        known: bool = False,
    ) -> list[AnswerSentence]:
        """Choose up to `limit` sentences that score at least `least`, without repeats.

        The best one comes first, then the others in reading order.

        A sentence that stands beside one already chosen gains. The sentences that a chosen one refers back to
        come on top of the limit. With `known` those that name what was asked about are left out, since the
        asker knows it: "When was the borehole closed?" "It was closed in 2019." After the first, one that
        would make it more than `words` words is left out.

        A score of -inf is never chosen, nor is a sentence repeated that is `used` in the answer already.
        """
        left = np.where(self.showable, scores, -np.inf)
        chosen: list[AnswerSentence] = []
        lead = 0  # how many of them are the best one and what it refers back to
        while limit:
            best = int(np.argmax(left))
            sentence, score = self.sentences[best], float(left[best])
            if score < least or score == -np.inf:
                break
            left[best] = -np.inf
            if sentence in chosen:
                continue
            before = self._referred_to(sentence) or []
            if known and before and not sentence.continues and self._names_what_is_asked(before):
                before = []
            group = [*before, sentence]
            if any(s is o or s.repeats(o) for s in group for o in used) or any(
                s is not o and s.repeats(o) for s in group for o in chosen
            ):
                continue
            length = sum(len(s.text.split()) for s in group if s not in chosen)
            if chosen and length > words:
                continue
            words -= length
            limit -= 1
            chosen += [s for s in group if s not in chosen]
            lead = lead or len(chosen)
            left += CONTINUES * np.array([sentence.is_beside(other) for other in self.sentences])
        by_score = dict(zip(self.sentences, scores.tolist(), strict=True))
        return chosen[:lead] + _in_reading_order(chosen[lead:], chosen[lead - 1], by_score) if lead else []

    def _referred_to(self, sentence: AnswerSentence) -> list[AnswerSentence] | None:
        """Return the sentences before this one that it needs; None where they cannot be shown."""
        found: list[AnswerSentence] = []
        while sentence.refers_back and len(found) < PREDECESSORS:
            at = self._at.get((sentence.document, sentence.position - 1))
            if at is None:
                # A chunk that begins with "This ..." has lost what it speaks of.
                return None
            # What a question says tells nothing of the later sentences of its answer.
            named = coverage(self._asked, set(terms(sentence.text))) > NAMED
            if named and not _CONCLUDES.match(sentence.text):
                break
            sentence = self.sentences[at]
            if sentence.quality < READABLE or self._replies_to_other(sentence):
                break
            found.insert(0, sentence)
        return found

    def _replies_to_other(self, sentence: AnswerSentence) -> bool:
        """Tell whether a sentence is a bare "No." to another question than the one that is asked."""
        same = self._asks_yes_or_no and coverage(self._asked, set(terms(sentence.question))) > NAMED
        return sentence.is_bare_reply and not same

    def _names_what_is_asked(self, sentences: Sequence[AnswerSentence]) -> bool:
        named = {term for sentence in sentences for term in sentence.terms}
        return coverage(self._asked, named) >= NAMED

    def _bm25(self, words: Sequence[str]) -> Scores:
        """Return each sentence's BM25 as a share of the best one's; zeros where no word matches."""
        if not words or self._index is None:
            return np.zeros(len(self.sentences))
        scores = np.maximum(np.asarray(self._index.get_scores(list(words)), dtype=np.float64), 0.0)
        best = scores.max()
        return np.asarray(scores / best if best > 0 else scores, dtype=np.float64)

    @cached_property
    def _index(self) -> Any:
        from rank_bm25 import BM25Okapi

        words = [sentence.terms for sentence in self.sentences]
        # BM25Okapi divides by the number of words it was given.
        return BM25Okapi(words) if any(words) else None


def _in_reading_order(
    chosen: Sequence[AnswerSentence], lead: AnswerSentence, scores: Mapping[AnswerSentence, float]
) -> list[AnswerSentence]:
    """Keep neighbours together in their order; begin with what goes on from the lead, then with the best."""
    runs: list[list[AnswerSentence]] = []
    for sentence in sorted(chosen, key=lambda s: (s.document, s.position)):
        if runs and runs[-1][-1].is_beside(sentence):
            runs[-1].append(sentence)
        else:
            runs.append([sentence])
    best = {s.document: max(scores[o] for o in chosen if o.document == s.document) for s in chosen}

    def place(run: list[AnswerSentence]) -> tuple[bool, float, int, float]:
        goes_on = run[0].document == lead.document and run[0].position == lead.position + 1
        return not goes_on, -best[run[0].document], run[0].document, -max(scores[s] for s in run)

    runs.sort(key=place)
    return [sentence for run in runs for sentence in run]
