"""Whether a rule speaks of the asker: what it says of ages and stages against what they say of themselves."""

from __future__ import annotations

import re

from adaptive_rag.text.words import terms

_SMALL = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty",
)
_NUMBER = rf"(\d{{1,3}}|{'|'.join(_SMALL[1:])})"
_NO_AGE = r"(?!\s*(?:%|percent|pounds|euros|dollars|hours?|days?|weeks?|months?|miles?|people|times|[.,]\d))"
# "My daughter is six", "I am 17.", "aged 70", "a two-year-old"; not "there are two of us"
_AGES = re.compile(
    rf"\b(?:am|is|are|i['’]m|he['’]s|she['’]s|aged?|turned) (?:now |already |only )?{_NUMBER}\b{_NO_AGE}"
    rf"(?!\s+(?!years?\b|and\b|but\b|or\b)\w)|\b{_NUMBER}[ -]years?[ -]old\b|\b{_NUMBER} years? of age",
    re.IGNORECASE,
)
_LOWER = re.compile(
    rf"\bfrom the age of {_NUMBER}\b|\bfrom {_NUMBER} (?:on|upwards)\b|\bat least {_NUMBER}\b(?= years)|"
    rf"\b{_NUMBER} (?:or|and) (?:over|older|above)\b|"
    rf"\b(?:over|above|older than) (?:the age of )?{_NUMBER}\b{_NO_AGE}",
    re.IGNORECASE,
)
_UPPER = re.compile(
    rf"\b(?:under|below|younger than|up to|until) (?:the age of )?{_NUMBER}\b{_NO_AGE}|"
    rf"\b{_NUMBER} (?:or|and) (?:younger|under)\b",
    re.IGNORECASE,
)
# "I am still on probation" against "After probation the notice is one month."
_DURING = re.compile(r"\b(?:on|in|during) (?:my |the |an? )?(\w{4,})", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:after|without|no longer (?:on|in)) (?:your |their |the |an? )?(\w{4,})", re.IGNORECASE
)


def speaks_to(sentence: str, context: str) -> bool | None:
    """Tell whether a sentence is for the asker, by their age or stage; None where it names neither.

    "from 8 on" is not for a child of six, "after probation" not for somebody on probation.
    """
    ages = [_value(match) for match in _AGES.finditer(context)]
    lowest = [_value(match) for match in _LOWER.finditer(sentence)]
    highest = [_value(match) for match in _UPPER.finditer(sentence)]
    if ages and lowest:
        return max(ages) >= min(lowest)
    if ages and highest:
        return min(ages) <= max(highest)
    stages = {stage for match in _DURING.finditer(context) for stage in terms(match[1])}
    if any(stage in stages for match in _AFTER.finditer(sentence) for stage in terms(match[1])):
        return False
    return True if stages & set(terms(sentence)) else None


def _value(match: re.Match[str]) -> int:
    text = next(group for group in match.groups() if group).lower()
    return _SMALL.index(text) if text in _SMALL else int(text)
