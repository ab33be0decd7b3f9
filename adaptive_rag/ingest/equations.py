"""Used while Office documents are read: an equation as linear text, "(a + b)/2" or "∑_(i=1)^n x_i"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from adaptive_rag.ingest.package import local_name

# What is nested deeper is read as a plain row of its characters.
_DEEPEST = 30
_SIMPLE = re.compile(r"\w+(?:\.\d+)?|\W?", re.UNICODE)
_DELETED = ("del", "moveFrom")
_INTEGRAL = "∫"  # what an n-ary operator is that names no sign
_ACCENT = "\u0302"  # a hat, which an accent is that names none


def read_equation(element: Any, depth: int = 0) -> str:
    """Return an equation of Office Math (ECMA-376, part 1, section 22.1) as linear text."""
    if depth > _DEEPEST:
        return "".join(_characters(element))
    parts = []
    for child in element:
        name = local_name(child)
        if name == "t":
            parts.append(child.text or "")
        elif name in _WRITERS:
            parts.append(_WRITERS[name](child, depth + 1))
        elif (
            not name.endswith("Pr") and name not in _DELETED
        ):  # a run, an argument, or a wrapper of another kind
            parts.append(read_equation(child, depth + 1))
    return "".join(parts)


def _characters(element: Any) -> Iterator[str]:
    return (found.text or "" for found in element.iter("{*}t"))


def _argument(element: Any, name: str, depth: int) -> str:
    found = element.find(f"{{*}}{name}")
    return "" if found is None else read_equation(found, depth).strip()


def grouped(text: str) -> str:
    """Put brackets around what is more than one name, number or sign."""
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def _property(element: Any, name: str, default: str) -> str:
    """Return what the properties of an element say; "" where they say that there is nothing."""
    found = element.find(f"{{*}}{local_name(element)}Pr/{{*}}{name}")
    if found is None:
        return default
    values = (str(value) for key, value in found.items() if key.rpartition("}")[2] == "val")
    return next(values, default)


def _fraction(element: Any, depth: int) -> str:
    upper, lower = (grouped(_argument(element, name, depth)) for name in ("num", "den"))
    return f"{upper}/{lower}"


def _scripts(element: Any, depth: int) -> str:
    base = _argument(element, "e", depth)
    scripts = (("_", _argument(element, "sub", depth)), ("^", _argument(element, "sup", depth)))
    written = "".join(sign + grouped(text) for sign, text in scripts if text)
    return written + base if local_name(element) == "sPre" else grouped(base) + written


def _root(element: Any, depth: int) -> str:
    degree = _argument(element, "deg", depth)
    return (
        f"root_{grouped(degree)}({_argument(element, 'e', depth)})"
        if degree
        else (f"√({_argument(element, 'e', depth)})")
    )


def _operator(element: Any, depth: int) -> str:
    limits = (("_", _argument(element, "sub", depth)), ("^", _argument(element, "sup", depth)))
    written = "".join(sign + grouped(text) for sign, text in limits if text)
    return f"{_property(element, 'chr', _INTEGRAL)}{written} {_argument(element, 'e', depth)}"


def _delimited(element: Any, depth: int) -> str:
    separator = _property(element, "sepChr", "|")
    inner = separator.join(read_equation(each, depth).strip() for each in element.iterfind("{*}e"))
    return f"{_property(element, 'begChr', '(')}{inner}{_property(element, 'endChr', ')')}"


def _function(element: Any, depth: int) -> str:
    return f"{_argument(element, 'fName', depth)}({_argument(element, 'e', depth)})"


def _limit(element: Any, depth: int) -> str:
    sign = "_" if local_name(element) == "limLow" else "^"
    return f"{_argument(element, 'e', depth)}{sign}{grouped(_argument(element, 'lim', depth))}"


def _accented(element: Any, depth: int) -> str:
    base, mark = _argument(element, "e", depth), _property(element, "chr", _ACCENT)
    return f"{grouped(base)}{mark}"


def _matrix(element: Any, depth: int) -> str:
    rows = (
        ", ".join(read_equation(each, depth).strip() for each in row.iterfind("{*}e"))
        for row in element.iterfind("{*}mr")
    )
    return f"[{'; '.join(rows)}]"


def _lines(element: Any, depth: int) -> str:
    return "; ".join(read_equation(each, depth).strip() for each in element.iterfind("{*}e"))


_WRITERS: dict[str, Callable[[Any, int], str]] = {
    "f": _fraction,
    **dict.fromkeys(("sSub", "sSup", "sSubSup", "sPre"), _scripts),
    "rad": _root,
    "nary": _operator,
    "d": _delimited,
    "func": _function,
    **dict.fromkeys(("limLow", "limUpp"), _limit),
    "acc": _accented,
    "m": _matrix,
    "eqArr": _lines,
}
