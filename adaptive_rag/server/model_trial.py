"""Tries a chat model with one short call, and describes the outcome."""

from __future__ import annotations

import asyncio
import importlib
from typing import Literal

from fastapi.concurrency import run_in_threadpool

from adaptive_rag.context import ModelAccess
from adaptive_rag.context.caller import served_error
from adaptive_rag.llm.faults import Kind, fault_of
from adaptive_rag.models.chat import limit_length, load_chat_model
from adaptive_rag.server.model import ChosenModel

SECONDS, TOKENS = 10.0, 64

Outcome = Literal["works", "key_refused", "unknown_model", "unreachable", "address_refused", "failed"]
# The sentence for each outcome. The provider's own messages are never passed on.
OUTCOME_TEXTS: dict[Outcome, str] = {
    "works": "The model answers.",
    "key_refused": "The server refused the key, or it takes one.",
    "unknown_model": "The server knows no model of this name. An address usually ends in /v1.",
    "unreachable": f"The server cannot be reached, or did not answer within {SECONDS:g} seconds.",
    "address_refused": "The address leads to a place that is not allowed: plain http only to this machine or "
    "a private network, and never to where a cloud tells its machines secrets.",
    "failed": "The server answered, but not as a chat model does. It may be busy, or the account has no "
    "credit left.",
}
_OUTCOMES: dict[Kind, Outcome] = {
    "key": "key_refused",
    "unknown model": "unknown_model",
    "connection": "unreachable",
}


async def try_chat_model(chosen: ChosenModel, address: str | None, access: ModelAccess) -> Outcome:
    """Ask a chat model for one word, and return the outcome; raise ServedError if it cannot be loaded."""
    model = None
    try:
        async with asyncio.timeout(SECONDS):
            # The import takes seconds. The model must be created in the event loop that uses it.
            await run_in_threadpool(importlib.import_module, f"langchain_{chosen.provider}")
            chat_model = load_chat_model(
                chosen.spec, base_url=address, timeout=SECONDS, max_tokens=TOKENS, access=access
            )
            model = limit_length(chat_model, TOKENS)
            await model.ainvoke("Reply with the word: ready")
    except TimeoutError:
        return "unreachable"
    except Exception as error:  # each provider has its own errors
        if model is None:
            raise served_error(error) from None
        if _is_refused(error):
            return "address_refused"
        return _OUTCOMES.get(fault_of(error, model).kind, "failed")
    return "works"


def _is_refused(error: BaseException | None) -> bool:
    from adaptive_rag.models.guarded import AddressRefused

    return error is not None and (isinstance(error, AddressRefused) or _is_refused(error.__cause__))
