"""Finds the messages of chat logs and the turns of transcripts, with their speakers and times."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[ap]\.?m\.?)?"
_DATE = r"(?:\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})"
_NAME = r"[^\W\d_][\w.'’-]{0,30}(?: [\w.'’&-]{1,30}){0,3}"
_SPEAKER = rf"(?:\*\*)?(?P<name>{_NAME})(?:\*\*)?(?: \([^()\n]{{1,40}}\))?:(?:\*\*)?"
# "10:42 Ana: ", "[10:42] Ana: ", "12/03/2024, 10:42 - Ana: ", "2024-03-12 10:42 <ana> "
MESSAGE = re.compile(
    rf"[ \t]*(?:[-*] )?\[?(?:{_DATE}[,T ] ?)?(?P<time>{_TIME})\]?(?: ?[-–—])? "
    rf"(?:{_SPEAKER}|<(?P<handle>[^<>\s]{{1,40}})>)[ \t]+(?=\S)",
    re.IGNORECASE,
)
# "Ana: ", "**Ana Ruiz:** ", "Ana (chair): "; it also matches "Note: ", which `find_turns` leaves out
_TURN_HEAD = re.compile(rf"^[ \t]*(?:[-*] )?{_SPEAKER}[ \t]+(?=(?P<text>\S[^\n]*))", re.MULTILINE)
# Names of mail headers.
_MAIL_HEADERS = {"From", "To", "Cc", "Date", "Sent", "Subject"}
# Minimum median of words in a turn: values such as "Price: 4.20" are shorter than what people say.
_MIN_MEDIAN_WORDS = 4
# Maximum letters of initials such as "DLM" and "WHB".
_MAX_INITIALS = 4
# A text of so many words is not the value of a field.
_LONG_TEXT_WORDS = 8
# Minimum share of turns that contain "I", "you" or a question.
_MIN_PERSONAL_SHARE = 0.2
_SENTENCE = re.compile(r"[.?!…][\"'”’)\]*_]*$|[,;–—-]$")
# English, German, French, Spanish, Italian, Portuguese, Dutch and Russian; a "?" marks a question
_PERSONAL = re.compile(
    r"\?|\b(?:I|[Ww]e|[Mm]e|[Mm]y|us|[Oo]ur|[Yy]ou|[Yy]our|[Ll]et['’]s|[Ii]ch|[Ww]ir|mich|mir|uns|[Dd]u|[Jj]e|[Nn]ous|[Vv]ous|"
    r"moi|[Yy]o|[Nn]osotros|usted|[Nn]os|[Ii]o|[Nn]oi|[Vv]oi|[Ee]u|[Nn]ós|[Vv]ocê|[Ii]k|[Ww]ij|[Jj]ij|[Яя]|[Мм]ы|[Вв]ы|[Тт]ы)\b|"
    r"\b[JjMm]['’](?=\w)|^(?:[Yy]es|[Yy]eah|[Nn]o|[Oo]k(?:ay)?|OK|[Tt]hanks?|[Ss]ure|[Hh]i|[Hh]ello|[Jj]a|[Nn]ein|[Oo]ui|[Nn]on|[Ss][ií])\b"
)
# Labels before a text that are not speakers.
_LABELS = frozenset(
    "note notes tip tips hint warning caution danger important info example examples todo fixme "
    "question questions answer answers q a faq problem problems solution cause fix input output "
    "result results default type description summary conclusion background methods method objective "
    "abstract discussion motivation rationale pros cons pro con before after update updates step "
    "usage syntax returns return args parameters required optional title url name date status "
    "version author authors location impact consequence steps goal goals agenda topic topics action "
    "actions decision decisions conclusions recommendation recommendations aim aims outcome purpose "
    "definition remark remarks present subject source sources total price address email phone third "
    "finally also re ps nb".split()
)
# Roles of speakers, and given names that are also words: "Will: I will."
ROLES_AND_NAMES = frozenset(
    "interviewer interviewee moderator host guest chair chairman chairwoman chairperson president "
    "speaker presenter audience narrator judge witness student teacher doctor patient nurse agent "
    "customer client user assistant caller operator reporter secretary mayor councillor clerk mother "
    "father counsel court will mark bill rob sue grace may april june august jack frank art pat drew "
    "hope faith joy rose dean guy chase ray max sky bob dick don gene jean ken lance nick norm penny "
    "ruby sandy skip summer victor wade woody miles rich josh iris ivy lily".split()
)


class Head(NamedTuple):
    """The head of a message: its span, its speaker, and its time or ""."""

    start: int
    end: int
    speaker: str
    time: str


class _Turn(NamedTuple):
    """A text after a label that may be a speaker's name."""

    name: str
    start: int
    text: str


