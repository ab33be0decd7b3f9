"""What kills a run by Ray at a moment that is named: its worker, once, or each worker that meets a text."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

from tests.index.made import HashEmbeddings

_calls: Counter[Path] = Counter()


class DeadlyEmbeddings(HashEmbeddings):
    """Kills the worker that it was sent to, once: on arrival, or before or after its nth call there."""

    def __init__(self, mark: Path, when: str, number: int) -> None:
        super().__init__()
        self.mark, self.when, self.number = mark, when, number
        self.owner = os.getpid()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.when == "on arrival":
            self._kill()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        _calls[self.mark] += 1
        is_time = _calls[self.mark] == self.number
        if is_time and self.when == "before":
            self._kill()
        vectors = super().embed_documents(texts)
        if is_time and self.when == "after":
            self._kill()
        return vectors

    def _kill(self) -> None:
        if os.getpid() != self.owner and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class PoisonedEmbeddings(HashEmbeddings):
    """Kills every worker that embeds a text with the word "poison"."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("poison" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed_documents(texts)


class FailingEmbeddings(HashEmbeddings):
    """Fails as a provider does that is out of reach."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if texts != ["dimension"]:
            from adaptive_rag.errors import IndexingError

            raise IndexingError("The embedding model 'far:away' failed: connection refused")
        return super().embed_documents(texts)
