"""Reads what chat models write: JSON in fences, JSON in prose, lists with numbering, plain sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adaptive_rag.llm.receive import DEEPEST
from adaptive_rag.text.markers import MARKER
from adaptive_rag.text.visible import visible

# In all patterns here a run of blanks, marks or digits is matched whole ("*+") or is bounded: a reply may
# contain thousands of them, and backtracking over them takes quadratic time.

# Brackets that may fail to open JSON before the rest of a reply is given up.
ATTEMPTS = 64

_BRACKET = re.compile(r"[{\[]")
# "1.", "2)", "-", "*", "Viewpoint 3:", "Sub-question 1 -", "**Q1:**" before the item itself
_NUMBERING = re.compile(
    r"^\s*+(?:[-*•–]\s++|\(?\d{1,2}[.):]\s*+|[*_]{0,2}(?:sub-?question|question|viewpoint|perspective|q)"
    r"\s*+#?\d*+\s*+[:.)-][*_]{0,2}\s*+)+",
    re.I,
)
_LISTED = re.compile(r"\s*+(?:[-*•–]\s|\(?\d{1,2}[.):])")
_INLINE_NUMBER = re.compile(r"(?:(?<=\s)|^)\(?\d{1,2}[.)]\s+")
_EXCUSE = re.compile(
    r"^\W*(?:i(?:'|’)?m sorry|i am sorry|sorry,|i apologi[sz]e|as an ai|as a language model|i can(?:'|’|no)t|"
    r"i cannot|unfortunately, i|error\b|traceback|exception\b|none\W*$|null\W*$|n/?a\W*$)",
    re.I,
)
# '{"answer": ...', "[{'text': ...", "<html>", "<tool_call>"; not "[1] The wall ..." nor "<b> makes text bold"
_FORM_OR_PAGE = re.compile(
    r"\s*+(?:\{\s*+(?:[\"'}]|\w+\s*+:)|\[\s*+[\"'{\]]|<(?:!doctype|html|head|body|\?xml|\|?tool|function))",
    re.I,
)
# "Error: ...", "HTTP 502 Bad Gateway", "Traceback (most recent call last)"; not "Error correction needs ..."
_SERVER_ERROR = re.compile(
    r"\W*+(?:[\w.]*(?:error|exception)(?:\s*+[:(\[]| code| \d|\s*+$)|traceback \(most recent|"
    r"(?:http(?:/[\d.]+)?:? )?[45]\d\d(?: \w+){0,2} (?:error|gateway|unavailable|requests|time-?out)|"
    r"(?:an |a )?(?:\w+ )?(?:server )?error (?:has )?occurred|internal server error|bad gateway|"
    r"rate limit (?:reached|exceeded)|service (?:temporarily )?unavailable|too many requests|"
    r"gateway time-?out|connection (?:refused|reset|error)|the server had an error|upstream connect error)",
    re.I,
)


def answer_text(text: str) -> str:
    """Return a text if it can be an answer.

    Raises:
        ValueError: it is a form, a page or an error, or has no word.
    """
    if not re.search(r"[^\W\d_]", visible(text)):
        raise ValueError(f"expected an answer in sentences, got {text[:80]!r}")
    if _FORM_OR_PAGE.match(text):
        raise ValueError(f"expected an answer as plain text, got {text[:80]!r}")
    # "Error 404 means that a page is missing [2]." cites a passage; a server's error message does not.
    if _SERVER_ERROR.match(text) and not MARKER.search(text):
        raise ValueError(f"expected an answer, got an error: {text[:80]!r}")
    return text


def json_values(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects and lists of a text, in order.

    Single quotes, Python's None and True, and trailing commas are repaired (json-repair). A list of one
    number amid other text is a citation marker, not an answer, and is left out.
    """
    closings = _closings(text)
    position, failed = 0, 0
    # All brackets are tried: a lone quotation mark in prose hides those behind it from `_closings` only.
    for bracket in _BRACKET.finditer(text):
        start = bracket.start()
        if start < position:
            continue
        value, end = _decode(text, start, closings.get(start))
        if end is None:
            failed += 1
            if failed == ATTEMPTS:
                return
            continue
        alone = not (text[:start] + text[end:]).strip()
        marker = isinstance(value, list) and len(value) < 2 and all(isinstance(v, int | float) for v in value)
        if alone or not marker:
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
        ValueError: it is not a text, is empty, or is an excuse rather than an answer.
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
        rf"^[ \t*_#>-]*+(?P<label>{'|'.join(labels)})[ \t*_]*+[:=][\s*_]*+(?P<value>.+)$", re.I | re.M
    )
    return {match["label"].lower(): match["value"].strip("*_ \t\r") for match in pattern.finditer(text)}


