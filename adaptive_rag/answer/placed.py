"""Finds numbers and names that a draft's claim puts in a different place than its passages do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from adaptive_rag.answer.claims import CitedSentences, Token, number_unit, states
from adaptive_rag.answer.wording import MONTHS, WEEKDAYS

# A name is misplaced where another name's sentence has this many more of the words that the claim says about
# it. One word more may be chance (the train half of `benchmarks.grounding`).
MORE_WORDS = 2


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
            if rival.key not in said | theirs and _alike(kind, _kind(other.tokens, place, evidence.names)):
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


def _alike(one: str, other: str) -> bool:
    """Tell whether two kinds match; a number without a unit matches any unit, as in a table."""
    if {one, other} & {"name", "time", "year", "month", "weekday"}:
        return one == other
    return bool(one and other) and (one == other or "number" in (one, other))
