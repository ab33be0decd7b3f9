"""`adaptive-rag mcp`: let an agent read and ask the documents of an index, over standard input and output."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from adaptive_rag.cli import options
from adaptive_rag.errors import import_extra

if TYPE_CHECKING:
    from adaptive_rag.server.mcp_tools import Collections, OpenedCollection
    from adaptive_rag.server.roles import Action

NAME = "documents"


def mcp(
    index: options.Index = None,
    model: options.Model = None,
    assignments: options.Assignments = None,
    about: Annotated[str, Option("--about", help="What the documents are about, for the agent.")] = "",
) -> None:
    """Let an agent ask and read the documents of an index, by the Model Context Protocol on stdio."""
    reader = _LocalReader(options.collect_settings(assignments, index=index, model=model), about)
    from adaptive_rag.server.mcp import build_mcp

    # Otherwise Ctrl-C would wait for the thread that reads standard input, until that ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    build_mcp(lambda: reader).run("stdio", show_banner=False)


class _LocalReader:
    """The user of this machine, who can read one index."""

    def __init__(self, settings: dict[str, Any], about: str) -> None:
        import_extra("limits", extra="server", purpose="adaptive-rag mcp")
        server = options.server_settings()
        from adaptive_rag.context import make_context
        from adaptive_rag.index.index import source_of
        from adaptive_rag.server.answering import Answering

        context = make_context(settings)
        self.answering = Answering(server, settings)
        self._about, self._uri = about, str(context.index)
        # Open the index now, so that its faults reach the person who starts the command, not the agent.
        source_of(context)

    def collections(self, limit: int, offset: int, action: Action) -> Collections:
        """List the index as the only collection."""
        from adaptive_rag.index.sources import list_sources
        from adaptive_rag.server.mcp_tools import CollectionListed, Collections

        documents = list_sources(self._uri)
        passages = sum(document.chunks for document in documents if document.copy_of is None)
        collection = CollectionListed(
            name=NAME, description=self._about, documents=len(documents), passages=passages
        )
        return Collections(collections=[collection][offset : offset + limit], total=1)

    def open(self, collection: str, action: Action) -> OpenedCollection:
        """Return the index by its only name."""
        from adaptive_rag.server.mcp_tools import OpenedCollection
        from adaptive_rag.server.problems import not_found

        if collection not in ("", NAME):
            raise not_found("collection")
        return OpenedCollection(NAME, self._uri)

    def count(self, action: str) -> None:
        """Do nothing: the user of this machine has no rate limit."""