def read_head(text: str, start: int, speakers: Collection[str] = ()) -> Head | None:
    """Return the head of the message that begins at the start of a line, or None if none begins there.

    `speakers` are those whose turns have no time, as `find_turns` returns them.
    """
    if match := MESSAGE.match(text, start):
        return Head(start, match.end(), match["name"] or match["handle"], match["time"])
    turn = _TURN_HEAD.match(text, start) if speakers else None
    return Head(start, turn.end(), turn["name"], "") if turn and turn["name"] in speakers else None


def find_turns(text: str) -> list[tuple[int, str]]:
    """Return the offset and the speaker of each turn in a text without times: "Ana: we ship on Friday".

    At least two names must each speak twice or more and alternate, and half of the lines or paragraphs must
    begin with a name. The texts must read like speech: sentences, some with "I", "you" or a question. Labels
    of texts ("Note:") and fields of records, which always come in the same order, are not names.
    """
    turns = [_Turn(head["name"], head.start(), head["text"]) for head in _TURN_HEAD.finditer(text)]
    texts_of: dict[str, list[str]] = {}
    for turn in turns:
        texts_of.setdefault(turn.name, []).append(turn.text)
    labels = [name for name, texts in texts_of.items() if len(texts) > 1 and _is_speech(texts)]
    if len(labels) < 2:
        return []
    words = small_words(text)
    speakers = {name for name in labels if may_be_name(name, words)}
    turns = [turn for turn in turns if turn.name in speakers]
    names = [turn.name for turn in turns]
    if len(speakers) < 2 or _is_cyclic(names) or not _is_conversation(turns):
        return []
    conversation = text[turns[0].start : turns[-1].start]
    gaps = (len(re.findall(gap, conversation)) for gap in (r"\n+", r"\n\s*\n"))
    parts = 1 + min(filter(None, gaps))
    changes = sum(name != following for name, following in pairwise(names))
    if changes < 0.5 * (len(names) - 1) or len(names) < 0.5 * parts:
        return []
    return [(turn.start, turn.name) for turn in turns]


def small_words(text: str) -> set[str]:
    """Return the words of a text without a capital letter, but for addresses; most of them are no names."""
    without_addresses = " ".join(word for word in text.split() if "@" not in word and "://" not in word)
    return set(re.findall(r"\b[^\W\d_A-Z]+\b", without_addresses))


def may_be_name(name: str, words: Collection[str]) -> bool:
    """Return whether a label can be a name: "Ana", "WH"; but not "Results" if the text has "results" too.

    `words` are the words of the text that have no capital letter, as `small_words` returns them.
    """
    parts = re.findall(r"[^\W\d_]+", name)
    if name in _MAIL_HEADERS or any(part.lower() in _LABELS for part in parts):
        return False
    plain = [part.lower() for part in parts if not (part.isupper() and len(part) <= _MAX_INITIALS)]
    return not plain or any(part in ROLES_AND_NAMES or part not in words for part in plain)


def _is_speech(texts: Sequence[str]) -> bool:
    """Return whether most texts after a label read like speech rather than values of a field."""
    spoken = sum(
        bool(_SENTENCE.search(text) or len(text.split()) >= _LONG_TEXT_WORDS or _PERSONAL.search(text))
        for text in texts
    )
    return spoken >= len(texts) / 2


def _is_cyclic(names: Sequence[str]) -> bool:
    """Return whether three or more labels keep coming in the same order, like the fields of records."""
    position = {name: i for i, name in enumerate(dict.fromkeys(names))}
    if len(position) < 3 or len(names) < 2 * len(position):
        return False
    forward = sum(
        position[following] > position[name] or position[following] == 0
        for name, following in pairwise(names)
    )
    return forward >= 0.9 * (len(names) - 1)


def _is_conversation(turns: Sequence[_Turn]) -> bool:
    """Return whether the turns are long enough, and enough of them are personal or questions."""
    personal = sum(bool(_PERSONAL.search(turn.text)) for turn in turns) / len(turns)
    # Lower-case labels are less likely to be names, so more of their turns must be personal.
    has_lower_case_name = any(turn.name[:1].islower() for turn in turns)
    least = 2 * _MIN_PERSONAL_SHARE if has_lower_case_name else _MIN_PERSONAL_SHARE
    return median(len(turn.text.split()) for turn in turns) >= _MIN_MEDIAN_WORDS and personal >= least
