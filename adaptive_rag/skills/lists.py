"""Cleans the lists that chat models return."""

from __future__ import annotations

import re
from collections.abc import Sequence

# "1.", "2)", "-", "*", "Viewpoint 3:", "Sub-question 1 -" before the item itself
_NUMBERING = re.compile(
    r"^\s*(?:[-*•]\s+|\(?\d{1,2}[.):]\s*|(?:sub-?question|viewpoint|perspective)\s*\d*\s*[:.-]\s*)+", re.I
)


def exactly(n: int, items: Sequence[str], what: str) -> list[str]:
    """Return the first n different items without their numbering.

    Raises:
        ValueError: there are fewer than n; the message is fit to be shown to the model.
    """
    clean = [_NUMBERING.sub("", item).strip().strip('"').strip() for item in items]
    different = list({item.casefold(): item for item in reversed(clean) if item}.values())[::-1]
    if len(different) < n:
        raise ValueError(f"expected {n} different {what}, got {len(different)}: {different!r}")
    return different[:n]
