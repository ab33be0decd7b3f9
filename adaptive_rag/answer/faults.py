"""What a claim of a draft says that its passages do not: numbers, names, denials, scope, roles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

from adaptive_rag.answer.claims import CitedSentences, Token, is_held, read_tokens, states
from adaptive_rag.answer.wording import (
    AFTER_A_VERB,
    ANTONYMS,
    BEFORE_A_PREDICATE,
    DENIALS,
    HEDGES,
    INDIRECT_DENIALS,
    REPORTING,
    SCOPES,
    UNITS,
)
from adaptive_rag.text.words import ASKING_WORDS, stem

# What the asker said of their own case is no passage's: ", which you say you are not".
_ASKER = re.compile(
    r"[^,:;]*\byou (?:have |had )?(?:say|said|speak|spoke|mention|mentioned|told|wrote|asked)\b[^,:;]*"
)
# "at all", "at most five" and "the most likely" say nothing of how many.
NO_SCOPE = {("at", "all"), ("at", "most"), ("the", "most")}
# How far a denial reaches, in content words, and how near two words stand that belong together, in words.
REACH, NEAR = 3, 8
# Neighbours of a word are this many content words away; a word has been exchanged where its own place holds
# this many fewer of the claim's neighbours than another's (the train half of `benchmarks.grounding`).
CLOSE, CLOSER = 3, 3
# From this share of its words on, a claim is taken to retell one sentence.
MOSTLY = 0.6
# Prefixes that turn a word into its opposite: "unlikely", "illegal".
NEGATING = ("un", "il", "in", "im", "ir", "non", "dis")
# "It does not look so" and "no penalty is named" deny nothing that the passages say.
ABSENT = frozenset(map(stem, "look seem appear know known named stated given said mentioned".split()))


def find_fault(text: str, evidence: CitedSentences) -> str:
    """Say what a claim states that its evidence does not; return "" where nothing was found."""
    claim = read_tokens(_ASKER.sub("", text))
    sentences = evidence.holding(claim)
    return (
        _foreign_number(claim, evidence)
        or _foreign_name(claim, evidence)
        or _added(claim, evidence)
        or _exchanged(claim, evidence)
        or _other_polarity(claim, sentences)
        or _other_scope(claim, sentences)
        or _other_roles(claim, sentences)
    )


def _added(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Say which things a claim speaks of that no passage does.

    A verb or a predicate is the draft's own wording more often than not ("is limited", "runs from"); a thing
    is not ("with a break in January", "in rural clinics").
    """
    held = evidence.keys
    added = [
        token.raw
        for at, token in enumerate(claim)
        if states(token)
        and not is_held(token.key, held)
        and not _predicate(claim, at)
        and (token.key in UNITS or not token.raw.endswith(("ed", "ing", "ly")))
        and not (token.key in UNITS and at and claim[at - 1].number)  # left to the check of numbers
    ]
    return f"the passages do not speak of {', '.join(added)}" if added else ""


def _predicate(claim: Sequence[Token], at: int) -> bool:
    """Tell whether a word stands where a verb or an adjective after "is" stands."""
    before = claim[at - 1].raw.lower() if at else ""
    after = (
        claim[at + 1].raw.lower() if at + 1 < len(claim) and claim[at + 1].clause == claim[at].clause else ""
    )
    return before in BEFORE_A_PREDICATE or after in AFTER_A_VERB


def _foreign_number(claim: Sequence[Token], evidence: CitedSentences) -> str:
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
    """Tell whether "two" counts what the draft sets out: "The two offices ...", "in two ways"."""
    if claim[at].raw.lower() not in ("two", "three", "four"):
        return False
    if at == 0 or (at <= 2 and claim[at - 1].raw.lower() in ("the", "these", "those", "both")):
        return True
    return claim[at].key == "2" and any(t.raw.lower() in ASKING_WORDS or t.key in REPORTING for t in claim[at + 1 : at + 2])


def _derived(value: str, others: Iterable[str]) -> bool:
    """Tell whether a number follows from two others of its sentence: "23 days, from 4 to 26 July"."""
    number = float(value) if value.count(".") <= 1 else None
    pairs = combinations([float(other) for other in others if other.count(".") <= 1], 2)
    return number is not None and any(
        number in (a + b, abs(a - b), abs(a - b) + 1)
        or any(abs(number - x) < 0.006 for x in (a * b / 100, a - a * b / 100, b - a * b / 100))
        for a, b in pairs
    )


