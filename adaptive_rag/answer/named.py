"""Keeps the rows and sections that a question names, where the reader also chose others of their kind.

A question names a row by its first cell, a code ("P-100", "/events") or a date in any form, and a section by
the number in its heading ("2.4.0", "Sprint 14"). The other rows of the table, and the other numbered sections
of the level, do not answer it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.labels import Label, dates_in
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.state import Candidate
from adaptive_rag.text.places import section_at
from adaptive_rag.text.words import STOP_WORDS

# "Sprint 14 and 15", "chapter 2 or 3": the word belongs to both numbers.
_SHARED_WORD = re.compile(r"\b([^\W\d_]+) (\d[\w.]*)(,? (?:and|or) |, )(?=\d)")
# A code, which names a row in any column: "log_full", "/events", "CT-2291"; not "10am" or "£4.20"
_CODE = re.compile(r"(?=.*[\d_/])(?:[^\W\d]|/)\S*")
_NUMBER = re.compile(r"(?:(?P<word>[^\W\d_]+) )?(?P<number>[\w.:-]*\d(?:[\w.:-]*\w)?)")
# A number that is a name without the word before it: "2.4.0", "2026-03-14", "v2"; not "2.4" or "10am"
_DISTINCT = re.compile(r"\d+(?:[.-]\w+){2,}|[^\W\d_][\w-]*\d[\w.-]*")
# What questions call a section whose heading begins with a number: "4.2 Fees"
_SECTION_WORDS = "section clause article chapter part rule step point paragraph".split()
# A number with fewer characters is a name only after the name of its column: "grade 3".
_SHORTEST_NUMBER = 3
# In characters. A longer heading is a paragraph that was taken for one, and names nothing.
_LONGEST_HEADING = 200
# Maximum number of words of a name.
_LONGEST_NAME = 4

# A group of rows or sections of the same kind, and the names of one of them.
Named = tuple[Hashable, tuple[str, ...]]


def keep_named(
    questions: Sequence[str], documents: Sequence[Candidate], scored: ScoredSentences
) -> ScoredSentences:
    """Set the scores of the rows and sections to 0 whose siblings the question names.

    A sentence that contains the name keeps its score. The second of the questions is the one that the first
    refers to; it counts where the first names nothing.
    """
    names = [
        [
            *_name_row(sentence, documents[sentence.document]),
            *_sections_at(documents[sentence.document], sentence.start),
        ]
        for sentence in scored.sentences
    ]
    asked = next(filter(None, (_asked_for(question, names) for question in questions)), {})
    is_sibling = [
        any(
            group in asked
            and not any(_is_part(own, name) or _holds(sentence.text, name) for name in asked[group])
            for group, own in of_sentence
        )
        for sentence, of_sentence in zip(scored.sentences, names, strict=True)
    ]
    scores = np.where(is_sibling, 0.0, scored.scores)
    return replace(scored, scores=scores) if scores.any() else scored


def _asked_for(question: str, names: Sequence[Sequence[Named]]) -> dict[Hashable, set[str]]:
    """Return the names that a question contains, by the groups that they distinguish."""
    for _ in range(2):
        question = _SHARED_WORD.sub(r"\1 \2\3\1 ", question)
    asked: dict[Hashable, set[str]] = {}
    groups = {named for of_sentence in names for named in of_sentence}
    dates = dates_in(question)
    for group, own in groups:
        if matches := {name for name in own if _names(question, name) or _is_date(name, dates)}:
            asked.setdefault(group, set()).update(matches)
    for group, own in groups:
        # Where one name has its capital, others may lack theirs: "an Adult and a child".
        if group in asked:
            asked[group] |= {name for name in own if _is_mentioned(question, name)}
    return asked


def _is_part(own: Sequence[str], name: str) -> bool:
    """Return whether a name is one of a section's own, or that of the section above: "section 4" of 4.2."""
    return any(each == name or each.startswith(f"{name}.") for each in own)


def _names(question: str, name: str) -> bool:
    """Return whether a question contains a name; its first word has a capital letter in any case."""
    return _holds(question if _is_numbered(name) else question[1:], name)


def _is_date(name: str, dates: Sequence[Label]) -> bool:
    """Return whether a name is one of some dates: "Thu 20 Nov" or "2025-11-20"."""
    return bool(dates) and any(own.matches(date) for own in dates_in(name) for date in dates)


def _holds(text: str, name: str) -> bool:
    """Return whether a text contains a name whole: "/events" is not in "/events/batch"."""
    if name.casefold() not in text.casefold():
        return False  # faster than a pattern for each name
    pattern = rf"(?<![\w/.-])v?{re.escape(name)}(?![\w/-]|\.\w)"
    return re.search(pattern, text, re.IGNORECASE if _is_numbered(name) else re.NOFLAG) is not None


def _is_mentioned(text: str, name: str) -> bool:
    """Return whether a text contains a name in any case, or its plural."""
    if name.casefold() not in text.casefold():
        return False
    return re.search(rf"\b{re.escape(name)}s?\b", text, re.IGNORECASE) is not None


def _is_numbered(name: str) -> bool:
    return re.search(r"[\d_/]", name) is not None


def _name_row(sentence: AnswerSentence, passage: Candidate) -> Iterator[Named]:
    """Yield the cells of a row that may name it, each in the group of its column."""
    for index, (column, value) in enumerate(sentence.cells):
        value = value.strip("`* ")
        if value.isdigit() and len(value) < _SHORTEST_NUMBER:
            value = f"{column} {value}" if column else ""
        is_name = _is_numbered(value) or (value[:1].isupper() and value != "I")
        if (is_name and not index) or _CODE.fullmatch(value):
            table = sentence.cells[0][0] or (sentence.document, sentence.paragraph)
            yield (passage["source"], table, column, _is_numbered(value)), (value,)


def _sections_at(passage: Candidate, start: int) -> Iterator[Named]:
    """Yield the names of the sections that contain a position, each in the group of its level."""
    headings = (section_at(passage, start) or "").split(" > ")
    for level, heading in enumerate(headings):
        if len(heading) <= _LONGEST_HEADING and (names := tuple(names_in(heading))):
            yield (passage["source"], *headings[:level]), names


def names_in(heading: str) -> Iterator[str]:
    """Yield the names that the numbers of a heading make: "2.4.0", "Sprint 14", "section 4.2"."""
    heading = re.sub(r"[\[\]`*]", "", heading).strip()
    for match in _NUMBER.finditer(heading):
        word, number = match["word"], match["number"]
        follows = heading[match.end() :].lstrip(" .:)")
        if _DISTINCT.fullmatch(number):
            yield number
        elif word and word.lower() not in STOP_WORDS:
            yield f"{word} {number}"
        elif match.start() == 0 and len(number) >= _SHORTEST_NUMBER and not follows[:1].isalnum():
            yield number
        elif match.start() == 0:
            yield from (f"{word} {number}" for word in _SECTION_WORDS)
    if _NUMBER.search(heading) and len(heading.split()) <= _LONGEST_NAME:
        yield heading
