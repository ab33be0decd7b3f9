"""First step of the query analysis: the question's text brought into one form, whatever its typing."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

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
    """A question as the router reads it, and whether an order to the router was cut out of it."""

    text: str
    orders_removed: bool


def clean(question: str) -> Cleaned:
    """Clip a question, drop markup and orders about its own label, and collapse white space."""
    text = unicodedata.normalize("NFKC", question).replace("’", "'").replace("`", "'")
    if len(text) > HEAD_CHARACTERS + TAIL_CHARACTERS:
        text = f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"
    without = _ORDER.sub(" ", text)
    # A question that is nothing but such an order is judged as it stands.
    removed = without != text and any(character.isalpha() for character in without)
    text = _MARKUP.sub(" ", without if removed else text)
    return Cleaned(" ".join(text.split()), removed)


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
