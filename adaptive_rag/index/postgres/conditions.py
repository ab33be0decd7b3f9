"""Translates restrictions of an index (conditions and lists of sources) to SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adaptive_rag.index.postgres.database import EVERYTHING, Selection
from adaptive_rag.index.postgres.state import DatabaseState
from adaptive_rag.index.postgres.writer import SOURCE_FIELDS
from adaptive_rag.where import Predicate, Where, fold

if TYPE_CHECKING:
    from psycopg import Cursor

# SQL comparisons of a field's values, which are stored as texts in lower case, with the value of a condition.
COMPARISONS = {
    "number": "value::numeric {sign} {given}::numeric",
    "date": 'left(value, length({given}::text)) COLLATE "C" {sign} left({given}::text, length(value))',
    "day": "left(value, length({given}::text)) = {given}::text",
    "text": 'value COLLATE "C" {sign} {given}',
}


def to_selection(
    restrictions: Sequence[frozenset[str] | Where], state: DatabaseState, cursor: Cursor[Any]
) -> Selection:
    """Return an SQL condition that is true for the selected chunks."""
    conditions = _Conditions(state)
    parts = [conditions.restriction_to_sql(restriction, cursor) for restriction in restrictions]
    return (_all(parts), conditions.values) if parts else EVERYTHING


class _Conditions:
    """Translates restrictions to SQL, and collects their values, which are passed as parameters."""

    def __init__(self, state: DatabaseState) -> None:
        self.values: dict[str, Any] = {}
        self._state = state

    def restriction_to_sql(self, restriction: frozenset[str] | Where, cursor: Cursor[Any]) -> str:
        if isinstance(restriction, Where):
            return restriction.build(
                self._state.kinds(cursor), self._predicate_to_sql, _all, _any, lambda sql: f"NOT {sql}"
            )
        owners = sorted(self._state.manifest.owners(restriction))
        return f"source = ANY({self._bind(owners)}::text[])"

    def _predicate_to_sql(self, predicate: Predicate) -> str:
        from psycopg.types.json import Jsonb

        if predicate.field in SOURCE_FIELDS:
            mask = predicate.mask(self._state.source_fields.values(predicate.field))
            owners = [name for name, holds in zip(self._state.owners, mask, strict=True) if holds]
            return f"source = ANY({self._bind(owners)}::text[])"
        if predicate.sign == "is known":
            return f"(fields ? {self._bind(predicate.field)}::text)"
        if predicate.sign == "like":
            test = f"value ~ {self._bind(_to_regex(predicate.value))}"
        elif predicate.sign == "=" and predicate.kind in ("text", "yes or no"):
            # this form can use the index over the fields
            return f"(fields @> {self._bind(Jsonb({predicate.field: [fold(str(predicate.value))]}))})"
        else:
            kind = "day" if (predicate.kind, predicate.sign) == ("date", "=") else predicate.kind
            given = self._bind(fold(str(predicate.value)))
            test = COMPARISONS[kind].format(sign=predicate.sign, given=given)
        values = f"jsonb_array_elements_text(fields -> {self._bind(predicate.field)}::text)"
        return f"EXISTS (SELECT FROM {values} AS value WHERE {test})"

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
    parts = [
        escape_regex(single) if single else f"{escape_regex(a)}-{escape_regex(b)}"
        for a, b, single in ranges
        if single or a <= b
    ]
    if not parts:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{''.join(parts)}]"


def escape_regex(character: str) -> str:
    """Return a regular expression that matches a character."""
    return character if character.isalnum() or character.isspace() else f"\\{character}"


def _all(parts: list[str]) -> str:
    return f"({' AND '.join(parts)})"


def _any(parts: list[str]) -> str:
    return f"({' OR '.join(parts)})"
