"""How many tokens a text is taken for without any model's own tokenizer, and how many a model reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

BYTES_PER_TOKEN = 4  # of English text, on average; scripts of two or three bytes a letter need more tokens


def count_tokens(text: str) -> int:
    """Return the tokens that a text is taken for: four bytes make one, and a part of one counts whole."""
    return -(-count_bytes(text) // BYTES_PER_TOKEN)


def count_bytes(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text.encode(errors="surrogatepass"))


class TextLimit(NamedTuple):
    """How much of a text a model reads: `most` of what `count` returns.

    The count of a text is at most the sum of those of its parts, where these are parted by blanks.
    """

    most: int
    count: Callable[[str], int]


UNLIMITED = TextLimit(sys.maxsize, lambda text: 0)
