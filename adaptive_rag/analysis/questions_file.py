"""Beside the query analysis: reads questions from a JSONL file, one object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, cast

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import QUERY_TYPES, QueryType, Turn

_EXPECTED = 'expected an object like {"text": "...", "user_context": "...", "history": []}.'


class Asked(NamedTuple):
    """A question as a file holds it; `type` is None where the file does not label it."""

    text: str
    user_context: str
    history: list[Turn]
    type: QueryType | None


def read_questions(path: str | Path, *, labelled: bool = False) -> list[Asked]:
    """Read questions: `text`, and optionally `user_context`, `history` and `type`.

    Args:
        path: a JSONL file; `-` reads standard input.
        labelled: demand a `type` on each line, or `best_type`: the cheapest strategy that found the evidence.

    Raises:
        ConfigurationError: the file or one of its lines cannot be used; the line is named.
    """
    try:
        if str(path) == "-":
            import sys

            content = sys.stdin.read()
        else:
            content = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The questions {str(path)!r} cannot be read ({error}). Expected a JSONL file in UTF-8."
        ) from error
    lines = enumerate(content.splitlines(), start=1)
    return [_read_line(line, f"{path}, line {number}", labelled) for number, line in lines if line.strip()]


def _read_line(line: str, where: str, labelled: bool) -> Asked:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ConfigurationError(
            f'{where} is no JSON ({error}); expected an object like {{"text": "..."}}.'
        ) from None
    text = row.get("text", row.get("question")) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise ConfigurationError(
            f'{where} has no text, got {line[:80]!r}; expected an object like {{"text": "..."}}.'
        )
    context, history = row.get("user_context") or "", row.get("history") or []
    if not isinstance(context, str):
        raise ConfigurationError(f"{where}: user_context is {context!r}; expected a text.")
    if not isinstance(history, list) or not all(_is_turn(turn) for turn in history):
        raise ConfigurationError(
            f"{where}: history is {history!r}; expected a list of "
            '{"role": "user" or "agent", "text": "..."}.'
        )
    return Asked(text, context, cast(list[Turn], history), _read_type(row, where) if labelled else None)


def _read_type(row: dict[str, Any], where: str) -> QueryType:
    label = row.get("best_type", row.get("type"))
    if not isinstance(label, str) or label.lower() not in QUERY_TYPES:
        raise ConfigurationError(f"{where}: type is {label!r}; expected one of {', '.join(QUERY_TYPES)}.")
    return cast(QueryType, label.lower())


def _is_turn(turn: object) -> bool:
    return (
        isinstance(turn, dict) and turn.get("role") in ("user", "agent") and isinstance(turn.get("text"), str)
    )
