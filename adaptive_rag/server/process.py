"""The process of the web server: locks the data folder, opens the port, runs the app and stops it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI
from filelock import FileLock, Timeout

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import make_folder
from adaptive_rag.server.connections import connection_class
from adaptive_rag.server.settings import ServerSettings

LOCK = "server.lock"
# Time for sending the last bytes of answers, also to clients that do not read them.
FLUSH_SECONDS = 5


@contextmanager
def lock_data_folder(settings: ServerSettings) -> Iterator[None]:
    """Lock the data folder during the block. Servers that share a PostgreSQL database may share the folder.

    Raises:
        ConfigurationError: another server uses the folder, or it cannot be written.
    """
    if settings.database is not None:
        yield
        return
    try:
        make_folder(settings.data)
        lock = FileLock(settings.data / LOCK, timeout=0).acquire()
    except Timeout:
        raise ConfigurationError(
            f"Another server uses the data folder {str(settings.data)!r}. Stop it, or name another folder "
            "with --data."
        ) from None
    except OSError as error:
        detail = f"The data folder {str(settings.data)!r} cannot be written: {error.strerror or error}."
        raise ConfigurationError(f"{detail} Name another one with --data.") from error
    with lock:
        yield


def listen(settings: ServerSettings) -> socket.socket:
    """Open the port, and return its socket. Clients that connect before the server is ready wait."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigurationError(
            f"The server cannot listen on {settings.host}, port {settings.port}: {error.strerror or error}. "
            "Name a free port with --port, or 0 to be given one."
        ) from error


def run(
    app: FastAPI,
    settings: ServerSettings,
    server_socket: socket.socket,
    on_ready: Callable[[], None],
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; a second Ctrl-C ends the process at once, with exit code 130.

    Raises:
        ConfigurationError: the app could not start.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=connection_class(settings),
        ws="none",
        h11_max_incomplete_event_size=65_536,
        timeout_graceful_shutdown=int(settings.stop_seconds) + FLUSH_SECONDS,
    )
    # After it has stopped, uvicorn sends the signal to the process once more, which then becomes
    # KeyboardInterrupt.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _Server(config, settings, on_ready, on_stop).run(sockets=[server_socket])
    except KeyboardInterrupt:
        return
    except SystemExit:  # uvicorn has logged the error
        raise ConfigurationError("The server could not start: see the error above.") from None


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        settings: ServerSettings,
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._stop_seconds, self._on_ready, self._on_stop = settings.stop_seconds, on_ready, on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start up, and call `on_ready` once the server answers."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Call `on_stop`; end streams of jobs; give running answers `stop_seconds`, then refuse them."""
        self._on_stop()
        services = self.config.app.state.services  # type: ignore[union-attr]
        services.followers.stop()
        asyncio.get_running_loop().call_later(self._stop_seconds, services.answering.stop)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End at once on a second Ctrl-C. The data on disk stays valid, and workers end by themselves."""
        if self.should_exit and sig == signal.SIGINT:
            os._exit(130)
        super().handle_exit(sig, frame)