def _unit(tokens: Sequence[Token], at: int) -> str:
    following = tokens[at + 1 : at + 3]
    return next((UNITS[t.key] for t in following if t.key in UNITS and t.clause == tokens[at].clause), "")


def _same_company(claim: Sequence[Token], at: int, sentence: Sequence[Token], place: int) -> bool:
    """Tell whether a word next to a token of the claim also stands near it in a sentence."""
    beside = [t.key for t in reversed(claim[:at]) if t.content][:2]
    beside += [t.key for t in claim[at + 1 :] if t.content][:2]
    near = {t.key for t in sentence[max(0, place - NEAR) : place + NEAR + 1]}
    if sum(t.number for t in sentence) * 3 >= sum(t.content for t in sentence):  # the row of a table
        beside = [t.key for t in claim if states(t)]
    return not beside or any(key in near for key in beside)


def _foreign_name(claim: Sequence[Token], evidence: CitedSentences) -> str:
    held = evidence.keys
    initials = _initials([t.raw for s in evidence.sentences for t in s])
    for token in claim:
        if not token.capital or token.first or not token.content or token.key in held:
            continue
        letters = token.raw.lower()
        if letters.rstrip("s") in initials or letters in initials or is_held(token.key, held):
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


def _exchanged(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Say which word of a claim stands where a sentence has another: "Ford Courier" for "Ford Ranger".

    The words around it are the sentence's, and it stands nowhere else among them.
    """
    said = [token for token in claim if token.content]
    rows = [[token for token in sentence if token.content] for sentence in evidence.sentences]
    for at, token in enumerate(said):
        if not (states(token) or token.number) or token.key not in evidence.keys:
            continue
        beside = {t.key for t in [*said[max(0, at - 1) : at], *said[at + 1 : at + 2]]}
        own, best, found = 0, 0, ""
        for row in rows:
            for place, other in enumerate(row):
                swapped = any(t.key == other.key for t in said)
                reach = 1 if swapped and other.key != token.key else CLOSE
                near = {t.key for t in row[max(0, place - reach) : place + reach + 1]}
                left = _run(said[:at][::-1], row[:place][::-1])
                right = _run(said[at + 1 :], row[place + 1 :])
                if other.key == token.key:
                    own = max(own, left + right, bool(beside & near))
                elif (
                    left + right > best
                    and token.key not in near
                    and ((left and right) or (not swapped and _at_an_end(said, at, row, place, left, right)))
                    and (swapped or _alike(token, other))
                ):
                    best, found = left + right, other.raw
        if found and (own == 0 or best - own >= CLOSER):
            return f"the passages have {found} where it has {token.raw}"
    return ""


def _at_an_end(said, at, row, place, left, right) -> bool:
    enough = 2 + said[at].number  # "in June 2013" and "on June 10, 2013" agree
    return (at == len(said) - 1 and left >= enough and said[at].clause - said[at-1].clause == row[place].clause - row[place-1].clause) or (at == 0 and right >= enough and said[1].clause - said[0].clause == row[place+1].clause - row[place].clause)


def _run(one: Sequence[Token], other: Sequence[Token]) -> int:
    """Count the words with which two sequences begin alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a.key != b.key), min(len(one), len(other)))


def _alike(one: Token, other: Token) -> bool:
    """Tell whether two words may be exchanged: two numbers, two names, or two other words."""
    if one.number or other.number:
        return one.number and other.number
    return states(other) and _named(one) == _named(other) and not is_held(one.key, [other.key])


def _named(token: Token) -> bool:
    return token.capital and (not token.first or not token.raw[1:].islower())


