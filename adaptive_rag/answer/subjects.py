"""Keeps what is said about the thing that a question names, where passages are about others of its kind.

The noise of the "Tarn 20" is not told by a row for the Tarn 86, nor by the manual of the Tarn 40. What is
said without a name of that kind may answer. `labels` describes the names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adaptive_rag.answer.labels import Label, Mention, find_mentions
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.times import title_of
from adaptive_rag.state import Candidate
from adaptive_rag.text.places import section_at
from adaptive_rag.text.words import ASKING_WORDS, stem, terms

# Finds the chunks nearest to a text.
LookUp = Callable[[str], Sequence[Candidate]]

# Number of earlier sentences that may name what a sentence is about, and of items up to a list's lead-in.
_SENTENCES_BACK, _ITEMS_BACK = 3, 12
# A statement may be about things that it does not name: "the other houses", "Only House E has one".
_ABOUT_OTHERS = re.compile(r"\b(?:others?|rest|remaining)\b", re.IGNORECASE)
_EXCEPTS_BACK = 40
_EXCEPTS = re.compile(r"\b(?:only|except|but|besides)\s(?:\w+\s){0,2}$", re.IGNORECASE)
# What stands before a word with a capital letter that does not begin a sentence
_INSIDE = re.compile(r"[\w,;)(/&–-]\s?$")
_INSIDE_BACK = 2
_ASKING = frozenset(map(stem, ASKING_WORDS)) | {"what"}
_NEXT_WORD = re.compile(r"\s([^\W\d_]+)")
# Words of questions that name one thing and ask for others: "newer than 2.3.0", "from 2.3.0 to 2.4.0",
# "Is P-100 the cheapest?"
_ASKS_FOR_OTHERS = re.compile(
    r"\b(?:than|besides|except|others?|from|since|before|after|between|until|previous|next|follow(?:s|ed|ing)|"
    r"later|earlier|newer|older|versus|vs|compared|comparison|most|least|best|worst|"
    r"(?:cheap|high|low|larg|small|bigg|long|short|lat|earli|new|old|fast|slow)est)\b|\d (?:to|through) \d",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class NamedThings:
    """The things of one kind that a question names, such as "Tarn 40 and Tarn 20"."""

    word: str
    kind: str
    labels: tuple[Label, ...]
    text: str
    """The first name as the question has it."""
    next_words: frozenset[str]
    """The words after the labels: "people" in "for group 3 people", a quantity rather than a name."""

    def find(self, text: str) -> list[Mention]:
        """Return the names in a text that are of this kind."""
        return [m for m in find_mentions(text) if (m.word, m.kind) == (self.word, self.kind)]

    def is_in(self, text: str) -> bool:
        """Return whether a text has one of the names, a date also after another word."""
        return self.is_named_by(
            [
                mention
                for mention in find_mentions(text)
                if mention.kind == self.kind and (self.word == mention.word or self.kind == "date")
            ]
        )

    def is_named_by(self, mentions: Sequence[Mention]) -> bool:
        """Return whether one of the things is among the names."""
        return any(mention.includes(label) for mention in mentions for label in self.labels)


def read_names(question: str) -> list[NamedThings]:
    """Return the names in a question, by their kind."""
    groups = dict[tuple[str, str], list[Mention]]()
    for mention in find_mentions(question, small_letters=True):
        groups.setdefault((mention.word, mention.kind), []).append(mention)
    groups.pop(("", "date"), None)  # a date alone is when, not what
    return [
        NamedThings(
            word,
            kind,
            tuple(label for mention in mentions for ends in mention.ranges for label in ends),
            question[mentions[0].start : mentions[0].end],
            frozenset(filter(None, (_word_after(question, mention) for mention in mentions))),
        )
        for (word, kind), mentions in groups.items()
    ]


def asks_for_others(question: str) -> bool:
    """Return whether a question compares what it names, or asks for other things of its kind."""
    return _ASKS_FOR_OTHERS.search(question) is not None


def keep_subjects(
    questions: Sequence[str], documents: Sequence[Candidate], scored: ScoredSentences, look_up: LookUp
) -> ScoredSentences:
    """Set the scores of the sentences to 0 that are about other things of the kind that a question names.

    The probability of an answer is then that of the other sentences. Where no document has the name, and most
    of the probability is that of other things, the result has the name as `missing`, and all scores. The
    second of the questions is the one that the first refers to; it counts where the first names nothing.
    """
    for names in next(filter(None, map(read_names, questions)), []):
        scored = _keep(names, documents, scored, look_up)
    return scored


def lacks_word(question: str, other: str, documents: Sequence[Candidate]) -> bool:
    """Return whether no passage has a content word of a question that another question does not have."""
    found = {term for d in documents for text in _texts_of(d) for term in terms(text)}
    return not (_content(question) - _content(other)) <= found


def keep_complete(question: str, documents: Sequence[Candidate], scored: ScoredSentences) -> ScoredSentences:
    """Keep only the sentences that, with what is above them, have every content word of a question."""
    content = _content(question)
    is_complete = [
        bool(content) and content.issubset(terms(_all_about(sentence, documents)))
        for sentence in scored.sentences
    ]
    kept = np.where(is_complete, scored.scores, 0.0)
    return replace(scored, scores=kept, answered=float(kept.sum()))


def _content(question: str) -> set[str]:
    return set(terms(question)) - _ASKING


def _keep(
    names: NamedThings, documents: Sequence[Candidate], scored: ScoredSentences, look_up: LookUp
) -> ScoredSentences:
    if scored.answered is None or not scored.scores.any():
        return scored
    texts = [text for document in documents for text in _texts_of(document)]
    if not _has_siblings(names, texts):
        return scored
    about = [_is_about(names, i, documents, scored.sentences) for i in range(len(scored.sentences))]
    is_other = np.array([each is False for each in about], dtype=bool)
    if not scored.scores[is_other].any():
        return scored
    kept = np.where(is_other, 0.0, scored.scores)
    left = scored.answered * float(kept.sum() / scored.scores.sum())
    is_missing = 2 * left < scored.answered and not any(map(names.is_in, texts))
    if is_missing and not _is_found(names, look_up):
        return replace(scored, answered=left, missing=names.text)
    # As likely as if the other sentences had not been read, if the thing's own are as likely as these.
    own = max((score for score, each in zip(scored.scores, about, strict=True) if each), default=0.0)
    share = min(1.0, own / float(scored.scores[is_other].max()))
    unread = left / (left + 1 - scored.answered) if left else 0.0
    return replace(scored, scores=kept, answered=left + share * (unread - left))


def _has_siblings(names: NamedThings, texts: Sequence[str]) -> bool:
    """Return whether the texts name other things of the kind, rather than count something.

    A word before a number is a name if it has a capital letter inside a sentence, or alone with it.
    """
    for text in texts:
        for mention in names.find(text):
            if names.is_named_by([mention]):
                continue
            if names.kind not in ("number", "year"):
                return True
            is_alone = text.strip() == text[mention.start : mention.end]
            before = text[max(0, mention.start - _INSIDE_BACK) : mention.start]
            is_inside = text[mention.start].isupper() and _INSIDE.search(before)
            is_count = _word_after(text, mention) in names.next_words
            if (is_alone or is_inside) and not is_count:
                return True
    return False


def _is_about(
    names: NamedThings, index: int, documents: Sequence[Candidate], sentences: Sequence[AnswerSentence]
) -> bool | None:
    """Return whether a sentence is about a thing that the question names; False if about others of its kind.

    None if neither its own words nor what is above it name any, or if it may be about all of them.
    """
    text = _text_of(sentences[index])
    own = names.find(text)
    if names.is_named_by(own):
        return True
    document = documents[sentences[index].document]
    above = next(filter(None, map(names.find, _headings_above(document, sentences[index]))), [])
    if own:
        # In a section about the thing alone, a sentence may compare it with another.
        is_own_section = bool(above) and all(names.is_named_by([mention]) for mention in above)
        starts = [(max(0, mention.start - _EXCEPTS_BACK), mention.start) for mention in own]
        is_exception = any(_EXCEPTS.search(text[first:last]) for first, last in starts)
        return is_own_section or (None if is_exception or _ABOUT_OTHERS.search(text) else False)
    above = next(filter(None, map(names.find, _sentences_before(index, sentences))), above)
    # "86 only is better" may stand below a sentence on the Tarn 40.
    labels = {label.text for label in names.labels} - {"A"}
    is_short = not labels.isdisjoint(re.findall(r"[\w.-]*\w", text))
    return names.is_named_by(above) or is_short if above else None


def _text_of(sentence: AnswerSentence) -> str:
    return "; ".join(map(" ".join, sentence.cells)) or sentence.text


def _all_about(sentence: AnswerSentence, documents: Sequence[Candidate]) -> str:
    """Return the text of a sentence with what is above it."""
    return " ".join([_text_of(sentence), *_headings_above(documents[sentence.document], sentence)])


def _sentences_before(index: int, sentences: Sequence[AnswerSentence]) -> Iterator[str]:
    """Yield the earlier sentences of a paragraph, and the lead-in of a list, the nearest first."""
    sentence = sentences[index]
    for back, before in enumerate(reversed(sentences[max(0, index - _ITEMS_BACK) : index])):
        if not sentence.continues(before):
            break
        if back < _SENTENCES_BACK or before.is_lead_in:
            yield before.text
        sentence = before


def _headings_above(document: Candidate, sentence: AnswerSentence) -> Iterator[str]:
    """Yield the headings above a sentence, the nearest first, and what its document is called."""
    yield from reversed((section_at(document, sentence.start) or "").split(" > "))
    yield from _titles(document)


def _texts_of(document: Candidate) -> Iterator[str]:
    yield document["text"]
    yield document["section"] or ""
    yield from _titles(document)


def _titles(document: Candidate) -> Iterator[str]:
    yield str(document["metadata"].get("title") or "")
    yield title_of(document["source"])


def _is_found(names: NamedThings, look_up: LookUp) -> bool:
    """Return whether a chunk that was not read has the name."""
    return any(names.is_in(text) for chunk in look_up(names.text) for text in _texts_of(chunk))


def _word_after(text: str, mention: Mention) -> str | None:
    match = _NEXT_WORD.match(text, mention.end)
    return match[1].lower() if match else None
