"""Loads the prompts of the skills, the user's own first, and fills them into chat messages."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.llm.request import SkillName, SkillRequest

PROMPTS = Path(__file__).parent / "prompts"

# A line of dashes parts what the model is told it is (above) from what it is asked (below).
_RULE = re.compile(r"^-{3,}\s*$", re.M)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@lru_cache(maxsize=128)
def load_prompt(name: str, folder: str | None = None) -> str:
    """Read a prompt, the user's own where the folder has one.

    Raises:
        ConfigurationError: the folder does not exist, or its file cannot be read.
    """
    if folder is not None:
        if not Path(folder).is_dir():
            raise ConfigurationError(f"prompts = {folder!r} is not a folder; expected one with .md files.")
        own = Path(folder) / f"{name}.md"
        if own.is_file():
            try:
                return own.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigurationError(f"The prompt {own} cannot be read: {error}") from error
    return (PROMPTS / f"{name}.md").read_text(encoding="utf-8")


def format_messages(name: SkillName, request: SkillRequest, folder: str | None = None) -> list[BaseMessage]:
    """Fill a skill's prompt with its request.

    Placeholders are filled in one pass, so that a question or a passage that holds "{passages}" stays
    what it is. Unknown names in braces are left alone: a prompt may show JSON.
    """
    values = request.prompt_values()
    if request.style_prompt is not None:
        values["style"] = load_prompt(request.style_prompt, folder).strip()
    above, rule, below = _split(load_prompt(name, folder))
    fill = _Filler(values)
    if not rule:
        return [HumanMessage(fill(above))]
    return [SystemMessage(fill(above)), HumanMessage(fill(below))]


class _Filler:
    def __init__(self, values: dict[str, str]) -> None:
        self._values = values

    def __call__(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda m: self._values.get(m[1], m[0]), text.strip())


def _split(prompt: str) -> tuple[str, bool, str]:
    parts = _RULE.split(prompt, maxsplit=1)
    return (parts[0], True, parts[1]) if len(parts) == 2 else (prompt, False, "")
