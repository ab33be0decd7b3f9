"""Looks up recorded replies in place of a chat model, and writes down the requests that have none."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.evaluation.records import parse_lines


class NoReply(AdaptiveRAGError):
    """No reply to this request is recorded yet; the question has to wait for it."""


class RecordedReplies:
    """The replies in a file, a JSON object a line: "id", "instructions", "step", "messages" and "reply".

    The id is a hash of the arm, the step and all that is said after the instructions, so that a request
    with other passages finds no reply. "instructions" is a hash of those that the reply was written by.
    Of a line with a reply no more than these three are read. A reply is a text, or an object, which stands
    for the JSON that a form asks for.
    """

    def __init__(self, file: Path) -> None:
        """Read the replies; there are none yet where the file does not exist."""
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        self._file = file
        self._lines = {line["id"]: line for line in parse_lines(text, file) if "reply" in line}
        # the requests that have no reply
        self.missing: dict[str, dict[str, Any]] = {}
        # ids of the replies that were given and were written by other instructions than those of now
        self.outdated: set[str] = set()

    def reply(self, arm: str, step: str, messages: list[BaseMessage]) -> Any:
        """Return the recorded reply; but for the arm, this is a script for `ScriptedChatModel`.

        Raises:
            NoReply: none is recorded.
        """
        instructions, *asked = [{"role": message.type, "text": message.text} for message in messages]
        id_, by = _digest([arm, step, *asked]), _digest(instructions)
        if id_ not in self._lines:
            request = {
                "id": id_,
                "instructions": by,
                "arm": arm,
                "step": step,
                "messages": [instructions, *asked],
            }
            self.missing[id_] = request
            raise NoReply(f"{self._file} holds no reply to {id_}.")
        line = self._lines[id_]
        if line["instructions"] != by:
            self.outdated.add(id_)
        return line["reply"]

    def save(self) -> None:
        """Write the replies that were read, and after them the requests that wait for one."""
        lines = [*self._lines.values(), *self.missing.values()]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        self._file.write_text(text, encoding="utf-8")


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
