"""The words of a text as the answering steps compare them: content words, stems and weights."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from functools import lru_cache
from importlib.resources import files

_STOP_WORDS = """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each either else ever few for from further
    had has have having he her here hers herself him himself his how however i if in into is it its itself
    just let many may me might more most much must my myself neither no nor not now of off on once one ones
    only or other ought our ours ourselves out over own per quite rather same shall she should since so some
    such than that the their theirs them themselves then there therefore these they this those though
    through thus to too under until up upon us very was we were what when where whether which while who whom
    whose why will with within without would yes yet you your yours yourself yourselves d ll m re s t ve
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_FUNCTION_WORDS = {
    language: frozenset(listed.split())
    for language, listed in tomllib.loads(
        files(__package__).joinpath("function_words.toml").read_text(encoding="utf-8")
    ).items()
}
# Some are English words too ("die", "war"), so they count only in German questions.
_GERMAN = _FUNCTION_WORDS["de"]
_GERMAN_ALONE = _GERMAN - STOP_WORDS - {"den", "dem", "des", "die", "hat", "man", "mit", "war"}
# Minimum share of a language's function words in a text; English texts have a third to a half.
FUNCTION_WORDS = 0.15
# Words that people use to ask, rather than words for what they ask about.
_ASKING_WORDS = """
    according actually advantage advantages aspect aspects call called compare con cons consequence
    consequences consider considered contrast currently define definition describe detail detailed
    details difference different disadvantage disadvantages discuss document documents drawback
    drawbacks effect effects employ employed especially example examples exist explain first general
    generally get give given happen happened happens importance important include included includes
    including information involve involved kind kinds know known like list made main major make makes
    mean meaning means mention mentioned mentions method name named need number overview part particular
    people person please possible pro pros really reason reasons regard regarding relate related role
    say second several should significant some something sort specific state summarize summary tell term
    text thing things think three two type types typically understand use used uses using various view
    views want way ways work worked works
"""
ASKING_WORDS = frozenset(_ASKING_WORDS.split())
# How much of a long question is read, since some patterns scan to the end from every position.
HEAD_CHARACTERS, TAIL_CHARACTERS = 1600, 400
_WORD = re.compile(r"[^\W_]+")
_SHORT_IN_Y = re.compile(r"(?<=^[a-z]{2}[^\W\daeiou])y$")
_ACCENTS = re.compile(r"[\u0300-\u036f]")
# Longest first; a stem keeps at least four letters, so that short words are left alone.
_CUT = """
    ie ational fulness iveness ations ation ative atory ators ator ements ement ments ment ities ity ically
    ical ics ings ing ions ion ives ive ists ist isms ism ally ies ied ers ors er or ed es ly al ic y e
    s
"""
_TO_IZ = "izations isations ization isation ises izes ised ized ise ize"
_SUFFIXES = sorted(
    [*((suffix, "") for suffix in _CUT.split()), *((suffix, "iz") for suffix in _TO_IZ.split())],
    key=lambda pair: -len(pair[0]),
)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Cut the English endings of a word, so that "predicting" matches "prediction"."""
    if word.endswith("'s"):
        word = word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix, replacement in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            word = word[: len(word) - len(suffix)] + replacement
            break
    else:
        # so that "baby" matches "babies": both become "babi"
        word = _SHORT_IN_Y.sub("i", word)
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] else word


def words(text: str) -> list[str]:
    """Split a text into lower-case words without accents: "Café" becomes "cafe", as people type it."""
    return _WORD.findall(without_accents(text.lower()))


def terms(text: str) -> list[str]:
    """Return the stems of a text's content words, in order and with repeats."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def read_ends(question: str) -> str:
    """Return a question, or the start and end of a long one, where people ask about a pasted text."""
    if len(question) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return question
    return f"{question[:HEAD_CHARACTERS]}\n{question[-TAIL_CHARACTERS:]}"


def is_german(question: str) -> bool:
    """Tell whether a question is in German, by its function words."""
    asked = words(question)
    german, english = (sum(word in known for word in asked) for known in (_GERMAN, STOP_WORDS))
    return german > english and not _GERMAN_ALONE.isdisjoint(asked)


def language_of(text: str) -> str | None:
    """Return the language of a text by its function words, or its script; None where they do not tell.

    Languages have their codes ("en", "fr"), scripts their Unicode names ("CYRILLIC").
    """
    asked = [word for word in words(text) if not word.isdigit()]
    if not asked:
        return None
    scripts = Counter(unicodedata.name(letter, " ").split()[0] for letter in text if letter.isalpha())
    script = max(scripts, key=lambda name: scripts[name])
    if script != "LATIN":
        return script
    # "in", "a" and "me" are words of several languages, and tell nothing.
    other = frozenset[str]().union(*_FUNCTION_WORDS.values())
    known = {"en": STOP_WORDS - other, **{name: own - STOP_WORDS for name, own in _FUNCTION_WORDS.items()}}
    shares = {name: sum(word in own for word in asked) / len(asked) for name, own in known.items()}
    best, second = sorted(shares, key=lambda name: -shares[name])[:2]
    return best if shares[best] >= FUNCTION_WORDS and shares[best] > shares[second] else None


def weighted_terms(question: str) -> dict[str, float]:
    """Return the stems that a question asks about, with their weights.

    Names, numbers and quoted words weigh twice as much: an answer without them is about something else.
    Words that people use to ask ("main", "kinds", "mention") weigh a fifth.
    """
    weights: dict[str, float] = {}
    question = without_accents(question)
    empty = STOP_WORDS | _GERMAN if is_german(question) else STOP_WORDS
    quoted = " ".join(re.findall(r"['\"“‘]([^'\"”’]{2,60})['\"”’]", question)).lower()
    for match in _WORD.finditer(question):
        raw, word = match.group(), match.group().lower()
        if word in empty:
            continue
        if word in ASKING_WORDS:
            weight = 0.2
        elif (
            any(letter.isdigit() for letter in raw)
            or (match.start() > 0 and raw[0].isupper())
            or word in quoted.split()
        ):
            weight = 2.0
        else:
            weight = 1.0
        weights[stem(word)] = max(weight, weights.get(stem(word), 0.0))
    return weights


def coverage(weights: dict[str, float], present: set[str]) -> float:
    """Return the share of the total weight that the present stems cover; 0 if there are no weights."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in present) / total if total else 0.0


def without_accents(text: str) -> str:
    """Return a text with its letters bare of accents: "cafe" for "café"."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
