"""Changes a sentence in one detail, as a careless draft does, so that its passage contradicts it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.visible import plain

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?!\w)")
# Names that do not begin the sentence
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")
_VERB = re.compile(
    r"\b(?:is|are|was|were|can|must|may|will|should|could|would|has|have|does|do|did)\b(?! not|n't)"
)
_NOT = re.compile(r" not\b")
_PAIRS = (
    "before/after, more/less, always/never, at least/at most, minimum/maximum, above/below, higher/lower, "
    "increase/decrease, first/last, open/closed, allowed/forbidden, required/optional, free/paid, "
    "with/without, morning/evening, earlier/later, all/no, yes/no, early/late, include/exclude, buy/sell, "
    "largest/smallest"
)
_OPPOSITES = dict[str, str]()
for _one, _other in (pair.split("/") for pair in _PAIRS.split(", ")):
    _OPPOSITES |= {_one: _other, _other: _one}
_OPPOSITE = re.compile(rf"\b(?:{'|'.join(sorted(_OPPOSITES, key=len, reverse=True))})\b")
# Other values of a number that no other number of the passage replaces: the number plus one of these
_STEPS = (-3, -2, -1, 1, 2, 3, 5, 10)
WORDS = range(5, 41)


def whole_sentences(text: str) -> list[str]:
    """Return the sentences of a passage that can be claims: 5 to 40 words, no cells and no addresses."""
    sentences = (" ".join(plain(text[start:end]).split()) for start, end in sentence_spans(text))
    return [
        sentence
        for sentence in sentences
        if len(sentence.split()) in WORDS and sentence[:1].isalnum() and not re.search(r"\||http", sentence)
    ]


def change(sentence: str, text: str, draw: random.Random) -> tuple[str, str] | None:
    """Return a sentence with one change, and the change's kind; None if none is possible or it stands there.

    Numbers and names are replaced by others of the passage, or exchanged with each other.
    """
    changes = list(_changes(sentence, text, draw))
    if not changes:
        return None
    changed, kind = draw.choice(changes)
    return None if changed in text else (changed, kind)


def _changes(sentence: str, text: str, draw: random.Random) -> Iterator[tuple[str, str]]:
    numbers, names = list(_NUMBER.finditer(sentence)), list(_NAME.finditer(sentence))
    if numbers:
        number = draw.choice(numbers)
        others = [n for n in set(_NUMBER.findall(text)) if n not in sentence and len(n) <= len(number[0]) + 1]
        if number[0].isdigit() and (not others or draw.random() < 0.4):
            others = [str(max(0, int(number[0]) + draw.choice(_STEPS)))]
        if others and (other := draw.choice(sorted(others))) != number[0]:
            yield from [(_replace(sentence, number, other), "number")] * 2
    if names:
        name = draw.choice(names)
        others = [n for n in set(_NAME.findall(text)) if n not in sentence and name[0] not in n]
        if others:
            yield from [(_replace(sentence, name, draw.choice(sorted(others))), "name")] * 2
    for matches in (numbers, names):
        if exchanged := _exchange(sentence, matches, draw):
            yield from [(exchanged, "exchange")] * 2
    if verb := _VERB.search(sentence):
        yield _replace(sentence, verb, f"{verb[0]} not"), "negation"
    if denial := _NOT.search(sentence):
        yield from [(_replace(sentence, denial, ""), "negation")] * 2
    if opposites := list(_OPPOSITE.finditer(sentence)):
        word = draw.choice(opposites)
        yield _replace(sentence, word, _OPPOSITES[word[0]]), "opposite"


def _replace(sentence: str, match: re.Match[str], text: str) -> str:
    return sentence[: match.start()] + text + sentence[match.end() :]


def _exchange(sentence: str, matches: Sequence[re.Match[str]], draw: random.Random) -> str | None:
    """Return a sentence with two of its numbers or names exchanged; None if all are equal."""
    pairs = [(a, b) for i, a in enumerate(matches) for b in matches[i + 1 :] if a[0].lower() != b[0].lower()]
    if not pairs:
        return None
    first, second = draw.choice(pairs)
    between = sentence[first.end() : second.start()]
    return f"{sentence[: first.start()]}{second[0]}{between}{first[0]}{sentence[second.end() :]}"
