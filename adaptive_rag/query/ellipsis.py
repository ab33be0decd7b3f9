"""Completes a follow-up that replaces one part of the question before it: "And to Norway?"."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from adaptive_rag.analysis.lexicon import CONTRACTIONS
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS

# "And", "or then what about", "no, I meant": says that something follows, and nothing else.
_OPENER = re.compile(
    r"^(?:(?:and|but|or|so|also)\b[, ]*)*(?:(?:what|how) (?:about|of)\b|i meant?\b)?\s*", re.IGNORECASE
)
MODAL = r"(?:do|does|did|can|could|will|would|shall|should|must|may|might)"
AUXILIARY = rf"(?:is|are|was|were|{MODAL}|has|have|had)"
# A pronoun that refers to an earlier turn. "that" counts only after an auxiliary ("is that free") and at the
# end: elsewhere it is often a conjunction ("do you think that it pays"). "there" refers to nothing in "which
# halls are there", and "IT" is a name.
PRONOUN = re.compile(
    r"\b(?:(?-i:(?!IT\b))it|its|they|them|their|theirs|he|him|his|she|her|hers|this|these|those|ones?|former|latter|both"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )there(?=\s*[?.!]*$)"
    rf"|{AUXILIARY} that|that(?= then)|(?:that|then)(?=\s*[?.!]*$))\b",
    re.IGNORECASE,
)
QUESTION_WORD = r"(?:who|whom|whose|what|when|where|which|how|why)"
# "And what did it cost?" has its own verb; "and in 2021?" and "what about the P240?" have none.
STARTS_WITH_VERB = re.compile(
    rf"(?:(?:and|but|or|so|also)[, ]+)*(?:{QUESTION_WORD}|{AUXILIARY})\b"
    r"(?! (?:about|of|if)\b)\W+\w",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:[-'’.:/][^\W_]+)*")
_WITHOUT_MEANING = STOP_WORDS | ASKING_WORDS | CONTRACTIONS.keys() - {"id"}
_CLOSERS = {"then", "too", "instead", "one", "ones", "please", "though"}
# Maximum number of words of a follow-up without its opener, and how many more the replaced part may have.
LONGEST, LONGER = 6, 1
# Maximum number of words of the previous question.
LONGEST_PREVIOUS = 40
# A part is replaced by one of its kind: the score is the cosine of both, plus a bonus for each end of the
# part at which no further content word stands ("apple trees" rather than "apple"), and one for the same word
# before both ("to"). Set on 99 invented follow-ups: of 47 that replace a part, 26 are completed as a person
# would do it, and one is otherwise; no other one is. On 101 further ones: 21 of 53, 6; none.
BOUNDED, SAME_WORD_BEFORE, ALIKE = 0.1, 0.15, 0.6


def fill_ellipsis(question: str, previous: str) -> str:
    """Return the previous question with the part that a follow-up replaces; "" if it replaces none.

    "And to Norway?" after "how much is a parcel to Denmark" gives "how much is a parcel to Norway". The
    follow-up has no verb of its own, and the previous question is complete.
    """
    words = _WORD.findall(_OPENER.sub("", question.strip(), count=1))
    while words and words[-1].lower() in _CLOSERS:
        words.pop()
    content = [index for index, word in enumerate(words) if is_content_word(word)]
    if not content or len(words) > LONGEST or STARTS_WITH_VERB.match(question.strip()):
        return ""
    if PRONOUN.search(" ".join(words)):
        return ""
    lead, new = {word.lower() for word in words[: content[0]]}, words[content[0] :]
    parts = list(_find_parts(previous, len(new) + LONGER, lead))
    if not parts:
        return ""
    vectors = load_minilm().encode([" ".join(new), *(previous[start:end] for start, end, _ in parts)])
    scores = vectors[1:] @ vectors[0] + [bonus for _, _, bonus in parts]
    best = int(np.argmax(scores))
    start, end, _ = parts[best]
    return previous[:start] + " ".join(new) + previous[end:] if scores[best] >= ALIKE else ""


def _find_parts(text: str, longest: int, lead: set[str]) -> Iterator[tuple[int, int, float]]:
    """Yield the start, end and bonus of each part that may be replaced; none of a long text."""
    matches = list(_WORD.finditer(text))
    if len(matches) > LONGEST_PREVIOUS:
        return
    # An empty word before and after the text.
    words = ["", *(match[0].lower() for match in matches), ""]
    for first in range(1, len(words) - 1):
        for last in range(first, min(first + longest, len(words) - 1)):
            if is_content_word(words[first]) and is_content_word(words[last]):
                ends = [words[first - 1], words[last + 1]]
                bonus = BOUNDED * sum(not is_content_word(word) for word in ends)
                bonus += SAME_WORD_BEFORE * (words[first - 1] in lead)
                yield matches[first - 1].start(), matches[last - 1].end(), bonus


def is_content_word(word: str) -> bool:
    """Return whether a word carries meaning: not "the", "which", "when's", "whens" or "may"."""
    word, *_ = re.split("['’]", word.lower())
    return bool(word) and word not in _WITHOUT_MEANING
