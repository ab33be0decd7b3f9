"""Reads what chat models write: JSON in fences, JSON in prose, numbered lists, plain sentences.

A text that could only be guessed raises a ValueError, whose message can be shown to the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from adaptive_rag.llm.receive import MAX_DEPTH
from adaptive_rag.text.markers import MARKER
from adaptive_rag.text.visible import visible

# In all patterns, a run of blanks, marks or digits is bounded or matched without backtracking ("*+"). A reply
# may contain thousands of them, over which backtracking takes quadratic time.

# More opening brackets in a row than any form has; json-repair takes seconds for thousands of them.
_TOO_DEEP = re.compile(rf"(?:[{{\[]\s*+){{{MAX_DEPTH + 1}}}")
# In characters. json-repair takes quadratic time: a second for so many brackets with quotation marks.
MAX_REPAIRED = 4_000
# Maximum number of brackets of prose that are tried.
ATTEMPTS = 50
_OPENING = re.compile(r"[{\[]")
# The start of a form; not of "[see the note]" or "[1 the".
_FORM = re.compile(r"\{|\[\s*+[\"'{\[]")
# Is appended to a text, to find out whether its last JSON value ends.
_END_MARK = {"end of the reply": True}
# What precedes an item: "1.", "2)", "-", "*", "Viewpoint 3:", "Sub-question 1 -", "**Q1:**".
_NUMBERING = re.compile(
    r"^\s*+(?:[-*•–]\s++|\(?\d{1,2}[.):]\s*+|[*_]{0,2}(?:sub-?question|question|viewpoint|perspective|q)"
    r"\s*+#?\d*+\s*+[:.)-][*_]{0,2}\s*+)+",
    re.I,
)
_LISTED = re.compile(r"\s*+(?:[-*•–]\s|\(?\d{1,2}[.):])")
_INLINE_NUMBER = re.compile(r"(?:(?<=\s)|^)\(?\d{1,2}[.)]\s+")
# "I'm sorry", "As an AI", "Unfortunately, I", "Error", "None".
_EXCUSE = re.compile(
    r"^\W*(?:i(?:'|’)?m sorry|i am sorry|sorry,|i apologi[sz]e|as an ai|as a language model|i can(?:'|’|no)t|"
    r"i cannot|unfortunately, i|error\b|traceback|exception\b|none\W*$|null\W*$|n/?a\W*$)",
    re.I,
)
# '{"answer": ...', also as a block of code
_WRAPPED = re.compile(r"\s*+(?:```(?:json)?\s*+)?+\{\s*+\"answer\"\s*+:", re.IGNORECASE)
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
    """Return a text if it can be an answer; of the form {"answer": "..."}, the answer.

    Raises:
        ValueError: it has no words, or is a form, a web page or a server's error message.
    """
    match json_values(text) if _WRAPPED.match(text) else []:
        case [{"answer": str(answer), **others}] if not others:
            text = answer
    if not re.search(r"[^\W\d_]", visible(text)):
        raise ValueError(f"expected an answer in sentences, got {text[:80]!r}")
    if _FORM_OR_PAGE.match(text):
        raise ValueError(f"expected an answer as plain text, got {text[:80]!r}")
    # "Error 404 means that a page is missing [2]." cites a passage; a server's error message does not.
    if _SERVER_ERROR.match(text) and not MARKER.search(text):
        raise ValueError(f"expected an answer, got an error: {text[:80]!r}")
    return text


def json_values(text: str) -> list[Any]:
    """Return the outermost JSON objects and lists of a text, in order; none if the last one is incomplete.

    Invalid JSON is repaired (json-repair): single quotes, Python's None and True, trailing commas. Unquoted
    text in brackets ("[see the note]") is left out, and so is a list of one number inside other text, which
    is a citation marker.
    """
    if (values := _valid(text)) is None:
        values = [value for value in _repaired(text) if _was_quoted(value, text)]
    is_only_value = len(values) == 1 and text.strip()[:1] in ("{", "[") and text.strip()[-1:] in ("}", "]")
    return [
        value
        for value in values
        if isinstance(value, dict) or (isinstance(value, list) and (is_only_value or not _is_marker(value)))
    ]


def _valid(text: str) -> list[Any] | None:
    """Return the JSON values of a text; None if there are none, or if a form is invalid."""
    values, end, failed = list[Any](), 0, 0
    for opening in _OPENING.finditer(text):
        if opening.start() < end:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(text, opening.start())
        except (ValueError, RecursionError):  # not JSON, a number with thousands of digits, endless brackets
            failed += 1
            if failed == ATTEMPTS or _FORM.match(text, opening.start()):
                return None
            continue
        values.append(value)
    return values or None


def pick(value: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first of the named keys that exists, or else the only value.

    The case of keys and the separators in them make no difference.
    """
    by_key = {re.sub(r"[^a-z]", "", str(key).lower()): item for key, item in value.items()}
    for name in names:
        if (item := by_key.get(name.replace("_", ""))) is not None:
            return item
    present = [item for item in value.values() if item is not None]
    if len(present) == 1:
        return present[0]
    raise ValueError(f"the key {names[0]!r} is missing; the keys are {sorted(map(str, value))}")


