"""Formats a conversation for a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.state import Turn

MAX_TURNS = 6
MAX_CHARACTERS = 500


def format_history(history: Sequence[Turn]) -> str:
    """Return the last turns as lines, each cut to a length that leaves room for the question."""
    return "\n".join(f"{turn['role']}: {turn['text'][:MAX_CHARACTERS]}" for turn in history[-MAX_TURNS:])
