"""English words: what is one is no slip for another word, however much the two look alike."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

from adaptive_rag.models.onnx import load_minilm

# Made by training/english_words.py: the words that are neither everyday words nor forms of one.
ENGLISH = Path(__file__).with_name("english_words.txt.xz")
# Minimum length of a word to which an ending is added.
SHORTEST = 4
# Endings of inflected words: "approves", "tuesdays" and "classifies" are forms of everyday words, not slips.
_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("ing", "e"),
    *((cut, "") for cut in ("s", "es", "d", "ed", "r", "er", "ing")),
)


def is_english(word: str) -> bool:
    """Return whether English has a word: an everyday word, a form of one, or one of the list ("retard")."""
    return is_everyday(word) or f"\n{word.lower()}\n".encode() in _listed()


def is_everyday(word: str) -> bool:
    """Return whether a word, with or without its ending, is one token of the embedded model's tokenizer."""
    known = load_minilm().is_word
    if known(word):
        return True
    typed = word.lower()
    bases = (typed.removesuffix(cut) + put for cut, put in _ENDINGS if typed.endswith(cut))
    return any(len(base) >= SHORTEST - 1 and known(base) for base in bases)


@cache
def _listed() -> bytes:
    return b"\n" + lzma.decompress(ENGLISH.read_bytes()) + b"\n"
