"""Finds the words of the person whose view a question asks for, as in "What does Ms Dray think of it?"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.outline import read_outline
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import CAPITALISED, TITLE, bare_name, in_first_person
from adaptive_rag.state import Candidate
from adaptive_rag.text.places import section_at
from adaptive_rag.text.speech import small_words
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem, terms

_VIEW_NOUNS = "opinion view position argument objection reason email mail letter message post comment review"
_VIEWS = rf"(?:{'|'.join(_VIEW_NOUNS.split())}|e-mail)s?"
_TITLE = re.compile(rf"{TITLE}$", re.IGNORECASE)
_WORD = r"[^\W\d_][\w’'-]*\.?"
# "does Ms Dray think", "according to Dray", "the letter by Ann Dray", "Dray's view"
_ASKED = re.compile(
    rf"\b(?:does|did|do|has|had|is|was|would|according to|{_VIEWS} (?:of|by|from))\s+"
    rf"(?=(?P<name>{_WORD}(?: {_WORD}){{0,5}}))|"
    rf"(?P<owner>(?:\b{_WORD} ){{0,3}}\b[^\W\d_][\w-]*)['’]s? {_VIEWS}\b",
    re.IGNORECASE,
)
# A question for what somebody holds or said, rather than for what they did
_HOLDS = re.compile(
    r"\b(?:think|thought|feel|felt|sa(?:y|id)|writ(?:e|ten)|wrote|argued?|oppos\w+|support\w*|object\w*|"
    rf"propos\w+|suggest\w*|prefer\w*|believ\w+|complain\w*|demand\w*|want\w*|against|{_VIEWS})\b",
    re.IGNORECASE,
)
_MAIL = re.compile(r"\be?-?mails?\b", re.IGNORECASE)
# A person speaks of the subject who has this share of its words, or whose words answer with this probability.
MOST = 0.5
_SURE_TITLES = frozenset("mr mrs ms mx dr prof cllr".split())
_TOWARDS = frozenset("about against of on to with".split())
_MALE, _FEMALE = frozenset("mr herr sir father".split()), frozenset("ms mrs miss frau mme dame".split())
# Words of such questions that do not name their subject.
_NO_SUBJECT = frozenset(
    map(stem, {*ASKING_WORDS, *_VIEW_NOUNS.split(), *"feel felt said write wrote written".split()})
)


class Person(NamedTuple):
    """A person as a question or a text names them."""

    title: str
    names: tuple[str, ...]  # without the title, in lower case

    def may_be(self, other: Person) -> bool:
        """Return whether two names can be the same person's: "Mr Holt", "H. Holt" and "Hal Holt"."""
        if {self.title, other.title} & _MALE and {self.title, other.title} & _FEMALE:
            return False
        if not self.names or not other.names:
            return False
        if self.names[-1] != other.names[-1]:
            return self.names == other.names[:1] or self.names[:1] == other.names
        pairs = zip(self.names[:-1], other.names[:-1], strict=False)
        return all(own.startswith(their) or their.startswith(own) for own, their in pairs)


class OwnWords(NamedTuple):
    """The words of the one person whose view a question asks for."""

    mask: NDArray[np.bool_]
    """Which sentences they are; those on the subject, if there are any."""
    on_subject: bool


def find_own_words(
    question: str,
    documents: Sequence[Candidate],
    scored: ScoredSentences,
    holders: Sequence[str | None],
) -> OwnWords | None:
    """Return the words of the one person whose view a question asks for; None where it asks for nobody's.

    `holders`: who speaks in each sentence, or on whom it reports; None where the text does not tell.
    """
    if not _HOLDS.search(question) or not _ASKED.search(question):
        return None
    people = {holder: _read_people(holder) for holder in holders if holder}
    authors = [_authors_by_file(document) for document in documents]
    asked = _asked_people(question, [*chain(*people.values())], [*chain(*authors)], documents)
    if not asked:
        return None
    is_own = np.array(
        [
            any(
                a.may_be(p) for a in asked for p in (people[holder] if holder else authors[sentence.document])
            )
            for sentence, holder in zip(scored.sentences, holders, strict=True)
        ],
        dtype=bool,
    )
    is_mail = np.array(["subject" in documents[s.document]["metadata"] for s in scored.sentences], dtype=bool)
    if _MAIL.search(question) and (is_own & is_mail).any():
        is_own &= is_mail
    names = {word for person in asked for word in (*person.names, person.title)}
    shares = np.where(is_own, share_subject(question, documents, scored.sentences, names), 0.0)
    on_subject = shares.max(initial=0.0) >= MOST or scored.scores[is_own].sum() >= MOST
    return OwnWords(is_own & (shares == shares.max(initial=0.0)), bool(on_subject))


