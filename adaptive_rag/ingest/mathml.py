"""MathML equations as linear text, in the same form as the equations of Office documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptive_rag.ingest.equations import grouped, scripts
from adaptive_rag.ingest.package import local_name

# Anything nested deeper is read as its plain characters.
_DEEPEST = 30
# Elements that describe the equation for a program, and elements that only take up space.
_LEFT_OUT = ("annotation", "annotation-xml", "mphantom", "mspace", "none", "mprescripts")
# Operators with limits; and operators that are set apart from their operands, as in "a = b".
_LARGE, _APART = frozenset("∑∏∐∫∬∭∮⋃⋂⨁⨂"), frozenset("=<>≤≥≠≈≡→←⇒⇔∈∉⊂⊆")
# Invisible operators, such as "times" and "apply".
_UNSEEN = dict.fromkeys(range(0x2061, 0x2065))


def read_mathml(element: Any, depth: int = 0) -> str:
    """Return an equation (MathML 3, chapter 3) as linear text: "(a+b)/2", "∑_(i = 1)^n i"."""
    if depth > _DEEPEST:
        return "".join(element.itertext())
    name = local_name(element)
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        text = " ".join("".join(element.itertext()).split()).translate(_UNSEEN)
        return f" {text} " if name == "mo" and text in _APART else text
    children = (each for each in element if local_name(each) and local_name(each) not in _LEFT_OUT)
    parts = [read_mathml(each, depth + 1) for each in children]
    return _write(name, element, parts)


def _write(name: str, element: Any, parts: Sequence[str]) -> str:
    first, second, third = (part.strip() for part in (*parts, "", "", "")[:3])
    match name:
        case "semantics":
            return first
        case "mfrac":
            return f"{grouped(first)}/{grouped(second)}"
        case "msqrt":
            return f"√({''.join(parts).strip()})"
        case "mroot":
            return f"root_{grouped(second)}({first})"
        case "msub" | "munder":
            return _scripted(first, second, "")
        case "msup" | "mover":
            return _scripted(first, "", second)
        case "msubsup" | "munderover":
            return _scripted(first, second, third)
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


def _scripted(base: str, below: str, above: str) -> str:
    written = scripts(below, above)
    return f"{base}{written} " if base in _LARGE else f"{grouped(base)}{written}"
