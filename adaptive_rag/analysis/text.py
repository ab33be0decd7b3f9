"""First step of the query analysis: the question's text brought into one form, whatever its typing."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from adaptive_rag.analysis import lexicon as lx

# A question of more characters than this is judged by its start and its end.
HEAD_CHARACTERS, TAIL_CHARACTERS = 1600, 400

_CONTRACTIONS = {
    "whats": "what is", "hows": "how is", "whos": "who is", "wheres": "where is", "whens": "when is",
    "whys": "why is", "im": "i am", "ive": "i have", "id": "i would", "dont": "do not", "doesnt": "does not",
    "didnt": "did not", "cant": "can not", "cannot": "can not", "couldnt": "could not", "wont": "will not",
    "wouldnt": "would not", "shouldnt": "should not", "isnt": "is not", "arent": "are not",
    "wasnt": "was not", "werent": "were not", "havent": "have not", "hasnt": "has not", "hadnt": "had not",
    "aint": "is not", "thats": "that is", "theres": "there is", "youre": "you are", "youve": "you have",
    "theyre": "they are", "theyve": "they have", "weve": "we have", "shes": "she is", "hes": "he is",
    "lets": "let us", "u": "you", "r": "are", "ur": "your", "pls": "please", "plz": "please",
    "wat": "what", "y": "why", "gonna": "going to", "wanna": "want to", "gotta": "have to",
}  # fmt: skip
# "I'll", "they'd": the apostrophe tells these from the words "ill" and "shed".
_SUFFIXES = {"ll": "will", "d": "would", "ve": "have", "re": "are", "m": "am"}

_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")
_SPELLED = re.compile(r"\b[A-Za-z]{4,}\b")
_SUFFIXED = re.compile(r"^([a-z]+)'(ll|d|ve|re|m)$")

# An order to us about the label is no part of what is asked.
_LABELS = (
    r"(?:fact(?:ual|oid)?|analytic(?:al)?|opinion(?:ated)?|contextual|type|category|label|"
    r"route|strategy|class(?:ification)?)"
)
_ORDER = re.compile(
    r"(?:^|(?<=[.!?\n;:\])]))\s*[\[(\"'*#<\-]*\s*"
    r"(?:(?:please|now|also|and|system|important|note|admin|instruction|instructions|assistant|user)[\s:,\-]+)*"
    rf"(?:(?:classify|label|treat|route|categori[sz]e|mark|tag|type|consider|handle|output|return|set)\b"
    rf"[^.!?\n]{{0,60}}?\b{_LABELS}\b"
    rf"|(?:this|the following|the above|it)(?:\s+(?:question|query))?\s+(?:is|must be|should be|counts as)"
    rf"\s+(?:an?\s+)?(?:classified\s+as\s+)?(?:an?\s+)?{_LABELS}(?:\s+(?:question|query|one))?(?=\s*[.!?\n\])]|\s*$)"
    r"|(?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}?\b(?:instructions?|prompts?|rules?|above|previous|"
    r"prior|classifier|training)\b)"
    r"[^.!?\n\])]*[.!?\])\"'*>]*",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"</?\w[^>\n]{0,40}>")


class Cleaned(NamedTuple):
    """A question as the router reads it, whether it was altered, and whether an order was cut out of it."""

    text: str
    altered: bool
    orders_removed: bool


def clean(question: str) -> Cleaned:
    """Clip a question, drop markup and orders about its label, mend slips in cue words."""
    text = unicodedata.normalize("NFKC", question).replace("’", "'").replace("`", "'")
    if len(text) > HEAD_CHARACTERS + TAIL_CHARACTERS:
        text = f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"
    without = _ORDER.sub(" ", text)
    # A question that is nothing but such an order is judged as it stands.
    removed = without != text and any(character.isalpha() for character in without)
    text = " ".join(_MARKUP.sub(" ", without if removed else text).split())
    slips = _find_slips()
    repaired = _SPELLED.sub(lambda match: slips.get(match[0].lower(), match[0]), text)
    return Cleaned(repaired, removed or repaired != text, removed)


@cache
def _find_slips() -> dict[str, str]:
    """List the slips of the pen in words that shape a question: a letter lost, doubled or swapped inside."""
    slips: dict[str, str] = {}
    for word in sorted(word for word in lx.SHAPE_WORDS if len(word) >= 5):
        for i in range(1, len(word) - 1):
            for slip in (
                word[:i] + word[i + 1 :],
                word[:i] + word[i] + word[i:],
                word[:i] + word[i + 1] + word[i] + word[i + 2 :],
            ):
                slips.setdefault(slip, word)
    for word in lx.SHAPE_WORDS | lx.NO_SLIPS:
        slips.pop(word, None)
    return slips


def tokenize(text: str) -> list[str]:
    """Split into lower-case words with contractions written out: "What's" and "whats" give "what", "is"."""
    words: list[str] = []
    for raw in _WORD.findall(text.lower()):
        suffixed = _SUFFIXED.match(raw)
        if suffixed:
            words += [suffixed[1], _SUFFIXES[suffixed[2]]]
            continue
        if raw.endswith("'s"):
            head = raw[:-2]
            words += [head, "is"] if f"{head}s" in _CONTRACTIONS else [head]
            continue
        words += _CONTRACTIONS.get(raw.replace("'", ""), raw.replace("'", "")).split()
    return words
