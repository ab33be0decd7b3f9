"""A model that is asked by a recipe, and what it saw."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from langchain_core.messages import BaseMessage
from pydantic import PrivateAttr
from rank_bm25 import BM25Okapi

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.state import OutputState
from adaptive_rag.testing import ScriptedChatModel

QUESTIONS = {
    "factual": "How long is the sea wall of Saltmere?",
    "analytical": "How does dredging the harbour affect the marsh?",
    "opinion": "What do people think of raising the sea wall?",
    "contextual": "How should I prepare for a flood?",
}


class Watched(ScriptedChatModel):
    """A scripted model that has a temperature, and remembers at which one each step asked."""

    temperature: float | None = None
    _heat: dict[str, float | None] = PrivateAttr(default_factory=dict)

    @property
    def heat(self) -> dict[str, float | None]:
        return self._heat

    def _reply(self, messages: list[BaseMessage]) -> Any:
        reply = super()._reply(messages)
        self._heat[self.asked[-1][0]] = self.temperature
        return reply

    def prompt(self, step: str, number: int = 0) -> str:
        """Return what was asked by the nth call of a step."""
        found = [messages for asked, messages in self.asked if asked == step]
        return "\n".join(message.text for message in found[number])


def ask(
    town: MemoryIndex, recipe: str, kind: str, *, script: Any = None, user_context: str = "", **settings: Any
) -> tuple[OutputState, Watched]:
    """Ask a question of one type by a recipe; the model says that it is of this type."""
    model = Watched(script={"classify": {"type": kind}, **(script or {})})
    rag = AdaptiveRAG(town, model=model, recipe=recipe, **settings)
    return rag.invoke({"question": QUESTIONS[kind], "user_context": user_context}), model


def passages_in(prompt: str) -> list[str]:
    """Return the quoted text of each passage of a prompt."""
    found = re.findall(r"<passage [^>]*>\n(.*?)\n</passage>", prompt, re.S)
    return ["\n".join(line.removeprefix("| ") for line in body.splitlines()).strip() for body in found]


def nearest(town: MemoryIndex, text: str, n: int) -> list[str]:
    """Return the texts of the n passages whose vectors are nearest to a text."""
    [found] = town.search([text], limit=50)
    ranked = sorted(found, key=lambda candidate: -candidate["scores"]["dense"])
    return [candidate["text"] for candidate in ranked[:n]]


def okapi(texts: list[str], query: str) -> np.ndarray:
    """Return what the package BM25Okapi says of each text, with the settings that are published with it."""
    bm25 = BM25Okapi([text.lower().split() for text in texts], k1=1.5, b=0.75, epsilon=0.25)
    return bm25.get_scores(query.lower().split())


def scaled(values: Iterable[float]) -> np.ndarray:
    """Return values scaled to between 0 and 1."""
    array = np.asarray(list(values))
    return (array - array.min()) / (array.max() - array.min() + 1e-8)
