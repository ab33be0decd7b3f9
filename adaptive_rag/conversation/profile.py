"""A user's profile: a few lines about who asks, kept in a LangGraph Store and added to the context."""

from __future__ import annotations

from langgraph.store.base import BaseStore

from adaptive_rag.errors import ConfigurationError

NAMESPACE = ("adaptive_rag", "profiles")
# A profile goes into every contextual question's prompt and query.
MAX_CHARACTERS = 2_000


def read_profile(store: BaseStore | None, user_id: str | None) -> str:
    """Return what is known of a user; empty without a store, a user or a profile."""
    if store is None or not user_id:
        return ""
    item = store.get(NAMESPACE, user_id)
    return str(item.value.get("text", "")) if item is not None else ""


def write_profile(store: BaseStore, user_id: str, text: str) -> None:
    """Replace what is known of a user.

    Raises:
        ConfigurationError: the user has no name, or the text is too long to be added to every question.
    """
    text = text.strip()
    if not user_id:
        raise ConfigurationError("A profile needs a user_id to be kept under.")
    if len(text) > MAX_CHARACTERS:
        raise ConfigurationError(
            f"The profile of {user_id!r} has {len(text):,} characters; at most {MAX_CHARACTERS:,} are kept. "
            "Shorten it to what answers should take into account."
        )
    store.put(NAMESPACE, user_id, {"text": text}, index=False)


def forget_profile(store: BaseStore, user_id: str) -> bool:
    """Delete what is known of a user; False where nothing was."""
    known = store.get(NAMESPACE, user_id) is not None
    store.delete(NAMESPACE, user_id)
    return known


def join_context(user_context: str, profile: str) -> str:
    """Return what the asker says now with what is known of them; what they say now comes first."""
    return "\n".join(part for part in (user_context.strip(), profile.strip()) if part)
