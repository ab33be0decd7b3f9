"""Weakens sentences that are no longer valid, where a newer text among the passages answers instead.

That a text is no longer valid is read from its form:

- Another text says so: "Decision 7 is rescinded", "raised from 38 to 48", "now 2.00 instead of 1.50".
- A newer version of its document or section answers too, and one of the two says that it is a version ("Valid
  from 1 May 2024", "Rev. 4"). Minutes and yearly reports have the same name too, but stay valid beside later
  ones. Of these, only sentences that say nearly the same with other numbers are compared: the newest comes
  first, and the others are marked with their time.
- It says so itself ("This page is archived"), and another text says nearly the same with other numbers.

Questions about the past are left alone. Where a question names a date, later texts do not count as newer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.times import Time, name_without_time, read_time, time_of_document, title_of
from adaptive_rag.answer.validity import (
    asks_about_past,
    begins_with,
    find_cancelled,
    find_former_values,
    is_retired,
    is_version,
)
from adaptive_rag.answer.word_lists import MONTHS, NUMBER_NAMES
from adaptive_rag.state import Candidate, Decision, Phrase
from adaptive_rag.text.phrases import decide, say
from adaptive_rag.text.places import place_at, section_at
from adaptive_rag.text.vectors import Scores, cosines
from adaptive_rag.text.words import stem, terms

# A newer version answers what an older one does if the probability of its chunk and that of its best sentence
# have at least these shares of the older ones'. On 30 questions to versions of house rules and policies, they
# were .9 and .12 or more where it did, and less than .8 and .04 where it had nothing on the topic.
EQUALLY_RELEVANT, SAME_TOPIC = 0.5, 0.1
# The least probability of a sentence that is compared.
WORTH_QUOTING = 0.01
# Two sentences say nearly the same if this share of the shorter one's words is in the other, and this many.
SAME_WORDS, MIN_SHARED = 0.6, 2
# A sentence of a newer version with at least this cosine says the same. Set by hand: "Gift vouchers are valid
# for 12 months" and "Vouchers are valid for 24 months from the day they are bought" have .87, and "Adults pay
# 12 pounds for a day ticket" and "Children pay 6 pounds for a day ticket" .83.
NEARLY_SAME = 0.85
# In characters. Shorter numbers may be those of two boards' decisions.
DISTINCT_NUMBER = 4
# In characters. A longer heading is a paragraph that was taken for one.
LONGEST_HEADING = 200

# More documents of one name are a series, such as minutes: whether the newest says that it replaces the
# others is not looked up.
SERIES = 20

# "4.5.1 (16 December)": the sections of release notes add to each other, and all stay valid.
_RELEASE = re.compile(r"\W*v?\d+\.\d+(?:\.\d+)+")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_VALUE = re.compile(rf"{_NUMBER.pattern}|[^\W\d_]+")
# A name inside a sentence
_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]+")
_MONTH_NAMES = {month.capitalize() for month in MONTHS}
_NOT_COMPARED = frozenset(map(stem, (*MONTHS, *NUMBER_NAMES, "spring", "summer", "autumn", "winter")))


class _Pair(NamedTuple):
    """The index of a sentence that may not be valid, of one that may replace it, and the reason's code."""

    old: int
    new: int
    why: str


class _Origin(NamedTuple):
    """The document that a sentence is from, or its section if that has a date or version of its own."""

    source: str
    heading: str  # "" for a document
    name: str  # what its other versions are called too
    series: str  # the same without what is in brackets


