"""Office Math equations as linear text: "(a + b)/2" or "∑_(i=1)^n x_i"."""

from __future__ import annotations

import re
from typing import Any

from adaptive_rag.ingest.package import local_name, read_attribute

# Anything nested deeper is read as its plain characters.
_DEEPEST = 30
_SIMPLE = re.compile(r"\w+(?:\.\d+)?|\W?", re.UNICODE)
_DELETED = ("del", "moveFrom")
_INTEGRAL = "∫"  # the default sign of an n-ary operator
_ACCENT = "\u0302"  # a circumflex, the default sign of an accent


def read_equation(element: Any, depth: int = 0) -> str:
    """Return an equation of Office Math (ECMA-376, part 1, section 22.1) as linear text."""
    if depth > _DEEPEST:
        return "".join(text.text or "" for text in element.iter("{*}t"))
    parts = []
    for child in element:
        name = local_name(child)
        if name == "t":
            parts.append(child.text or "")
        elif not name.endswith("Pr") and name not in _DELETED:
            parts.append(_write(name, child, depth + 1))
    return "".join(parts)


def grouped(text: str) -> str:
    """Put brackets around a text, unless it is a single name, number or sign."""
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def scripts(below: str, above: str) -> str:
    """Return the text below and above a base: "_(i=1)^n"."""
    return "".join(sign + grouped(text) for sign, text in (("_", below), ("^", above)) if text)


def _write(name: str, element: Any, depth: int) -> str:
    """Write an element by its name; a run, an argument or any other wrapper is written as its content."""

    def part(of: str) -> str:
        inner = element.find(f"{{*}}{of}")
        return "" if inner is None else read_equation(inner, depth).strip()

    def parts(holder: Any) -> list[str]:
        return [read_equation(each, depth).strip() for each in holder.iterfind("{*}e")]

    base, limits = part("e"), scripts(part("sub"), part("sup"))
    match name:
        case "f":
            return f"{grouped(part('num'))}/{grouped(part('den'))}"
        case "sSub" | "sSup" | "sSubSup":
            return grouped(base) + limits
        case "sPre":
            return limits + base
        case "rad":
            return f"root_{grouped(part('deg'))}({base})" if part("deg") else f"√({base})"
        case "nary":
            return f"{_property(element, 'chr', _INTEGRAL)}{limits} {base}"
        case "d":
            inner = _property(element, "sepChr", "|").join(parts(element))
            return f"{_property(element, 'begChr', '(')}{inner}{_property(element, 'endChr', ')')}"
        case "func":
            return f"{part('fName')}({base})"
        case "limLow" | "limUpp":
            return f"{base}{'_' if name == 'limLow' else '^'}{grouped(part('lim'))}"
        case "acc":
            return f"{grouped(base)}{_property(element, 'chr', _ACCENT)}"
        case "m":
            return f"[{'; '.join(', '.join(parts(row)) for row in element.iterfind('{*}mr'))}]"
        case "eqArr":
            return "; ".join(parts(element))
    return read_equation(element, depth)


def _property(element: Any, name: str, default: str) -> str:
    """Return a property of an element, "" if it is set to nothing, or the default if it is missing."""
    setting = element.find(f"{{*}}{local_name(element)}Pr/{{*}}{name}")
    return default if setting is None else read_attribute(setting, "val", default)
