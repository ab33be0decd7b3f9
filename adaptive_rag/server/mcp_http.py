"""The tools of agents over HTTP, at /mcp: each call with the rights of whoever's token it carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from adaptive_rag.server.access import Caller, collection_open_to, identify, refuse_other_sites
from adaptive_rag.server.answering import Answering
from adaptive_rag.server.api.collections import list_collections
from adaptive_rag.server.api.pages import Window
from adaptive_rag.server.mcp import build_mcp
from adaptive_rag.server.mcp_results import CollectionListed, Collections
from adaptive_rag.server.mcp_tools import Shelf, only_one
from adaptive_rag.server.services import Services

if TYPE_CHECKING:
    from fastmcp.server.http import StarletteWithLifespan

PATH = "/mcp"


@dataclass(frozen=True)
class HttpReader:
    """The caller of a request, and the collections that are open to them."""

    caller: Caller
    services: Services

    @property
    def id(self) -> str:
        """Their id."""
        return self.caller.id

    @property
    def answering(self) -> Answering:
        """The graph, as for every other door."""
        return self.services.answering

    def collections(self, limit: int, offset: int) -> Collections:
        """List the collections that are open to them."""
        with self._db() as db:
            page = list_collections(db, self.caller, Window(limit, offset))
        listed = [
            CollectionListed(
                name=each.name, description=each.description, documents=each.documents, passages=each.chunks
            )
            for each in page.items
        ]
        return Collections(collections=listed, total=page.total)

    def open(self, collection: str) -> Shelf:
        """Return a collection that is open to them."""
        name = collection or only_one([each.name for each in self.collections(2, 0).collections])
        with self._db() as db:
            found = collection_open_to(db, self.caller, name)
            place = self.services.index_of(found)
        return Shelf(name, str(place.index), place)

    def count(self) -> None:
        """Count a question or a search of theirs."""
        self.services.rates.count_question(self.caller)

    def _db(self) -> Session:
        return Session(self.services.engine, expire_on_commit=False)


class _Door:
    """Names the caller of each request before the protocol sees it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        request.state.reader = await run_in_threadpool(_admit, request)
        await self._app(scope, receive, send)


def _admit(request: Request) -> HttpReader:
    services: Services = request.app.state.services
    refuse_other_sites(request, is_strict=False)
    with Session(services.engine, expire_on_commit=False) as db:
        return HttpReader(identify(request, db), services)


def _reader() -> HttpReader:
    from fastmcp.server.dependencies import get_http_request

    reader: HttpReader = get_http_request().state.reader
    return reader


def build_mcp_app() -> StarletteWithLifespan:
    """Return the app of the tools; it answers under its own lifespan alone.

    Raises:
        MissingExtraError: a package of the extra `server` is not installed.
    """
    # Stateless: a session would be a second name of its caller beside their token, and one to guess. Who may
    # send a request at all is decided where it is for every other door.
    return build_mcp(_reader).http_app(PATH, stateless_http=True, host_origin_protection=False)


def mcp_route(app: ASGIApp) -> Route:
    """Return the route of that app: only what has a caller comes to it."""
    return Route(PATH, _Door(app))
