"""The topic of an opinion question, without the words that ask for views."""

from __future__ import annotations

import re

from adaptive_rag.text.words import STOP_WORDS

# Phrases that ask for views; the topic follows them.
_FRAME = re.compile(
    r"^\s*(?:is it (?:right|true|fair|correct) (?:to say )?that|do you (?:agree|think|believe) that|"
    r"what do (?:people|you|others) think (?:of|about)(?: the (?:claim|idea) that)?|"
    r"what are (?:the |some )?(?:\w+ )?(?:views|opinions|perspectives|arguments) "
    r"(?:for and against|for|against|on|about))\s+",
    re.IGNORECASE,
)


def topic_of(question: str) -> str:
    """Return a question without the phrase that asks for views: no opinion has "what do people think of"."""
    return _FRAME.sub("", question) or question


def keywords(question: str) -> str:
    """Return the question's content words in order, as a query."""
    words = re.findall(r"[\w'-]+", question)
    return " ".join(word for word in words if word.lower() not in STOP_WORDS) or question
