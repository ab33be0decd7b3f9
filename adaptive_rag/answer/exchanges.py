"""Finds words, names, numbers and roles in a draft's claim that its passages have otherwise."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from adaptive_rag.answer.claims import NEAR, CitedSentences, Token, is_held, number_unit, retells, states
from adaptive_rag.answer.wording import MONTHS, UNITS, WEEKDAYS

# A name is misplaced where another name's sentence has this many more of the words that the claim says about
# it. One word more may be chance (the train half of `benchmarks.grounding`).
MORE_WORDS = 2


def exchanged_words(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe a word of a claim that replaces another one in a sentence: "Ford Courier" for "Ford Ranger".

    The words around it match the sentence, and the word does not occur next to them elsewhere. A word that is
    not a name needs NEAR more matching words beside it, since a draft may put a word of its own between two
    words of the sentence. Numbers are checked by `put_elsewhere`.
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
    """Return whether a claim's first or last word is in the position of a sentence's word.

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
    """Return whether two words are of the same kind (two names, or two other words) and differ."""
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


def put_elsewhere(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe a number or name of a claim where its passages have another one.

    An example is "Josiah Thorne points out that ..." for "Ruth Ellery points out that ..."; in a table, the
    value of another row in the same column.
    """
    for at, token in enumerate(claim):
        kind = _kind(claim, at, evidence.names)
        if not kind or token.key not in evidence.stated or evidence.gives(claim, at):
            continue
        if kind == "name" and at and _kind(claim, at - 1, evidence.names) == kind:
            continue  # the second word of a name, such as "Ellery" in "Ruth Ellery"
        if right := _in_another_sentence(claim, at, kind, evidence):
            return f"the passages have {right} where it has {token.raw}"
    return ""


def _in_another_sentence(claim: Sequence[Token], at: int, kind: str, evidence: CitedSentences) -> str:
    """Return the rival of a token in a sentence that has more of what the claim says about the token."""
    said = {t.key for t in claim}
    name = _name(claim, at, kind, evidence.names)
    own = [s for s in evidence.statements if name & s.keys]
    wanted = {t.key for t in claim if (states(t) or t.number) and t.key not in name}
    covers = [wanted & s.keys for s in own]
    anywhere = set().union(*covers)
    # Statements with another name of the claim are about that name, and are skipped.
    taken = {t.key for i, t in enumerate(claim) if kind == _kind(claim, i, evidence.names) == "name"}
    theirs = set().union(*(s.keys for s in own)) if kind == "name" else set()
    for other in evidence.statements:
        cover = wanted & other.keys
        enough = MORE_WORDS if kind == "name" and not other.cell else 1
        if (name | taken) & other.keys or len(cover - anywhere) < enough or max(covers, key=len) - cover:
            continue
        for place, rival in enumerate(other.tokens):
            if rival.key not in said | theirs and _same_kind(
                kind, _kind(other.tokens, place, evidence.names)
            ):
                return rival.raw
    return ""


def _name(claim: Sequence[Token], at: int, kind: str, names: Collection[str]) -> set[str]:
    """Return the key of a token; for a name, also the keys of its following words."""
    end = at + 1
    while kind == "name" and end < len(claim) and _kind(claim, end, names) == kind:
        end += 1
    return {token.key for token in claim[at:end]}


def _kind(tokens: Sequence[Token], at: int, names: Collection[str]) -> str:
    """Return "name", "month", "weekday", "time", "year", a unit or "number"; "" for any other word."""
    token = tokens[at]
    if not token.number:
        if token.capital and token.raw.lower() in MONTHS:
            return "month"
        if token.capital and token.raw.lower().rstrip("s") in WEEKDAYS:
            return "weekday"
        begins = token.first and token.raw[1:].islower() and token.key not in names
        return "name" if token.capital and not begins and states(token) else ""
    if ":" in token.key:
        return "time"
    if len(token.raw) == 4 and token.raw.isdigit() and "1700" <= token.raw < "2100":
        return "year"
    return number_unit(tokens, at) or "number"


def _same_kind(one: str, other: str) -> bool:
    """Return whether two kinds match; a number without a unit matches any unit, as in a table."""
    if {one, other} & {"name", "time", "year", "month", "weekday"}:
        return one == other
    return bool(one and other) and (one == other or "number" in (one, other))
