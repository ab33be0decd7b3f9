"""Office Math equations as linear text: "(a + b)/2" or "∑_(i=1)^n x_i"."""

from __future__ import annotations

import re
from typing import Any

from adaptive_rag.ingest.package import local_name, read_attribute

# Anything nested deeper is read as its plain characters.
_MAX_DEPTH = 30
_SINGLE_TERM = re.compile(r"\w+(?:\.\d+)?|\W?", re.UNICODE)
_ENCLOSED = re.compile(r"\([^()]*\)")
_DELETED_TAGS = ("del", "moveFrom")
_INTEGRAL = "∫"  # the default sign of an n-ary operator
_ACCENT = "\u0302"  # a circumflex, the default sign of an accent


def read_equation(element: Any, depth: int = 0) -> str:
    """Return an equation of Office Math (ECMA-376, part 1, section 22.1) as linear text."""
    if depth > _MAX_DEPTH:
        return "".join(text.text or "" for text in element.iter("{*}t"))
    parts = []
    for child in element:
        name = local_name(child)
        if name == "t":
            parts.append(child.text or "")
        elif not name.endswith("Pr") and name not in _DELETED_TAGS:
            parts.append(_write_element(name, child, depth + 1))
    return "".join(parts)


def enclose(text: str) -> str:
    """Put parentheses around a text, unless it has them already."""
    return text if _ENCLOSED.fullmatch(text) else f"({text})"


def group_term(text: str) -> str:
    """Put parentheses around a text, unless it is a single name, number or sign, or has them already."""
    return text if _SINGLE_TERM.fullmatch(text) else enclose(text)


def write_limits(below: str, above: str) -> str:
    """Return what is below and above a base as text: "_(i=1)^n"."""
    return "".join(sign + group_term(text) for sign, text in (("_", below), ("^", above)) if text)


def _write_element(name: str, element: Any, depth: int) -> str:
    """Return an element as text; a run, an argument or any other wrapper is written as its content."""

    def part(tag: str) -> str:
        child = element.find(f"{{*}}{tag}")
        return "" if child is None else read_equation(child, depth).strip()

    def parts(container: Any) -> list[str]:
        return [read_equation(child, depth).strip() for child in container.iterfind("{*}e")]

    base, limits = part("e"), write_limits(part("sub"), part("sup"))
    match name:
        case "f":
            return f"{group_term(part('num'))}/{group_term(part('den'))}"
        case "sSub" | "sSup" | "sSubSup":
            return group_term(base) + limits
        case "sPre":
            return limits + base
        case "rad":
            root = f"root_{group_term(part('deg'))}" if part("deg") else "√"
            return root + enclose(base)
        case "nary":
            return f"{_read_property(element, 'chr', _INTEGRAL)}{limits} {base}"
        case "d":
            inner = _read_property(element, "sepChr", "|").join(parts(element))
            return f"{_read_property(element, 'begChr', '(')}{inner}{_read_property(element, 'endChr', ')')}"
        case "func":
            return part("fName") + enclose(base)
        case "limLow" | "limUpp":
            return f"{base}{'_' if name == 'limLow' else '^'}{group_term(part('lim'))}"
        case "acc":
            return f"{group_term(base)}{_read_property(element, 'chr', _ACCENT)}"
        case "m":
            return f"[{'; '.join(', '.join(parts(row)) for row in element.iterfind('{*}mr'))}]"
        case "eqArr":
            return "; ".join(parts(element))
    return read_equation(element, depth)


def _read_property(element: Any, name: str, default: str) -> str:
    """Return a property of an element, "" if it is set to nothing, or the default if it is missing."""
    setting = element.find(f"{{*}}{local_name(element)}Pr/{{*}}{name}")
    return default if setting is None else read_attribute(setting, "val", default)
