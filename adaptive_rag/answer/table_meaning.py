"""Explains the words of a question that a table does not have: by their place in it, or by their meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from adaptive_rag.answer.word_lists import MONTHS, WEEKDAYS
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem, words

# Words that say nothing of the rows: "what stuff do you sell these days".
BLAND = frozenset(
    map(
        stem,
        "stuff anything something everything anyone anybody someone everyone days today altogether "
        "completely right still already available come came goes went buy bought sell sold offer got turned "
        "whos whats wheres isnt arent dont doesnt cant hasnt havent im ive section".split(),
    )
)
# These ask for what was said in the conversation: "what did I ask first".
_OF_CONVERSATION = frozenset(map(stem, "ask asked said told talk question answer".split()))
# After these, a word says which rows are meant: "with a garden", "when it rains".
_LIMITING = frozenset(
    "of for with without in at from by about among when if like than outside during as per".split()
)
# So does a word before these: "the heaviest tool a child may borrow".
_ALLOWING = frozenset("may can could must should might".split())
_ARTICLES = frozenset("a an the my our your their this that these those".split())
# What is asked for: "which drugs run out first"
_HEAD = re.compile(r"\b(?:which|what|whose) ([^\W\d_]+s)\b")
# Minimum cosine of the column that a question means, and its lead over the next one.
RELATED, LEAD = 0.2, 0.04
# Minimum cosine of a word with a column's name of the same meaning ("dairy" and "milk": .82), and the
# maximum number of names that are compared.
SAME, MOST_NAMES = 0.6, 30


def in_words_of(names: Sequence[str], known: Set[str], question: str) -> str:
    """Return a question with the names of columns for words of the same meaning: "milk" for "dairy"."""
    for word in dict.fromkeys(words(question)):
        is_known = (
            len(word) < 4
            or word in STOP_WORDS | WEEKDAYS | MONTHS
            or not known.isdisjoint({word, stem(word)})
        )
        if word.isalpha() and not is_known and (name := closest(word, names[:MOST_NAMES], SAME)):
            question = re.sub(rf"\b{word}\b", name, question)
    return question


def harmless_words(question: str) -> set[str]:
    """Return the stems of the words that, by their place in the question, hardly say which rows are meant.

    In "who lent us the most" or "which drugs run out before May" they say what is asked for. In "vegan
    dishes" and "dishes with rice" they say which.
    """
    asked, found = words(question), set(map(stem, _HEAD.findall(question.lower())))
    before = ""  # the last function word other than an article
    for word, following in zip(asked, [*asked[1:], ""], strict=True):
        if word in STOP_WORDS or word in _LIMITING:
            before = before if word in _ARTICLES else word
        elif (
            before not in _LIMITING
            and following not in _ALLOWING
            and (following in STOP_WORDS | ASKING_WORDS or not following.isalpha())
        ):
            found.add(stem(word))
    return {*BLAND, *filter(str.isalpha, found - _OF_CONVERSATION)}


def closest(text: str, names: Sequence[str], least: float = RELATED) -> str | None:
    """Return the name that is closest in meaning to a text, if one clearly is."""
    first, *vectors = load_minilm().encode([text, *names])
    cosines = [float(first @ vector) for vector in vectors]
    best, second = sorted([*cosines, -1.0, -1.0], reverse=True)[:2]
    return names[cosines.index(best)] if best >= max(least, second + LEAD) else None
