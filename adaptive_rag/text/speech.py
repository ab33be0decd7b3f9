"""The lines of a chat log: who wrote what, and when, as the text marks it."""

from __future__ import annotations

import re

_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[ap]\.?m\.?)?"
_DATE = r"(?:\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})"
_NAME = r"[^\W\d_][\w.'’-]{0,30}(?: [\w.'’&-]{1,30}){0,3}"
_MARKED = rf"(?P<name>(?:\*\*)?{_NAME}(?:\*\*)?):(?:\*\*)?|<(?P<handle>[^<>\s]{{1,40}})>"
# "10:42 Ana: ", "[10:42] Ana: ", "12/03/2024, 10:42 - Ana: ", "2024-03-12 10:42 <ana> "
MESSAGE = re.compile(
    rf"[ \t]*(?:[-*] )?\[?(?:{_DATE}[,T ] ?)?(?P<time>{_TIME})\]?(?: ?[-–—])? (?:{_MARKED})[ \t]+(?=\S)",
    re.IGNORECASE,
)


def speaker_and_time(message: re.Match[str]) -> tuple[str, str]:
    """Return who wrote a message and when, of a match of `MESSAGE`."""
    return (message["name"] or message["handle"]).strip("*"), message["time"]
