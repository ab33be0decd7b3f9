"""The process that reads files for another process, so that a file that crashes it does no further harm.

It imports only the loaders and their libraries, reads one file after the other as requested on its standard
input, and answers on its standard output. It ends when that input ends, after a minute without work, and, if
its owner has died in the meantime, shortly after the time that a file may take.
"""

from __future__ import annotations

import faulthandler
import logging
import math
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError, MissingExtraError
from adaptive_rag.ingest.allowance import longest_wait, receive_requests
from adaptive_rag.ingest.documents import SourceFile
from adaptive_rag.ingest.file import TOO_LARGE, read_file
from adaptive_rag.ingest.loaders import Loader
from adaptive_rag.ingest.wire import pack, read_message, write_message

IDLE_SECONDS = 60.0
# A line of its own: what Python printed while it started stands before it.
READY = b"\nadaptive-rag reads files\n"
_GRACE_SECONDS = 3.0
# A library may compute in several threads; their processor time adds up.
_THREADS = 4


def serve() -> None:
    """Read files until the owner of this process closes its standard input."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    devnull = os.open(os.devnull, os.O_RDWR)
    # Output that a library prints must not get between the messages.
    for descriptor in (0, 1, 2):
        os.dup2(devnull, descriptor)
    # Ctrl-C is for the owner, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable()
    replies.write(READY)
    replies.flush()
    deadline, memory_limit = 0.0, 0

    def exit_after(seconds: float) -> None:
        # This watchdog works without the interpreter, which a library may hold forever.
        faulthandler.dump_traceback_later(seconds, exit=True, file=devnull)

    def grant(seconds: float, memory: int, stays: bool) -> None:
        nonlocal deadline
        write_message(replies, {"grant": {"seconds": seconds, "memory": memory, "stays": stays}})
        deadline = max(deadline, time.monotonic() + longest_wait(seconds))
        exit_after(deadline - time.monotonic() + _GRACE_SECONDS)
        _allow_processor_time(seconds)
        _limit_memory(memory_limit + memory)

    receive_requests(grant)
    while True:
        exit_after(IDLE_SECONDS)
        try:
            request, _ = read_message(requests)
        except EOFError:
            return
        seconds, memory_limit = request["seconds"], request["memory"]
        deadline = time.monotonic() + longest_wait(seconds)
        exit_after(longest_wait(seconds) + _GRACE_SECONDS)
        _allow_processor_time(seconds)
        _limit_memory(memory_limit)
        write_message(replies, *_reply(request))


def _reply(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Read the requested file, and return its packed text or the error as a message."""
    sys.path[:] = request["path"]
    file = SourceFile(Path(request["file"]), request["source"])
    loader = Loader(**{**request["loader"], "suffixes": tuple(request["loader"]["suffixes"])})
    try:
        return pack(read_file(file, loader))
    except MemoryError:
        return {"error": "IndexingError", "reason": TOO_LARGE, "detail": traceback.format_exc()}, b""
    except (IndexingError, MissingExtraError) as error:
        return {"error": type(error).__name__, "reason": str(error), "detail": traceback.format_exc()}, b""


def _allow_processor_time(seconds: float) -> None:
    """Let this process use so much more, unless it may use more already; Windows does not support this.

    Its owner ends it earlier; this is for the case that the owner has died.
    """
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
        allowed = 0 if soft == resource.RLIM_INFINITY else soft
        limit = max(allowed, math.ceil(time.process_time() + _THREADS * seconds + _GRACE_SECONDS))
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def _limit_memory(size: int) -> None:
    """Make allocations far beyond the owner's limit fail; only Linux supports this."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = size + size // 4
        # A limit that the system or a cluster has set cannot be raised.
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