def one_text(value: Any, what: str) -> str:
    """Return a text without the quotes around it; `what` describes it in errors."""
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
    """Return the text after each label at the start of a line, as in "Query: ..."."""
    pattern = re.compile(
        rf"^[ \t*_#>-]*+(?P<label>{'|'.join(labels)})[ \t*_]*+[:=][\s*_]*+(?P<value>.+)$", re.I | re.M
    )
    return {match["label"].lower(): match["value"].strip("*_ \t\r") for match in pattern.finditer(text)}


def text_in(value: Any, what: str, *names: str) -> str:
    """Return a text: from a form, under one of the names, from a labelled line, or from the only line."""
    if isinstance(value, Mapping):
        return one_text(pick(value, *names), what)
    if not isinstance(value, str):
        return one_text(value, what)
    found = list(labelled(value, *(name.replace("_", " ") for name in names)).values())
    lines = found[-1:] or [line for line in value.splitlines() if line.strip()]
    if len(lines) != 1:
        raise ValueError(f"expected one line with the {what}, got {len(lines)}")
    return one_text(lines[0], what)


def texts(value: Any, what: str) -> list[str]:
    """Return the items of a list, however it is written."""
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
    """Return the first n different items without their numbering."""
    by_folded: dict[str, str] = {}
    for item in items:
        text = plain_item(item)
        if text and not _EXCUSE.match(text):
            by_folded.setdefault(text.casefold(), text)
    different = list(by_folded.values())
    if len(different) < n:
        raise ValueError(f"expected {n} different {what}, got {len(different)}: {different!r}")
    return different[:n]


def plain_item(item: str) -> str:
    """Return an item of a list without its numbering and quotes."""
    return _NUMBERING.sub("", item).strip().strip('"“”').strip()


def _listed_lines(text: str, what: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    items = [line for line in lines if _LISTED.match(line) or _NUMBERING.match(line)]
    if len(items) > 1:
        return items
    inline = [part.strip(" ;,") for part in _INLINE_NUMBER.split(text) if part.strip()]
    if len(inline) > 1 and _INLINE_NUMBER.match(text.strip()):
        return inline
    # Lines without marks are items too, except a line with a colon at its end, which introduces the list.
    items = [line for line in lines if not line.rstrip().endswith(":")]
    if len(items) < 2:
        raise ValueError(f"expected a list of {what}, got {text[:80]!r}")
    return items


def _repaired(text: str) -> list[Any]:
    """Return the values that json-repair finds in a text."""
    if len(text) > MAX_REPAIRED or _TOO_DEEP.search(text):
        return []
    import json_repair

    try:
        # A value that is not closed includes the mark. With it, the result is always a list of values.
        values: Any = json_repair.loads(f"{text}\n{json.dumps(_END_MARK)}", skip_json_loads=True)
    except (ValueError, TypeError, RecursionError):
        return []
    return values[:-1] if isinstance(values, list) and values[-1:] == [_END_MARK] else []


def _is_marker(value: list[Any]) -> bool:
    return len(value) < 2 and all(isinstance(number, int | float) for number in value)


def _was_quoted(value: Any, text: str) -> bool:
    """Return whether each text of a value follows a quotation mark; otherwise the value is a guess."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return all(_was_quoted(item, text) for item in items)
    if not isinstance(value, str):
        return True
    start = re.match(r"[^\\\n\t\"']*", value)
    prefix = start.group()[:40] if start else ""
    return any(f"{mark}{prefix}" in text for mark in "\"'“")
