"""The messages of a chat log and the turns of a transcript: who said what, and when, as the text marks it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from itertools import pairwise
from statistics import median
from typing import NamedTuple

_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[ap]\.?m\.?)?"
_DATE = r"(?:\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})"
_NAME = r"[^\W\d_][\w.'’-]{0,30}(?: [\w.'’&-]{1,30}){0,3}"
_MARKED = rf"(?:\*\*)?(?P<name>{_NAME})(?:\*\*)?(?: \([^()\n]{{1,40}}\))?:(?:\*\*)?"
# "10:42 Ana: ", "[10:42] Ana: ", "12/03/2024, 10:42 - Ana: ", "2024-03-12 10:42 <ana> "
MESSAGE = re.compile(
    rf"[ \t]*(?:[-*] )?\[?(?:{_DATE}[,T ] ?)?(?P<time>{_TIME})\]?(?: ?[-–—])? "
    rf"(?:{_MARKED}|<(?P<handle>[^<>\s]{{1,40}})>)[ \t]+(?=\S)",
    re.IGNORECASE,
)
# "Ana: ", "**Ana Ruiz:** ", "Ana (chair): "; so may "Note: " begin, which find_speakers tells apart
_TURN = re.compile(rf"^[ \t]*(?:[-*] )?{_MARKED}[ \t]+(?=\S)", re.MULTILINE)
# What stands before a colon in the header of a mail.
_MAIL_HEADER = {"From", "To", "Cc", "Date", "Sent", "Subject"}
# In words: the values of "Price: 4.20" are shorter than what people say.
_SHORTEST_TALK = 4
_SAYS = (
    r"(?:say|said|think|thought|suggest|propos|promis|mention|argu|believ|feel|felt|claim|complain|explain|"
    r"agree|object|recommend|advi[sc]|warn|prefer|want|answer|repl[iy]|tell|told)\w*"
)


class Head(NamedTuple):
    """What stands before a message: where it starts and ends, who speaks, and the time or ""."""

    start: int
    end: int
    speaker: str
    time: str


def read_head(text: str, at: int, speakers: Collection[str] = ()) -> Head | None:
    """Return the head of the message that begins at a place, or None.

    Args:
        text: a passage or a document.
        at: where a line begins.
        speakers: who speaks in it without a time, as `find_speakers` returns them.
    """
    if match := MESSAGE.match(text, at):
        return Head(at, match.end(), match["name"] or match["handle"], match["time"])
    turn = _TURN.match(text, at) if speakers else None
    return Head(at, turn.end(), turn["name"], "") if turn and turn["name"] in speakers else None


def find_speakers(text: str) -> tuple[str, ...]:
    """Return who speaks by turns in a text that marks no times, as "Ana: we ship on Friday"; else ().

    Two of them or more speak twice or more, they alternate, half of the lines or paragraphs begin with a
    name, and what they say is longer than the values of a form.
    """
    turns = [(turn["name"], turn.start(), _rest_of_line(text, turn.end())) for turn in _TURN.finditer(text)]
    counts = Counter(name for name, _, _ in turns)
    spoken = [turn for turn in turns if counts[turn[0]] > 1 and turn[0] not in _MAIL_HEADER]
    names = [name for name, _, _ in spoken]
    if len(set(names)) < 2:
        return ()
    between = text[spoken[0][1] : spoken[-1][1]]
    parts = 1 + min(filter(None, (len(re.findall(gap, between)) for gap in (r"\n+", r"\n\s*\n"))))
    alternating = sum(one != two for one, two in pairwise(names)) / (len(names) - 1)
    talk = median(len(said.split()) for _, _, said in spoken) >= _SHORTEST_TALK
    return tuple(dict.fromkeys(names)) if talk and alternating >= 0.5 and len(names) >= 0.5 * parts else ()


def _rest_of_line(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at:] if end < 0 else text[at:end]


def speakers_asked(question: str, speakers: Collection[str]) -> set[str]:
    """Return whose messages a question asks for: Ana's in "What did Ana say about the deadline?".

    "Who said that ...?" asks for everybody's. Any other question for nobody's.
    """
    if re.search(rf"\bwho(?: \w+)? {_SAYS}", question, re.IGNORECASE):
        return set(speakers)
    return {speaker for speaker in speakers if any(_is_asked(question, name) for name in speaker.split())}


def _is_asked(question: str, name: str) -> bool:
    name = re.escape(name)
    asked = rf"\b{name}\b(?:\W+\w+){{0,2}}? {_SAYS}|\baccording to (?:\w+ )?{name}\b|"
    asked += rf"\b{name}['’]?s? (?:view|opinion|position|answer|reply|advice|reason)"
    return bool(re.search(asked, question, re.IGNORECASE))
