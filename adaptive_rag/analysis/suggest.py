"""Beside the query analysis: proposes an ontology from the texts of an index, for a person to edit."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.ontology import fold

if TYPE_CHECKING:
    from adaptive_rag.models.onnx import Vectors

# A term stands in at least this many texts, and in at most this share of them.
LEAST_TEXTS, LARGEST_SHARE = 2, 0.5
LONGEST_TERM = 3
LARGEST_VERB_SHARE = 0.2

_SENTENCE_END = re.compile(r"[.!?;:,()\[\]\"“”\n|]+")
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[-'’][^\W_]+)*")
_AFTER_MODAL = re.compile(
    r"\b(?:can|will|may|must|might|could|should|would|and) ([a-z]{3,})\b"
    r"(?= (?:the|a|an|its|their|your|our)\b)"
    r"|(?<=\bto )([a-z]{3,})"
)
# Words that are common in any prose and name no subject.
_PLAIN = lx.SHAPE_WORDS | lx.word_set(
    "been being were was had has have having however therefore thus hence may might although even also "
    "well often sometimes usually many few several much very quite rather still yet already always "
    "never today people person man men woman women day days year years time times week weeks month "
    "months hour hours thing things part parts place places number numbers example examples fact facts "
    "case cases point points new old good great large small high low long short early late different "
    "same main major important two three four five six seven eight nine ten hundred thousand million "
    "half next last second third said says say see seen saw made making found find think thought know "
    "known come came gone went took taken gives given gave left put set let became become called calls "
    "based include includes including provide provides provided using used uses work works working need "
    "needs allow allows help helps show shows chapter section figure table page note appendix "
    "introduction conclusion summary its own each every between within without again against among both "
    "either neither such than then there these those can cannot could must shall should will would"
)


class Suggestion(NamedTuple):
    """A proposed category: its name and its terms, the most salient first."""

    name: str
    terms: list[str]


def suggest_ontology(
    texts: Iterable[str], *, terms: int = 60, categories: int = 8, vectors: Vectors | None = None
) -> list[Suggestion]:
    """Propose categories of salient terms found in texts.

    A term of several words counts for more than its words alone, and a term that mostly occurs inside a
    longer one counts for less (the C-value of Frantzi, Ananiadou and Mima, 2000). Terms are grouped by
    average-link clustering of their MiniLM vectors.

    Args:
        texts: passages, as an index holds them.
        terms: how many terms to keep.
        categories: how many groups to form, at most.
        vectors: unit vectors of the terms (n, d), for tests; by default they are computed.
    """
    chosen = find_salient_terms(texts, terms)
    if not chosen:
        return []
    if vectors is None:
        from adaptive_rag.models.onnx import load_minilm

        vectors = load_minilm().encode(chosen)
    groups = _cluster(vectors, min(categories, len(chosen)))
    suggestions = [_name(chosen, vectors, group) for group in groups]
    return sorted(suggestions, key=lambda suggestion: (-len(suggestion.terms), suggestion.name))


def find_salient_terms(texts: Iterable[str], limit: int) -> list[str]:
    """List terms that stand out, the most salient first, as they are mostly written."""
    frequency: Counter[tuple[str, ...]] = Counter()
    spread: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    verbs: Counter[tuple[str, ...]] = Counter()
    total = 0
    for text in texts:
        total += 1
        verbs.update(tuple(fold(match[1] or match[2])) for match in _AFTER_MODAL.finditer(text))
        here: set[tuple[str, ...]] = set()
        for grams in _candidates(text):
            key = tuple(fold(grams))
            if not key:
                continue
            frequency[key] += 1
            written[key][grams] += 1
            here.add(key)
        spread.update(here)
    least = LEAST_TEXTS if total > 3 else 1
    most = max(total * LARGEST_SHARE, least)
    kept = {key: n for key, n in frequency.items() if least <= spread[key] <= most}
    inside: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for key, n in kept.items():
        for length in range(1, len(key)):
            for start in range(len(key) - length + 1):
                inside[key[start : start + length]].append(n)

    def salience(key: tuple[str, ...]) -> float:
        longer = inside.get(key, [])
        count = kept[key] - (sum(longer) / len(longer) if longer else 0)
        return math.log2(len(key) + 1) * count * math.log(1 + total / spread[key])

    # What mostly follows "to" or a modal is a verb, and names no subject.
    kept = {key: n for key, n in kept.items() if len(key) > 1 or verbs[key] <= LARGEST_VERB_SHARE * n}
    ranked = sorted(kept, key=lambda key: (-salience(key), key))
    return [_spelling(written[key]) for key in ranked[:limit]]


def format_ontology(suggestions: list[Suggestion], *, origin: str = "") -> str:
    """Write suggestions as the YAML that `load_ontology` reads."""
    import yaml  # type: ignore[import-untyped]

    head = f"# Proposed from {origin}. " if origin else "# "
    lines = [f"{head}Rename the categories, move and drop terms, add synonyms; then pass it with --ontology."]
    for suggestion in suggestions:
        body = yaml.safe_dump(
            {suggestion.name: suggestion.terms}, allow_unicode=True, default_flow_style=None, width=100
        )
        lines.append(body.rstrip())
    return "\n".join(lines) + "\n"


def _candidates(text: str) -> Iterable[str]:
    for part in _SENTENCE_END.split(text):
        run: list[str] = []
        for word in [*_WORD.findall(part), ""]:
            if word and len(word) > 2 and word.lower() not in _PLAIN:
                run.append(word)
                continue
            for length in range(1, LONGEST_TERM + 1):
                yield from (" ".join(run[i : i + length]) for i in range(len(run) - length + 1))
            run = []


def _spelling(ways: Counter[str]) -> str:
    # A capital at the start of a sentence is no spelling of its own.
    def preference(way: str) -> tuple[int, bool, str]:
        return (-ways[way], not way.islower(), way)

    return min(ways, key=preference)


def _cluster(vectors: Vectors, count: int) -> list[list[int]]:
    """Join the two most similar groups (by the mean of all pairs) until `count` are left."""
    groups = [[i] for i in range(len(vectors))]
    sums = [vector.astype(np.float64) for vector in vectors]
    while len(groups) > count:
        means = np.array([total / len(group) for total, group in zip(sums, groups, strict=True)])
        similarity = means @ means.T
        sizes = np.array([len(group) for group in groups])
        # Without a brake on size one group swallows nearly all.
        similarity -= 0.01 * np.maximum(sizes[:, None], sizes[None, :])
        np.fill_diagonal(similarity, -np.inf)
        first, second = sorted(divmod(int(similarity.argmax()), len(groups)))
        groups[first] += groups.pop(second)
        sums[first] = sums[first] + sums.pop(second)
    return [sorted(group) for group in groups]


def _name(terms: list[str], vectors: Vectors, group: list[int]) -> Suggestion:
    mean = vectors[group].mean(axis=0)
    central = group[int((vectors[group] @ mean).argmax())]
    return Suggestion(terms[central].lower(), [terms[i] for i in group])