def share_subject(
    question: str,
    documents: Sequence[Candidate],
    sentences: Sequence[AnswerSentence],
    names: Collection[str] = (),
) -> Scores:
    """Return the share of the question's content words that the section of each sentence has.

    Where there are no sections, its paragraph counts. The title of its document counts as well. `names` are
    words of the question that are not its subject.
    """
    subject = set(terms(question)) - _NO_SUBJECT - set(map(stem, names))
    outlines = [read_outline(document) for document in documents]
    found: dict[tuple[object, ...], set[str]] = {}
    keys = list[tuple[object, ...]]()
    for sentence in sentences:
        document = documents[sentence.document]
        section = (
            section_at(document, sentence.start) or outlines[sentence.document][sentence.paragraph].heading
        )
        place = (document["source"], section) if section else (sentence.document, sentence.paragraph)
        title = f"{document['metadata'].get('subject', '')} {Path(document['source']).stem} {section}"
        found.setdefault(place, set(terms(title))).update(sentence.terms)
        keys.append(place)
    return np.array([len(subject & found[key]) / len(subject) if subject else 1.0 for key in keys])


def _asked_people(
    question: str, known: Sequence[Person], authors: Sequence[Person], documents: Sequence[Candidate]
) -> list[Person]:
    """Return the people whose view a question asks for.

    They have a title in the question, or are known from the texts, or the question and a file's name have
    their name with a capital letter.
    """
    asked = list[Person]()
    small = STOP_WORDS.union(*(small_words(document["text"]) for document in documents))
    for match in _ASKED.finditer(question):
        for words in _possible_names(match):
            people = _read_people(" ".join(words))
            title, names = people[0]
            possible = [*known, *(authors if words[-1][:1].isupper() else ())]
            # "Ms Dray" and "Ann Dray" are people even if no text names them; "captain said" is none.
            is_new = small.isdisjoint(word.lower() for word in words) and len(words) == 2
            is_person = is_new and (title in _SURE_TITLES or all(word[0].isupper() for word in words))
            is_known = bool(names) and any(set(names) <= set(person.names) for person in possible)
            if is_person or (is_known and (title or not small.issuperset(words))):
                asked += people
                break
    return asked


def _possible_names(match: re.Match[str]) -> Iterator[list[str]]:
    """Yield the words of a match that may be the name, the longest first.

    A name comes right after the verb, as in "does Ms Dray" or "does the caretaker Dray", or before "'s"; but
    "what do they think of Dray's letter" does not ask for Dray's view.
    """
    words = (match["name"] or match["owner"]).split()
    for length in range(len(words), 0, -1):
        for first in range(len(words) - length + 1):
            before = words[first - 1].lower() if first else ""
            if match["name"]:
                is_place = not first or (words[0].lower() == "the" and first < 3)
            else:
                is_place = (
                    first + length == len(words) and before not in _TOWARDS and not _TITLE.match(before)
                )
            if is_place:
                yield words[first : first + length]


def _read_people(name: str) -> list[Person]:
    """Return the people in a speaker's name: two in "Ann and Bo Lee"."""
    people = list[Person]()
    for part in re.split(r" (?:and|&) ", bare_name(name)):
        parts = [re.sub(r"['’]s?$|\.$", "", word).casefold() for word in re.findall(_WORD, part)]
        titles = [word for word in parts if _TITLE.match(word)]
        names = tuple(word for word in parts if word not in titles)
        people.append(Person(titles[0] if titles else "", names))
    return people


def _authors_by_file(document: Candidate) -> list[Person]:
    """Return who may have written a text in the first person, by the capitalised words of its file's name."""
    if "subject" in document["metadata"] or not in_first_person(document["text"]):
        return []  # a mail names its sender
    return [Person("", (word.casefold(),)) for word in re.findall(CAPITALISED, Path(document["source"]).stem)]
