"""Part of the query analysis: the names, numbers and quoted phrases that a question holds."""

from __future__ import annotations

import re

from adaptive_rag.analysis import lexicon as lx

MAX_ENTITIES = 12

_QUOTED = re.compile(r"[\"“]([^\"”\n]{2,80})[\"”]|(?<!\w)'([^'\n]{2,60})'(?!\w)")
# A name: capitalised words, joined by the small words that stand inside names.
_NAME = re.compile(
    r"\b[A-Z][\w'&.+-]*"
    r"(?:(?: (?:of|de|von|van|del|da|di|the|and|&) (?:the )?|[ -])(?=[A-Z0-9])[A-Z0-9][\w'&.+-]*)*"
)
_ACRONYM = re.compile(
    r"\b(?:[A-Z]{2,}[A-Za-z]*\d*|[A-Za-z]*\d[\w.-]*[A-Za-z][\w.-]*|[A-Za-z]+-?\d[\w.-]*|[a-z]+[A-Z]\w*)\b"
)
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})s?\b")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|\n\s*)[\"'“(\[]*$")
_NO_NAMES = lx.SHAPE_WORDS | lx.word_set(
    "i also however therefore according after before during write find define name list summarise "
    "summarize provide give state identify which"
)


def find_entities(text: str) -> list[str]:
    """List names, acronyms, model numbers, years and quoted phrases, in order of appearance.

    In a text in capitals, or in one that capitalises every word, capitals mark nothing.
    """
    found: list[tuple[int, str]] = [(m.start(), m[1] or m[2]) for m in _QUOTED.finditer(text)]
    found += [(m.start(), m[0]) for m in _YEAR.finditer(text)]
    if not _is_shouted(text):
        found += [(m.start(), m[0]) for m in _ACRONYM.finditer(text)]
        if not _is_title_case(text):
            found += _names(text)
    kept: list[str] = []
    for _, entity in sorted(found, key=lambda item: (item[0], -len(item[1]))):
        entity = entity.strip(" .,-'")
        known = [other.casefold() for other in kept]
        if len(entity) > 1 and not any(
            re.search(rf"(?<!\w){re.escape(entity.casefold())}(?!\w)", k) for k in known
        ):
            kept.append(entity)
    return kept[:MAX_ENTITIES]


def _names(text: str) -> list[tuple[int, str]]:
    names = []
    for match in _NAME.finditer(text):
        start, name = match.start(), match[0]
        words = name.split(" ")
        # The capital of a sentence's first word is no sign of a name; nor is that of "I".
        at_start = bool(_SENTENCE_START.search(text[:start]))
        while words and (words[0].casefold().removesuffix("'s") in _NO_NAMES):
            start += len(words[0]) + 1
            words = words[1:]
            at_start = False
        if not words or (
            at_start and len(words) == 1 and not words[0][1:].isupper() and text.strip() != name
        ):
            continue
        names.append((start, re.sub(r"'s$", "", " ".join(words))))
    return names


def _is_shouted(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return len(letters) > 8 and sum(character.isupper() for character in letters) > 0.7 * len(letters)


def _is_title_case(text: str) -> bool:
    words = re.findall(r"[A-Za-z][a-z]+", text)
    function = [word for word in words[1:] if word.lower() in lx.FUNCTION_WORDS]
    return (
        len(words) > 3
        and len(function) > 1
        and all(word[0].isupper() for word in function if len(word) > 3)
        and sum(word[0].isupper() for word in words) > 0.75 * len(words)
    )
