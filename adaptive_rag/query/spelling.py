"""Spelling of a question: writes short forms in full and reads misspelt words as the index spells them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import PurePath

from adaptive_rag.analysis.lexicon import CONTRACTIONS
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.source import ChunkSource, HoldsWords, ListsSources, SpellsWords
from adaptive_rag.text.words import stem, words

# Words to check. Shorter ones have too many similar words; a word with a digit is a name ("P220" is not
# "P240").
_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]{4,}(?![\w'’-])")
# Minimum similarity of two spellings by Ratcliff and Obershelp: "warenty" and "warranty" have .80.
ALIKE, ALIKE_NAMES = 0.8, 0.9
# A slip rarely adds or drops more letters than this: "retard" is not "read".
LETTERS_APART = 1
# Minimum length of a word to which an ending is added.
SHORTEST = 4
# Endings of inflected words: "approves", "tuesdays" and "classifies" are forms of everyday words, not slips.
_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("ing", "e"),
    *((cut, "") for cut in ("s", "es", "d", "ed", "r", "er", "ing")),
)
# Contractions that are also words of their own, or that are written in full already.
_NOT_SHORT = {"id", "lets", "y", "cannot"}
# Short forms from chats and notes that have one meaning in a question, compiled by hand. Han, Cook and
# Baldwin (2012), "Automatically Constructing a Normalisation Dictionary for Microblogs", list many more; most
# of them are rare in questions, or are words or names themselves.
_SHORT_FORMS = """
    cant cannot, heres here is, mustnt must not, neednt need not, youll you will, theyll they will,
    ppl people, thx thanks, cuz because, coz because, abt about, tho though, thru through, w/o without,
    asap as soon as possible, tmrw tomorrow, tmr tomorrow, 2moro tomorrow, 2day today,
    gimme give me, lemme let me, dunno do not know, bday birthday, xmas Christmas,
    hols holidays, veg vegetables, fridge refrigerator, bike bicycle, pics pictures, tel telephone, nr number,
    hrs hours, mins minutes, wks weeks, mths months, yrs years, approx approximately, avg average,
    qty quantity
"""
IN_FULL = {
    short: re.sub(r"^i ", "I ", full) for short, full in CONTRACTIONS.items() if short not in _NOT_SHORT
} | dict(entry.split(maxsplit=1) for entry in _SHORT_FORMS.strip().split(","))
_SHORT = re.compile(r"(?<![\w'’/.-])(?:w/o|[^\W_]+)(?![\w'’/-]|\.\w)")
# Maximum length of a word that is looked up: a longer one is no word, or is several without blanks.
LONGEST = 40
# Maximum number of words of one question that are looked up, which bounds the work for a pasted page.
MOST = 8


def correct_spelling(question: str, source: ChunkSource) -> tuple[str, dict[str, str]]:
    """Return the question as the index spells it, and a mapping of the replaced words to their replacements.

    A short form that no chunk contains is written in full: "whos on call", "how many ppl". Another word is
    corrected if no chunk contains it, if it is neither an everyday English word (one token for the embedded
    model's tokenizer) nor a form of one, and if a word of some chunk begins with the same letter and is spelt
    similarly. A word that consists of two words of the chunks is read as those two: "payday" as "pay day".
    """
    question, in_full = _write_in_full(question, source)
    if not isinstance(source, SpellsWords):
        return question, in_full
    known = load_minilm().is_word
    unknown = (m for m in _WORD.finditer(question) if len(m[0]) <= LONGEST and not known(m[0]))
    rare = [match for match in unknown if not _is_form(match[0].lower(), known)][:MOST]
    read_as = {}
    for match in in_time(rare):
        word, is_name = match[0].lower(), match.start() > 0 and match[0][0].isupper()
        near = [other for other in source.spelt_like(word) if other[0] == word[0]]
        # A longer word is not a slip for a word that it begins with: "coupon" is not "coup".
        near = [other for other in near if not word.startswith(other)]
        # Another form of the same word is found without a correction.
        near = [o for o in near if abs(len(o) - len(word)) <= LETTERS_APART and stem(o) != stem(word)]
        if found := difflib.get_close_matches(word, near, n=1, cutoff=ALIKE_NAMES if is_name else ALIKE):
            read_as[match[0]] = found[0].capitalize() if match[0][0].isupper() else found[0]
        elif isinstance(source, HoldsWords) and (apart := _in_two(match[0], source)):
            read_as[match[0]] = apart
    corrected = _WORD.sub(lambda match: read_as.get(match[0], match[0]), question)
    return corrected, in_full | read_as


def _write_in_full(question: str, source: ChunkSource) -> tuple[str, dict[str, str]]:
    """Write the short forms of a question in full, except those in capitals, which are names ("PPL")."""
    if not isinstance(source, HoldsWords):
        return question, {}
    read_as = {}
    for match in _SHORT.finditer(question):
        short = match[0]
        typed = short if match.start() else short[0].lower() + short[1:]
        if typed in IN_FULL and not source.holds(typed):
            read_as[short] = IN_FULL[typed] if typed == short else IN_FULL[typed].capitalize()
    return _SHORT.sub(lambda match: read_as.get(match[0], match[0]), question), read_as


def _in_two(word: str, source: HoldsWords) -> str:
    """Split a word that no chunk contains into two everyday words that chunks contain; "" where it cannot be.

    A word with an ending is not split ("hydrated" is not "hydra ted"), nor one that occurs in a file's name.
    """
    known, named = load_minilm().is_word, source.sources() if isinstance(source, ListsSources) else ()
    if (
        len(word) - len(stem(word.lower())) > LETTERS_APART
        or source.holds(word.lower())
        or any(word.lower() in words(PurePath(name).stem) for name in named)
    ):
        return ""
    pairs = ((word[:at], word[at:]) for at in range(SHORTEST - 1, len(word) - SHORTEST + 2))
    apart = (pair for pair in pairs if all(map(known, pair)) and all(source.holds(w.lower()) for w in pair))
    return " ".join(next(apart, ()))


def _is_form(word: str, known: Callable[[str], bool]) -> bool:
    """Tell whether a word is an everyday word with an ending."""
    stripped = (word.removesuffix(cut) + put for cut, put in _ENDINGS if word.endswith(cut))
    return any(len(base) >= SHORTEST - 1 and known(base) for base in stripped)
