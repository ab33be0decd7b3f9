"""Scores the sentences for a question or an aspect of it, by meaning, words and form, and picks the best."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.text.speech import speakers_asked
from adaptive_rag.text.vectors import Scores, cosines
from adaptive_rag.text.words import coverage, stem, terms, weighted_terms

# What each signal adds to the cosine of a sentence with the question. Each signal lies between 0 and 1. The
# weights are those of a conditional logit of the answering sentence over the sentences read, on half of 200
# questions of SQuAD 2.0, rounded and drawn toward equal shares: on the other half the best sentence answers
# in 79 %.
WORDS, AROUND, FORM, RANK = 0.3, 0.6, 0.2, 0.2
# Added to the messages of whom a question asks what they said: as much as the largest weight.
SPOKEN = AROUND
# The words around a sentence say what it is about: those of the heading above it, of the 2 sentences before
# it and of the one after.
STEPS_AROUND = range(-2, 2)
BEFORE = 0.6  # weight of the sentence before in the meaning of one that refers back
POOR = 0.4  # taken from a sentence of quality 0
# A text of lower quality is shown only where there is nothing better.
READABLE = 0.3
# Added to a sentence beside one already chosen: it continues its thought.
CONTINUES = 0.06
# What a sentence loses for each point of cosine above ALIKE that it shares with one already chosen.
RESEMBLES, ALIKE = 0.6, 0.6
# A sentence that refers back but names this share of what is asked about is understood alone.
NAMED = 0.5
# Any other is shown with up to 2 before it, none longer or of lower quality than this.
PREDECESSORS, LONGEST_PREDECESSOR, FAIR_PREDECESSOR = 2, 400, 0.6

AnswerForm = Literal["definition", "person", "time", "place", "number", "list", "other"]

_DEFINITION = re.compile(
    r"^(?:so |and |but |please )*(?:what(?:'s|’s| is| are| was| were)|define|what does|what do|explain what|"
    r"tell me what|describe what|who is|who was|who were)\s+(?:the (?:meaning|definition|concept|idea) of\s+|"
    r"meant by\s+|is meant by\s+)?(?:an?\s+|the\s+)?(?P<subject>.+?)"
    r"(?:\s+(?:mean|stand for|is|are))?\s*(?:,? and (?:why|how|what|when|where)\b.*)?[?.!]*$",
    re.IGNORECASE,
)
_FORMS: tuple[tuple[AnswerForm, str], ...] = (
    (
        "number",
        r"\bhow (?:many|much|long|old|far|tall|big|large|high|deep|often|fast|heavy)\b|"
        r"\bwhat (?:percentage|number|share|proportion|temperature|amount|population|fraction|age|speed)\b",
    ),
    ("time", r"\bwhen\b|\b(?:what|which) (?:year|century|decade|date|day|month|era)\b"),
    (
        "list",
        r"\bwhich ones\b|\bname (?:the|some|two|three|four|five)\b|^list\b|\bwhat are (?:the|some)\b|"
        r"\bwhat (?:kinds|types|forms|sorts)\b",
    ),
    (
        "person",
        r"\bwho\b|\bwhose\b|\bwhich (?:person|scientist|mathematician|king|author|man|woman|philosopher|"
        r"physicist|president)\b",
    ),
    ("place", r"^where\b|\b(?:what|which) (?:city|country|town|state|place|region|river|island|continent)\b"),
)
_YEAR = re.compile(
    r"\b(?:1\d{3}|20\d{2})s?\b|\b\d{1,4}\??\s*(?:b\.?\s?c|a\.?\s?d|bce|ce)\b|\bcentur(?:y|ies)\b|"
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\s+\d",
    re.IGNORECASE,
)
_LIFE = re.compile(
    r"\(\D{0,12}\d{2,4}\??\s*(?:[–-]|to)\s*\D{0,8}\d{2,4}|\b(?:born|died|birth|death)\b", re.IGNORECASE
)
_LIFE_ASKED = re.compile(r"\b(?:born|birth|die|died|death|live|lived)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;:)’'] )(?:\(?[A-Z][\w'’-]+)|^[A-Z][\w'’-]+ (?:[A-Z]|of [A-Z])")
_PLACE = re.compile(r"\b(?:in|at|near|from|of|to|on) (?:the )?[A-Z]\w+")
_DIGIT = re.compile(
    r"\d+(?:[.,]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|dozen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-\w+)?|hundred|thousand|million|billion|half|third|quarter)\b",
    re.IGNORECASE,
)
_COPULA = (
    r"(?:(?:is|are|was|were|can be)(?: (?:defined|known|called))?|refers? to|means?|denotes?|describes?|"
    r"aims? to|consists? of|involves?|focus(?:es)? on|represents?|encompass(?:es)?|ensures?|stands? for)"
)
_OPENING = re.compile(
    r"^[“\"']?(?:an?\s+|the\s+)?(?P<name>[^,.;:]{2,80}?)(?:,[^,]{0,60},)?\s+" + _COPULA + r"\b", re.IGNORECASE
)


@dataclass(frozen=True)
class ExpectedForm:
    """The form of answer that a question asks for, and the subject that it wants defined or counted."""

    form: AnswerForm
    subject: str = ""
    about_a_life: bool = False

    def fit(self, sentence: str, question_terms: set[str]) -> float:
        """Return how well a sentence has the form, 0 to 1; a name in the question does not answer "who"."""
        match self.form:
            case "definition":
                return _defines(self.subject, sentence)
            case "time":
                dated = float(bool(_YEAR.search(sentence)))
                return dated if not self.about_a_life or _LIFE.search(sentence) else 0.4 * dated
            case "number":
                return _counts(self.subject, sentence)
            case "place":
                return float(bool(_PLACE.search(sentence)))
            case "person":
                names = [name.lower().strip("(") for name in _NAME.findall(sentence)]
                return float(any(stem(name.split()[0]) not in question_terms for name in names))
            case "list":
                return min(1.0, 0.3 * len(re.findall(r",|;|\band\b|\(\d\)", sentence)))
            case _:
                return 0.0


class Ranking:
    """The sentences of one answer, ready to be scored for several texts."""

    def __init__(self, sentences: Sequence[AnswerSentence], question: str = "") -> None:
        self.sentences = sentences
        self._asked = weighted_terms(question)
        self.vectors = np.stack([sentence.vector for sentence in sentences])
        self._terms = [set(sentence.terms) for sentence in sentences]
        self._at = {(s.document, s.position): i for i, s in enumerate(sentences)}
        # What "It" stands for is said in the sentence before: both are read together.
        self._resolved = self.vectors.copy()
        for i, s in enumerate(sentences):
            before = self._at.get((s.document, s.position - 1))
            if s.refers_back and before is not None:
                both = self.vectors[i] + BEFORE * self.vectors[before]
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
        self._prior = np.array(
            [RANK * (1 - (s.rank - 1) / chunks) - POOR * (1 - s.quality) for s in sentences]
        )

    def score(self, text: str, vector: Vectors) -> Scores:
        """Score the sentences for a question, an aspect or a situation and its vector, 0 to about 2."""
        weights = weighted_terms(text)
        expected, asked = expected_form(text), set(terms(text))
        alone, resolved = (cosines(rows, vector[None])[:, 0] for rows in (self.vectors, self._resolved))
        scores: Scores = self._prior + np.maximum(alone, resolved)
        scores += WORDS * self._bm25(list(weights))
        scores += AROUND * np.array([coverage(weights, near) for near in self._near])
        scores += FORM * np.array([expected.fit(s.text, asked) for s in self.sentences])
        speakers = speakers_asked(text, {s.speaker for s in self.sentences if s.speaker})
        scores += SPOKEN * np.array([s.speaker in speakers for s in self.sentences])
        return scores

    def choose(
        self,
        scores: Scores,
        limit: int,
        least: float,
        used: Sequence[AnswerSentence] = (),
        words: float = math.inf,
    ) -> list[AnswerSentence]:
        """Choose up to `limit` sentences that score at least `least`, without repeats.

        The best one comes first, then the others in reading order.

        A sentence that resembles one already chosen loses by it (maximal marginal relevance, Carbonell and
        Goldstein 1998); one that stands beside it gains. The sentences that a chosen one refers back to
        come on top of the limit. After the first, one that would make it more than `words` words is left out.

        A score of -inf is never chosen, nor is a sentence repeated that is `used` in the answer already.
        """
        readable = any(sentence.quality >= READABLE for sentence in self.sentences)
        left = scores.copy()
        left[[s.quality < READABLE and readable for s in self.sentences]] = -np.inf
        chosen: list[AnswerSentence] = []
        lead = 0  # how many of them are the best one and what it refers back to
        while limit:
            best = int(np.argmax(left))
            sentence, score = self.sentences[best], float(left[best])
            if score < least or score == -np.inf:
                break
            left[best] = -np.inf
            before = self._referred_to(sentence)
            if before is None or sentence in chosen:
                continue
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
            left -= RESEMBLES * np.maximum(self.vectors @ sentence.vector - ALIKE, 0.0)
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
            if coverage(self._asked, set(sentence.terms)) >= NAMED:
                break
            sentence = self.sentences[at]
            if sentence.quality < FAIR_PREDECESSOR or len(sentence.text) > LONGEST_PREDECESSOR:
                break
            found.insert(0, sentence)
        return found

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


def expected_form(question: str) -> ExpectedForm:
    """Read from a question's words which form its answer has."""
    text = " ".join(question.split())
    definition = _DEFINITION.match(text)
    subject = definition["subject"] if definition else ""
    form = next((form for form, pattern in _FORMS if re.search(pattern, text, re.IGNORECASE)), None)
    if form == "number":
        counted = re.search(r"\bhow many (?:\w+ )??(\w+)", text, re.IGNORECASE)
        return ExpectedForm(form, counted[1] if counted else "")
    # "Who was Hypatia?" asks what to know about a person, not for a name.
    if form and not (form == "person" and _is_subject(subject)):
        return ExpectedForm(form, about_a_life=bool(_LIFE_ASKED.search(text)))
    if not form and re.match(r"what (?:is|was|are|were) the\b", text, re.IGNORECASE):
        # "What is the height of the wall?": the sentence wanted says what the height is.
        subject = re.split(r"\s+(?:of|at|in|for|on|from|during|called)\b", subject)[0]
    if not _is_subject(subject):
        return ExpectedForm("other")
    return ExpectedForm("definition", subject.strip(" '\"“”‘’"))


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


