"""Finds words, names and numbers in a draft's claim that its passages do not contain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from adaptive_rag.answer.claims import (
    MOSTLY,
    CitedSentences,
    Token,
    contains_form,
    number_rate,
    number_size,
    number_unit,
    retells,
)
from adaptive_rag.answer.word_lists import AFTER_A_VERB, BEFORE_A_PREDICATE, RECKONING, REPORTING, UNITS
from adaptive_rag.text.words import ASKING_WORDS

# Maximum number of words of a heading at the beginning of a claim
LONGEST_HEADING = 4


def foreign_words(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe the names and things in a claim that occur in no passage.

    A verb or a predicate is usually the draft's own wording ("is limited", "runs from") and is accepted; a
    thing is not ("with a break in January", "in rural clinics"). A claim that retells no single sentence,
    although most of its words come from the passages, summarises several of them: then only names and units
    are checked.
    """
    known = evidence.keys
    initials = _initials([token.raw for sentence in evidence.sentences for token in sentence])
    foreign = {i for i, t in enumerate(claim) if t.is_statement and not contains_form(known, t.key)}
    stated = sum(token.is_statement for token in claim)
    is_mostly_known = stated - len(foreign) >= stated * MOSTLY
    summarises = is_mostly_known and not retells(claim, evidence.covering(claim))
    # "Lost batches: two were excluded" begins with the draft's own heading.
    heading = next((i for i, token in enumerate(claim) if i and token.is_first), 0)
    added = list[str]()
    for i in sorted(foreign):
        token = claim[i]
        if i < heading <= LONGEST_HEADING and (i == 0 or not token.is_capitalised):
            continue
        if token.is_capitalised and token.word.rstrip("s") in initials:
            continue
        is_unit = token.key in UNITS
        if is_unit and i and claim[i - 1].is_number:
            continue  # left to the check of numbers
        is_name = token.is_capitalised and not token.is_first
        if is_name or ((not summarises or is_unit) and not _is_own_wording(claim, i)):
            added.append(token.raw)
    return f"the cited passages do not speak of {', '.join(added)}" if added else ""


def _is_own_wording(claim: Sequence[Token], index: int) -> bool:
    """Return whether a word is a verb or an adverb, or is in the position of a verb or a predicate."""
    token, following = claim[index], claim[index + 1 : index + 2]
    return (
        (token.raw.endswith(("ed", "ing", "ly")) and token.key not in UNITS)  # "weekly" is no manner
        or (index > 0 and claim[index - 1].word in BEFORE_A_PREDICATE)
        or any((t.is_number or t.word in AFTER_A_VERB) and t.clause == token.clause for t in following)
        or (index == 1 and claim[0].word in ("the", "this", "that"))  # "The threat came in 1966"
    )


def _initials(words: Sequence[str]) -> set[str]:
    """Return possible abbreviations of runs of capitalised words: "eu" for "European Union"."""
    initials = set()
    names = [word for word in words if word[0].isupper() or word in ("of", "and", "the")]
    for length in (2, 3, 4, 5):
        for start in range(len(names) - length + 1):
            run = names[start : start + length]
            initials.add("".join(word[0] for word in run if word[0].isupper()).lower())
    return initials


def foreign_numbers(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe a number of a claim that its passages lack, or give in another unit."""
    places = [(s, i) for s in evidence.sentences for i, token in enumerate(s) if token.is_number]
    known = {sentence[i].key for sentence, i in places}
    sizes = {size for place in places if (size := number_size(*place))}
    # "It opens at 6.30" for "6:30 pm"
    sizes |= {(hour, "") for value, base in sizes if base == "clock" for hour in (value, value % 12)}
    numbers = {token.key for token in claim if token.is_number}
    asked = {token.key for token in evidence.asked if token.is_number}
    whole = {"100"} if any(token.key == "percent" for token in claim) else set()
    stated = numbers & known | asked | whole
    multiplies = any(token.word in ("each", "every", "per", "times") for token in claim)
    stated |= {number for number in numbers - known if _is_derived(number, stated, (), multiplies)}
    for index, token in enumerate(claim):
        if not token.is_number or evidence.is_from_user(claim, index) or counts_own_items(claim, index):
            continue
        size = number_size(claim, index)
        if token.key not in known | evidence.known:
            if size in sizes:
                continue  # "1,200,000" for "1.2 million", "two weeks" for "14 days"
            calculates = any(t.word in RECKONING for t in claim)
            near = (
                {t.key for s in evidence.covering(claim) for t in s if t.is_number} if calculates else set()
            )
            if not _is_derived(token.key, stated, near, multiplies):
                return f"the cited passages do not hold the number {token.raw}"
            continue
        own_places = [(sentence, i) for sentence, i in places if sentence[i].key == token.key]
        for find in (number_unit, number_rate):
            unit, known_units = find(claim, index), {find(*place) for place in own_places}
            if find is number_unit and size and size[1] and size in sizes:
                continue
            if unit and unit not in known_units and known_units - {""}:
                others = " or ".join(sorted(known_units - {""}))
                return f"the unit of {token.raw} in the cited passages is {others}, not {unit}"
    return ""


def counts_own_items(claim: Sequence[Token], index: int) -> bool:
    """Return whether a number counts what the draft itself lists: "The two offices ...", "in two ways"."""
    token = claim[index]
    if token.word not in ("two", "three", "four"):
        return False
    if index == 0 or (index <= 2 and claim[index - 1].word in ("the", "these", "those", "both")):
        return True
    following = claim[index + 1 : index + 2]
    return token.key == "2" and any(
        t.word in ASKING_WORDS or t.key in REPORTING - UNITS.keys() for t in following
    )


def _is_derived(number: str, claim_numbers: Collection[str], near: Collection[str], multiplies: bool) -> bool:
    """Return whether a number follows from two others: "23 days, from 4 to 26 July", "15 pounds less".

    It may be the sum or the difference of two other numbers of its claim or the question, their product if
    the claim multiplies ("15 for each of the 50"), or a percentage ("23.40 pounds, 40 percent less than 39"),
    or the sum or the difference of two numbers of `near`: those of the sentences that the claim rests on, if
    it calculates.
    """
    results = [result for a, b in combinations(_values(near), 2) for result in (a + b, abs(a - b))]
    for a, b in combinations(_values(claim_numbers), 2):
        share = a * b / 100
        results += [a + b, abs(a - b), abs(a - b) + 1, share, a - share, b - share]
        results += [a * b] if multiplies else []
    # rounded to a hundredth
    return any(abs(value - result) < 0.006 for value in _values([number]) for result in results)


def _values(keys: Iterable[str]) -> list[float]:
    return [float(key) for key in keys if key.replace(".", "", 1).isdigit()]
