"""Conditions on the fields of a passage: `kind = pdf and date >= 2024-03 and not author like "S*"`.

A condition is text that is parsed into a tree; the text itself never becomes part of a query. A comparison
with a field that a passage lacks is false; `!=` and `not` are plain negations, so they are true there. If a
field is a list, a comparison holds if it holds for one of the values. Letter case is ignored.
"""

from __future__ import annotations

import fnmatch
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.errors import InputError, did_you_mean

Mask = NDArray[np.bool_]  # (passages,): which ones fulfil a condition
Kind = Literal["number", "date", "yes or no", "text"]
Sign = Literal["=", "<", "<=", ">", ">=", "like", "is known"]
T = TypeVar("T")

# Limits of a condition: characters, and parentheses and `not` together.
LONGEST = 2000
DEEPEST = 50
# How many fields a message names, and how many are compared with a misspelt name.
MOST_NAMED, MOST_COMPARED = 50, 2_000
# What to write instead, by the token that the grammar expects where a condition cannot be parsed.
HINTS = {
    "TEXT": "Write a value there, as in: kind = pdf",
    "COMPARISON": "Write after a field how it is compared, and with what, as in: page < 10",
    "_AND": "Join two comparisons by and or or, and put several words in quotation marks, as in: "
    'author = "A. Smith" and page < 10',
    "QUOTED_NAME": "Write the name of a field there, as in: kind = pdf and page < 10",
    "RPAR": "A parenthesis is not closed. Write it like this: kind in (pdf, md)",
    "LPAR": "Put the values in parentheses, as in: kind in (pdf, md)",
    "_KNOWN": "Write after is only known, else use =, as in: kind = pdf and author is known",
    "$END": "A parenthesis is closed that was not opened.",
}
_GRAMMAR = r"""
?start: either
?either: both (_OR both)*
?both: single (_AND single)*
?single: _NOT single -> negation
    | "(" either ")"
    | name COMPARISON value -> comparison
    | name _IN "(" value ("," value)* ")" -> one_of
    | name _NOT _IN "(" value ("," value)* ")" -> none_of
    | name _LIKE value -> like
    | name _IS _KNOWN -> known
name: NAME | QUOTED_NAME
value: NAME | TEXT | NUMBER | DATE
COMPARISON: "!=" | "<=" | ">=" | "=" | "<" | ">"
_OR.3: /or\b/i
_AND.3: /and\b/i
_NOT.3: /not\b/i
_IN.3: /in\b/i
_LIKE.3: /like\b/i
_IS.3: /is\b/i
_KNOWN.3: /known\b/i
NAME: /[^\W\d][\w.-]*/
QUOTED_NAME: /`[^`]+`/
TEXT: /"[^"]*"|'[^']*'/
DATE.2: /\d{4}-\d{2}(-\d{2})?(?![\w-])/
NUMBER: /-?\d+(\.\d+)?/
%ignore /\s+/
"""
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ]\d.*)?)?)?")
_EXPECTED = {
    "number": "holds numbers, as in 10",
    "date": "holds dates, as in 2024-03-01, 2024-03 or 2024",
    "yes or no": "holds yes or no",
}
_YES_NO = {"yes": True, "true": True, "no": False, "false": False}


class Columns(Protocol):
    """The fields of the passages that a condition selects from."""

    def __len__(self) -> int:
        """Return the number of passages."""
        ...

    def kinds(self) -> Mapping[str, Kind]:
        """Return each field with the kind of its values."""
        ...

    def values(self, field: str) -> list[Any]:
        """Return the field's value for each passage: None if it has none, a list if it has several."""
        ...


@dataclass(frozen=True)
class Predicate:
    """One comparison of a condition: a field, and what its values are compared with."""

    field: str
    kind: Kind
    sign: Sign
    value: Any = None
    """A value of the field's kind, with texts in lower case; the pattern for `like`; None for `is known`."""

    def mask(self, values: list[Any]) -> Mask:
        """Return a mask of the passages for which it is true, given the field's value of each."""
        return _make_mask(values, self._make_test())

    def _make_test(self) -> Callable[[Any], Any]:
        operand, compare = self.value, _COMPARISONS.get(self.sign)
        if self.sign == "is known":
            return lambda value: True
        if self.sign == "like":
            pattern = re.compile(fnmatch.translate(operand))
            return lambda value: pattern.match(fold(str(value)))
        assert compare is not None
        if self.kind == "date":
            # Both are cut to the shorter one: "> 2024" means after that year, and a document dated 2024 is
            # not before 2024-03-01.
            day = operand if self.sign != "=" else None
            return lambda value: compare(value[: len(operand)], day[: len(value)] if day else operand)
        if self.kind == "text":
            return lambda value: compare(fold(str(value)), operand)
        return lambda value: compare(value, operand)


