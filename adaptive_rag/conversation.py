"""Stores named conversations and user profiles in an SQLite file."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import home, make_file, make_folder
from adaptive_rag.text.visible import without_surrogates

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.store.base import BaseStore
    from langgraph.store.sqlite import SqliteStore

FILE = "conversations.sqlite"
MAX_NAME = 200
# A conversation has one of so many lock files, by its name.
_LOCKS = 16
# Another program is answering if a lock is not free after this time.
_SOON_SECONDS = 0.2
NAMESPACE = ("adaptive_rag", "profiles")
# In characters. The profile becomes part of the prompt and the query of every contextual question.
MAX_PROFILE = 2_000


@dataclass(frozen=True)
class Thread:
    """The name of a conversation, and the time of its last turn (ISO 8601)."""

    name: str
    updated: str


def strict_serializer() -> JsonPlusSerializer:
    """Return LangGraph's serializer, restricted to plain values, messages and documents.

    Without the restriction, it calls any function that a checkpoint names, such as ("os", "system").
    """
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    return JsonPlusSerializer(allowed_msgpack_modules=None)


@contextmanager
def open_sqlite(file: Path) -> Iterator[tuple[SqliteSaver, SqliteStore]]:
    """Open a file of conversations and profiles; create it and its tables if they are missing.

    Raises:
        OSError, sqlite3.DatabaseError: the file cannot be opened, or is not a database.
    """
    from langgraph.store.sqlite import SqliteStore

    from adaptive_rag.checkpoints import ThreadedSqliteSaver

    make_file(file)
    with (
        ThreadedSqliteSaver.from_conn_string(str(file)) as saver,
        SqliteStore.from_conn_string(str(file)) as store,
    ):
        saver.serde = strict_serializer()
        saver.setup()
        store.setup()
        yield saver, store


class Threads:
    """The conversations and profiles of one SQLite file, which is open inside a `with` block."""

    def __init__(self, saver: SqliteSaver, store: SqliteStore, file: Path) -> None:
        self.saver = saver
        self.store = store
        self._file = file

    @classmethod
    @contextmanager
    def open(cls, path: str | Path | None = None) -> Iterator[Self]:
        """Open the file, by default the one in the user's own folder; create it if it is missing.

        Raises:
            ConfigurationError: the file cannot be opened, is not a database, or later cannot be written.
        """
        from filelock import FileLock

        file = Path(path).expanduser() if path is not None else home() / FILE
        advice = "Pass another file with --file, or move this one away."
        with ExitStack() as stack:
            try:
                make_folder(file.parent)
                with FileLock(f"{file}.lock", mode=0o600):  # two programs may create the tables at once
                    saver, store = stack.enter_context(open_sqlite(file))
            except (OSError, sqlite3.DatabaseError) as error:
                raise ConfigurationError(
                    f"The conversations in {str(file)!r} cannot be opened: {error}. {advice}"
                ) from error
            try:
                yield cls(saver, store, file)
            except sqlite3.DatabaseError as error:
                raise ConfigurationError(
                    f"The conversations in {str(file)!r} cannot be read or written: {error}. {advice}"
                ) from error

    @contextmanager
    def turn(self, name: str, on_wait: Callable[[], object]) -> Iterator[None]:
        """Keep other programs from continuing a conversation: each of them writes all of its turns.

        If another one is doing so, call `on_wait` and wait until it has finished.
        """
        from filelock import FileLock, Timeout

        number = zlib.crc32(name.encode()) % _LOCKS
        lock = FileLock(f"{self._file}.lock{number}", mode=0o600)
        try:
            lock.acquire(timeout=_SOON_SECONDS)
        except Timeout:
            on_wait()
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def names(self) -> list[Thread]:
        """Return the conversations, most recently continued first."""
        with self.saver.cursor(transaction=False) as cursor:
            names = [name for (name,) in cursor.execute("SELECT DISTINCT thread_id FROM checkpoints")]
        # Only the last state of each is read: a long conversation has thousands.
        states = [self.saver.get_tuple({"configurable": {"thread_id": name}}) for name in names]
        threads = [
            Thread(name, state.checkpoint["ts"]) for name, state in zip(names, states, strict=True) if state
        ]
        return sorted(threads, key=attrgetter("updated"), reverse=True)

    def forget(self, name: str) -> None:
        """Delete a conversation."""
        self.saver.delete_thread(check_name(name))


def check_name(name: str) -> str:
    """Return a conversation's name without surrounding blanks and what UTF-8 cannot encode."""
    name = without_surrogates(name).strip()
    if not 0 < len(name) <= MAX_NAME:
        raise ConfigurationError(
            f"A conversation's name has 1 to {MAX_NAME} characters; got {name[:40]!r} with {len(name)}."
        )
    return name


def read_profile(store: BaseStore | None, user_id: str | None) -> str:
    """Return a user's profile; empty if there is no store, user or profile."""
    if store is None or not user_id:
        return ""
    item = store.get(NAMESPACE, user_id)
    return str(item.value.get("text", "")) if item is not None else ""


def write_profile(store: BaseStore, user_id: str, text: str) -> None:
    """Replace a user's profile."""
    text = text.strip()
    if not user_id:
        raise ConfigurationError("A profile needs a user_id; got an empty one.")
    if len(text) > MAX_PROFILE:
        raise ConfigurationError(
            f"The profile of {user_id!r} has {len(text):,} characters; expected at most {MAX_PROFILE:,}. "
            "Shorten it to what answers should take into account."
        )
    store.put(NAMESPACE, user_id, {"text": text}, index=False)


def forget_profile(store: BaseStore, user_id: str) -> bool:
    """Delete a user's profile; return False if there was none."""
    existed = store.get(NAMESPACE, user_id) is not None
    store.delete(NAMESPACE, user_id)
    return existed
