"""`adaptive-rag worker`: index what is uploaded to a server, in a separate process."""

from __future__ import annotations

from adaptive_rag.cli import options


def worker(data: options.Data = None) -> None:
    """Index what is uploaded to a server whose `server.workers` is 0, until Ctrl-C.

    A worker reads the same config file and environment as the server, and needs the same data folder. Several
    workers may run at the same time; each collection is indexed by one of them.
    """
    settings = options.server_settings(data=data)
    from adaptive_rag.context import make_context
    from adaptive_rag.server.indexing import make_indexing_settings
    from adaptive_rag.server.workers import work

    work(settings, make_indexing_settings(settings, make_context({})))