def prefer_valid(
    question: str,
    documents: Sequence[Candidate],
    scored: ScoredSentences,
    first_text: Callable[[str], str],
    speaker_of: Callable[[int], str | None],
) -> tuple[ScoredSentences, list[Decision]]:
    """Return the sentences with the scores of replaced ones moved to those that replace them, and why.

    A replaced sentence gets the score -inf. An older one that may still hold gets a caveat. The question
    includes the one that it refers to. `first_text` returns the beginning of a document by its name, "" where
    it is unknown; `speaker_of` the speaker of a sentence by its index.
    """
    asked = read_time(question)
    if not scored.sentences or (asked is None and asks_about_past(question)):
        return scored, []
    texts = _Texts(question, asked, documents, scored, first_text, speaker_of)
    replaced = {pair.old: pair for pair in texts.find_replaced()}
    restated = {pair.old: pair for pair in texts.find_restated()}
    replaced |= {old: pair for old, pair in restated.items() if pair.why == "retired"}
    scores = scored.scores.copy()
    for pair in replaced.values():
        new, passed = pair.new, {pair.old}
        while new in replaced and new not in passed:
            passed.add(new)
            new = replaced[new].new
        if new not in replaced:
            # Probabilities add up, cosines do not.
            scores[new] = (max if scored.answered is None else sum)((scores[new], scored.scores[pair.old]))
            scores[pair.old] = -np.inf
    if not (scores > 0).any():
        return scored, []
    earlier = {old: pair for old, pair in restated.items() if {old, pair.new}.isdisjoint(replaced)}
    for old, new, _ in earlier.values():
        if new not in earlier and scores[new] < scores[old]:
            scores[[new, old]] = scores[[old, new]]
    marked = {pair.old: pair for pair in texts.older_versions if not pair.why} | earlier
    sentences = [
        replace(sentence, caveat=texts.say_time(marked[index])) if index in marked else sentence
        for index, sentence in enumerate(scored.sentences)
    ]
    pairs = [
        pair for pair in (*replaced.values(), *earlier.values()) if scored.scores[pair.old] >= WORTH_QUOTING
    ]
    return replace(scored, sentences=sentences, scores=scores), texts.tell(pairs)


def find_newest_versions(
    question: str,
    passages: Sequence[Candidate],
    list_sources: Callable[[], Iterable[str]],
    first_text: Callable[[str], str],
) -> dict[str, str]:
    """Return the newest version of each passage's document that has one, if no passage is from it.

    Both must have their time in their names, and one must say that it is a version.
    """
    if read_time(question) or asks_about_past(question):
        return {}
    read = {passage["source"] for passage in passages}
    names = cache(lambda: [(other, other.lower()) for other in list_sources()])
    versions_of, newest = dict[str, list[tuple[Time, str]]](), dict[str, str]()
    for source in dict.fromkeys(passage["source"] for passage in passages):
        time, name = read_time(title_of(source)), _find_origin(source, "").name
        if time is None:
            continue
        says_version = time.version or is_version(first_text(source))
        if name not in versions_of:
            alike = _named_alike(name, names())
            is_series = len(alike) > SERIES and not says_version
            versions_of[name] = [] if is_series else list(_find_versions(name, alike))
        latest, found = time, ""
        for other_time, other in versions_of[name]:
            if other_time.is_after(latest):
                latest, found = other_time, other
        if found and (says_version or latest.version or is_version(first_text(found))):
            newest[source] = found
    # of several older versions, the best-ranked one
    older = {other: source for source, other in reversed(newest.items()) if other not in read}
    return {source: other for other, source in older.items()}


def _named_alike(name: str, sources: Iterable[tuple[str, str]]) -> list[str]:
    """Return the sources that have the longest word of a name; each comes with its lower case."""
    longest_word = max(name.split(), key=len, default="")
    return [source for source, lowered in sources if longest_word in lowered]


def _find_versions(name: str, sources: Iterable[str]) -> Iterator[tuple[Time, str]]:
    """Yield the time and the source of each version of a document."""
    for source in sources:
        if _find_origin(source, "").name == name and (time := read_time(title_of(source))):
            yield time, source


