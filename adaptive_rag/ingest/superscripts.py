"""Raised digits as characters of their own, for all loaders that read superscripts: "10⁶" is not 106."""

from __future__ import annotations

import re

_EXPONENT = re.compile(r"\s*[+−-]?\d+\s*")
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


def raise_digits(text: str) -> str:
    """Return a superscript with raised digits if it is a number; "st" of "1st" stays as it is."""
    return text.translate(_RAISED) if _EXPONENT.fullmatch(text) else text
