"""Recognises English words, which are never taken for a misspelling of another word."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

from adaptive_rag.models.onnx import load_minilm

# English words that are neither everyday words nor forms of one; made by training/english_words.py.
ENGLISH = Path(__file__).with_name("english_words.txt.xz")
# Minimum length of a word that can have an ending.
SHORTEST = 4
# Endings of inflected words: "approves", "tuesdays" and "classifies" are forms of everyday words, not slips.
_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("ing", "e"),
    *((ending, "") for ending in ("s", "es", "d", "ed", "r", "er", "ing")),
)


def is_english(word: str) -> bool:
    """Return whether a word is English: an everyday word, a form of one, or a rarer one ("retard")."""
    return is_everyday(word) or f"\n{word.lower()}\n".encode() in _rare_words()


def is_everyday(word: str) -> bool:
    """Return whether a word, with or without its ending, is one token of the embedded model's tokenizer."""
    is_token = load_minilm().is_word
    if is_token(word):
        return True
    lower = word.lower()
    bases = (lower.removesuffix(ending) + base for ending, base in _ENDINGS if lower.endswith(ending))
    return any(len(base) >= SHORTEST - 1 and is_token(base) for base in bases)


@cache
def _rare_words() -> bytes:
    return b"\n" + lzma.decompress(ENGLISH.read_bytes()) + b"\n"
