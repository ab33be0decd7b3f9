"""The words of a text as the answering steps compare them: content words, stems and weights."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from functools import lru_cache
from importlib.resources import files

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each either else ever few for from further
    had has have having he her here hers herself him himself his how however i if in into is it its itself
    just let many may me might more most much must my myself neither no nor not now of off on once one ones
    only or other ought our ours ourselves out over own per quite rather same shall she should since so some
    such than that the their theirs them themselves then there therefore these they this those though
    through thus to too under until up upon us very was we were what when where whether which while who whom
    whose why will with within without would yes yet you your yours yourself yourselves d ll m re s t ve
    """.split()
)
_FUNCTION_WORDS = {
    language: frozenset(word_list.split())
    for language, word_list in tomllib.loads(
        files(__package__).joinpath("function_words.toml").read_text(encoding="utf-8")
    ).items()
}
# Some German words are English words too ("die", "war"), so all are ignored only in German questions.
_GERMAN = _FUNCTION_WORDS["de"]
# A German question has at least one of these.
_ONLY_GERMAN = _GERMAN - STOP_WORDS - {"den", "dem", "des", "die", "hat", "man", "mit", "war"}
# Minimum share of a language's function words in a text; English texts have a third to a half.
MIN_FUNCTION_WORD_SHARE = 0.15
# Words that people use to ask, rather than words for what they ask about.
ASKING_WORDS = frozenset(
    """
    according actually advantage advantages aspect aspects call called compare con cons consequence
    consequences consider considered contrast currently define definition describe detail detailed
    details difference different disadvantage disadvantages discuss document documents drawback
    drawbacks effect effects employ employed especially example examples exist explain first general
    generally get give given happen happened happens importance important include included includes
    including information involve involved kind kinds know known like list made main major make makes
    mean meaning means meant mention mentioned mentions method name named need number overview part particular
    people person please possible pro pros really reason reasons regard regarding relate related role
    say second several should significant some something sort specific state summarize summary tell term
    text thing things think three two type types typically understand use used uses using various view
    views want way ways work worked works
    """.split()
)
# How much of the start and end of a long question is read. Some patterns scan to the end of the text from
# every position, which takes quadratic time.
HEAD_CHARACTERS, TAIL_CHARACTERS = 1600, 400
_WORD = re.compile(r"[^\W_]+")
_SHORT_WORD_IN_Y = re.compile(r"(?<=^[a-z]{2}[^\W\daeiou])y$")
_ACCENTS = re.compile(r"[\u0300-\u036f]")
# Endings that `stem` cuts off, and those that it replaces with "iz".
_CUT_SUFFIXES = """
    ie ational fulness iveness ations ation ative atory ators ator ements ement ments ment ities ity ically
    ical ics ings ing ions ion ives ive ists ist isms ism ally ies ied ers ors er or ed es ly al ic y e
    s
"""
_IZ_SUFFIXES = "izations isations ization isation ises izes ised ized ise ize"
# Pairs of a suffix and its replacement; the longest suffix comes first.
_SUFFIXES = sorted(
    [
        *((suffix, "") for suffix in _CUT_SUFFIXES.split()),
        *((suffix, "iz") for suffix in _IZ_SUFFIXES.split()),
    ],
    key=lambda pair: -len(pair[0]),
)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Cut the English endings of a word, so that "predicting" matches "prediction".

    A stem keeps at least four letters, so short words stay as they are.
    """
    if word.endswith("'s"):
        word = word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix, replacement in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            word = word[: len(word) - len(suffix)] + replacement
            break
    else:
        # "baby" becomes "babi", like "babies".
        word = _SHORT_WORD_IN_Y.sub("i", word)
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
    """Return whether a question is in German, judged by its function words."""
    question_words = words(question)
    german, english = (
        sum(word in function_words for word in question_words) for function_words in (_GERMAN, STOP_WORDS)
    )
    return german > english and not _ONLY_GERMAN.isdisjoint(question_words)


def language_of(text: str) -> str | None:
    """Return the language of a text, judged by its function words, or its script; None if undecided.

    A language is returned as its code ("en", "fr"), a script as its Unicode name ("CYRILLIC").
    """
    text_words = [word for word in words(text) if not word.isdigit()]
    if not text_words:
        return None
    scripts = Counter(unicodedata.name(letter, " ").split()[0] for letter in text if letter.isalpha())
    script = max(scripts, key=lambda name: scripts[name])
    if script != "LATIN":
        return script
    # "in", "a" and "me" are words of English and of another language, so they count for neither.
    not_english = frozenset[str]().union(*_FUNCTION_WORDS.values())
    function_words = {
        "en": STOP_WORDS - not_english,
        **{language: listed - STOP_WORDS for language, listed in _FUNCTION_WORDS.items()},
    }
    shares = {
        language: sum(word in listed for word in text_words) / len(text_words)
        for language, listed in function_words.items()
    }
    best, second = sorted(shares, key=lambda language: -shares[language])[:2]
    return best if shares[best] >= MIN_FUNCTION_WORD_SHARE and shares[best] > shares[second] else None


def weighted_terms(question: str) -> dict[str, float]:
    """Return the stems that a question asks about, with their weights.

    Names, numbers and quoted words have twice the usual weight, since an answer without them is about
    something else. Words that people use to ask ("main", "kinds", "mention") have a fifth of it.
    """
    weights: dict[str, float] = {}
    question = without_accents(question)
    stop_words = STOP_WORDS | _GERMAN if is_german(question) else STOP_WORDS
    quoted_words = " ".join(re.findall(r"['\"“‘]([^'\"”’]{2,60})['\"”’]", question)).lower().split()
    for match in _WORD.finditer(question):
        raw = match.group()
        word = raw.lower()
        is_name = match.start() > 0 and raw[0].isupper()
        if word in stop_words:
            continue
        if word in ASKING_WORDS:
            weight = 0.2
        elif is_name or any(map(str.isdigit, raw)) or word in quoted_words:
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
    """Remove the accents of a text's letters: "cafe" for "café"."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