def single_line(text: str, what: str) -> str:
    """Return a text that consists of one line.

    Raises:
        ValueError: it does not have exactly one line, so that it is unclear which one was meant.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) != 1:
        raise ValueError(f"expected one line with the {what}, got {len(lines)}")
    return one_text(lines[0], what)


def text_in(value: Any, what: str, *names: str) -> str:
    """Return a text from a form that has it under one of the names, a labelled line, or a single line.

    Raises:
        ValueError: there is none, or it is unclear which of several was meant.
    """
    if isinstance(value, Mapping):
        return one_text(pick(value, *names), what)
    if not isinstance(value, str):
        return one_text(value, what)
    found = labelled(value, *(name.replace("_", " ") for name in names))
    return one_text(list(found.values())[-1], what) if found else single_line(value, what)


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
        ValueError: there are fewer than n; the message can be shown to the model.
    """
    first: dict[str, str] = {}
    for item in items:
        text = plain_item(item)
        if text and not _EXCUSE.match(text):
            first.setdefault(text.casefold(), text)
    different = list(first.values())
    if len(different) < n:
        raise ValueError(f"expected {n} different {what}, got {len(different)}: {different!r}")
    return different[:n]


def plain_item(item: str) -> str:
    """Return an item of a list without its numbering and quotes."""
    return _NUMBERING.sub("", item).strip().strip('"“”').strip()


def _listed_lines(text: str, what: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if _LISTED.match(line) or _NUMBERING.match(line)]
    if len(marked) > 1:
        return marked
    inline = [part.strip(" ;,") for part in _INLINE_NUMBER.split(text) if part.strip()]
    if len(inline) > 1 and _INLINE_NUMBER.match(text.strip()):
        return inline
    # Lines without marks are items, except those that end in a colon: such a line introduces the list.
    items = [line for line in lines if not line.rstrip().endswith(":")]
    if len(items) < 2:
        raise ValueError(f"expected a list of {what}, got {text[:80]!r}")
    return items


def _closings(text: str) -> dict[int, int]:
    """Return, in one pass, where each bracket ends that is closed and not nested too deeply."""
    ends: dict[int, int] = {}
    stack: list[tuple[int, int]] = []  # the position of an open bracket, and the depth of its nesting
    quote, escaped = "", False
    for position, character in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = character == "\\"
            quote = "" if character == quote else quote
        elif character in "[{":
            stack.append((position, 1))
        elif character in "]}" and stack:
            start, depth = stack.pop()
            if depth <= DEEPEST:
                ends[start] = position + 1
            if stack:
                outer, held = stack.pop()
                stack.append((outer, max(held, depth + 1)))
        elif stack and (character == '"' or (character == "'" and text[position - 1] in "[{,: \n")):
            quote = character
    return ends


def _decode(text: str, start: int, closing: int | None) -> tuple[Any, int | None]:
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):  # not JSON, a number of thousands of digits, endless brackets
        pass
    if closing is None:
        return None, None
    import json_repair

    snippet = text[start:closing]
    try:
        value = json_repair.loads(snippet, skip_json_loads=True)
    except (ValueError, TypeError, RecursionError):
        return None, None
    # Unquoted text in brackets ("[see the note]") is prose, and a repaired form of it would be a guess.
    usable = isinstance(value, dict | list) and bool(value) and _was_quoted(value, snippet)
    return (value, closing) if usable else (None, None)


def _was_quoted(value: Any, snippet: str) -> bool:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return all(_was_quoted(item, snippet) for item in items)
    if not isinstance(value, str):
        return True
    start = re.match(r"[^\\\n\t\"']*", value)
    begins = start.group()[:40] if start else ""
    return any(f"{mark}{begins}" in snippet for mark in "\"'“")
