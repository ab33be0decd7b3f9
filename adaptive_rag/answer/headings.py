"""Finds the headings that are shown with a quote."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptive_rag.answer.labels import find_mentions
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import FULL_NAME
from adaptive_rag.state import Candidate
from adaptive_rag.text.places import section_at
from adaptive_rag.text.speech import may_be_name, small_words
from adaptive_rag.text.words import STOP_WORDS, terms

# Questions that a heading may answer: "which release", "when", "who"
_WHICH = re.compile(r"\b(?:which|(?:in|with|since|by) what) (\w+)", re.IGNORECASE)
_WHEN = re.compile(r"\bwhen\b", re.IGNORECASE)
_WHO = re.compile(r"\b(?:who|whom)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"\W*v?\d+\.\d")


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
