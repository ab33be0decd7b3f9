"""What is remembered between questions: threads by name, and what a user has told about themselves."""

from adaptive_rag.conversation.profile import forget_profile, read_profile, write_profile
from adaptive_rag.conversation.threads import Thread, Threads, home

__all__ = ["Thread", "Threads", "forget_profile", "home", "read_profile", "write_profile"]
