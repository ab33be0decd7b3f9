"""Loads the prompts of the steps, which users can replace, and fills them into chat messages."""

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
# How much of a conversation prompts and queries contain: its last turns, and characters of each.
LAST_TURNS, TURN_CHARACTERS = 6, 500

# A line of dashes separates the system message above it from the request below it.
_RULE = re.compile(r"^-{3,}\s*$", re.M)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def prompt_names(folder: Path) -> list[str]:
    """Return the names of the prompts in a folder, without hidden files and its README."""
    names = (file.stem for file in folder.glob("*.md"))
    return sorted(name for name in names if not name.startswith(".") and name != "README")


def load_prompt(name: str, folder: str | None = None) -> str:
    """Load a prompt: the user's own if the folder has one, else the built-in prompt.

    Raises:
        ConfigurationError: the folder does not exist, or its file cannot be read.
    """
    if folder is not None:
        if not Path(folder).expanduser().is_dir():
            raise ConfigurationError(
                f"models.prompts = {folder!r} is not a folder; expected a folder with .md files."
            )
        file = _own_file(name, folder)
        if file.is_file():
            try:
                return file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigurationError(f"The prompt {file} cannot be read: {error}") from error
    return _built_in(name)


def _own_file(name: str, folder: str) -> Path:
    return Path(folder).expanduser() / f"{name}.md"


@cache
def _built_in(name: str) -> str:
    return (PROMPTS / f"{name}.md").read_text(encoding="utf-8")


def style_prompt(name: str, folder: str | None = None, instruction: str = "", sentences: int = 3) -> str:
    """Return the prompt that says how one strategy's answer is written, with "{sentences}" replaced.

    The user's own generate-NAME.md takes precedence over the strategy's instruction, and that over the
    built-in prompt.
    """
    has_own = folder is not None and _own_file(f"generate-{name}", folder).is_file()
    prompt = instruction if instruction and not has_own else load_prompt(f"generate-{name}", folder).strip()
    return prompt.replace("{sentences}", str(sentences))


def format_messages(request: Request[Any], folder: str | None = None) -> list[BaseMessage]:
    """Fill a step's prompt with the values of its request.

    All placeholders are filled in one pass, so that "{passages}" in a question or passage is not replaced.
    Unknown names in braces stay, since a prompt may show JSON. Invisible characters of values are dropped.
    """
    values = {name: visible(value) for name, value in request.values().items()}
    parts = [
        _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), part.strip())
        for part in _RULE.split(load_prompt(request.step, folder), maxsplit=1)
    ]
    return [*map(SystemMessage, parts[:-1]), HumanMessage(parts[-1])]


def format_history(history: Sequence[Turn]) -> str:
    """Format the last turns, each cut to `TURN_CHARACTERS`.

    The texts are neutralized, so that none of their lines looks like another turn: an answer may quote a
    document.
    """
    return "\n".join(
        f"{turn['role']}: {neutralize(turn['text'][:TURN_CHARACTERS])}" for turn in history[-LAST_TURNS:]
    )
