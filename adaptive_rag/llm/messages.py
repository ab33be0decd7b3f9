"""Loads the prompts of the steps, the user's own first, and fills them into chat messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.llm.passages import neutralize
from adaptive_rag.llm.request import Request
from adaptive_rag.state import Turn
from adaptive_rag.text.visible import visible

PROMPTS = Path(__file__).parent / "prompts"
# Limits of a conversation in prompts and in queries: its last turns, and the characters of each.
LAST_TURNS, TURN_CHARACTERS = 6, 500

# A line of dashes separates the system message (above) from the request (below).
_RULE = re.compile(r"^-{3,}\s*$", re.M)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def load_prompt(name: str, folder: str | None = None) -> str:
    """Read a prompt, the user's own if the folder has one.

    Raises:
        ConfigurationError: the folder does not exist, or its file cannot be read.
    """
    if folder is not None:
        if not Path(folder).is_dir():
            raise ConfigurationError(
                f"models.prompts = {folder!r} is not a folder; expected one of .md files."
            )
        own = Path(folder) / f"{name}.md"
        if own.is_file():
            try:
                return own.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigurationError(f"The prompt {own} cannot be read: {error}") from error
    return _built_in(name)


@cache
def _built_in(name: str) -> str:
    return (PROMPTS / f"{name}.md").read_text(encoding="utf-8")


def style_prompt(name: str, folder: str | None = None, instruction: str = "", sentences: int = 3) -> str:
    """Return the prompt that says how an answer of one strategy is written.

    The user's own generate-NAME.md comes first, then the strategy's instruction, then the built-in prompt;
    "{sentences}" in it is replaced.
    """
    own = folder is not None and (Path(folder) / f"generate-{name}.md").is_file()
    prompt = instruction if instruction and not own else load_prompt(f"generate-{name}", folder).strip()
    return prompt.replace("{sentences}", str(sentences))


def format_messages(request: Request[Any], folder: str | None = None) -> list[BaseMessage]:
    """Fill a step's prompt with the values of its request.

    Placeholders are filled in one pass, so that a question or a passage that contains "{passages}" is not
    changed. Unknown names in braces are left alone, since a prompt may show JSON. Invisible characters of a
    value are left out.
    """
    values = {name: visible(value) for name, value in request.values().items()}
    parts = [
        _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), part.strip())
        for part in _RULE.split(load_prompt(request.step, folder), maxsplit=1)
    ]
    return [*map(SystemMessage, parts[:-1]), HumanMessage(parts[-1])]


def format_history(history: Sequence[Turn]) -> str:
    """Return the last turns as lines, each cut to a length that leaves room for the question.

    No line of a text can pass for another turn: an answer may quote what a document says.
    """
    return "\n".join(
        f"{turn['role']}: {neutralize(turn['text'][:TURN_CHARACTERS])}" for turn in history[-LAST_TURNS:]
    )