def _retells(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> bool:
    """Tell whether most of a claim's words come from the closest sentence."""
    closest = {token.key for token in sentences[0]} if sentences else set()
    stated = [token for token in claim if states(token)]
    return bool(closest) and sum(token.key in closest for token in stated) >= len(stated) * MOSTLY


def _denials(tokens: Sequence[Token], *, reply: bool = False) -> list[list[str]]:
    """Return, for each denial, the keys of the words that it reaches: those that follow it in its clause."""
    return [
        [t.key for t in tokens[at + 1 :] if t.clause == token.clause and t.content][:REACH]
        for at, token in enumerate(tokens)
        # "No, you need none": a reply's first word answers the question.
        if not (reply and token.raw in ("No", "Not"))
        and (token.raw.lower() in DENIALS or token.raw.lower().endswith("n't"))
    ]


def _other_polarity(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Say where a claim denies what its sentences assert, or the reverse."""
    said = {t.key for t in claim}
    denials = _denials(claim, reply=True)
    # The sentences that are retold; a claim in its own words may deny what follows from several sentences.
    retold = [s for at, s in enumerate(sentences) if not at or said.issuperset(t.key for t in s if states(t))]
    sources = retold if _retells(claim, sentences) else sentences
    # A denial may be written another way: "is beyond its means" for "does not have the means".
    indirect = INDIRECT_DENIALS - said
    denied = [reach for reach in denials if reach and not ABSENT.intersection(reach[:2])]
    if sum(len(_denials(s)) + sum(t.key in indirect for t in s) for s in sources) < len(denied):
        return f"the passages do not deny {denied[0][0]!r}"
    said -= {key for reach in denials for key in reach}
    for sentence in retold:
        times = [t.key for t in sentence]
        if INDIRECT_DENIALS & said - set(times):
            continue
        reached = [reach for reach in _denials(sentence) if reach]
        for reach in reached:
            if reach[0] in said and times.count(reach[0]) == 1 and len(denials) < len(reached):
                return f"the passages deny {reach[0]!r}"
    return _opposite(_asserted(claim), set().union(*map(_asserted, sentences)))


def _asserted(tokens: Sequence[Token]) -> set[str]:
    """Return the words of a sentence that no denial reaches, in lower case."""
    denied = {key for reach in _denials(tokens) for key in reach}
    return {t.raw.lower() for t in tokens if t.key not in denied}


def _opposite(said: set[str], theirs: set[str]) -> str:
    for one, other in ANTONYMS:
        if said & one and not said & other and theirs & other and not theirs & one:
            return f"it says {min(said & one)!r} where the passages say {min(theirs & other)!r}"
    for word in said | theirs:
        for pair in ({word, prefix + word} for prefix in NEGATING if len(word) > 3):
            ours, listed = pair & said, pair & theirs
            if len(ours) == len(listed) == 1 and ours != listed:
                return f"it says {min(ours)!r} where the passages say {min(listed)!r}"
    return ""


def _other_scope(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Say which quantifier of a claim is stronger than its sentences."""
    theirs = {t.raw.lower() for s in sentences for t in s}
    for at, token in enumerate(claim):
        if (claim[at - 1].raw.lower() if at else "", token.key) in NO_SCOPE:
            continue
        for words, enough in SCOPES:
            if token.raw.lower() in words and not theirs & enough:
                return f"the passages do not say {token.raw.lower()!r}"
    if not _retells(claim, sentences) or any(token.raw.lower() in HEDGES for token in claim):
        return ""
    joined = {tuple(t.key for t in s[at : at + 3]) for s in sentences for at in range(len(s))}
    for one, joint, two in zip(claim, claim[1:], claim[2:], strict=False):
        other = {"and": "or", "or": "and"}.get(joint.raw)
        if (one.key, other, two.key) in joined and (one.key, joint.key, two.key) not in joined:
            return f"the passages have {other!r} where it has {joint.raw!r}"
    said = {token.key for token in claim}
    for at, token in enumerate(sentences[0]):
        hedged = [t.key for t in sentences[0][at + 1 :] if t.content][:1]
        if token.raw.lower() in HEDGES and set(hedged) & said:
            return f"the passages say {token.raw.lower()!r}"
    return ""


def _other_roles(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Say where two words stand around a third the other way about than in the sentence they come from.

    "Ford sued Fiat" for "Fiat sued Ford"; not where one of both has "by", as a passive voice has.
    """
    for sentence in sentences[:1] if _retells(claim, sentences) else []:
        if (turned := _turned_direction(claim, sentence)) or _has_by(claim) != _has_by(sentence):
            return turned
        keys = [t.key for t in sentence]
        for at, pivot in enumerate(claim):
            if not pivot.content or keys.count(pivot.key) != 1:
                continue
            place = keys.index(pivot.key)
            before, after = set(keys[:place]), set(keys[place + 1 :])
            raws = {t.raw.lower() for t in sentence}
            clause = [
                (i, t.key)
                for i, t in enumerate(claim)
                if t.clause == pivot.clause and states(t) and t.raw.lower() in raws
            ]
            left = [key for i, key in clause if i < at and key in after - before]
            right = [key for i, key in clause if i > at and key in before - after]
            if left and right:
                return f"the passages have {right[0]} and {left[-1]} the other way about"
    return ""


def _turned_direction(claim: Sequence[Token], sentence: Sequence[Token]) -> str:
    """Say what comes "from" where the sentence says "to", or the reverse."""
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
