"""Word lists for comparing a claim with its passages, from `word_lists.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from adaptive_rag.text.words import ASKING_WORDS, stem

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _read_set(name: str) -> frozenset[str]:
    return frozenset(_WORDS[name].split())


def _read_pairs(name: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    pairs = (group.split("|") for group in _WORDS[name].split(";"))
    return [(frozenset(one.split()), frozenset(other.split())) for one, other in pairs]


_SMALL_NUMBERS = {name: n for n, name in enumerate(_WORDS["small_numbers"].split())}
ONES = {name: n for name, n in _SMALL_NUMBERS.items() if 0 < n < 10}
TENS = {name: 10 * n for n, name in enumerate(_WORDS["tens"].split(), start=2)}
# "one" is a pronoun as often as a number.
NUMBER_NAMES = {name: str(n) for name, n in {**_SMALL_NUMBERS, **TENS}.items() if name != "one"}
UNITS = {stem(word): group.split()[0] for group in _WORDS["units"].split(";") for word in group.split()}
DENIALS = _read_set("denials")
INDIRECT_DENIALS = frozenset(map(stem, _read_set("indirect_denials")))
HARMLESS = frozenset(map(stem, _read_set("harmless")))
ANTONYMS = [pair for one, other in _read_pairs("antonyms") for pair in ((one, other), (other, one))]
SCOPES = [(words, words | sufficient) for words, sufficient in _read_pairs("scopes")]
OBLIGATIONS, OPTIONS = _read_set("obligations"), _read_set("options")
HEDGES, RECKONING = _read_set("hedges"), _read_set("reckoning")
MONTHS, WEEKDAYS = _read_set("months"), _read_set("weekdays")
REPORTING = frozenset(map(stem, _read_set("reporting") | ASKING_WORDS))
BEFORE_A_PREDICATE, AFTER_A_VERB = _read_set("before_a_predicate"), _read_set("after_a_verb")


def mean_the_same(one: str, other: str) -> bool:
    """Return whether two words are on the same side of a pair of opposites: "rose" and "increased"."""
    return any(one in words and other in words for words, _ in ANTONYMS)
