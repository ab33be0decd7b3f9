"""The file of conversations: no write to it is left half done, and a damaged one is named at the start."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server.app import build_app
from adaptive_rag.server.conversations import FILE, open_conversations
from adaptive_rag.server.database import open_database
from adaptive_rag.server.settings import read_server_settings

PLACE: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
WRITES: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "put": lambda saver: saver.aput(PLACE, empty_checkpoint(), {}, {}),
    "put writes": lambda saver: saver.aput_writes(PLACE, [("messages", "text")], "task"),
    "delete": lambda saver: saver.aprune(["t"], strategy="delete"),
    "prune": lambda saver: saver.aprune(["t"]),
}


@asynccontextmanager
async def stored_thread(data: Path) -> AsyncIterator[Any]:
    """Yield a saver that holds two checkpoints of a thread."""
    settings = read_server_settings(data=data)
    async with open_conversations(settings, open_database(settings)) as conversations:
        for _ in range(2):
            await WRITES["put"](conversations.saver)
        yield conversations.saver


def write_elsewhere(data: Path) -> None:
    """Write to the file over another connection, which fails if the file is locked."""
    with sqlite3.connect(data / FILE, timeout=0) as other:
        other.execute("DELETE FROM writes")


@pytest.mark.parametrize("write", WRITES)
def test_a_write_ends_if_its_caller_leaves(write: str, tmp_path: Path) -> None:
    async def leave() -> None:
        async with stored_thread(tmp_path) as saver:
            commit, has_begun, may_end = saver.conn.commit, asyncio.Event(), asyncio.Event()

            async def commit_slowly() -> None:
                has_begun.set()
                await may_end.wait()
                await commit()

            saver.conn.commit = commit_slowly
            caller = asyncio.ensure_future(WRITES[write](saver))
            await has_begun.wait()
            assert saver.conn.in_transaction
            caller.cancel()
            await asyncio.sleep(0)
            may_end.set()
            with suppress(asyncio.CancelledError):
                await caller
            assert caller.cancelled() and not saver.conn.in_transaction
            write_elsewhere(tmp_path)

    asyncio.run(leave())


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_fails_is_undone(write: str, tmp_path: Path) -> None:
    async def fail() -> None:
        async with stored_thread(tmp_path) as saver:
            commit = saver.conn.commit

            async def refuse() -> None:
                raise sqlite3.OperationalError("database or disk is full")

            saver.conn.commit = refuse
            with pytest.raises(sqlite3.OperationalError, match="full"):
                await WRITES[write](saver)
            saver.conn.commit = commit
            assert not saver.conn.in_transaction
            write_elsewhere(tmp_path)
            assert len([stored async for stored in saver.alist(None)]) == 2

    asyncio.run(fail())


@pytest.mark.parametrize("kind", ["garbage", "folder"])
def test_a_server_whose_conversations_are_damaged_names_their_file_and_leaves_it(
    kind: str, tmp_path: Path
) -> None:
    settings, file = read_server_settings(data=tmp_path), tmp_path / FILE
    if kind == "folder":
        file.mkdir()
    else:
        file.write_bytes(b"garbage" * 1000)
    with pytest.raises(ConfigurationError, match=rf"{FILE}' cannot be opened.*[Mm]ove this file away"):
        build_app(settings, {})
    assert file.is_dir() if kind == "folder" else file.read_bytes() == b"garbage" * 1000
