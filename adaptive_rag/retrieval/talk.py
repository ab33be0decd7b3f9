"""Reads a conversation for the contextual search: what is known of the asker's need, and what was told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from adaptive_rag.answering.terms import ASKING_WORDS, stem, terms
from adaptive_rag.state import Turn
from adaptive_rag.text.sentences import sentence_spans

# A line whose words stand in the history up to this share repeats it and tells nothing of the asker.
ECHO = 0.8

# Words of conversation itself: "Does that help?", "Anything else?", "Is it the same subject?"
_COURTESY = """
    another answer answers anything ask assist assistance course else feel free glad hear hello help helped
    helpful helps hi matter question questions same still subject thank thanks today topic welcome
"""
_EMPTY = frozenset(stem(word) for word in ASKING_WORDS | set(_COURTESY.split()))
_ASKING = re.compile(
    r"(?:are|is|am|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must"
    r"|what|which|who|whom|whose|when|where|how|why)\b",
    re.IGNORECASE,
)
# "Yes", "I am", "In Ohio", "35"; not "In which year".
_ANSWERING = re.compile(
    r"(?:yes|yeah|yep|yup|no|nope|nah|ok|okay|sure|maybe|perhaps|probably|correct|right|true|exactly|not|none"
    r"|neither|both|never|always|i|we|my|our|im|it|its|they|in|at|on|since|from|about|around|under|over|less"
    r"|more|before|after|because|only|just|\d+)\b(?!\s+wh)",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"^(user|human|assistant|agent|ai|bot)\s*:\s*", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Talk:
    """What a conversation leaves behind: the asker's situation, what was cleared up, what was told."""

    situation: str
    # questions of the agent with the user's answers, oldest first
    settled: list[str]
    # everything else that was said, oldest first
    told: list[str]


def read_talk(question: str, user_context: str, history: Sequence[Turn]) -> Talk:
    """Take a conversation apart, sentence by sentence.

    What the agent asked and the user answered is about the present need; the question itself may be the
    last answer. What the agent told, what the user asked before, and what the agent asked in vain are
    told. Sentences without a content word are courtesies and left out.
    """
    turns, transcript = list(history), _turns_of(user_context)
    if transcript and not any(turn["role"] == "agent" for turn in turns):
        turns = transcript
    settled: list[str] = []
    told: list[str] = []
    said = [*((turn["role"], turn["text"]) for turn in turns), ("user", question)]
    answered = False
    for number, (role, text) in enumerate(said[:-1]):
        if role != "agent":
            (settled if answered else told).append(text)
            answered = False
            continue
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        asked = [sentence for sentence in sentences if _asks(sentence) and _content(sentence)]
        next_role, reply = said[number + 1]
        answered = bool(asked) and next_role == "user" and _answers(reply)
        if answered:
            settled.append(" ".join(asked))
            sentences = [sentence for sentence in sentences if not _asks(sentence)]
        told.append(" ".join(sentence for sentence in sentences if _content(sentence)))
    return Talk(_situation(user_context, turns), settled, [text for text in told if _content(text)])


def _asks(text: str) -> bool:
    bare = text.rstrip(" \"')»”")
    return bare.endswith("?") or (bool(_ASKING.match(bare)) and not bare.endswith((".", "!")))


def _answers(text: str) -> bool:
    return bool(_ANSWERING.match(text.lstrip())) and not _asks(text)


def _content(text: str) -> list[str]:
    return [term for term in terms(text) if term not in _EMPTY]


def _situation(user_context: str, turns: Sequence[Turn]) -> str:
    """Return the lines of the context that are neither turns nor repeat what turns said."""
    said = {term for turn in turns for term in terms(turn["text"])}
    lines = [line.strip() for line in user_context.splitlines() if not _SPEAKER.match(line)]
    return "\n".join(line for line in lines if line and not _echoes(line, said))


def _echoes(line: str, said: set[str]) -> bool:
    words = set(terms(line))
    return bool(words) and len(words & said) >= ECHO * len(words)


def _turns_of(user_context: str) -> list[Turn]:
    """Read a transcript ("User: ... Assistant: ...") that was passed as context; empty where it is none."""
    found = list(_SPEAKER.finditer(user_context))
    ends = [match.start() for match in found[1:]] + [len(user_context)] * bool(found)
    return [
        Turn(
            role="user" if match[1].lower() in ("user", "human") else "agent",
            text=user_context[match.end() : end].strip(),
        )
        for match, end in zip(found, ends, strict=True)
    ]
