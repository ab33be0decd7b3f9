"""Tells the kind of a question over the rows of a table: a list, a count, a sum, the largest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from adaptive_rag.answer.comparisons import MARK, MOST, SUPERLATIVES
from adaptive_rag.answer.row_conditions import NOT
from adaptive_rag.answer.word_lists import NUMBER_NAMES
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem, words


def _add_up(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal())


def _mean(values: Sequence[Decimal]) -> Decimal:
    # with at least as many decimals as the values: of 0.0012 and 0.0030, it is 0.0021
    return (_add_up(values) / len(values)).quantize(min(Decimal("0.01"), *values, key=_exponent))


def _exponent(number: Decimal) -> int:
    return int(number.as_tuple().exponent)


@dataclass(frozen=True)
class TableKind:
    """A kind of question over the rows of a table."""

    # finds the kind in the question; "" for those that a superlative names
    pattern: str = ""
    # words of such questions that need not occur in the table
    words: str = ""
    # pattern of the names of rows that hold the result for the others: "Grand total"
    row_names: str = ""
    # the calculation for kinds whose result is one number; `aggregate` has those of the others
    calculate: Callable[[Sequence[Decimal]], Decimal] | None = None
    # whether a column with such a word in its name is left to the reader: its cells are results already
    skips_results: bool = False


# Asks for the rows with a cell in a column: "What is in the gift box?"
WHAT_IS_IN = re.compile(r"^what(?: is|['’]s) in\b")
# The kinds by the codes of their sentences in text/en.toml; the first whose pattern is found counts.
KINDS: dict[str, TableKind] = {
    "most": TableKind(),
    "least": TableKind(),
    "median": TableKind(r"\bmedian\b", "median", "median", median, skips_results=True),
    "sum": TableKind(
        r"\b(?:total|sum|altogether|together|combined|in all|adds? up)\b",
        "total sum add adds added up altogether together overall",
        r"(?:(?:grand|overall) |sub-?)?totals?|sum|[\w ]{3,40} (?:together|combined)",
        _add_up,
    ),
    "mean": TableKind(r"\baverage\b|(?:^|\b(?:the|a|of) )mean\b", "average mean", "average|mean", _mean),
    "count": TableKind(r"\b(?:how many|count)\b|(?:^|\b(?:the|a|total|exact) )number of\b", "count"),
    "list": TableKind(
        r"^(?:please |can you |could you )?(?:list|show|name|enumerate|give me)\b|\bwhat are (?:all )?the\b|"
        + WHAT_IS_IN.pattern,
        "list lists listed show give me",
    ),
}
# "List the members with city and paid" names columns to show, "in Rome or paid" one of two conditions.
SHOWS_COLUMNS = re.compile(r"\bor\b|^(?!what|which)(?=.*(?:,|\b(?:with|and)\b))")
# "which courses are full" asks for rows; "what happens on 12 May" and "what floods if it rains" have a verb.
WHICH = re.compile(
    r"^(?:which|what) (?!(?:happens|includes|makes|means|mentions|needs|uses)\b)(?P<noun>[^\W\d_]+s)\b"
    r"(?! (?:if|when|to|after|a|an|the|it|me|us|my|our|your)\b)"
)
# "Who works remotely?" and "which tutor teaches two courses?" ask for the rows that meet the conditions.
ASKS_FOR_ROWS = re.compile(
    rf"^when\b|^(?:(?:at|for|from|in|of|on|to|with) )?(?:who(?:se|m)?\b|which\b|what (?!happens\b).*{MARK})",
    re.DOTALL,
)
# "Dishes under 8 euro without milk", "where don't you deliver on Fridays"
_ROWS_WITH = re.compile(r"(?:where|any(?:thing|one|body)|(?:(?:all|any|the) )?(?:\w+ )?\w+s)\b")
# Words of questions that ask for rows and need not occur in the table, in addition to ASKING_WORDS.
FOR_ROWS = frozenset(
    map(
        stem,
        "row rows entry entries table file sheet document amount value currently thing things item items "
        "product products everything single money people person please each whole gave done teach supply "
        "entered recorded given".split()
        + [word for kind in KINDS.values() for word in kind.words.split()],
    )
)
# Words to ask with that are not the name of what is asked for, unlike "part" of "the cheapest part".
ASKING = frozenset(map(stem, ASKING_WORDS)) - set(
    map(stem, "part section type method role reason kind".split())
)
# "second", "three", "2", beside a superlative
_PLACE = (
    r"(?:next|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|"
    rf"{'|'.join(NUMBER_NAMES)}|\d{{1,2}}(?:st|nd|rd|th)?)"
)
# "but not paid", "over 100", "before 2020", "in May" and "whether it is paid" ask for other rows than those
# with the named cell; "the second cheapest" and "the last three" for others than the first in order.
_OTHER_ROWS = re.compile(
    r"\b(?:not|cannot|no|nor|never|neither|without|except|but|than|over(?! all\b)|under|above|below|between|"
    r"before|after|since|until|whether|out of|"
    r"(?:this|next|past|last|first) (?:week|month|quarter|year)|up to \W?\d|"
    r"at (?:the )?(?:most|least)|"
    rf"{_PLACE}[ -](?:{'|'.join(SUPERLATIVES)})|(?:{'|'.join(SUPERLATIVES)}) {_PLACE})\b|n['’]t\b",
    re.IGNORECASE,
)


def asks_for_other_rows(question: str) -> bool:
    """Return whether a question asks for other rows than those that fulfil its conditions.

    It has a mark for each comparison: "not over 100" and "over 100 or open" are none of the conditions.
    """
    negation = NOT.search(question)
    is_unclear = MARK in question and (
        "or" in words(question)
        or (negation and re.search(f"^(?!.* and ).*{MARK}", question[negation.end() :]))
    )
    return bool(is_unclear or _OTHER_ROWS.search(NOT.sub("", question)))


def question_kind(question: str) -> tuple[str | None, str]:
    """Return the kind of a question, and the adjective that it compares: "expensive" for "cheapest"."""
    lower = question.lower()
    for word in words(question):
        adjective = SUPERLATIVES.get(word)
        if adjective is None or re.search(rf"\b(?:at(?: the)?|no|without(?: any| a)?) {word}\b", lower):
            continue
        if "least expensive" in lower:
            return "least", "expensive"
        next_word = re.search(rf"\b{word} (?P<word>[^\W\d_]+)", lower)
        measure = adjective or (
            next_word["word"] if next_word and next_word["word"] not in STOP_WORDS else ""
        )
        return "most" if word in MOST else "least", measure
    for name, kind in KINDS.items():
        if kind.pattern and re.search(kind.pattern, lower):
            return name, ""
    plural = WHICH.match(lower)
    is_list = (plural and plural["noun"] not in STOP_WORDS) or ASKS_FOR_ROWS.match(lower)
    is_list = is_list or (_ROWS_WITH.match(lower) and (MARK in lower or NOT.search(lower)))
    return "list" if is_list else None, ""
