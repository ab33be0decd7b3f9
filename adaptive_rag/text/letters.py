"""Finds the mails and letters that a text consists of, by the headers that name their authors."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAMES = "(?:Subject|From|To|Cc|Date|Sent|Attachments):"
_FIELD = rf"{_NAMES}[^\n]*(?:\n|\Z)"
# "-----", "* * *"
_RULE = r"[ \t]*(?P<mark>[-=_*~])(?:[ \t]*(?P=mark)){2,}[ \t]*\n\s*"
_DATE = r"(?:[^\n]{0,40}\d[^\n]{0,20}\n)?(?=[ \t]*\n)"
# The headers of a mail; "From: Ms Holt, clerk" as a paragraph, maybe with a date; the first line below a rule
# or of the text
_HEADER = re.compile(
    rf"^(?P<rule>{_RULE}|\A)?(?P<header>(?:{_FIELD}){{2,}}|"
    rf"(?(rule)|(?<![^\n]\n))From:[ \t]*[^\d\s][^\n]*\n{_DATE}|"
    rf"(?(rule)(?!{_NAMES})[^\n]+(?:\n(?:{_DATE})?|\Z)|(?!)))",
    re.MULTILINE,
)
_BLANK = re.compile(r"[ \t]*(?:\n|\Z)")
_FIELDS = re.compile(_NAMES)
_FROM = re.compile(r"^From:[ \t]*([^\n]+)", re.MULTILINE)
_NOUN = r"(?:[Oo]pen )?(?:Letter|E-?mail|Mail|Message|Note|Comment|Reply|Answer|Statement|Submission)\b"
# "Received 3 May from Ms Holt, clerk", "Letter 2 by Bo Lund", "Received 4 May, unsigned"
_RECEIVED = re.compile(
    rf"(?:{_NOUN}|Received\b|Sent\b|Written\b)"
    r"(?:(?:(?<!Received)(?<!Sent)(?: \d+)? by|[^\n]{0,60}? from):? (?P<name>(?:the )?[A-ZÀ-Þ][^\n]*)|"
    r"[^\n]{0,80}[^\s.?!]$)",
    re.MULTILINE,
)


class Letter(NamedTuple):
    """A mail or letter in a text; it ends where the next one starts."""

    start: int
    """Where its header starts, or the rule above it."""
    header: int
    body: int
    author: str | None
    """Who wrote it, as its header says; None where the header names nobody."""


def find_letters(text: str) -> list[Letter]:
    """Return the mails and letters in a text, in order.

    A header is that of a mail, "From: Ms Holt" as a paragraph, or a line below a rule that says from whom a
    letter is. What follows another such rule is a letter without an author.
    """
    return [letter for is_letter, letter in _read_headers(text) if is_letter]


def header_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the headers of mails and letters, which are not their authors' words."""
    return [(letter.header, letter.body) for _, letter in _read_headers(text)]


def author_in(sender: str) -> str:
    """Return the name in the header "From", or the address if it has no name."""
    return re.split(r"[<(]", sender)[0].strip(' \t",;') or sender.strip("<> \t")


def _read_headers(text: str) -> list[tuple[bool, Letter]]:
    """Return the headers in a text, each with whether a letter follows; those of a mail may lack "From"."""
    headers = list[tuple[bool, str, Letter]]()
    for match in _HEADER.finditer(text):
        header = match["header"]
        is_mail, sender = bool(_FIELDS.match(header)), _FROM.search(header)
        received = _RECEIVED.match(header) if _BLANK.match(text, match.end()) else None
        name = sender[1] if sender else received["name"] if received else None
        body = match.end() if is_mail or received else match.start("header")
        letter = Letter(match.start(), match.start("header"), body, author_in(name) if name else None)
        headers.append((is_mail, (match["rule"] or "").strip(), letter))
    rules = {rule for _, rule, letter in headers if letter.author and rule}
    return [
        (letter.author is not None or rule in rules, letter)
        for is_mail, rule, letter in headers
        if is_mail or letter.author or rule in rules
    ]