def _is_subject(subject: str) -> bool:
    """Tell whether a phrase names a thing rather than a relation ("the role of X in Y")."""
    return 0 < len(subject.split()) <= 5 and not re.search(
        r"\b(?:of|in|for|between|on|used|done|do|role|to|about|by)\b", subject, re.I
    )


def _counts(unit: str, sentence: str) -> float:
    """Return 1 where a number stands before what is counted, less where it stands elsewhere."""
    if not _DIGIT.search(sentence):
        return 0.0
    if not unit:
        return 1.0
    near = any(
        stem(unit.lower()) in terms(sentence[match.end() : match.end() + 40])
        for match in _DIGIT.finditer(sentence)
    )
    return 1.0 if near else 0.5


def _defines(subject: str, sentence: str) -> float:
    """Return 1 where the sentence opens by defining the subject, less where it names or describes it."""
    subject = re.sub(r"\s*\([^)]*\)", "", subject).strip()
    wanted = set(terms(subject))
    if not wanted:
        return 0.0
    opening = _OPENING.match(sentence)
    if opening and wanted <= (name := set(terms(opening["name"]))):
        # Few other words in front of the verb: the sentence is about the subject itself. What merely
        # happens to it ("is used in both") says less than what it is.
        happens = re.match(r"\s+(?!called|known|defined)\w+(?:ed|en|wn|und)\b", sentence[opening.end() :])
        return (1.0 if len(name - wanted) <= 2 else 0.5) - (0.4 if happens else 0.0)
    # "... quantum bits, or qubits", "... collaborative settings (cobots)", "a qubit can exist ..."
    spelled = re.escape(subject) + r"(?:s|es)?\b"
    if re.search(
        rf"(?:\bcalled|known as|named|termed|, or|\()\s*(?:an?\s|the\s)?[“\"']?{spelled}", sentence, re.I
    ):
        return 0.8
    if re.search(rf"\b(?:an?|its|his|her|their)\s(?:\w+\s)?{spelled}\s(?:of|is|was)\b", sentence, re.I):
        return 0.8
    if re.search(rf"(?<![\w-])(?:an?|the)\s{spelled}\s(?:{_COPULA}|can|has|have)\b", sentence, re.I):
        return 0.6
    return 0.2 if wanted <= set(terms(" ".join(sentence.split()[: len(subject.split()) + 3]))) else 0.0
