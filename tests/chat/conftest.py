"""A scripted chat server, and a graph over the small town that talks to it."""

from __future__ import annotations

import pytest

from adaptive_rag.llm import exchange, structured
from adaptive_rag.runnable import AdaptiveRAG
from benchmarks.chat_server import ChatServer
from tests.conftest import EVERY_STEP


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    """Forget which forms earlier servers refused, take no key from the environment, and repeat at once."""
    monkeypatch.setattr(structured, "_refused", {})
    monkeypatch.setattr(exchange, "BACKOFF", 0.001)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    with ChatServer(say=say) as running:
        yield running


@pytest.fixture
def rag(town, server):
    return AdaptiveRAG(town, model="openai:scripted", **{"models.base_url": server.url}, **EVERY_STEP)


ANSWER = "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high [1]."


def say(body):
    """Answer with what the first passage says, so that the answer is grounded whatever was found."""
    from benchmarks.chat_server import say_sensibly

    text = body["messages"][-1]["content"]
    if (
        body.get("response_format")
        or '<passage n="1"' not in text
        or "with the number of the passage" not in text
    ):
        return say_sensibly(body)
    lines = text.partition('<passage n="1"')[2].splitlines()[1:]
    return lines[0].removeprefix("| ").rstrip(". ") + " [1]."
