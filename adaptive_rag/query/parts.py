"""Splits a text that asks several questions by rules: "When was it founded and who runs it?"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from adaptive_rag.optional import attempt
from adaptive_rag.query.ellipsis import QUESTION_WORD
from adaptive_rag.query.follow_up import add_subject
from adaptive_rag.query.history import full_question, spelt_question
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.words import read_ends, terms

# A text with more parts than this is kept whole and answered as one question.
MOST_PARTS = 3

_CONJUNCTIONS = re.compile(r"^(?:(?:and|but|or|so|also)[, ]+)+", re.IGNORECASE)
_STARTS_LIKE_QUESTION = re.compile(
    r"(?:(?:and|but|or|so|also|please)[, ]+)*(?:tell me |do you know )?"
    r"(?:(?:in|at|on|by|for|from|since|until|to) )?"
    rf"(?:{QUESTION_WORD}(?:['’]?s)?|is|are|was|were|do|does|did|can|could|will|would|should|must|may|has|have|had)\b",
    re.IGNORECASE,
)
# "and who runs it", "and at what time", "and can I return it". Not "and has its office in Leeds", where "and"
# joins two verbs.
_JOINT = re.compile(
    rf"[, ]+and (?=(?:(?:in|at|on|by|for|from|since|until|to) )?{QUESTION_WORD}\b"
    r"|(?:is|are|was|were|do|does|did|has|have|had) (?:i|you|he|she|it|we|they|there)\b"
    r"|(?:can|could|will|would|should|must|may) (?:i|you|he|she|it|we|they|there|the|an?|my|our|your)\b)",
    re.IGNORECASE,
)
# "When and where was he born?"
_TWO_QUESTION_WORDS = re.compile(
    rf"^(?P<first>{QUESTION_WORD}),? and (?P<second>{QUESTION_WORD}) (?P<rest>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_ENDS_ASKING = re.compile(rf"\b{QUESTION_WORD}$", re.IGNORECASE)
# "the man who built the wall and who ...": the second "who" continues the description and asks nothing.
_RELATIVE = re.compile(r"\w (who|which|that|where|when|what|how|why|whose|whom)\b", re.IGNORECASE)


def full_parts(state: Mapping[str, Any]) -> list[str]:
    """Return the parts of the state's question, each as it is searched and compared."""
    spelt = spelt_question(state)
    parts = attempt("parts", partial(split_question, spelt), [spelt])
    return [full_question({**state, "spelt_question": part}) for part in parts]


def split_question(question: str) -> list[str]:
    """Split a text into the questions that it asks, each self-contained; return [text] where it asks one.

    A later part that names no subject gets the first part's subject on a separate line, as a follow-up does:
    "When was the canal opened and who built it?" gives "When was the canal opened" and "who built it" with
    "canal".
    """
    if read_ends(question) != question:
        return [question]  # a pasted page
    text = " ".join(question.split())
    parts = [part for sentence in _sentences(text) for part in _clauses(sentence)]
    if not 1 < len(parts) <= MOST_PARTS or not all(map(_STARTS_LIKE_QUESTION.match, parts)):
        return [question]
    later = (_CONJUNCTIONS.sub("", part) for part in parts[1:])
    return [parts[0], *(add_subject(part, parts[0]) for part in later)]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text if all are questions, else the text as one piece."""
    sentences = [text[start:end].strip() for start, end in sentence_spans(text)]
    return sentences if all(sentence.endswith("?") for sentence in sentences) else [text]


def _clauses(sentence: str) -> list[str]:
    sentence = sentence.rstrip(" ?.!")
    if match := _TWO_QUESTION_WORDS.match(sentence):
        return [f"{match[word]} {match['rest']}" for word in ("first", "second")]
    clauses, start = [], 0
    for joint in _JOINT.finditer(sentence):
        clause, rest = sentence[start : joint.start()], sentence[joint.end() :]
        relatives = {word.lower() for word in _RELATIVE.findall(clause)}
        if terms(clause) and not _ENDS_ASKING.search(clause) and rest.split()[0].lower() not in relatives:
            clauses.append(clause)
            start = joint.end()
    return [*clauses, sentence[start:]]
