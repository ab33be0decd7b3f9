"""The services that the routes use, created once at the start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Engine

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
from adaptive_rag.server.tables import Collection


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
            SearchTarget(row.name, self.folder_of(row).index, frozenset(row.hidden))
            for row in (collection, *others)
        )
        return replace(first, others=tuple(rest))


def services_of(request: Request) -> Services:
    """Return the services of the server that received a request."""
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(services_of)]
