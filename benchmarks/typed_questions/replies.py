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
    """The replies in a file, a JSON object a line: "id", "step", "messages" and, once it is known, "reply".

    The id is a hash of the messages, which hold the whole request: a prompt that changed finds no reply. Of a
    line with a reply, only "id" and "reply" are read. A reply is a text, or an object, which stands for the
    JSON that a form asks for.
    """

    def __init__(self, file: Path) -> None:
        """Read the replies; there are none yet where the file does not exist."""
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        self._file = file
        self._lines = {line["id"]: line for line in parse_lines(text, file) if "reply" in line}
        self.missing: dict[str, dict[str, Any]] = {}

    def reply(self, step: str, messages: list[BaseMessage]) -> Any:
        """Return the recorded reply; this is a script for `ScriptedChatModel`.

        Raises:
            NoReply: none is recorded.
        """
        written = [{"role": message.type, "text": message.text} for message in messages]
        id_ = hashlib.sha256(json.dumps(written).encode()).hexdigest()[:16]
        if id_ not in self._lines:
            self.missing[id_] = {"id": id_, "step": step, "messages": written}
            raise NoReply(f"{self._file} holds no reply to {id_}.")
        return self._lines[id_]["reply"]

    def save(self) -> None:
        """Write the replies that were read, and after them the requests that wait for one."""
        lines = [*self._lines.values(), *self.missing.values()]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        self._file.write_text(text, encoding="utf-8")
