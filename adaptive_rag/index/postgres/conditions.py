"""Translates `where` conditions and selections of sources to SQL, for an index in PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adaptive_rag.index.postgres.state import DatabaseState
from adaptive_rag.index.postgres.writer import OF_SOURCE
from adaptive_rag.where import Predicate, Where

if TYPE_CHECKING:
    from psycopg import Cursor

# SQL comparisons of a field's values, which are stored as texts in lower case, with a given value.
HELD_AGAINST = {
    "number": "value::float8 {sign} {given}::float8",
    "date": 'left(value, length({given}::text)) COLLATE "C" {sign} left({given}::text, length(value))',
    "day": "left(value, length({given}::text)) = {given}::text",
    "text": 'value COLLATE "C" {sign} {given}',
}


class Conditions:
    """Translates conditions to SQL; every value is passed as a parameter."""

    def __init__(self, state: DatabaseState) -> None:
        self.values: dict[str, Any] = {}
        self._state = state

    def of(self, chosen: Sequence[frozenset[str] | Where], cursor: Cursor[Any]) -> str:
        """Return an SQL condition that is true for the selected chunks."""
        return _all([self._of(one, cursor) for one in chosen]) if chosen else "true"

    def _of(self, chosen: frozenset[str] | Where, cursor: Cursor[Any]) -> str:
        if isinstance(chosen, Where):
            return chosen.build(
                self._state.kinds(cursor), self._compared, _all, _any, lambda sql: f"NOT {sql}"
            )
        held = self._state.manifest.sources
        owners = {(held[name].copy_of or name) if name in held else name for name in chosen}
        return f"source = ANY({self._bind(sorted(owners))}::text[])"

    def _compared(self, one: Predicate) -> str:
        from psycopg.types.json import Jsonb

        if one.field in OF_SOURCE:
            mask = one.mask(self._state.of_sources.values(one.field))
            owners = [name for name, holds in zip(self._state.owners, mask, strict=True) if holds]
            return f"source = ANY({self._bind(owners)}::text[])"
        if one.sign == "is known":
            return f"(fields ? {self._bind(one.field)}::text)"
        if one.sign == "like":
            held = f"value ~ {self._bind(_to_regex(one.value))}"
        elif one.sign == "=" and one.kind in ("text", "yes or no"):
            # the only form that can use the index over the fields
            return f"(fields @> {self._bind(Jsonb({one.field: [str(one.value).casefold()]}))})"
        else:
            kind = "day" if (one.kind, one.sign) == ("date", "=") else one.kind
            value = one.value.casefold() if one.kind == "date" else one.value  # with a time: T, Z
            held = HELD_AGAINST[kind].format(sign=one.sign, given=self._bind(value))
        of_field = f"jsonb_array_elements_text(fields -> {self._bind(one.field)}::text)"
        return f"EXISTS (SELECT FROM {of_field} AS value WHERE {held})"

    def _bind(self, value: Any) -> str:
        name = f"given{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


def _to_regex(pattern: str) -> str:
    """Convert a pattern with *, ?, [a-z] and [!a-z] to a regular expression for PostgreSQL."""
    parts = re.findall(r"\[!?\]?[^\]]*\]|.", pattern, re.DOTALL)
    return f"^(?:{''.join(map(_part_to_regex, parts))})$"


def _part_to_regex(part: str) -> str:
    if len(part) == 1:
        return {"*": ".*", "?": "."}.get(part) or escape_regex(part)
    inside = part[1:-1]
    negated = inside.startswith("!")
    ranges = re.findall(r"(.)-(.)|(.)", inside[negated:], re.DOTALL)
    kept = [
        escape_regex(one) if one else f"{escape_regex(a)}-{escape_regex(b)}"
        for a, b, one in ranges
        if one or a <= b
    ]
    if not kept:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{''.join(kept)}]"


def escape_regex(character: str) -> str:
    """Return a regular expression that matches a character."""
    return character if character.isalnum() or character.isspace() else f"\\{character}"


def _all(parts: list[str]) -> str:
    return f"({' AND '.join(parts)})"


def _any(parts: list[str]) -> str:
    return f"({' OR '.join(parts)})"
