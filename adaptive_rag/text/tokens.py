"""Estimates the number of tokens in a text without a tokenizer, and describes how much a model reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

BYTES_PER_TOKEN = 4  # the mean of English text; letters of two or three bytes need more tokens too


def count_tokens(text: str) -> int:
    """Estimate the number of tokens in a text: one for every four bytes, rounded up."""
    return -(-count_bytes(text) // BYTES_PER_TOKEN)


def count_bytes(text: str) -> int:
    """Return the number of bytes of a text in UTF-8."""
    return len(text.encode(errors="surrogatepass"))


class TextLimit(NamedTuple):
    """How much of a text a model reads: at most `most` units as counted by `count`.

    If a text is split at blanks, its count is at most the sum of the counts of its parts.
    """

    most: int
    count: Callable[[str], int]


UNLIMITED = TextLimit(sys.maxsize, lambda text: 0)
