"""Spelling of a question: writes short forms in full and reads misspelt words as the index spells them.

A misspelt word is corrected only if the corrected question finds clearly better passages than the typed one.
"""

from __future__ import annotations

import difflib
import lzma
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple

from adaptive_rag.analysis.lexicon import CONTRACTIONS
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.source import ChunkSource, ListsSources, SpellsWords
from adaptive_rag.state import Candidate
from adaptive_rag.text.words import stem, terms, words

# Words to check. Shorter ones have too many similar words; a word with a digit is a name ("P220" is not
# "P240").
_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]{4,}(?![\w'’-])")
# Minimum similarity of two spellings by Ratcliff and Obershelp, for words and for names: "warenty" and
# "warranty" have .80.
ALIKE, ALIKE_NAMES = 0.8, 0.9
# A misspelling rarely adds or drops more letters than this: "coloured" is not "cold".
LETTERS_APART = 1
# Minimum gain of a correction: of the best cosine, plus a tenth of the gain of the best BM25 as a share.
# Chosen on questions to real documents with one misspelling each (docs/retrieval.md).
MIN_GAIN, WORDS_WEIGHT = 0.02, 0.1
# Contractions that are also words of their own, or that are written in full already.
_NO_SHORT_FORMS = {"id", "lets", "y", "cannot"}
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
    short: re.sub(r"^i ", "I ", full) for short, full in CONTRACTIONS.items() if short not in _NO_SHORT_FORMS
} | dict(entry.split(maxsplit=1) for entry in _SHORT_FORMS.strip().split(","))
_SHORT = re.compile(r"(?<![\w'’/.-])(?:w/o|[^\W_]+)(?![\w'’/-]|\.\w)")
# Maximum length of a word that is looked up: a longer one is no word, or is several without blanks.
LONGEST = 40
# Maximum number of words of one question that are looked up, which bounds the work for a pasted page.
MOST = 8
EPSILON = 1e-9
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


class Spelt(NamedTuple):
    """A question as the index spells it."""

    question: str
    """The question with the replaced words."""
    read_as: dict[str, str]
    """The replacements by the words that they replace."""
    kept: dict[str, str]
    """Replacements that found no better passages, by the words that stay as they were typed."""


def correct_spelling(question: str, source: ChunkSource) -> Spelt:
    """Return the question as the index spells it.

    A short form that no chunk contains is written in full: "whos on call", "how many ppl". Another word is
    corrected if no chunk contains it, if it is not English, if a word of some chunk begins with the same
    letter and is spelt similarly, and if the corrected question finds better passages. A word that consists
    of two words of the chunks is read as those two on the same condition: "payday" as "pay day".
    """
    if not isinstance(source, SpellsWords):
        return Spelt(question, {}, {})
    question, in_full = _write_in_full(question, source)
    unknown = (m for m in _WORD.finditer(question) if len(m[0]) <= LONGEST and not is_everyday(m[0]))
    proposed = {}
    for match in in_time(list(unknown)[:MOST]):
        word, is_name = match[0], match.start() > 0 and match[0][0].isupper()
        if correction := _correct_word(word, source, ALIKE_NAMES if is_name else ALIKE):
            proposed[word] = correction.capitalize() if word[0].isupper() else correction
        elif two_words := _split_word(word, source):
            proposed[word] = two_words
    # A word without content finds no passage, so "whch" is read as "which" without a comparison.
    compared = {word: correction for word, correction in proposed.items() if terms(correction)}
    accepted = {*proposed} - {*compared} | _find_better(question, compared, source)
    read_as = {word: correction for word, correction in proposed.items() if word in accepted}
    kept = {word: correction for word, correction in proposed.items() if word not in accepted}
    return Spelt(_replace(question, read_as), in_full | read_as, kept)


def _correct_word(word: str, source: SpellsWords, alike: float) -> str:
    """Return the word of the chunks that a word is a misspelling of; "" if there is none."""
    typed = word.lower()
    if is_english(typed):
        return ""
    similar = [
        other
        for other in source.spelt_like(typed)
        if other[0] == typed[0]
        and abs(len(other) - len(typed)) <= LETTERS_APART
        # A longer word is no misspelling of a word that it begins with: "coupon" is not "coup".
        and not typed.startswith(other)
        # Another form of the same word is found without a correction.
        and stem(other) != stem(typed)
    ]
    return next(iter(difflib.get_close_matches(typed, similar, n=1, cutoff=alike)), "")


def _find_better(question: str, proposed: Mapping[str, str], source: ChunkSource) -> set[str]:
    """Return the words whose replacement finds clearly better passages than the question as typed.

    One search compares the question as typed with the question with each word replaced: by its best cosine,
    and by its best BM25.
    """
    if not proposed:
        return set()
    texts = [question, *(_replace(question, {word: other}) for word, other in proposed.items())]
    (cosine, bm25), *corrected = [_best_scores(hits) for hits in source.search(texts, limit=1)]
    better = set[str]()
    for word, (new_cosine, new_bm25) in zip(proposed, corrected, strict=True):
        gain_in_words = (new_bm25 - bm25) / max(new_bm25, bm25, EPSILON)
        if new_cosine - cosine + WORDS_WEIGHT * gain_in_words > MIN_GAIN:
            better.add(word)
    return better


def _best_scores(hits: Sequence[Candidate]) -> tuple[float, float]:
    """Return the best cosine and the best BM25 of a search."""
    dense, sparse = ([hit["scores"][name] for hit in hits] for name in ("dense", "sparse"))
    return max(dense, default=0.0), max(sparse, default=0.0)


def _replace(question: str, read_as: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: read_as.get(match[0], match[0]), question)


def _write_in_full(question: str, source: SpellsWords) -> tuple[str, dict[str, str]]:
    """Write the short forms of a question in full, except those in capitals, which are names ("PPL")."""
    read_as = {}
    for match in _SHORT.finditer(question):
        short = match[0]
        typed = short if match.start() else short[0].lower() + short[1:]
        if typed in IN_FULL and not source.holds(typed):
            read_as[short] = IN_FULL[typed] if typed == short else IN_FULL[typed].capitalize()
    return _SHORT.sub(lambda match: read_as.get(match[0], match[0]), question), read_as


def _split_word(word: str, source: SpellsWords) -> str:
    """Split a word that no chunk contains into two everyday words that chunks contain; "" where it cannot be.

    A word with an ending is not split ("hydrated" is not "hydra ted"), nor one that occurs in a file's name.
    """
    is_everyday_word = load_minilm().is_word
    file_names = source.sources() if isinstance(source, ListsSources) else ()
    if (
        len(word) - len(stem(word.lower())) > LETTERS_APART
        or source.holds(word.lower())
        or any(word.lower() in words(PurePath(name).stem) for name in file_names)
    ):
        return ""
    for i in range(SHORTEST - 1, len(word) - SHORTEST + 2):
        pair = word[:i], word[i:]
        if all(map(is_everyday_word, pair)) and all(source.holds(part.lower()) for part in pair):
            return " ".join(pair)
    return ""


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
