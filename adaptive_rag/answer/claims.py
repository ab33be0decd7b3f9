"""What a claim of a chat model's draft says beyond the sentences it cites: numbers, names, denials, scope, roles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from adaptive_rag.answer.wording import (
    ANTONYMS,
    DENIALS,
    INDIRECT_DENIALS,
    NUMBER_NAMES,
    REPORTING,
    SCOPES,
    UNITS,
)
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?![\w])|[^\W_]+(?:['’][^\W_]+)*")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
# A clause ends here: a denial does not reach beyond it.
_BREAK = re.compile(r"[.;:,()!?]")
# How far a denial reaches, in content words, and how near two words stand that belong together, in words.
REACH, NEAR = 3, 8


@dataclass(frozen=True)
class Token:
    """A word or number of a sentence."""

    raw: str
    key: str  # the stem of a word, the value of a number: "1,000", "1000.00" and "thousand" are one
    clause: int  # how many commas and stops stand before it
    number: bool
    first: bool  # the first word of its text, which has a capital anyway

    @property
    def content(self) -> bool:
        """Tell whether the word carries meaning of its own."""
        return self.number or self.raw.lower() not in STOP_WORDS

    @property
    def capital(self) -> bool:
        """Tell whether it looks like a name: "Denver", "EAD", "P220"."""
        return not self.number and any(letter.isupper() or letter.isdigit() for letter in self.raw)


def read_tokens(text: str) -> list[Token]:
    """Split a text into words and numbers."""
    text = text.replace("’", "'")
    tokens: list[Token] = []
    clause = last = 0
    for match in _TOKEN.finditer(text):
        clause += len(_BREAK.findall(text[last : match.start()]))
        last, raw = match.end(), match.group()
        value = _value(raw)
        raw = raw.removesuffix("'s")
        tokens.append(Token(raw, value or stem(raw.lower()), clause, value is not None, not tokens))
    return tokens


def _value(raw: str) -> str | None:
    if raw.lower() in NUMBER_NAMES:
        return NUMBER_NAMES[raw.lower()]
    if not _DIGITS.fullmatch(raw):
        return None
    plain = re.sub(r",(?=\d{3})", "", raw).replace(",", ".")
    return plain.rstrip("0").rstrip(".") if plain.count(".") == 1 else plain


@dataclass(frozen=True)
class Evidence:
    """The sentences that a claim may rest on, together."""

    sentences: list[list[Token]]
    known: set[str]  # keys of the words that need no sentence: title, question, the asker's situation

    def holding(self, claim: Sequence[Token]) -> list[list[Token]]:
        """Return the sentences that hold the claim's words: the closest first, then those that add to it."""
        wanted = {token.key for token in claim if token.content}
        left, chosen = set(wanted), []
        rest = [(sentence, {token.key for token in sentence}) for sentence in self.sentences]
        while left and rest:
            best = max(rest, key=lambda pair: (len(left & pair[1]), len(wanted & pair[1])))
            if not left & best[1]:
                break
            chosen.append(best[0])
            left -= best[1]
            rest.remove(best)
        return chosen


def find_fault(text: str, evidence: Evidence) -> str:
    """Say what a claim states that its evidence does not; return "" where nothing was found."""
    claim = read_tokens(text)
    sentences = evidence.holding(claim)
    return (
        _foreign_number(claim, evidence)
        or _foreign_name(claim, evidence)
        or _other_polarity(claim, sentences)
        or _other_scope(claim, sentences)
        or _other_roles(claim, sentences)
    )


def added_words(text: str, evidence: Evidence) -> list[str]:
    """Return the content words of a claim that neither its evidence nor the way of reporting it holds."""
    held = {token.key for sentence in evidence.sentences for token in sentence} | evidence.known
    return [
        token.raw
        for token in read_tokens(text)
        if token.content
        and not token.number
        and token.key not in held
        and token.raw.lower() not in ASKING_WORDS
        and token.key not in REPORTING
        and not _related(token.key, held)
    ]


def _related(key: str, held: Iterable[str]) -> bool:
    """Tell whether a word is another form of one that is held: "broken" and "breaking" share their root."""
    return len(key) >= 4 and any(
        other[:4] == key[:4] and abs(len(other) - len(key)) <= 4 for other in held if len(other) >= 4
    )


def _foreign_number(claim: Sequence[Token], evidence: Evidence) -> str:
    places = [(s, i) for s in evidence.sentences for i, token in enumerate(s) if token.number]
    held = {s[i].key for s, i in places}
    for at, token in enumerate(claim):
        if not token.number or _counts_the_claim(claim, at):
            continue
        if token.key not in held | evidence.known:
            if not _derived(token.key, {t.key for t in claim if t.number} & held):
                return f"the passages do not hold the number {token.raw}"
            continue
        here = [(s, i) for s, i in places if s[i].key == token.key]
        unit = _unit(claim, at)
        theirs = {_unit(s, i) for s, i in here}
        if here and unit and unit not in theirs and theirs - {""}:
            return f"the passages do not give {token.raw} in {unit}"
        if here and not any(_same_company(claim, at, s, i) for s, i in here):
            return f"the passages give {token.raw} for something else"
    return ""


