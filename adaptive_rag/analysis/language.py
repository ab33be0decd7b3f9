"""Part of the query analysis: says when a text is none that the router was made to read."""

from __future__ import annotations

import re
from typing import NamedTuple

from adaptive_rag.analysis import lexicon as lx

_CODE = re.compile(
    r"^\s*(?:def|class|import|from|function|const|let|var|public|private|static|#include|SELECT|INSERT|<\?php|<html)\b"
    r"|[{};]\s*$|=>|\breturn\b.*[;)]|==|\+\+|->|\w\(\w*\)\s*[:{;]",
    re.MULTILINE,
)


class Doubt(NamedTuple):
    """How much of the router's verdict to discard (0 to 1), and why."""

    weight: float
    reason: str


def find_doubt(text: str, words: tuple[str, ...]) -> Doubt:
    """Tell texts that the router cannot judge: no words, one word, other languages, code."""
    letters = [character for character in text if character.isalpha()]
    if not letters:
        return Doubt(1.0, "it holds no words")
    plain = sum(character.isascii() for character in letters)
    if plain < 0.6 * len(letters):
        return Doubt(0.9, "it is not written in English, which is all that the router reads")
    foreign = sum(word in lx.FOREIGN_WORDS for word in words)
    # "was", "in" and "an" are words of other languages too.
    plainly_english = sum(word in lx.FUNCTION_WORDS - lx.SHARED_WORDS for word in words)
    if foreign >= 1 and foreign > plainly_english:
        return Doubt(0.9, "it does not look like English, which is all that the router reads")
    if len(words) == 1 and words[0] not in lx.SHAPE_WORDS:
        return Doubt(0.7, "one word says little about what is asked")
    if len(_CODE.findall(text)) >= 2 and not any(word in lx.WH_WORDS for word in words):
        return Doubt(0.6, "it reads like code, not like a question")
    return Doubt(0.0, "")
