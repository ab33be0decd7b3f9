"""Raised digits as characters of their own, for all loaders that read superscripts: "10⁶" is not 106."""

from __future__ import annotations

import re

# An exponent, or the numbers of notes, "1,2" and "3–5"
_RAISED_NUMBERS = re.compile(r"\s*[+−-]?\d+(?:\s*[,–-]\s*\d+)*\s*")
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


def raise_digits(text: str) -> str:
    """Return a superscript with raised digits if it is a number or several; "st" of "1st" stays as it is."""
    return text.translate(_RAISED) if _RAISED_NUMBERS.fullmatch(text) else text
