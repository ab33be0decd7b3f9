"""Reads what a caller passed: which text is the question, and what was said before it."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import InputState, Turn

MAX_QUESTION = 20_000


def read_question(state: InputState) -> tuple[str, list[Turn]]:
    """Return the question and the turns before it.

    A conversation that ends with the user's message asks that; otherwise `question` is asked after it.

    Raises:
        ConfigurationError: there is no question, or it is too long to be one.
    """
    messages: Sequence[AnyMessage] = state.get("messages", [])
    question: str
    if messages and isinstance(messages[-1], HumanMessage):
        question, earlier = str(messages[-1].text), messages[:-1]
    else:
        question, earlier = state.get("question", ""), messages
    if not isinstance(question, str):
        raise ConfigurationError(f"question = {question!r} is not usable: expected a text.")
    question = question.strip()
    if not question:
        raise ConfigurationError(
            "The question is empty. Pass a text as 'question', or 'messages' that end with the user's."
        )
    if len(question) > MAX_QUESTION:
        raise ConfigurationError(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION:,} are read. "
            "Put long material into a document and index it."
        )
    return question, read_history(state.get("history") or [], earlier)


def read_history(history: Sequence[Turn], messages: Sequence[AnyMessage]) -> list[Turn]:
    """Return the earlier turns: those given, else the conversation's user and agent messages.

    Raises:
        ConfigurationError: a given turn lacks its role or its text.
    """
    for turn in history:
        if not isinstance(turn, dict) or turn.get("role") not in ("user", "agent") or "text" not in turn:
            raise ConfigurationError(
                f"history holds {turn!r}; expected turns like "
                '{"role": "user", "text": "..."} with the role "user" or "agent".'
            )
    if history:
        return list(history)
    return [
        Turn(role="user" if isinstance(message, HumanMessage) else "agent", text=message.text)
        for message in messages
        if isinstance(message, HumanMessage | AIMessage) and message.text
    ]
