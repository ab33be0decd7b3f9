"""Finds numbers and names that a draft's claim puts in a different place than its passages do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from adaptive_rag.answer.claims import CitedSentences, Statement, Token, number_unit, states
from adaptive_rag.answer.wording import JOINING, MONTHS, UNITS, WEEKDAYS

# A name is misplaced where another name's sentence has this many more of the words that the claim says about
# it. One word more may be chance (the train half of `benchmarks.grounding`).
MORE_WORDS = 2


def put_elsewhere(claim: Sequence[Token], evidence: CitedSentences) -> str:
    """Describe a number or name of a claim where its passages have another one.

    An example is "a humidity of 50 percent in cellars" for "50 percent in living rooms, in cellars 60"; in a
    table, the value of another row in the same column.
    """
    if right := _other_row({t.key for t in claim}, [s for s in evidence.statements if s.value]):
        return f"the passages have {right} there"
    for at, token in enumerate(claim):
        kind = _kind(claim, at, evidence.names)
        if not kind or token.key not in evidence.stated or evidence.gives(claim, at):
            continue
        if kind == "name" and at and _kind(claim, at - 1, evidence.names) == kind:
            continue  # the second word of a name, such as "Ellery" in "Ruth Ellery"
        right = _in_another_sentence(claim, at, kind, evidence)
        if not right and kind != "name":
            right = _in_another_part(claim, at, kind, evidence)
        if right:
            return f"the passages have {right} where it has {token.raw}"
    return ""


def _other_row(said: set[str], cells: Sequence[Statement]) -> str:
    """Return the value of the row that a claim names, where the claim has another row's value."""
    named = [cell for cell in cells if cell.row and cell.row <= said]
    right = set().union(*(cell.value for cell in named))
    for own in named:
        for other in cells:
            if other.column != own.column or other.row <= said or not other.value <= said:
                continue
            lacking = own.value - other.value
            if other.value - own.value - right and lacking and not lacking & said:
                return " ".join(t.raw for t in own.tokens if t.key in own.value)
    return ""


def _in_another_sentence(claim: Sequence[Token], at: int, kind: str, evidence: CitedSentences) -> str:
    """Return the rival of a token in a sentence that has more of what the claim says about the token."""
    said = {t.key for t in claim}
    name = _name(claim, at, kind, evidence.names)
    own = [s for s in evidence.statements if name & s.keys]
    wanted = _said_of(claim, at, name, near=any(not s.value for s in own))
    covers = [wanted & s.keys for s in own]
    anywhere = set().union(*covers)
    # Statements with another name of the claim are about that name, and are skipped.
    taken = {t.key for i, t in enumerate(claim) if kind == _kind(claim, i, evidence.names) == "name"}
    theirs = set().union(*(s.keys for s in own)) if kind == "name" else set()
    for other in evidence.statements:
        cover = wanted & other.keys
        enough = MORE_WORDS if kind == "name" and not other.value else 1
        if (name | taken) & other.keys or len(cover - anywhere) < enough or max(covers, key=len) - cover:
            continue
        for place, rival in enumerate(other.tokens):
            if rival.key not in said | theirs and _alike(kind, _kind(other.tokens, place, evidence.names)):
                return rival.raw
    return ""


def _in_another_part(claim: Sequence[Token], at: int, kind: str, evidence: CitedSentences) -> str:
    """Return a value to which, rather than to the claim's value, the claim's words belong.

    It must be so in every statement that contains the claim's value.
    """
    wanted = _said_of(claim, at, {claim[at].key}, near=True)
    said = {t.key for t in claim}
    found = ""
    for statement in evidence.statements:
        tokens = statement.tokens
        places = [place for place, token in enumerate(tokens) if token.key == claim[at].key]
        if places and not statement.value:
            parts = _parts(tokens, kind, evidence.names)
            rivals = [
                i
                for i, t in enumerate(tokens)
                if t.key not in said and _alike(kind, _kind(tokens, i, evidence.names))
            ]
            for place in places:
                found = next((tokens[i].raw for i in rivals if _nearer(tokens, parts, place, i, wanted)), "")
                if not found:
                    return ""
    return found


def _nearer(
    tokens: Sequence[Token], parts: Sequence[int], place: int, rival: int, wanted: Collection[str]
) -> bool:
    """Tell whether words of a claim are in the part of a rival and out of reach of the claim's own value.

    Words before a value can belong to it as well: "paid at 1.25 times on weekdays, on Sundays at 1.75".
    """
    if parts[place] == parts[rival]:
        return False
    own = {t.key for t, part in zip(tokens, parts, strict=True) if part == parts[place] and states(t)}
    own -= {tokens[place].key}
    theirs = {t.key for t, part in zip(tokens, parts, strict=True) if part == parts[rival]}
    reached = own | {t.key for t in tokens[:place]}
    lost = theirs.intersection(wanted) - reached
    about = own - UNITS.keys()
    passed = rival < place and about and not about.intersection(wanted) and theirs.intersection(wanted)
    return bool((lost and own.difference(wanted) - theirs) or passed)


def _said_of(claim: Sequence[Token], at: int, name: Collection[str], *, near: bool) -> set[str]:
    """Return the keys of the words that a claim says about a token; with `near`, only those of its part."""
    words = [(i, t.key) for i, t in enumerate(claim) if (states(t) or t.number) and t.key not in name]
    parts = _parts(claim, "", ())
    beside = {key for i, key in words if parts[i] == parts[at]}
    return beside if near and len(beside) > 1 else {key for _, key in words}


def _name(claim: Sequence[Token], at: int, kind: str, names: Collection[str]) -> set[str]:
    """Return the key of a token; for a name, also the keys of its following words."""
    end = at + 1
    while kind == "name" and end < len(claim) and _kind(claim, end, names) == kind:
        end += 1
    return {token.key for token in claim[at:end]}


def _parts(tokens: Sequence[Token], kind: str, names: Collection[str]) -> list[int]:
    """Number the parts of a sentence, separated by a comma or an "and".

    With a kind, a new part begins only after a value of that kind.
    """
    parts: list[int] = []
    part, full = 0, not kind
    for at, token in enumerate(tokens):
        if full and at and (token.clause != tokens[at - 1].clause or token.raw.lower() in JOINING):
            part, full = part + 1, not kind
        full = full or _alike(kind, _kind(tokens, at, names))
        parts.append(part)
    return parts


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


def _alike(one: str, other: str) -> bool:
    """Tell whether two kinds match; a number without a unit matches any unit, as in a table."""
    if {one, other} & {"name", "time", "year", "month", "weekday"}:
        return one == other
    return bool(one and other) and (one == other or "number" in (one, other))
