"""Look up recorded replies in place of a chat model, and record the requests that have none."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.evaluation.records import parse_lines


class NoReply(AdaptiveRAGError):
    """No reply to this request is recorded yet, so its question cannot be answered."""


class RecordedReplies:
    """The replies in a file of JSON lines with "id", "instructions", "step", "messages" and "reply".

    "id" is a hash of the arm, the step and all messages after the instructions, so that a request with other
    passages finds no reply. "instructions" is a hash of the instructions for which the reply was written. A
    reply is a text, or an object for a request with a JSON schema. Of a line with a reply, only "id",
    "instructions" and "reply" are used.
    """

    def __init__(self, file: Path) -> None:
        """Read the replies; a file that does not exist has none."""
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        self._file = file
        self._lines = {line["id"]: line for line in parse_lines(text, file) if "reply" in line}
        # the requests that have no reply
        self.missing: dict[str, dict[str, Any]] = {}
        # ids of the replies used that were written for other instructions
        self.outdated: set[str] = set()

    def reply(self, arm: str, step: str, messages: list[BaseMessage]) -> Any:
        """Return the recorded reply. With the arm given, this is a script for `ScriptedChatModel`.

        Raises:
            NoReply: none is recorded.
        """
        instructions, *others = [{"role": message.type, "text": message.text} for message in messages]
        id_, instructions_digest = _digest([arm, step, *others]), _digest(instructions)
        if id_ not in self._lines:
            self.missing[id_] = {
                "id": id_,
                "instructions": instructions_digest,
                "arm": arm,
                "step": step,
                "messages": [instructions, *others],
            }
            raise NoReply(f"{self._file} has no reply to {id_}.")
        line = self._lines[id_]
        if line["instructions"] != instructions_digest:
            self.outdated.add(id_)
        return line["reply"]

    def save(self) -> None:
        """Write the replies that were read, followed by the requests that have none."""
        lines = [*self._lines.values(), *self.missing.values()]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        self._file.write_text(text, encoding="utf-8")


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
