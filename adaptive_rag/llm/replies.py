"""Reads what chat models write: JSON in fences, JSON in prose, lists with numbering, plain sentences."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S | re.I)
_FENCE = re.compile(r"^\s*```[a-zA-Z0-9_-]*\s*$", re.M)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
# "1.", "2)", "-", "*", "Viewpoint 3:", "Sub-question 1 -", "**Q1:**" before the item itself
_NUMBERING = re.compile(
    r"^\s*(?:[-*•–]\s+|\(?\d{1,2}[.):]\s*|[*_]{0,2}(?:sub-?question|question|viewpoint|perspective|q)"
    r"\s*#?\d*\s*[:.)-][*_]{0,2}\s*)+",
    re.I,
)
_LISTED = re.compile(r"^\s*(?:[-*•–]\s+|\(?\d{1,2}[.):]\s*)", re.M)
_INLINE_NUMBER = re.compile(r"(?:(?<=\s)|^)\(?\d{1,2}[.)]\s+")
_EXCUSE = re.compile(
    r"^\W*(?:i(?:'|’)?m sorry|i am sorry|sorry,|i apologi[sz]e|as an ai|as a language model|i can(?:'|’|no)t|"
    r"i cannot|unfortunately, i|error\b|traceback|exception\b|none\W*$|null\W*$|n/?a\W*$)",
    re.I,
)


def without_thoughts(text: str) -> str:
    """Drop what a reasoning model thought aloud, and code fences."""
    return _FENCE.sub("", _THOUGHT.sub("", text)).strip()


def json_values(text: str) -> Iterator[Any]:
    """Yield every JSON object and list that stands in a text, the outermost ones, in order.

    Python's spelling (single quotes, None, True) and trailing commas are read too. A list of one
    number amid other text is a citation marker, not an answer, and is left out.
    """
    position = 0
    while (start := _next_bracket(text, position)) is not None:
        value, end = _decode(text, start)
        if end is None:
            position = start + 1
            continue
        alone = not (text[:start] + text[end:]).strip()
        if alone or not (isinstance(value, list) and len(value) < 2 and _numbers_only(value)):
            yield value
        position = end


def pick(value: Mapping[str, Any], *names: str) -> Any:
    """Return the first of the named keys, whatever their case and separators; else the only value.

    Raises:
        ValueError: none of the names is there, and there are several values.
    """
    plain = {re.sub(r"[^a-z]", "", str(key).lower()): item for key, item in value.items()}
    for name in names:
        if (found := plain.get(name.replace("_", ""))) is not None:
            return found
    present = [item for item in value.values() if item is not None]
    if len(present) == 1:
        return present[0]
    raise ValueError(f"the key {names[0]!r} is missing; the keys are {sorted(map(str, value))}")


def one_text(value: Any, what: str) -> str:
    """Return a text, without the quotes around it.

    Raises:
        ValueError: it is no text, is empty, or is an excuse rather than an answer.
    """
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        raise ValueError(f"expected the {what} as a text, got {value!r}")
    text = value.strip().strip('"“”').strip()
    if not text:
        raise ValueError(f"the {what} is empty")
    if _EXCUSE.match(text):
        raise ValueError(f"expected a {what}, got {text[:80]!r}")
    return text


def labelled(text: str, *labels: str) -> dict[str, str]:
    """Return what follows each label at the start of a line, as in "Query: ..."."""
    pattern = re.compile(
        rf"^[\s*_#>-]*(?P<label>{'|'.join(labels)})[\s*_]*[:=][\s*_]*(?P<value>.+?)\s*$", re.I | re.M
    )
    return {match["label"].lower(): match["value"].strip("*_ ") for match in pattern.finditer(text)}


def single_line(text: str, what: str) -> str:
    """Return a text that consists of one line.

    Raises:
        ValueError: it has several, so that nobody can say which one was meant.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) != 1:
        raise ValueError(f"expected one line with the {what}, got {len(lines)}")
    return one_text(lines[0], what)


def texts(value: Any, what: str) -> list[str]:
    """Return the items of a list, however it is written.

    Raises:
        ValueError: there is no list.
    """
    if isinstance(value, str):
        return _listed_lines(value, what)
    if isinstance(value, Mapping):
        value = list(value.values())
        if len(value) == 1 and isinstance(value[0], list | str):
            return texts(value[0], what)
    if not isinstance(value, Sequence):
        raise ValueError(f"expected a list of {what}, got {value!r}")
    items = []
    for item in value:
        if isinstance(item, Mapping):
            item = next((part for part in item.values() if isinstance(part, str)), "")
        if isinstance(item, str) and item.strip():
            items.append(item)
    return items


def exactly(n: int, items: Sequence[str], what: str) -> list[str]:
    """Return the first n different items without their numbering.

    Raises:
        ValueError: there are fewer than n; the message is fit to be shown to the model.
    """
    clean = [_NUMBERING.sub("", item).strip().strip('"“”').strip() for item in items]
    usable = [item for item in clean if item and not _EXCUSE.match(item)]
    first: dict[str, str] = {}
    for item in usable:
        first.setdefault(item.casefold(), item)
    different = list(first.values())
    if len(different) < n:
        raise ValueError(f"expected {n} different {what}, got {len(different)}: {different!r}")
    return different[:n]


def _listed_lines(text: str, what: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if _LISTED.match(line) or _NUMBERING.match(line)]
    if len(marked) > 1:
        return marked
    inline = [part.strip(" ;,") for part in _INLINE_NUMBER.split(text) if part.strip()]
    if len(inline) > 1 and _INLINE_NUMBER.match(text.strip()):
        return inline
    # Lines without marks are items only where every line can be one: a sentence of talk ends in a colon.
    items = [line for line in lines if not line.rstrip().endswith(":")]
    if len(items) < 2:
        raise ValueError(f"expected a list of {what}, got {text[:80]!r}")
    return items


def _next_bracket(text: str, position: int) -> int | None:
    match = re.compile(r"[{\[]").search(text, position)
    return match.start() if match else None


def _decode(text: str, start: int) -> tuple[Any, int | None]:
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
        return value, end
    except (json.JSONDecodeError, RecursionError):
        pass
    closing = _closing(text, start)
    if closing is None:
        return None, None
    snippet = _TRAILING_COMMA.sub("", text[start:closing])
    for load in (json.loads, ast.literal_eval):
        try:
            value = load(snippet)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(value, dict | list):
            return value, closing
    return None, None


def _closing(text: str, start: int) -> int | None:
    depth, quote, position = 0, "", start
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "\"'" and (character == '"' or text[position - 1] in "[{,: \n"):
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return None


def _numbers_only(value: Sequence[Any]) -> bool:
    return all(isinstance(item, int | float) for item in value)
