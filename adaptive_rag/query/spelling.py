"""Misspelt words of a question, read as the index spells them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.source import ChunkSource, SpellsWords
from adaptive_rag.text.words import stem

# Shorter words have too many neighbours; a word with a digit is a name of its own ("P220" is not "P240").
_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]{4,}(?![\w'’-])")
# Share of letters in common, by Ratcliff and Obershelp: "warenty" and "warranty" have .80.
ALIKE, ALIKE_NAMES = 0.8, 0.9
# A slip of the hand rarely adds or loses more letters than this: "retard" is not "read".
LETTERS_APART = 1
# Letters of the shortest word to which an ending is added.
SHORTEST = 4
# "approves", "tuesdays", "classifies": a form of an everyday word is no slip.
_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("ing", "e"),
    *((cut, "") for cut in ("s", "es", "d", "ed", "r", "er", "ing")),
)
# Words of one question that are looked up; a pasted page is not a question with many slips.
MOST = 8


def correct_spelling(question: str, source: ChunkSource) -> tuple[str, dict[str, str]]:
    """Return the question as the index spells it, and what was read as what.

    A word is corrected that no chunk holds, that is no everyday word of English (one piece to the embedded
    model's tokenizer) nor a form of one, and that begins as a word of some chunk does and is spelt much
    like it.
    """
    if not isinstance(source, SpellsWords):
        return question, {}
    known = load_minilm().is_word
    words = (match for match in _WORD.finditer(question) if not known(match[0]))
    rare = [match for match in words if not _is_form(match[0].lower(), known)][:MOST]
    read_as = {}
    for match in rare:
        word, is_name = match[0].lower(), match.start() > 0 and match[0][0].isupper()
        near = [other for other in source.spelt_like(word) if other[0] == word[0]]
        # A longer word is no slip for one that it begins with: "coupon" is not "coup".
        near = [other for other in near if not word.startswith(other)]
        # Another form of the word itself is found as it stands.
        near = [o for o in near if abs(len(o) - len(word)) <= LETTERS_APART and stem(o) != stem(word)]
        if found := difflib.get_close_matches(word, near, n=1, cutoff=ALIKE_NAMES if is_name else ALIKE):
            read_as[match[0]] = found[0].capitalize() if match[0][0].isupper() else found[0]
    corrected = _WORD.sub(lambda match: read_as.get(match[0], match[0]), question)
    return corrected, read_as


def _is_form(word: str, known: Callable[[str], bool]) -> bool:
    """Tell whether a word is an everyday word with an ending."""
    stripped = (word.removesuffix(cut) + put for cut, put in _ENDINGS if word.endswith(cut))
    return any(len(base) >= SHORTEST and known(base) for base in stripped)
