"""PostgreSQL connections that wait for a bounded time, since a frozen server neither fails nor answers.

The frozen server's system still acknowledges what it receives, so no time limit of TCP ends the wait.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from psycopg import AsyncConnection, Connection, OperationalError
from psycopg.errors import ConnectionTimeout

# Limits after which an unreachable machine is noticed: in seconds, the last in milliseconds (libpq's names).
GIVE_UP = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
# How long a server may be silent during one statement, and while tables are created or changed.
SECONDS_OF_SILENCE, SECONDS_OF_CHANGES = 15.0, 600.0
# After such a silence, new connections fail at once for this long, which also ends the waits for them.
SECONDS_WITHOUT = 5.0
# How long to wait for a connection of a pool.
SECONDS_FOR_A_PLACE = 10.0
_bound: ContextVar[float | None] = ContextVar("bound", default=None)
_fell_silent = [float("-inf")]


@contextmanager
def changing_tables() -> Iterator[None]:
    """Wait longer for each statement of the block, such as one that creates an index."""
    token = _bound.set(SECONDS_OF_CHANGES)
    try:
        yield
    finally:
        _bound.reset(token)


class PatientConnection(Connection[Any]):
    """A connection that is closed if its server falls silent."""

    def wait(self, gen: Any, *args: Any, **given: Any) -> Any:
        """Run a generator on the connection; fail if the server is silent for too long."""
        return super().wait(_bounded(self, gen), *args, **given)


class AsyncPatientConnection(AsyncConnection[Any]):
    """`PatientConnection` for asyncio."""

    async def wait(self, gen: Any, *args: Any, **given: Any) -> Any:
        """Run a generator on the connection; fail if the server is silent for too long."""
        return await super().wait(_bounded(self, gen), *args, **given)


def connect(*args: Any, **given: Any) -> PatientConnection:
    """Open a connection, unless the server fell silent a moment ago."""
    if time.monotonic() - _fell_silent[0] < SECONDS_WITHOUT:
        raise OperationalError("the database fell silent a moment ago")
    try:
        return PatientConnection.connect(*args, **given)
    except ConnectionTimeout:
        _fell_silent[0] = time.monotonic()
        raise


def _bounded(connection: Connection[Any] | AsyncConnection[Any], gen: Any) -> Generator[Any, Any, Any]:
    """Wrap a generator of psycopg, which resumes it a few times a second, with a limit of silence."""
    seconds = _bound.get() or SECONDS_OF_SILENCE
    heard = time.monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard > seconds:
                connection.pgconn.finish()
                _fell_silent[0] = time.monotonic()
                raise OperationalError(f"the database said nothing for {seconds:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as ended:
        return ended.value