@dataclass(frozen=True)
class _Texts:
    """The sentences of an answer, with where each is from and for what time it speaks."""

    question: str
    asked: Time | None
    documents: Sequence[Candidate]
    scored: ScoredSentences
    first_text: Callable[[str], str]
    speaker_of: Callable[[int], str | None]
    _times: dict[_Origin, Time | None] = field(default_factory=dict)

    def find_replaced(self) -> Iterator[_Pair]:
        """Yield the sentences that are no longer valid, by what the texts say of each other or themselves."""
        yield from self._find_former_values()
        yield from (pair for pair in self.older_versions if pair.why)
        yield from self._find_cancelled()

    def find_restated(self) -> Iterator[_Pair]:
        """Yield the sentences of retired or earlier texts that others restate."""
        for old in self._quotable:
            for new in self._relevant:
                if self._origins[old] == self._origins[new] or not self._is_restated(old, new):
                    continue
                if self.speaker_of(new):
                    continue
                if self._is_retired(old) and not self._is_retired(new):
                    yield _Pair(old, new, "retired")
                elif self._is_same_series(old, new) and self._supersedes(new, old):
                    yield _Pair(old, new, "earlier")

    @cached_property
    def older_versions(self) -> list[_Pair]:
        """Return the sentences of older versions of a document or section, each with one of a newer version.

        The reason is "" where no sentence of a newer version answers or says the same.
        """
        sentences, scores, closeness = self.scored.sentences, self.scored.scores, self._closeness
        by_name: dict[str, dict[_Origin, list[int]]] = {}
        for index, origin in enumerate(self._origins):
            by_name.setdefault(origin.name, {}).setdefault(origin, []).append(index)
        pairs = list[_Pair]()
        for name, origins in by_name.items():
            # The sections of release notes have numbers, but no name in common.
            if len(origins) < 2 or name.endswith("#"):
                continue
            versions = {origin for origin, indices in origins.items() if self._is_version(origin, indices)}
            for old, indices in origins.items():
                newer = [
                    index
                    for new, others in origins.items()
                    if {old, new} & versions and self._supersedes(others[0], indices[0])
                    for index in others
                    if sentences[index].quality > 0
                ]
                if newer:
                    best, best_old = (max(group, key=lambda i: scores[i]) for group in (newer, indices))
                    is_relevant = closeness[best] >= EQUALLY_RELEVANT * closeness[best_old]
                    is_answered = is_relevant and scores[best] >= SAME_TOPIC * scores[best_old]
                    for index in indices:
                        same = [best] if is_answered else [i for i in newer if self._says_same(index, i)]
                        same = same or self._nearest(index, newer)
                        new = max(same, key=lambda i: scores[i], default=best)
                        pairs.append(_Pair(index, new, "newer_version" if same else ""))
        return pairs

    def say_time(self, pair: _Pair) -> Phrase:
        """Return what is said before a sentence that may no longer hold."""
        codes = ("earlier", "later") if pair.why else ("older_version", "newer_version")
        time = self._time(pair.old)
        return say(codes[self._is_later(pair.old, pair.new)], time=time.shown if time else "")

    def tell(self, pairs: Sequence[_Pair]) -> list[Decision]:
        """Return a decision for each document or section whose sentences were weakened."""
        told: dict[tuple[_Origin, str], Decision] = {}
        for old, new, why in pairs:
            sentence = self.scored.sentences[new]
            passage, origin = self.documents[sentence.document], self._origins[old]
            place = {"source": passage["source"], "place": place_at(passage, sentence.start, sentence.end)}
            if why == "newer_version" and not self._is_later(new, old):
                why = "asked_version"
            chosen = origin.heading or title_of(origin.source)
            told.setdefault((origin, why), decide("versions", chosen, say(f"version_{why}", by=place)))
        return list(told.values())

    def _find_cancelled(self) -> Iterator[_Pair]:
        """Yield the sentences whose label another one cancels: "Decision 7 is rescinded"."""
        sentences = self.scored.sentences
        for index, sentence in enumerate(sentences):
            for label in find_cancelled(sentence.text):
                number = label.rpartition(" ")[2]
                if number in self.question.lower() or self.speaker_of(index):
                    continue
                paragraph = [
                    i
                    for i in range(index, len(sentences))
                    if (sentences[i].document, sentences[i].paragraph)
                    == (sentence.document, sentence.paragraph)
                ]
                new = max(paragraph, key=lambda i: self.scored.scores[i])
                for old in self._find_labelled(label):
                    one, other = self._origins[old], self._origins[index]
                    is_same = one.source == other.source or one.series == other.series
                    is_same |= len(number) >= DISTINCT_NUMBER
                    if is_same and old not in paragraph and not self._supersedes(old, new):
                        yield _Pair(old, new, "cancelled")

    def _find_labelled(self, label: str) -> Iterator[int]:
        """Yield the sentences from a label such as "Decision 7: " on, or below a heading that begins so."""
        kind = label.partition(" ")[0]
        place, is_inside = (-1, -1), False
        for index, sentence in enumerate(self.scored.sentences):
            if (sentence.document, sentence.paragraph) != place:
                place, is_inside = (sentence.document, sentence.paragraph), False
            text = sentence.text.lower()
            if text.startswith(f"{kind} "):
                is_inside = begins_with(text, label)
            if is_inside or any(
                begins_with(part, label) for part in self._section(index).lower().split(" > ")
            ):
                yield index

    def _find_former_values(self) -> Iterator[_Pair]:
        """Yield the sentences whose value another one calls the former: "now 2.00 instead of 1.50"."""
        for new in self._relevant:
            text = self.scored.sentences[new].text
            for clause, value, document in find_former_values(text):
                clause_words = set(terms(clause))
                for old in self._quotable:
                    shared, other = self._asked_words & self._words[old], self.scored.sentences[old].text
                    is_former = value in _VALUE.findall(other.lower()) and shared and shared <= clause_words
                    if not is_former or old == new or find_former_values(other):
                        continue
                    # Anybody may say what a document says, but not of another document or another thing.
                    is_meant = document in self._origins[old].name.split() and self._is_alike(old, new)
                    is_valid = is_meant if document else not self.speaker_of(new)
                    if is_valid and not self._supersedes(old, new):
                        yield _Pair(old, new, "former_value")

    def _is_version(self, origin: _Origin, indices: Sequence[int]) -> bool:
        """Return whether the name or the beginning of a document or section says that it is a version."""
        title = read_time(origin.heading or title_of(origin.source))
        if title and title.version:
            return True
        below = "\n".join(self.scored.sentences[index].text for index in indices)
        return is_version(below if origin.heading else self.first_text(origin.source))

    def _is_retired(self, index: int) -> bool:
        """Return whether the document or section of a sentence says itself that it is no longer valid."""
        origin, passage = self._origins[index], self.documents[self.scored.sentences[index].document]
        title = origin.heading or f"{title_of(origin.source)} {passage['metadata'].get('title', '')}"
        return is_retired(title, "" if origin.heading else passage["text"])

    def _is_restated(self, old: int, new: int) -> bool:
        """Return whether two sentences say nearly the same of one thing, with other numbers or denied."""
        one, other = self.scored.sentences[old], self.scored.sentences[new]
        if one.cells or other.cells:
            return one.cells[:1] == other.cells[:1] and one.cells != other.cells
        numbers, other_numbers = (set(_NUMBER.findall(sentence.text)) for sentence in (one, other))
        differs = (
            bool(numbers - other_numbers and other_numbers - numbers) or one.is_negated != other.is_negated
        )
        return differs and self._is_about_same(old, new)

    def _is_about_same(self, old: int, new: int) -> bool:
        """Return whether two sentences say nearly the same, and not of different names."""
        texts = (self.scored.sentences[index].text for index in (old, new))
        names, other_names = (set(_NAME.findall(text)) - _MONTH_NAMES for text in texts)
        is_other_thing = bool(names - other_names and other_names - names)
        return self._is_alike(old, new) and not is_other_thing and self._asked_at(old) <= self._asked_at(new)

    def _is_alike(self, one: int, other: int) -> bool:
        """Return whether two sentences have most words in common."""
        words, other_words = self._words[one], self._words[other]
        least = max(MIN_SHARED, SAME_WORDS * min(len(words), len(other_words)))
        return len(words & other_words) >= least

    def _says_same(self, old: int, new: int) -> bool:
        """Return whether a sentence of a newer version takes the place of one of an older version."""
        is_row = any(self.scored.sentences[index].cells for index in (old, new))
        return not is_row and self._is_about_same(old, new) and self._is_same_series(old, new)

    def _nearest(self, old: int, newer: Sequence[int]) -> list[int]:
        """Return the nearest sentence of a newer version if it is near enough to say the same, else none."""
        sentences = self.scored.sentences
        texts = [index for index in newer if not sentences[index].cells]
        if not texts or sentences[old].cells:
            return []
        vectors = np.stack([sentences[index].vector for index in texts])
        near = cosines(vectors, sentences[old].vector[None])[:, 0]
        return [texts[int(near.argmax())]] if near.max() >= NEARLY_SAME else []

    def _is_same_series(self, old: int, new: int) -> bool:
        """Return whether two sentences are from texts of one name, or are rows of one file.

        If both have words that the other lacks, they may be about different things: "The bridge costs 4" and
        "The tunnel costs 5".
        """
        one, other = self._origins[old], self._origins[new]
        if self.scored.sentences[old].cells:
            return one.series == other.series or one.source == other.source
        words, other_words = self._words[old], self._words[new]
        return one.series == other.series and (words <= other_words or other_words <= words)

    def _supersedes(self, new: int, old: int) -> bool:
        """Return whether a sentence's time is after another's, but not after the time asked for."""
        time, other = self._time(new), self._time(old)
        if self.asked and time and other and (time.is_after(self.asked) or other.is_after(self.asked)):
            return not time.is_after(self.asked)
        return self._is_later(new, old)

    def _is_later(self, one: int, other: int) -> bool:
        time, other_time = self._time(one), self._time(other)
        return bool(time and other_time and time.is_after(other_time))

    def _time(self, index: int) -> Time | None:
        """Return the time that a sentence speaks for; None where nothing says it."""
        origin, sentence = self._origins[index], self.scored.sentences[index]
        if origin not in self._times:
            passage = self.documents[sentence.document]
            self._times[origin] = read_time(origin.heading) or time_of_document(passage, self.first_text)
        columns = [time for column, _ in sentence.cells if (time := read_time(column))]
        return max(columns) if columns and not origin.heading else self._times[origin]

    def _section(self, index: int) -> str:
        sentence = self.scored.sentences[index]
        return section_at(self.documents[sentence.document], sentence.start) or ""

    def _asked_at(self, index: int) -> set[str]:
        """Return the words of the question that a sentence or a heading above it has."""
        return self._asked_words & {*self._words[index], *terms(self._section(index))}

    @cached_property
    def _asked_words(self) -> set[str]:
        return {term for term in terms(self.question) if not term[0].isdigit()}

    @cached_property
    def _origins(self) -> list[_Origin]:
        """Return where each sentence is from."""
        sentences = self.scored.sentences
        return [
            _find_origin(self.documents[sentence.document]["source"], self._section(index))
            for index, sentence in enumerate(sentences)
        ]

    @cached_property
    def _closeness(self) -> Scores:
        """Return how relevant each sentence's chunk is; without a reader, the sentence itself."""
        return self.scored.relevance if self.scored.relevance.any() else self.scored.scores

    @cached_property
    def _words(self) -> list[set[str]]:
        """Return the words of each sentence without numbers and months."""
        return [
            {term for term in sentence.terms if not term[0].isdigit()} - _NOT_COMPARED
            for sentence in self.scored.sentences
        ]

    @cached_property
    def _relevant(self) -> list[int]:
        """Return the sentences that may replace another: of a relevant chunk, with words of the question."""
        least = EQUALLY_RELEVANT * self._closeness.max()
        indices: list[int] = np.flatnonzero(self._closeness >= least).tolist()
        return [index for index in indices if not self._asked_words.isdisjoint(self._words[index])]

    @cached_property
    def _quotable(self) -> list[int]:
        """Return the sentences that the answer may quote."""
        quotable: list[int] = np.flatnonzero(self.scored.scores >= WORTH_QUOTING).tolist()
        return quotable


@lru_cache(maxsize=4096)
def _find_origin(source: str, section: str) -> _Origin:
    path = source.removesuffix(PurePath(source).suffix)
    origin = _Origin(source, "", *(name_without_time(path, brackets=kept) for kept in (True, False)))
    for level, title in enumerate(section.split(" > ")):
        if len(title) <= LONGEST_HEADING and read_time(title) and not _RELEASE.match(title):
            # The first heading is the title of the document, whatever its file is called.
            above = name_without_time(path if level else str(PurePath(path).parent))
            names = (f"{above}#{name_without_time(title, brackets=kept)}" for kept in (True, False))
            origin = _Origin(source, title, *names)
    return origin
