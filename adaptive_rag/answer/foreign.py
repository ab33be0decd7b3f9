"""What a claim of a draft speaks of that its passages do not: words, names, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from adaptive_rag.answer.claims import CitedSentences, Token, is_held, states
from adaptive_rag.answer.wording import AFTER_A_VERB, BEFORE_A_PREDICATE, REPORTING, UNITS
from adaptive_rag.text.words import ASKING_WORDS

# How near two words stand that belong together, in words.
NEAR = 8


def foreign_words(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Say which names and things a claim speaks of that no passage does.

    A verb or a predicate is the draft's own wording more often than not ("is limited", "runs from"); a thing
    is not ("with a break in January", "in rural clinics").
    """
    held = evidence.keys
    initials = _initials([token.raw for sentence in evidence.sentences for token in sentence])
    added = [
        token.raw
        for at, token in enumerate(claim)
        if states(token)
        and not is_held(token.key, held)
        and not (token.capital and token.raw.lower().rstrip("s") in initials)
        and ((token.capital and not token.first) or not _own_wording(claim, at))
        and not (token.key in UNITS and at and claim[at - 1].number)  # left to the check of numbers
    ]
    return f"the passages do not speak of {', '.join(added)}" if added else ""


def _own_wording(claim: Sequence[Token], at: int) -> bool:
    """Tell whether a word is a verb or an adverb, or stands where a verb or a predicate does."""
    following = claim[at + 1 : at + 2]
    return (
        (claim[at].raw.endswith(("ed", "ing", "ly")) and claim[at].key not in UNITS)  # "weekly" is no manner
        or (at > 0 and claim[at - 1].raw.lower() in BEFORE_A_PREDICATE)
        or any(t.raw.lower() in AFTER_A_VERB and t.clause == claim[at].clause for t in following)
    )


def _initials(raws: Sequence[str]) -> set[str]:
    """Return the abbreviations that runs of capitalised words may have: "European Union" is "eu"."""
    found = set()
    names = [raw for raw in raws if raw[0].isupper() or raw in ("of", "and", "the")]
    for length in (2, 3, 4, 5):
        for start in range(len(names) - length + 1):
            run = names[start : start + length]
            found.add("".join(raw[0] for raw in run if raw[0].isupper()).lower())
    return found


def foreign_numbers(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Say which number of a claim its passages lack, or give in another unit or for something else."""
    places = [(s, i) for s in evidence.sentences for i, token in enumerate(s) if token.number]
    held = {s[i].key for s, i in places}
    for at, token in enumerate(claim):
        if not token.number or _counts_the_claim(claim, at):
            continue
        if token.key not in held | evidence.known:
            if not _derived(token.key, {t.key for t in claim if t.number} & held):
                return f"the passages do not hold the number {token.key}"
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
    """Tell whether a number counts what the draft sets out: "The two offices ...", "in two ways"."""
    if claim[at].raw.lower() not in ("two", "three", "four"):
        return False
    if at == 0 or (at <= 2 and claim[at - 1].raw.lower() in ("the", "these", "those", "both")):
        return True
    following = claim[at + 1 : at + 2]
    return claim[at].key == "2" and any(
        t.raw.lower() in ASKING_WORDS or t.key in REPORTING for t in following
    )


def _derived(value: str, others: Iterable[str]) -> bool:
    """Tell whether a number follows from two others of its sentence: "23 days, from 4 to 26 July".

    A sum, a difference, or a share of so many percent: "23.40 pounds, 40 percent less than 39".
    """
    if value.count(".") > 1:
        return False
    return any(
        abs(float(value) - result) < 0.006  # rounded to a hundredth
        for a, b in combinations([float(other) for other in others if other.count(".") <= 1], 2)
        for result in (a + b, abs(a - b), abs(a - b) + 1, a * b / 100, a - a * b / 100, b - a * b / 100)
    )


def _unit(tokens: Sequence[Token], at: int) -> str:
    following = tokens[at + 1 : at + 3]
    return next((UNITS[t.key] for t in following if t.key in UNITS and t.clause == tokens[at].clause), "")


def _same_company(claim: Sequence[Token], at: int, sentence: Sequence[Token], place: int) -> bool:
    """Tell whether a word next to a token of the claim also stands near it in a sentence."""
    beside = [t.key for t in reversed(claim[:at]) if t.content][:2]
    beside += [t.key for t in claim[at + 1 :] if t.content][:2]
    if 3 * sum(t.number for t in sentence) >= sum(t.content for t in sentence):
        # The row of a table: its other numbers and its heading stand where they do.
        beside = [t.key for t in claim if states(t)]
    near = {t.key for t in sentence[max(0, place - NEAR) : place + NEAR + 1]}
    return not beside or any(key in near for key in beside)
