"""Patterns for the names of speakers and for the labels before their words.

contributions.py finds the speaker of a sentence in a passage.
"""

from __future__ import annotations

import re

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|me|mine|myself|[Ww]e|[Oo]ur|us)\b")
SAYS_I = re.compile(r"\b(?:I|[Mm]y|me|mine|myself)\b")
TITLE = r"(?:Dr|Mr|Mrs|Ms|Prof|Professor|Sir|Dame|Cllr|Councillor|Captain|Rev|Father)\.?"
CAPITALISED = r"[A-Z][\w'’-]+"
# Two or three capitalised words, or one after a title or initials; not "The Arabs", "ON OTHER MATTERS".
FULL_NAME = (
    r"(?!(?i:The|An?|Our|My|Your|This|These|In|On|Of|For|About|How|Why|What)\b)"
    rf"(?:(?:{TITLE} )?{CAPITALISED} (?:(?:[A-Z]\.|de|van|von|{CAPITALISED}) )?{CAPITALISED}|"
    rf"(?:{TITLE} |(?:[A-Z]\. ?){{1,3}}){CAPITALISED})"
)
# "**Nadia Petrov (Living Streets):** ", "Nadia Petrov: ", "Ana: "; contributions.py drops those of no person.
TURN = re.compile(
    rf"^[ \t]*(?:[-*•] )?(?P<bold>\*\*|__)?(?P<label>(?P<name>{FULL_NAME}|"
    rf"{CAPITALISED})(?: ?\([^()\n]{{1,60}}\)|"
    r", [^:.\n*]{1,50})?)(?:(?P=bold))?:(?:\*\*|__)?[ \t]+(?=\S)",
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


def without_label(text: str) -> str:
    """Return a sentence without the speaker's label or salutation before it."""
    bold = BOLD_LABEL.match(text)
    rating = bold if bold and STARS.search(bold["label"]) else None
    label = TURN.match(text) or _GREETING.match(text) or rating
    words = text[label.end() :] if label else text
    has_one_quotation_mark = words.startswith(("“", '"')) != words.endswith(("”", '"'))
    return words.strip('“”"') if has_one_quotation_mark or _QUOTED.fullmatch(words) else words


def bare_name(speaker: str) -> str:
    """Return a speaker's name without a description: "Nadia Petrov" for "Nadia Petrov (Living Streets)"."""
    return re.split(r" ?\(|, ", speaker)[0].strip("* ")
