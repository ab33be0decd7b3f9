"""Finds words and roles in a draft's claim that were exchanged for others in its passages."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.answer.claims import NEAR, CitedSentences, Token, is_held, retells, states
from adaptive_rag.answer.wording import UNITS


def exchanged_words(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe a word of a claim that replaces another one in a sentence: "Ford Courier" for "Ford Ranger".

    The words around it match the sentence, and the word does not occur next to them elsewhere. A word that is
    not a name needs NEAR more matching words beside it, since a draft may put a word of its own between two
    words of the sentence. Numbers are checked in `placed`.
    """
    said = [token for token in claim if token.content]
    rows = [[token for token in sentence if token.content] for sentence in evidence.sentences]
    for at, token in enumerate(said):
        if not states(token) or token.key not in evidence.keys:
            continue
        beside = {t.key for t in [*said[max(0, at - 1) : at], *said[at + 1 : at + 2]]}
        own, best, found = 0, 0, ""
        for row in rows:
            for place, other in enumerate(row):
                swapped = any(t.key == other.key for t in said)
                reach = 1 if swapped and other.key != token.key else NEAR
                near = {t.key for t in row[max(0, place - reach) : place + reach + 1]}
                left = _run(said[:at][::-1], row[:place][::-1])
                right = _run(said[at + 1 :], row[place + 1 :])
                if other.key == token.key:
                    own = max(own, left + right, bool(beside & near))
                elif (
                    left + right > best
                    and token.key not in near
                    and (
                        (left and right) or (not swapped and _ends_alike(said, at, row, place, left + right))
                    )
                    and (swapped or _alike(token, other))
                ):
                    best, found = left + right, other.raw
        if found and ((own == 0 and _named(token)) or best - own >= NEAR):
            return f"the passages have {found} where it has {token.raw}"
    return ""


def _ends_alike(said: Sequence[Token], at: int, row: Sequence[Token], place: int, alike: int) -> bool:
    """Tell whether a claim's first or last word is in the position of a sentence's word.

    At least two words (`alike`) beside it must agree, and the clause must be the same: the table cell "Coil
    frozen" does not match "Let it defrost".
    """
    if at not in (0, len(said) - 1) or alike < 2:
        return False
    beside = 1 if at == 0 else -1
    steps = (abs(t[i + beside].clause - t[i].clause) for t, i in ((said, at), (row, place)))
    return next(steps) == next(steps)


def _run(one: Sequence[Token], other: Sequence[Token]) -> int:
    """Return the length of the common beginning of two sequences."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a.key != b.key), min(len(one), len(other)))


def _alike(one: Token, other: Token) -> bool:
    """Tell whether two words are of the same kind (two names, or two other words) and differ."""
    return states(other) and _named(one) == _named(other) and not is_held(one.key, [other.key])


def _named(token: Token) -> bool:
    return token.capital and (not token.first or not token.raw[1:].islower())


def other_roles(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Describe two words whose order around a third is reversed, compared with the sentence they come from.

    "Ford sued Fiat" for "Fiat sued Ford". Not where only one of the two has "by", as in the passive voice.
    """
    for sentence in sentences[:1] if retells(claim, sentences) else []:
        if (turned := _turned_direction(claim, sentence)) or _has_by(claim) != _has_by(sentence):
            return turned
        keys = [t.key for t in sentence]
        forms = {t.raw.lower() for t in sentence}
        for at, pivot in enumerate(claim):
            if not pivot.content or pivot.number or pivot.key in UNITS or keys.count(pivot.key) != 1:
                continue
            place = keys.index(pivot.key)
            before, after = set(keys[:place]), set(keys[place + 1 :])
            # only words in the same form: "recommended" for "recommend" means that the sentence was rephrased
            clause = [
                (i, t.key)
                for i, t in enumerate(claim)
                if t.clause == pivot.clause and states(t) and t.raw.lower() in forms
            ]
            left = [key for i, key in clause if i < at and key in after - before]
            right = [key for i, key in clause if i > at and key in before - after]
            if left and right:
                return f"the passages have {right[0]} and {left[-1]} the other way about"
    return ""


def _turned_direction(claim: Sequence[Token], sentence: Sequence[Token]) -> str:
    """Describe a word after "from" that the sentence has after "to", or the reverse."""
    theirs = {way: _directed(sentence, way) for way in ("from", "to")}
    for way, other in (("from", "to"), ("to", "from")):
        for key in _directed(claim, way):
            if key in theirs[other] and key not in theirs[way]:
                return f"the passages have {other!r}, not {way!r}, {key}"
    return ""


def _directed(tokens: Sequence[Token], way: str) -> list[str]:
    """Return the keys of the first content word after each "from" or "to"."""
    places = [at for at, token in enumerate(tokens) if token.raw.lower() == way]
    return [key for at in places for key in [t.key for t in tokens[at + 1 : at + 4] if t.content][:1]]


def _has_by(tokens: Sequence[Token]) -> bool:
    return any(t.raw.lower() == "by" for t in tokens)
