"""Finds the headings that a quote needs, or that a question names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adaptive_rag.answer.labels import find_mentions
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import FULL_NAME
from adaptive_rag.state import Candidate
from adaptive_rag.text.places import section_at
from adaptive_rag.text.speech import may_be_name, small_words
from adaptive_rag.text.words import STOP_WORDS, terms

_NUMBER = re.compile(r"(?:(?P<word>[^\W\d_]+) )?(?P<number>[\w.:-]*\d(?:[\w.:-]*\w)?)")
# A number that is a name without the word before it: "2.4.0", "2026-03-14", "v2"; not "2.4" or "10am"
_DISTINCT = re.compile(r"\d+(?:[.-]\w+){2,}|[^\W\d_][\w-]*\d[\w.-]*")
# Questions that a heading may answer: "which release", "when", "who"
_WHICH = re.compile(r"\b(?:which|(?:in|with|since|by) what) (\w+)", re.IGNORECASE)
_WHEN = re.compile(r"\bwhen\b", re.IGNORECASE)
_WHO = re.compile(r"\b(?:who|whom)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"\W*v?\d+\.\d")
# What questions call a section whose heading begins with a number: "4.2 Fees"
_SECTION_WORDS = "section clause article chapter part rule step point paragraph".split()
# A number with fewer characters is a name only after a word: "section 3".
_SHORTEST_NUMBER = 3
# In characters. A longer heading is a paragraph that was taken for one, and names nothing.
_LONGEST_HEADING = 200
# Maximum number of words of a name.
_LONGEST_NAME = 4


def names_section(question: str, passage: Candidate, start: int) -> bool:
    """Return whether a question names one of the sections that contain a position of a passage."""
    return any(_holds(question, name) for name in _section_names(passage, start))


def telling_heading(question: str, passage: Candidate, start: int) -> str:
    """Return the heading that tells which version or when, if a question asks that; "" otherwise.

    "In which release was it fixed?" asks for "2.4.0" above "Fixed", and "when" for a heading with a date.
    """
    headings = (section_at(passage, start) or "").split(" > ")
    for heading in reversed(headings):
        is_date = any(mention.kind == "date" for mention in find_mentions(heading))
        if (is_date and _WHEN.search(question)) or (_NUMBERED.match(heading) and _asks_which(question)):
            return heading if heading == headings[-1] else f"{heading}, {headings[-1]}"
    return ""


def heading_needed(question: str, passage: Candidate, quote: Sequence[AnswerSentence]) -> str:
    """Return the heading of a quote if the quote answers only together with it; "" otherwise.

    "No. We have no room for it." does not say that it is about the toys of "And toys?", nor "Head of the
    kitchen" that this is "Ada Roil", for whom the question asks.
    """
    heading = (section_at(passage, quote[0].start) or "").rpartition(" > ")[2]
    said = " ".join(sentence.text for sentence in quote)
    if _WHO.search(question) and re.fullmatch(FULL_NAME, heading) and heading not in said:
        return heading if may_be_name(heading, small_words(passage["text"])) else ""
    if not heading.endswith("?"):
        return ""
    asked = set(terms(question))
    names_subject = not asked.isdisjoint(terms(heading)) and asked.isdisjoint(terms(said))
    return heading if quote[0].is_reply or names_subject else ""


def _asks_which(question: str) -> bool:
    match = _WHICH.search(question)
    return match is not None and match[1].lower() not in STOP_WORDS


def _holds(text: str, name: str) -> bool:
    """Return whether a text contains a name whole, in any case if it has a number."""
    if name.casefold() not in text.casefold():
        return False  # faster than a pattern for each name
    pattern = rf"(?<![\w/.-])v?{re.escape(name)}(?![\w/-]|\.\w)"
    return re.search(pattern, text, re.IGNORECASE if re.search(r"[\d_/]", name) else re.NOFLAG) is not None


def _section_names(passage: Candidate, start: int) -> Iterator[str]:
    """Yield the names of the sections that contain a position."""
    for heading in (section_at(passage, start) or "").split(" > "):
        if len(heading) <= _LONGEST_HEADING:
            yield from _names_in(heading)


def _names_in(heading: str) -> Iterator[str]:
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
