"""MathML equations as linear text, in the same form as the equations of Office documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptive_rag.ingest.equations import enclose, group_term, write_limits
from adaptive_rag.ingest.package import local_name

# Anything nested deeper is read as its plain characters.
_MAX_DEPTH = 30
# Elements that describe the equation to a program, or that only take up space.
_SKIPPED_TAGS = ("annotation", "annotation-xml", "mphantom", "mspace", "none", "mprescripts")
# Operators with limits, and operators with blanks around them, as in "a = b".
_LARGE_OPERATORS, _RELATIONS = frozenset("∑∏∐∫∬∭∮⋃⋂⨁⨂"), frozenset("=<>≤≥≠≈≡→←⇒⇔∈∉⊂⊆")
# Invisible operators, such as "times" and "apply".
_INVISIBLE_OPERATORS = dict.fromkeys(range(0x2061, 0x2065))


def read_mathml(element: Any, depth: int = 0) -> str:
    """Return an equation (MathML 3, chapter 3) as linear text: "(a+b)/2", "∑_(i = 1)^n i"."""
    if depth > _MAX_DEPTH:
        return "".join(element.itertext())
    name = local_name(element)
    if name in ("mi", "mn", "mo", "mtext", "ms") or len(element) == 0:
        text = " ".join("".join(element.itertext()).split()).translate(_INVISIBLE_OPERATORS)
        return f" {text} " if name == "mo" and text in _RELATIONS else text
    children = (child for child in element if local_name(child) and local_name(child) not in _SKIPPED_TAGS)
    parts = [read_mathml(child, depth + 1) for child in children]
    return _write_element(name, element, parts)


def _write_element(name: str, element: Any, parts: Sequence[str]) -> str:
    """Return an element as text; `parts` are its children as text."""
    first, second, third = (part.strip() for part in (*parts, "", "", "")[:3])
    match name:
        case "semantics":
            return first
        case "mfrac":
            return f"{group_term(first)}/{group_term(second)}"
        case "msqrt":
            return f"√{enclose(''.join(parts).strip())}"
        case "mroot":
            return f"root_{group_term(second)}{enclose(first)}"
        case "msub" | "munder":
            return _write_scripts(first, second, "")
        case "msup" | "mover":
            return _write_scripts(first, "", second)
        case "msubsup" | "munderover":
            return _write_scripts(first, second, third)
        case "mfenced":
            inner = element.get("separators", ",")[:1].join(part.strip() for part in parts)
            return f"{element.get('open', '(')}{inner}{element.get('close', ')')}"
        case "mtd":
            return "".join(parts).strip()
        case "mtr":
            return ", ".join(parts)
        case "mtable":
            return f"[{'; '.join(parts)}]" if len(parts) > 1 or "," in first else first
    return "".join(parts)


def _write_scripts(base: str, below: str, above: str) -> str:
    limits = write_limits(below, above)
    return f"{base}{limits} " if base in _LARGE_OPERATORS else f"{group_term(base)}{limits}"
