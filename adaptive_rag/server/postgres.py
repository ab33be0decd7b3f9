"""PostgreSQL connections with a limit on the server's silence.

A frozen server neither fails nor answers. Its operating system still acknowledges what it receives, so no
timeout of TCP ends the wait.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from psycopg import AsyncConnection, Connection, OperationalError
from psycopg.errors import ConnectionTimeout

# libpq's timeouts for unreachable machines, by its names: in seconds, the last in milliseconds.
TIMEOUTS = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
# How long a server may be silent during a statement, and while tables are created or changed.
SECONDS_OF_SILENCE, SECONDS_OF_CHANGES = 15.0, 600.0
# For so long after a silence, new connections fail at once, so that requests do not wait for them.
RETRY_PAUSE = 5.0
# How long to wait for a connection of a pool.
POOL_SECONDS = 10.0
_silence_limit: ContextVar[float | None] = ContextVar("bound", default=None)
_last_silence = [float("-inf")]


@contextmanager
def allow_slow_statements() -> Iterator[None]:
    """Allow a longer silence during the block, for statements such as the creation of an index."""
    token = _silence_limit.set(SECONDS_OF_CHANGES)
    try:
        yield
    finally:
        _silence_limit.reset(token)


class PatientConnection(Connection[Any]):
    """A connection that is closed if the server is silent for too long."""

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a generator on the connection; fail if the server is silent for too long."""
        return super().wait(_limit_silence(self, gen), *args, **kwargs)


class AsyncPatientConnection(AsyncConnection[Any]):
    """`PatientConnection` for asyncio."""

    async def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a generator on the connection; fail if the server is silent for too long."""
        return await super().wait(_limit_silence(self, gen), *args, **kwargs)


def connect(*args: Any, **kwargs: Any) -> PatientConnection:
    """Open a connection, unless the server fell silent a moment ago."""
    if time.monotonic() - _last_silence[0] < RETRY_PAUSE:
        raise OperationalError("the database did not answer a moment ago")
    try:
        return PatientConnection.connect(*args, **kwargs)
    except ConnectionTimeout:
        _last_silence[0] = time.monotonic()
        raise


def _limit_silence(
    connection: Connection[Any] | AsyncConnection[Any], generator: Any
) -> Generator[Any, Any, Any]:
    """Limit the silence during a generator of psycopg, which resumes it several times a second."""
    limit = _silence_limit.get() or SECONDS_OF_SILENCE
    last_answer = time.monotonic()
    try:
        waiting_for = next(generator)
        while True:
            ready = yield waiting_for
            if ready:
                last_answer = time.monotonic()
            elif time.monotonic() - last_answer > limit:
                connection.pgconn.finish()
                _last_silence[0] = time.monotonic()
                raise OperationalError(f"the database did not answer for {limit:g} seconds")
            waiting_for = generator.send(ready)
    except StopIteration as ended:
        return ended.value
