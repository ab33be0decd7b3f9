"""The services that the routes use, created once at the start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from adaptive_rag.context import Context
from adaptive_rag.server.answering import Answering
from adaptive_rag.server.conversations import Conversations
from adaptive_rag.server.folders import CollectionFolder, SearchTarget, folder_of
from adaptive_rag.server.followers import Followers
from adaptive_rag.server.model import ServerModel
from adaptive_rag.server.oidc import Provider
from adaptive_rag.server.rates import Rates
from adaptive_rag.server.readiness import Readiness
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Collection, Document


@dataclass(frozen=True)
class Services:
    """The open parts of a running server."""

    settings: ServerSettings
    # the operator's settings for questions
    operator: Context
    engine: Engine
    answering: Answering
    conversations: Conversations
    rates: Rates
    readiness: Readiness
    followers: Followers
    # the provider that signs people in, if there is one
    provider: Provider | None
    # the chat model that an admin has set; it is used only if the operator has set none
    model: ServerModel

    def folder_of(self, collection: Collection) -> CollectionFolder:
        """Return the folder of a collection; its name is not part of the path."""
        return folder_of(self.settings.data, collection.id)

    def search_target(self, collection: Collection, *others: Collection) -> SearchTarget:
        """Return what a question to one collection, or to several, searches."""
        first, *rest = (
            SearchTarget(
                row.name,
                self.folder_of(row).index,
                frozenset(row.hidden),
                count_waiting=partial(self._count_waiting, row.id),
            )
            for row in (collection, *others)
        )
        return replace(first, others=tuple(rest))

    def _count_waiting(self, collection_id: str) -> int:
        is_waiting = Document.chunks.is_(None) & Document.problem.is_(None)
        query = select(func.count()).where(Document.collection_id == collection_id, is_waiting)
        with Session(self.engine) as db:
            return db.scalar(query) or 0


def services_of(request: Request) -> Services:
    """Return the services of the server that received a request."""
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(services_of)]
