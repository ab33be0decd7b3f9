"""LangGraph's saver for SQLite, which is synchronous, for the asynchronous methods of a graph too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver


class ThreadedSqliteSaver(SqliteSaver):
    """A saver whose asynchronous methods run the synchronous ones in a thread."""

    async def aget_tuple(self, *args: Any, **options: Any) -> CheckpointTuple | None:
        """Do what `get_tuple` does, asynchronously."""
        return await asyncio.to_thread(self.get_tuple, *args, **options)

    async def alist(self, *args: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:
        """Do what `list` does, asynchronously."""
        for checkpoint in await asyncio.to_thread(lambda: [*self.list(*args, **options)]):
            yield checkpoint

    async def aput(self, *args: Any, **options: Any) -> Any:
        """Do what `put` does, asynchronously."""
        return await asyncio.to_thread(self.put, *args, **options)

    async def aput_writes(self, *args: Any, **options: Any) -> None:
        """Do what `put_writes` does, asynchronously."""
        await asyncio.to_thread(self.put_writes, *args, **options)

    async def adelete_thread(self, thread_id: str) -> None:
        """Do what `delete_thread` does, asynchronously."""
        await asyncio.to_thread(self.delete_thread, thread_id)