@dataclass(frozen=True)
class Where:
    """A parsed condition, which selects passages."""

    text: str
    _tree: Any

    def keep(self, columns: Columns) -> Mask:
        """Return a mask of the passages that fulfil the condition."""

        def mask(predicate: Predicate) -> Mask:
            return predicate.mask(columns.values(predicate.field))

        every, some = np.logical_and.reduce, np.logical_or.reduce
        return self.build(columns.kinds(), mask, every, some, operator.invert)

    def build(
        self,
        kinds: Mapping[str, Kind],
        translate: Callable[[Predicate], T],
        all_of: Callable[[list[T]], T],
        any_of: Callable[[list[T]], T],
        negate: Callable[[T], T],
    ) -> T:
        """Translate the condition, for example to SQL.

        `translate` turns one comparison into a part, and `all_of`, `any_of` and `negate` combine parts.

        Raises:
            InputError: a field is unknown, or is compared with a value of another kind.
        """

        def build_node(node: Any) -> T:
            match node.data:
                case "either":
                    return any_of([build_node(child) for child in node.children])
                case "both":
                    return all_of([build_node(child) for child in node.children])
                case "negation":
                    return negate(build_node(node.children[0]))
            field, kind = _known_field(_text_of(node.children[0]), kinds)
            values = [_text_of(child) for child in node.children[1:]]
            match node.data:
                case "known":
                    return translate(Predicate(field, kind, "is known"))
                case "like":
                    return translate(Predicate(field, kind, "like", fold(values[0])))
                case "comparison":
                    sign, *values = values
                case "one_of":
                    sign = "="
                case _:
                    sign = "!="
            if kind == "yes or no" and sign not in ("=", "!="):
                raise InputError(
                    f"The field {field} holds yes or no: compare it with = or !=, not with {sign}."
                )
            positive_sign: Any = "=" if sign == "!=" else sign
            comparisons = [
                translate(Predicate(field, kind, positive_sign, _value(field, kind, value)))
                for value in values
            ]
            either_value = any_of(comparisons) if len(comparisons) > 1 else comparisons[0]
            return negate(either_value) if sign == "!=" else either_value

        return build_node(self._tree)


@lru_cache(maxsize=256)
def read_where(text: str) -> Where:
    """Parse a condition.

    Raises:
        InputError: it is too long, too deep or malformed; the message shows where, with an example.
    """
    from lark.exceptions import UnexpectedInput

    if len(text) > LONGEST:
        raise InputError(f"A condition of {len(text):,} characters is too long: at most {LONGEST:,}.")
    text = text.encode(errors="replace").decode()  # no answer could be sent with half an emoji in its trace
    if _depth(text) > DEEPEST:
        raise InputError(f"A condition is nested too deeply: at most {DEEPEST} parentheses and `not`.")
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        is_at_end = getattr(getattr(error, "token", None), "type", "") == "$END"
        position = len(text) if is_at_end else max(0, error.pos_in_stream or 0)
        place = f"at {text[position : position + 20]!r}" if position < len(text) else "at its end"
        expected = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
        hint = next(hint for name, hint in HINTS.items() if name in (*expected, "$END"))
        raise InputError(f"{text!r} cannot be read {place}. {hint}") from error
    return Where(text, tree)


def join_conditions(*conditions: str) -> str:
    """Return the condition that all of these hold, without blank ones; "" if none is left.

    Raises:
        InputError: one cannot be read, or all together are too long or too deep.
    """
    parts = [part.strip() for part in conditions if part.strip()]
    for part in parts:
        read_where(part)  # by itself, since "a = 1) or (b = 2" would be valid between parentheses
    joined = " and ".join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)
    return read_where(joined).text if joined else ""


def kind_of(values: list[Any]) -> Kind:
    """Return the kind of a field's values; text if they differ."""
    known = [value for value in _flat(values) if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return "yes or no"
    if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return "number"
    if known and all(isinstance(value, str) and _is_date(value) for value in known):
        return "date"
    return "text"


@cache
def _parser() -> Any:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=False)


def _depth(text: str) -> int:
    outside = re.sub(r"\"[^\"]*\"|'[^']*'", "", text)
    return outside.count("(") + len(re.findall(r"\bnot\b", outside, re.IGNORECASE))


def _text_of(child: Any) -> str:
    """Return a name or a value without its quotes; a comparison sign as it is."""
    token = str(child.children[0]) if hasattr(child, "children") else str(child)
    return token[1:-1] if token[0] in "\"'`" else token


def fold(text: str) -> str:
    """Return a text as it is compared: in lower case, and an accented letter as one character.

    A file name from a Mac may have the letter and its accent as two.
    """
    return unicodedata.normalize("NFC", text.casefold())


def _known_field(name: str, kinds: Mapping[str, Kind]) -> tuple[str, Kind]:
    field_name = next((field for field in kinds if field.casefold() == name.casefold()), None)
    if field_name is not None:
        return field_name, kinds[field_name]
    names = list(islice(kinds, MOST_NAMED))
    more = f" and {len(kinds) - len(names):,} more" if len(kinds) > len(names) else ""
    hint = did_you_mean(name, islice(kinds, MOST_COMPARED))
    raise InputError(f"No passage has the field {name!r}.{hint} The fields are: {', '.join(names)}{more}.")


def _value(field: str, kind: Kind, text: str) -> Any:
    """Convert what is written in a condition to a value of the field's kind."""
    if kind == "text":
        return fold(text)
    if kind == "date" and _is_date(text):
        return text
    if kind == "number" and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text) if "." in text else int(text)
    if kind == "yes or no" and text.casefold() in _YES_NO:
        return _YES_NO[text.casefold()]
    raise InputError(f"The field {field} {_EXPECTED[kind]}. This is none: {text!r}.")


def _is_date(text: str) -> bool:
    """Return whether a text is a day, a month or a year in ISO 8601, with or without a time."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = match.groups("1")
    return int(year) > 0 and 1 <= int(month) <= 12 and 1 <= int(day) <= 31


def _make_mask(values: list[Any], holds: Callable[[Any], Any]) -> Mask:
    cached: dict[tuple[type, Any], bool] = {}

    def holds_for(value: Any) -> bool:
        if value is None:
            return False
        key = type(value), value  # True is not 1
        if key not in cached:
            cached[key] = bool(holds(value))
        return cached[key]

    return np.fromiter(
        (any(map(holds_for, value)) if isinstance(value, list) else holds_for(value) for value in values),
        dtype=np.bool_,
        count=len(values),
    )


def _flat(values: list[Any]) -> list[Any]:
    return [part for value in values for part in (value if isinstance(value, list) else [value])]
