"""Patterns for the names of speakers and for the labels before their words.

contributions.py finds the speaker of a sentence in a passage.
"""

from __future__ import annotations

import re

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|me|mine|myself|[Ww]e|[Oo]ur|us)\b")
SAYS_I = re.compile(r"\b(?:I|[Mm]y|me|mine|myself)\b")
TITLE = (
    r"(?:Dr|Mr|Mrs|Ms|Mx|Miss|Prof|Professor|Sir|Dame|Cllr|Councillor|Captain|Rev|Father|Herr|Frau|Mme)\.?"
)
CAPITALISED = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’-]+"
# Two or three capitalised words, or one after a title or initials; not "The Arabs", "ON OTHER MATTERS".
FULL_NAME = (
    r"(?!(?i:The|An?|Our|My|Your|This|These|In|On|Of|For|About|How|Why|What)\b)"
    rf"(?:(?:{TITLE}[ \n])?{CAPITALISED} (?:(?:[A-Z]\.|de|van|von|{CAPITALISED}) )?{CAPITALISED}|"
    rf"(?:{TITLE}[ \n]|(?:[A-Z]\. ?){{1,3}}){CAPITALISED})"
)
# "**Nadia Petrov (Living Streets):** ", "Nadia Petrov: ", "Ana: ", at the start of a line, or after a
# sentence or a semicolon; also "Decision 7: ". turns.py drops those of no person.
TURN = re.compile(
    r"(?:^[ \t]*(?:[-*•] )?(?:\[[^\[\]\n]{4,30}\] )?|(?<=[.!?…:;”\"’)\]*_])[ \t]+)(?P<bold>\*\*|__)?"
    rf"(?P<label>(?P<name>{FULL_NAME}|{CAPITALISED}(?: [\w./-]{{0,20}}\d[\w./-]{{0,20}})?)"
    r"(?: ?\([^()\n]{1,60}\)|, [^:.\n*]{1,50})?)(?:(?P=bold))?:(?:\*\*|__)?(?:[ \t]+(?=\S)|\n(?=[^\s*•#-]))",
    re.MULTILINE,
)
# "Ms Bexley (House C) says that", "Farrow replied that": a sentence about what somebody said or did
REPORT = re.compile(
    rf"(?P<name>(?P<title>{TITLE}[ \n])?(?:{CAPITALISED} )?(?P<surname>{CAPITALISED}))"
    r"(?: \([^()\n]{1,60}\)|, [^,.;:\n]{1,60},)?[ \n](?=[a-z])"
)
_INSERTED = r"(?:[Aa]nswer|[Cc]omment|[Nn]ote|[Rr]emark|[Rr]eply|[Rr]esponse)s?"
# "Ann's answer, for the record: ", "(Note by Ann: " at the start of what somebody else wrote
INSERTED = re.compile(
    rf"^[ \t]*[(\[]?(?:(?P<owner>{FULL_NAME}|{CAPITALISED})['’]s? {_INSERTED}|"
    rf"{_INSERTED} (?:by|from) (?P<name>{FULL_NAME}|{CAPITALISED}))\b[^:.\n]{{0,60}}:\s",
    re.MULTILINE,
)
# The number of stars in a rating: "4 stars", "4/5", "★★★★"
STARS = re.compile(r"\b[0-5](?:[.,]\d)?(?: ?stars?\b| ?/ ?5\b| out of (?:5|five)\b)|★+☆*")
# "**Anna, 5 stars.** " before her words on the same line
BOLD_LABEL = re.compile(
    r"^[ \t]*(?:[-*•] )?(?P<bold>\*\*|__)(?P<label>[^*\n]{3,80}?)(?P=bold):?[ \t]+(?=\S)", re.MULTILINE
)
# "Sir, - ", "Dear editor, ", "To the Editor, "
_GREETING = re.compile(r"(?:Sirs?|Madam|Dear [\w ]{1,40}|To the [Ee]ditor)(?:,? [-–—] ?|,\s+)")
# "Leila (13:31): “", and Frank in "Ana: “Are you sad?” Frank: “No."; units.py writes messages this way.
_MESSAGE = re.compile(r"(?:^|” )(?P<name>[^“”\n:]{1,60}?)(?: \([^()]{1,20}\))?: “")
_QUOTED = re.compile(r"[“\"][^“”\"]*[”\"]")


def in_first_person(text: str) -> bool:
    """Return whether a text is in the first person."""
    return bool(_FIRST_PERSON.search(text))


def message_speaker(text: str) -> str | None:
    """Return who wrote a message, or who answers in a quoted exchange; None for any other text."""
    names = [match["name"] for match in _MESSAGE.finditer(text)]
    return names[-1] if names and _MESSAGE.match(text) else None


def message_text(text: str) -> str:
    """Return a message without its speaker and time: "me too" for "Ben (21:15): “me too”"."""
    match = _MESSAGE.match(text)
    return text[match.end() :].rstrip("”") if match else text


def without_label(text: str, speaker: str) -> str:
    """Return a sentence without the speaker's own label, or the salutation, before it."""
    bold = BOLD_LABEL.match(text)
    rating = bold if bold and STARS.search(bold["label"]) else None
    turn = TURN.match(text)
    own = turn if turn and bare_name(" ".join(turn["label"].split())) == bare_name(speaker) else None
    label = own or _GREETING.match(text) or rating
    words = text[label.end() :] if label else text
    if _QUOTED.fullmatch(words):
        return words[1:-1]
    for marks in ("“”", '"'):
        # A mark that opens or closes in another sentence; not those of '"OK" is not a temperature.'
        if sum(map(words.count, marks)) == 1:
            words = words.strip(marks)
    return words


def bare_name(speaker: str) -> str:
    """Return a speaker's name without a description: "Nadia Petrov" for "Nadia Petrov (Living Streets)"."""
    return re.split(r" ?\(|, ", speaker)[0].strip("* ")


def surname(speaker: str) -> str:
    """Return the last word of a speaker's name."""
    return bare_name(speaker).split()[-1]
