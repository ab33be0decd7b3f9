"""Reads from its form what a text says of its own validity and of that of other texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adaptive_rag.answer.times import HEAD

# "How has it changed?", "What was the fee?": asks for what no longer holds; not "How old must I be?".
_ASKS_ABOUT_PAST = re.compile(
    r"\b(?:was|were|did|had|how (?:has|have)|ago|used to|(?<!how )old|histor\w+|previous\w*|former\w*|"
    r"earlier|original\w*|what (?:has )?changed|changes? (?:in|of|to|between|since)|compar\w+|differ\w*|"
    r"versions|over the (?:years|last)|war|waren|früher)\b",
    re.IGNORECASE,
)
# "The milk was warm for an hour, must we throw it away?" asks what holds now.
_ASKS_NOW = re.compile(r"\b(?:do|can|may|must|should|shall) (?:i|we)\b", re.IGNORECASE)
# "Valid from 1 March", "Version of 1 July", "They replace the Rules 2020.", "Replaces the rules of 2019",
# "Rev. 4"; not "The fee is valid from 1 March" or "Ms Lee replaces Mr Holt"
_IS_VERSION = re.compile(
    r"(?:\A|[.,;:()\n*_–—-])\s*(?:"
    r"(?:valid|effective|applies|applicable|in(?:to)? force|gültig) (?:from|since|as of|until|ab|seit|bis)\b|"
    r"effective date\b|(?:version|rev(?:ision)?|fassung)\b[.:]? (?:of|from|vom|v?\d)|stand:|"
    r"(?:replaces?|supersedes?|ersetzt) (?:the|our|all|die|das)\b|"
    r"(?:this|these|they|it|diese)\b[^.\n]{0,60}\b(?:replaces?|supersedes?|ersetzt))",
    re.IGNORECASE,
)
_GONE = (
    r"(?:archived|superseded|obsolete|outdated|withdrawn|deprecated|no longer (?:valid|in force)|"
    r"not valid any ?(?:more|longer))"
)
# "Travel 2022 (ARCHIVED)"; "This page is archived", "This version was valid until 2023"
_RETIRED_TITLE = re.compile(rf"\b{_GONE}\b", re.IGNORECASE)
_IS_RETIRED = re.compile(rf"\bThis (?:\w+ )?\w+ (?:is|was|has been) (?:{_GONE}|valid until)\b", re.IGNORECASE)
# "decision 2024-08", "Resolution no. B-7", "guideline 12"
_REFERENCE = r"(?P<kind>[^\W\d_]{3,}) (?:no\. )?(?P<number>[^\W_]+(?:[./-][^\W_]+)*)"
# "Decision 7 is rescinded.", "Decision 7 is superseded by decision 31"; not "rescinded as regards House D"
_IS_CANCELLED = re.compile(
    rf"\b{_REFERENCE} (?:is|are|was|were|has been|ist|wird|wurde) (?:hereby )?(?:rescinded|revoked|repealed|"
    r"superseded|annulled|withdrawn|abolished|cancelled|replaced|aufgehoben|ersetzt)"
    r"(?=[.;,:)]|\Z| and | from | by (?:the )?\w+ [\w./-]*\d)",
    re.IGNORECASE,
)
_CANCELS = re.compile(
    rf"\b(?:replaces?|supersedes?|rescinds?|revokes?|repeals?|ersetzt) (?:the )?{_REFERENCE}(?=[.;,)]|\Z)",
    re.IGNORECASE,
)
# Without one of these, neither pattern matches.
_CANCELLING_WORD = re.compile(
    r"scind|revoke|repeal|supersede|annul|withdr|abolish|cancel|replace|aufgehob|ersetzt", re.I
)
# A condition or proposal cancels nothing: "if decision 7 is rescinded".
_UNCERTAIN = re.compile(
    r"\b(?:if|whether|unless|that|should|when|not|ob|dass|wenn|falls|nicht)\b", re.IGNORECASE
)
# Whole documents ("the Rules 2020") are not found by their year.
_YEAR = re.compile(r"(?:19|20)\d\d")
# The same of a text without a number
_SAYS_INVALID = re.compile(
    r"\b(?:rescinded|revoked|repealed|superseded|annulled|aufgehoben|valid until|"
    r"no longer (?:valid|in force))\b",
    re.IGNORECASE,
)
# "2.00 instead of 1.50", "raised from 38 to 48", "previously 12"
_FORMER_VALUE = re.compile(
    r"\b(?:instead of|rather than|previously|formerly|until then|statt|bisher|"
    r"(?:raised|increased|reduced|lowered|changed|rises?|rose) from)(?: it (?:is|was))?[: ]+"
    r"(?:[£$€]|[A-Z]{3} )?(?P<value>\d(?:[\d.,]*\d)?)"
)
# "longer than two hours (handbook 5.2 says four)"
_CORRECTED_VALUE = re.compile(
    r"\((?:the )?(?P<document>[^\W\d_]{4,})\b[^()\n]{0,30} says? (?P<value>\d(?:[\d.,]*\d)?|[^\W\d_]+)",
    re.IGNORECASE,
)
# "The gym now costs 10 instead of 15"; not "It measured 61 instead of 80"
_CHANGE = re.compile(
    r"\b(?:now|new|changes?|changed|immediate(?:ly)?|until then|previously|formerly|bisher|neu|"
    r"from(?= \d))\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[,;:](?=\s)|\. ")


def asks_about_past(question: str) -> bool:
    """Return whether a question asks for what no longer holds: "What was the fee?"."""
    return bool(_ASKS_ABOUT_PAST.search(_ASKS_NOW.split(question)[-1]))


def is_version(beginning: str) -> bool:
    """Return whether a document or section is a version, by its beginning: "Valid from 1 March 2024"."""
    return bool(_IS_VERSION.search(beginning[:HEAD]))


def is_retired(title: str, text: str) -> bool:
    """Return whether a document or section says itself that it is no longer valid."""
    return bool(_RETIRED_TITLE.search(title) or _IS_RETIRED.search(text))


def cancels(text: str) -> bool:
    """Return whether a sentence says that something is no longer valid: "Decision 7 is rescinded."."""
    return bool(_SAYS_INVALID.search(text)) or any(find_cancelled(text))


def find_cancelled(text: str) -> Iterator[str]:
    """Yield what a sentence cancels by its number, in lower case: "decision 7"."""
    if not _CANCELLING_WORD.search(text):
        return
    for pattern in (_IS_CANCELLED, _CANCELS):
        for match in pattern.finditer(text):
            clause = _CLAUSE_END.split(text[: match.start()])[-1]
            is_number = any(map(str.isdigit, match["number"])) and not _YEAR.fullmatch(match["number"])
            if is_number and not _UNCERTAIN.search(clause):
                yield f"{match['kind']} {match['number']}".lower()


def begins_with(text: str, label: str) -> bool:
    """Return whether a text in lower case begins with a label; "decision 70" does not with "decision 7"."""
    return text.startswith(label) and not re.match(r"[.-]?\w", text[len(label) :])


def find_former_values(text: str) -> list[tuple[str, str, str]]:
    """Return each value that a sentence calls the former one, the clause that says of what, and its document.

    "The token costs 2.00 instead of 1.50 now" has the former value 1.50; the document is "" if none is named.
    """
    if not _CHANGE.search(text):
        return []
    values = _FORMER_VALUE.findall(text)
    clauses = _CLAUSE_END.split(text) if len(values) > 1 else [text] * len(values)
    former = [(clause, found["value"], "") for clause in clauses if (found := _FORMER_VALUE.search(clause))]
    if corrected := _CORRECTED_VALUE.search(text):
        former.append((text, corrected["value"].lower(), corrected["document"].lower()))
    return former
