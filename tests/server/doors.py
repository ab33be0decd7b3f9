"""Every door of the web server at which a question can be asked."""

from __future__ import annotations

from typing import Any

# What a client of the tools for agents sends.
JSON_RPC = {"Accept": "application/json, text/event-stream"}


def doors(question: str, settings: Any = None, *, at: str = "samples", thread: str = "") -> dict[str, Any]:
    """Return the path and the body of a question at each door, by the name of the door."""
    asked = {"question": question, "settings": settings or {}}
    chat = {"model": at, "messages": [{"role": "user", "content": question}], "adaptive_rag": settings or {}}
    tool = {"name": "ask", "arguments": {**asked, "collection": at}}
    collection, own = f"/api/v1/collections/{at}", f"/api/v1/threads/{thread}"
    return {
        "ask": (f"{collection}/ask", asked),
        "events": (f"{collection}/ask/events", asked),
        "compare": (f"{collection}/compare", asked),
        "thread": (f"{own}/ask", asked),
        "thread events": (f"{own}/ask/events", asked),
        "chat": ("/v1/chat/completions", chat),
        "chat stream": ("/v1/chat/completions", {**chat, "stream": True}),
        "agent": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}),
    }


DOORS = tuple(doors(""))
