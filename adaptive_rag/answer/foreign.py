"""Finds words, names and numbers in a draft's claim that its passages do not contain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from adaptive_rag.answer.claims import MOSTLY, CitedSentences, Token, is_held, number_unit, retells, states
from adaptive_rag.answer.wording import AFTER_A_VERB, BEFORE_A_PREDICATE, RECKONING, REPORTING, UNITS
from adaptive_rag.text.words import ASKING_WORDS


def foreign_words(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe the names and things in a claim that occur in no passage.

    A verb or a predicate is usually the draft's own wording ("is limited", "runs from") and is accepted; a
    thing is not ("with a break in January", "in rural clinics"). A claim that retells no single sentence,
    although most of its words come from the passages, summarises several of them: then only names and units
    are checked.
    """
    held = evidence.keys
    initials = _initials([token.raw for sentence in evidence.sentences for token in sentence])
    stated = [token for token in claim if states(token)]
    theirs = sum(is_held(token.key, held) for token in stated) >= len(stated) * MOSTLY
    sums_up = theirs and not retells(claim, evidence.holding(claim))
    added = [
        token.raw
        for at, token in enumerate(claim)
        if states(token)
        and not is_held(token.key, held)
        and not (token.capital and token.raw.lower().rstrip("s") in initials)
        and (
            (token.capital and not token.first)
            or ((not sums_up or token.key in UNITS) and not _own_wording(claim, at))
        )
        and not (token.key in UNITS and at and claim[at - 1].number)  # left to the check of numbers
    ]
    return f"the passages do not speak of {', '.join(added)}" if added else ""


def _own_wording(claim: Sequence[Token], at: int) -> bool:
    """Return whether a word is a verb or an adverb, or is in the position of a verb or a predicate."""
    following = claim[at + 1 : at + 2]
    return (
        (claim[at].raw.endswith(("ed", "ing", "ly")) and claim[at].key not in UNITS)  # "weekly" is no manner
        or (at > 0 and claim[at - 1].raw.lower() in BEFORE_A_PREDICATE)
        or any(
            (t.number or t.raw.lower() in AFTER_A_VERB) and t.clause == claim[at].clause for t in following
        )
        or (at == 1 and claim[0].raw.lower() in ("the", "this", "that"))  # "The threat came in 1966"
    )


def _initials(raws: Sequence[str]) -> set[str]:
    """Return possible abbreviations of runs of capitalised words: "eu" for "European Union"."""
    found = set()
    names = [raw for raw in raws if raw[0].isupper() or raw in ("of", "and", "the")]
    for length in (2, 3, 4, 5):
        for start in range(len(names) - length + 1):
            run = names[start : start + length]
            found.add("".join(raw[0] for raw in run if raw[0].isupper()).lower())
    return found


def foreign_numbers(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe a number of a claim that its passages lack, or give in another unit."""
    places = [(s, i) for s in evidence.sentences for i, token in enumerate(s) if token.number]
    held = {s[i].key for s, i in places}
    for at, token in enumerate(claim):
        if not token.number or evidence.gives(claim, at) or _counts_the_claim(claim, at):
            continue
        if token.key not in held | evidence.known:
            reckons = any(t.raw.lower() in RECKONING for t in claim)
            near = {t.key for s in evidence.holding(claim) for t in s if t.number} if reckons else set()
            if not _derived(token.key, {t.key for t in claim if t.number} & held, near):
                return f"the passages do not hold the number {token.key}"
            continue
        here = [(s, i) for s, i in places if s[i].key == token.key]
        unit = number_unit(claim, at)
        theirs = {number_unit(s, i) for s, i in here}
        if here and unit and unit not in theirs and theirs - {""}:
            return f"the passages do not give {token.raw} in {unit}"
    return ""


def _counts_the_claim(claim: Sequence[Token], at: int) -> bool:
    """Return whether a number counts what the draft itself lists: "The two offices ...", "in two ways"."""
    if claim[at].raw.lower() not in ("two", "three", "four"):
        return False
    if at == 0 or (at <= 2 and claim[at - 1].raw.lower() in ("the", "these", "those", "both")):
        return True
    following = claim[at + 1 : at + 2]
    return claim[at].key == "2" and any(
        t.raw.lower() in ASKING_WORDS or t.key in REPORTING for t in following
    )


def _derived(value: str, said: Collection[str], near: Collection[str]) -> bool:
    """Return whether a number follows from two others: "23 days, from 4 to 26 July", "15 pounds less".

    Args:
        value: the number.
        said: the other numbers of its claim; it may be the sum or the difference of two of them, or a
            percentage ("23.40 pounds, 40 percent less than 39").
        near: the numbers of the sentences that the claim rests on, if the claim calculates; it may be the sum
            or the difference of two of them.
    """
    results = [
        result
        for a, b in combinations(_values(said), 2)
        for result in (
            a + b,
            abs(a - b),
            abs(a - b) + 1,
            a * b / 100,
            a - a * b / 100,
            b - a * b / 100,
        )
    ]
    results += [result for a, b in combinations(_values(near), 2) for result in (a + b, abs(a - b))]
    # rounded to a hundredth
    return any(abs(number - result) < 0.006 for number in _values([value]) for result in results)


def _values(keys: Iterable[str]) -> list[float]:
    return [float(key) for key in keys if key.replace(".", "", 1).isdigit()]