def _counts_the_claim(claim: Sequence[Token], at: int) -> bool:
    """Tell whether a number counts what the draft itself set out: "The two offices ..."."""
    return at == 0 or (at <= 2 and claim[at - 1].raw.lower() in ("the", "these", "those", "both"))


def _derived(value: str, others: Iterable[str]) -> bool:
    """Tell whether a number follows from two others of its sentence: "23 days, from 4 to 26 July"."""
    number = float(value) if value.count(".") <= 1 else None
    pairs = combinations([float(other) for other in others if other.count(".") <= 1], 2)
    return number is not None and any(
        number in (a + b, abs(a - b), abs(a - b) + 1, a * b) for a, b in pairs
    )


def _unit(tokens: Sequence[Token], at: int) -> str:
    return next((UNITS[t.key] for t in tokens[at + 1 : at + 3] if t.key in UNITS), "")


def _same_company(claim: Sequence[Token], at: int, sentence: Sequence[Token], place: int) -> bool:
    """Tell whether a word next to a token of the claim also stands near it in a sentence."""
    beside = [t.key for t in reversed(claim[:at]) if t.content][:2]
    beside += [t.key for t in claim[at + 1 :] if t.content][:2]
    near = {t.key for t in sentence[max(0, place - NEAR) : place + NEAR + 1]}
    return not beside or any(key in near for key in beside)


def _foreign_name(claim: Sequence[Token], evidence: Evidence) -> str:
    held = {token.key for s in evidence.sentences for token in s} | evidence.known
    initials = _initials([t.raw for s in evidence.sentences for t in s])
    for token in claim:
        if not token.capital or token.first or not token.content or token.key in held:
            continue
        letters = token.raw.lower()
        if letters.rstrip("s") in initials or letters in initials or _related(token.key, held):
            continue
        if token.raw.lower() in ASKING_WORDS or token.key in REPORTING:
            continue
        return f"the passages do not hold the name {token.raw}"
    return ""


def _initials(raws: Sequence[str]) -> set[str]:
    """Return the abbreviations that runs of capitalised words may have: "European Union" is "eu"."""
    found = set()
    names = [raw for raw in raws if raw[0].isupper() or raw in ("of", "and", "the")]
    for length in (2, 3, 4, 5):
        for start in range(len(names) - length + 1):
            run = names[start : start + length]
            found.add("".join(raw[0] for raw in run if raw[0].isupper()).lower())
    return found


def _denied(tokens: Sequence[Token]) -> set[str]:
    """Return the keys of the words that a denial reaches: those that follow it in its clause."""
    reached: set[str] = set()
    for at, token in enumerate(tokens):
        if _denies(token):
            after = [t.key for t in tokens[at + 1 :] if t.clause == token.clause and t.content]
            reached |= set(after[:REACH])
    return reached


def _denies(token: Token) -> bool:
    return token.raw.lower() in DENIALS or token.raw.lower().endswith("n't")


def _other_polarity(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Say where a claim denies what its sentences assert, or the reverse."""
    said = {t.raw.lower() for t in claim}
    theirs = {t.raw.lower() for s in sentences for t in s}
    denied = _denied(claim)
    # A denial may be written another way: "is beyond its means" for "does not have the means".
    indirect = any(_denies(t) or t.key in INDIRECT_DENIALS for s in sentences for t in s)
    if denied and not indirect:
        return "it denies what the passages assert"
    if sentences and not denied and not any(t.key in INDIRECT_DENIALS for t in claim):
        shared = _denied(sentences[0]) & {t.key for t in claim}
        if len(shared) * 2 > len(_denied(sentences[0])):
            return "it asserts what the passages deny"
    for one, other in ANTONYMS:
        if said & one and not said & other and theirs & other and not theirs & one:
            return f"it says {min(said & one)!r} where the passages say {min(theirs & other)!r}"
    return ""


def _other_scope(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Say which quantifier of a claim is stronger than its sentences."""
    theirs = {t.raw.lower() for s in sentences for t in s}
    for token in claim:
        for words, enough in SCOPES:
            if token.raw.lower() in words and not theirs & enough:
                return f"the passages do not say {token.raw.lower()!r}"
    return ""


def _other_roles(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Say where two words stand around a third the other way about than in the sentence they come from."""
    for sentence in sentences[:1]:
        if _passive(claim) != _passive(sentence):
            continue
        for at, pivot in enumerate(claim):
            if not pivot.content and pivot.raw.lower() not in ("to", "from", "than", "by", "due", "because"):
                continue
            left = [t.key for t in claim[:at] if t.content][-REACH:]
            right = [t.key for t in claim[at + 1 :] if t.content][:REACH]
            places = [i for i, t in enumerate(sentence) if t.key == pivot.key]
            if len(places) != 1:
                continue
            before = [t.key for t in sentence[: places[0]] if t.content]
            after = [t.key for t in sentence[places[0] + 1 :] if t.content]
            crossed_left = [key for key in left if key in after and key not in before]
            crossed_right = [key for key in right if key in before and key not in after]
            kept = any(key in before for key in left) or any(key in after for key in right)
            if crossed_left and crossed_right and not kept:
                return f"the passages say it of {crossed_right[0]} and {crossed_left[-1]} the other way about"
    return ""


def _passive(tokens: Sequence[Token]) -> bool:
    return any(t.raw.lower() == "by" for t in tokens)
