"""Proposes an ontology of the texts of an index, for a person to edit."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.ontology import fold
from adaptive_rag.models.onnx import Vectors, load_minilm

# A term must occur in at least so many texts, and in at most this share of them.
MIN_TEXTS, MAX_SHARE = 2, 0.5
# In words.
MAX_TERM_LENGTH = 3
# A single word that is used as a verb in a larger share of its occurrences is not a term.
MAX_VERB_SHARE = 0.2

_SENTENCE_END = re.compile(r"[.!?;:,()\[\]\"“”\n|]+")
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[-'’][^\W_]+)*")
_VERB = re.compile(
    r"\b(?:can|will|may|must|might|could|should|would|and) ([a-z]{3,})\b(?= (?:the|an?|its|their|your|our)\b)"
    r"|(?<=\bto )([a-z]{3,})"
)
# Words that are common in any text and name no topic.
_COMMON = lx.SHAPE_WORDS | lx.word_set(
    "having however therefore thus hence even well sometimes usually few several very quite rather always "
    "today people person man men woman women day days years time times week weeks month months hour hours "
    "thing things part parts place places numbers example examples fact facts cases point points new great "
    "large small high low short early late main major two three four five six seven eight nine ten hundred "
    "thousand million half next second third said says see seen saw made making found find thought know "
    "known come came gone went took taken gives gave left put set became become calls based include includes "
    "including provide provides provided uses working needs allows helps shows chapter section figure table "
    "page note appendix introduction conclusion summary own cannot"
)

# The words of a term in the form in which terms are compared (`fold`).
Key = tuple[str, ...]


class Suggestion(NamedTuple):
    """A proposed category: its name and its terms, the most salient first."""

    name: str
    terms: list[str]


def suggest_ontology(texts: Iterable[str], *, terms: int = 60, categories: int = 8) -> list[Suggestion]:
    """Propose up to `categories` categories that group the most salient terms in texts.

    The salience of a term is its C-value (Frantzi, Ananiadou and Mima, 2000) times its rarity. Terms are
    grouped by Ward's clustering of their MiniLM vectors.
    """
    chosen = find_salient_terms(texts, terms)
    if not chosen:
        return []
    vectors = load_minilm().encode(chosen)
    suggestions = []
    for group in _cluster(vectors, min(categories, len(chosen))):
        # The most central term names the group.
        central = group[int((vectors[group] @ vectors[group].mean(axis=0)).argmax())]
        suggestions.append(Suggestion(chosen[central].lower(), [chosen[i] for i in group]))
    return sorted(suggestions, key=lambda suggestion: (-len(suggestion.terms), suggestion.name))


def find_salient_terms(texts: Iterable[str], limit: int) -> list[str]:
    """Return the most salient terms of texts, best first, each in its most frequent spelling."""
    spellings: dict[Key, Counter[str]] = defaultdict(Counter)
    texts_with: Counter[Key] = Counter()
    as_verb: Counter[Key] = Counter()
    total = 0
    for text in texts:
        total += 1
        as_verb.update(tuple(fold(match[1] or match[2])) for match in _VERB.finditer(text))
        candidates = [(tuple(fold(term)), term) for term in _candidates(text)]
        for key, term in candidates:
            spellings[key][term] += 1
        texts_with.update({key for key, _ in candidates})
    least = MIN_TEXTS if total > 3 else 1
    most = max(total * MAX_SHARE, least)
    keys = [key for key in spellings if key and least <= texts_with[key] <= most]
    counts = {key: spellings[key].total() for key in keys}
    counts_of_longer: dict[Key, list[int]] = defaultdict(list)
    for key, count in counts.items():
        for length in range(1, len(key)):
            for start in range(len(key) - length + 1):
                counts_of_longer[key[start : start + length]].append(count)

    def salience(key: Key) -> float:
        # C-value: a longer term counts more; one that mostly occurs inside longer terms counts less.
        longer = counts_of_longer.get(key, [])
        alone = counts[key] - (sum(longer) / len(longer) if longer else 0)
        return math.log2(len(key) + 1) * alone * math.log(1 + total / texts_with[key])

    terms = [key for key in counts if len(key) > 1 or as_verb[key] <= MAX_VERB_SHARE * counts[key]]
    terms.sort(key=lambda key: (-salience(key), key))
    return [_usual_spelling(spellings[key]) for key in terms[:limit]]


def format_ontology(suggestions: list[Suggestion], *, origin: str = "") -> str:
    """Format suggestions as YAML that `load_ontology` can read."""
    import yaml  # type: ignore[import-untyped]

    head = f"# Proposed from {origin}. " if origin else "# "
    lines = [
        f"{head}Rename the categories, move and drop terms, add synonyms;",
        "# then use it: --set ontology=FILE (with route: --ontology FILE).",
    ]
    for name, terms in suggestions:
        body = yaml.safe_dump({name: terms}, allow_unicode=True, default_flow_style=None, width=100)
        lines.append(body.rstrip())
    return "\n".join(lines) + "\n"


def _candidates(text: str) -> Iterator[str]:
    """Yield the runs of one to three words that contain no common word."""
    for part in _SENTENCE_END.split(text):
        run: list[str] = []
        for word in [*_WORD.findall(part), ""]:
            if len(word) > 2 and word.lower() not in _COMMON:
                run.append(word)
                continue
            for length in range(1, MAX_TERM_LENGTH + 1):
                yield from (" ".join(run[i : i + length]) for i in range(len(run) - length + 1))
            run = []


def _usual_spelling(spellings: Counter[str]) -> str:
    # Lower case wins a tie: a capital may only mark the start of a sentence.
    return min(spellings, key=lambda text: (-spellings[text], not text.islower(), text))


def _cluster(vectors: Vectors, count: int) -> list[list[int]]:
    """Cluster vectors into `count` groups of similar size, by Ward's method."""
    if count == len(vectors):
        return [[i] for i in range(count)]
    from sklearn.cluster import AgglomerativeClustering

    labels = AgglomerativeClustering(n_clusters=count).fit_predict(vectors)
    return [np.flatnonzero(labels == group).tolist() for group in range(count)]
