"""Finds the messages of a chat log and the turns of a transcript: the speaker and, if marked, the time."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
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
# "Ana: ", "**Ana Ruiz:** ", "Ana (chair): "; it also matches "Note: ", which find_turns rules out
_TURN = re.compile(rf"^[ \t]*(?:[-*] )?{_MARKED}[ \t]+(?=\S)", re.MULTILINE)
# Header names of a mail.
_MAIL_HEADER = {"From", "To", "Cc", "Date", "Sent", "Subject"}
# In words: values as in "Price: 4.20" are shorter than what people say.
_SHORTEST_TALK = 4
_INITIALS = 4  # letters: "DLM", "WHB"
_LONG = 8  # words: a text this long is not the value of a field
# Least share of the turns of a conversation that say "I" or "you" or ask something.
_PERSONAL_SHARE = 0.2
_SENTENCE = re.compile(r"[.?!…][\"'”’)\]*_]*$|[,;–—-]$")
# English, German, French, Spanish, Italian, Portuguese, Dutch and Russian; a "?" marks a question
_PERSONAL = re.compile(
    r"\?|\b(?:I|[Ww]e|[Mm]e|[Mm]y|us|[Oo]ur|[Yy]ou|[Yy]our|[Ll]et['’]s|[Ii]ch|[Ww]ir|mich|mir|uns|[Dd]u|[Jj]e|[Nn]ous|[Vv]ous|"
    r"moi|[Yy]o|[Nn]osotros|usted|[Nn]os|[Ii]o|[Nn]oi|[Vv]oi|[Ee]u|[Nn]ós|[Vv]ocê|[Ii]k|[Ww]ij|[Jj]ij|[Яя]|[Мм]ы|[Вв]ы|[Тт]ы)\b|"
    r"\b[JjMm]['’](?=\w)|^(?:[Yy]es|[Yy]eah|[Nn]o|[Oo]k(?:ay)?|OK|[Tt]hanks?|[Ss]ure|[Hh]i|[Hh]ello|[Jj]a|[Nn]ein|[Oo]ui|[Nn]on|[Ss][ií])\b"
)
# Labels that announce a text, not a speaker.
_LABELS = frozenset(
    "note notes tip tips hint warning caution danger important info example examples todo fixme "
    "question questions answer answers q a faq problem problems solution cause fix input output "
    "result results default type description summary conclusion background methods method objective "
    "abstract discussion motivation rationale pros cons pro con before after update updates step "
    "usage syntax returns return args parameters required optional title url name date status "
    "version author authors location impact consequence steps goal goals agenda topic topics action "
    "actions decision decisions conclusions recommendation recommendations aim aims outcome purpose "
    "definition remark".split()
)
# Roles of speakers, and given names that are also words: "Will: I will."
_ROLES_AND_NAMES = frozenset(
    "interviewer interviewee moderator host guest chair chairman chairwoman chairperson president "
    "speaker presenter audience narrator judge witness student teacher doctor patient nurse agent "
    "customer client user assistant caller operator reporter secretary mayor councillor clerk mother "
    "father counsel court will mark bill rob sue grace may april june august jack frank art pat drew "
    "hope faith joy rose dean guy chase ray max sky bob dick don gene jean ken lance nick norm penny "
    "ruby sandy skip summer victor wade woody miles rich josh iris ivy lily".split()
)


class Head(NamedTuple):
    """The head of a message: its span, the speaker, and the time or ""."""

    start: int
    end: int
    speaker: str
    time: str


def read_head(text: str, at: int, speakers: Collection[str] = ()) -> Head | None:
    """Return the head of the message that begins at an offset, or None.

    Args:
        text: a passage or a document.
        at: the start of a line.
        speakers: the speakers of turns without a time, as `find_turns` names them.
    """
    if match := MESSAGE.match(text, at):
        return Head(at, match.end(), match["name"] or match["handle"], match["time"])
    turn = _TURN.match(text, at) if speakers else None
    return Head(at, turn.end(), turn["name"], "") if turn and turn["name"] in speakers else None


def find_turns(text: str) -> list[tuple[int, str]]:
    """Return the offset and the speaker of each turn in a text without times: "Ana: we ship on Friday".

    At least two names must speak at least twice and alternate, and half of the lines or paragraphs must begin
    with a name. What they say must read as talk: sentences, some of which say "I" or "you" or ask something.
    Labels that announce a text ("Note:") and fields of records, which always come in the same order, are not
    names.
    """
    turns = [(turn["name"], turn.start(), _rest_of_line(text, turn.end())) for turn in _TURN.finditer(text)]
    said: dict[str, list[str]] = {}
    for name, _, what in turns:
        said.setdefault(name, []).append(what)
    for name in [name for name, what in said.items() if len(what) < 2 or not _is_talk(what)]:
        del said[name]
    if len(said) < 2:
        return []
    words = set(re.findall(r"\b[^\W\d_A-Z]+\b", text))
    speakers = {name for name in said if _may_be_name(name, words)}
    spoken = [turn for turn in turns if turn[0] in speakers]
    names = [name for name, _, _ in spoken]
    if len(speakers) < 2 or _cycles(names) or not _converse([what for _, _, what in spoken], speakers):
        return []
    between = text[spoken[0][1] : spoken[-1][1]]
    parts = 1 + min(filter(None, (len(re.findall(gap, between)) for gap in (r"\n+", r"\n\s*\n"))))
    alternating = sum(one != two for one, two in pairwise(names)) / (len(names) - 1)
    dense = alternating >= 0.5 and len(names) >= 0.5 * parts
    return [(start, name) for name, start, _ in spoken] if dense else []


def _may_be_name(name: str, words: Collection[str]) -> bool:
    """Tell whether a label can be a name: "Ana", "WH", "Moderator"; not "Results" beside "the results"."""
    parts = re.findall(r"[^\W\d_]+", name)
    if name in _MAIL_HEADER or any(part.lower() in _LABELS for part in parts):
        return False
    plain = [part.lower() for part in parts if not (part.isupper() and len(part) <= _INITIALS)]
    return not plain or any(part in _ROLES_AND_NAMES or part not in words for part in plain)


def _is_talk(said: Sequence[str]) -> bool:
    """Tell whether most texts after a label read like speech, and not like values of a field."""
    spoken = sum(
        bool(_SENTENCE.search(one) or len(one.split()) >= _LONG or _PERSONAL.search(one)) for one in said
    )
    return spoken >= len(said) / 2


def _cycles(names: Sequence[str]) -> bool:
    """Tell whether three or more labels keep coming in the same order, like the fields of records."""
    order = {name: at for at, name in enumerate(dict.fromkeys(names))}
    if len(order) < 3 or len(names) < 2 * len(order):
        return False
    onward = sum(order[two] > order[one] or not order[two] for one, two in pairwise(names))
    return onward >= 0.9 * (len(names) - 1)


def _converse(said: Sequence[str], speakers: Collection[str]) -> bool:
    """Tell whether what is said is long enough, and whether enough of it is personal or a question."""
    personal = sum(bool(_PERSONAL.search(one)) for one in said) / len(said)
    capital = all(name[:1].isupper() or not name[:1].islower() for name in speakers)
    enough = _PERSONAL_SHARE if capital else 2 * _PERSONAL_SHARE
    return median(len(one.split()) for one in said) >= _SHORTEST_TALK and personal >= enough


def _rest_of_line(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at:] if end < 0 else text[at:end]
