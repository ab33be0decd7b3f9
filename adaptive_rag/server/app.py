"""The web app: opens the services and assembles the routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from starlette.routing import Route
from starlette.types import Lifespan
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from adaptive_rag.context import Context, make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.graph.builder import check_names
from adaptive_rag.server import browser, operation
from adaptive_rag.server.access import has_users
from adaptive_rag.server.answering import MOST_BYTES, Answering
from adaptive_rag.server.api import (
    ask,
    collections,
    documents,
    feedback,
    jobs,
    model,
    notes,
    selection,
    session,
    several,
    sharing,
    strategies,
    threads,
    tokens,
    uploads,
    users,
)
from adaptive_rag.server.bounds import RequestLimits
from adaptive_rag.server.conversations import check_conversations, open_conversations
from adaptive_rag.server.database import open_database
from adaptive_rag.server.followers import Followers
from adaptive_rag.server.host_names import HostNames
from adaptive_rag.server.indexing import clear_leftovers, make_indexing_settings
from adaptive_rag.server.mcp import PATH, AuthenticatedApp, build_mcp_app
from adaptive_rag.server.model import ServerModel
from adaptive_rag.server.oidc import Provider
from adaptive_rag.server.pairing import pair
from adaptive_rag.server.problems import PROBLEMS, add_problem_handlers
from adaptive_rag.server.pruning import remove_old_rows_daily
from adaptive_rag.server.rates import Rates
from adaptive_rag.server.readiness import Readiness
from adaptive_rag.server.requests import RequestLog
from adaptive_rag.server.services import Services
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.v1 import completions, models
from adaptive_rag.server.v1.errors import ERRORS, PREFIX
from adaptive_rag.server.workers import supervise_workers

# The routers of the REST API, in the order of the API's documentation.
ROUTERS: tuple[APIRouter, ...] = (
    collections.router,
    uploads.router,  # before documents.router, where /uploadable would be taken for the id of a document
    documents.router,
    notes.router,
    jobs.router,
    ask.router,
    several.router,
    selection.router,
    strategies.router,
    threads.router,
    sharing.router,
    feedback.router,
    session.router,
    tokens.router,
    users.router,
    model.router,
)


def build_app(settings: ServerSettings, question_settings: Mapping[str, Any]) -> FastAPI:
    """Build the app; `question_settings` holds the operator's settings for questions, as for `make_context`.

    Raises:
        ConfigurationError: a setting, the database or the conversations cannot be used; or other machines can
            reach the server, and it has no users.
    """
    operator = make_context(question_settings)
    check_names(operator)
    engine = open_database(settings)
    pair(settings, engine)
    check_conversations(settings)
    _require_users_off_loopback(settings, engine)
    mcp = build_mcp_app()
    app = FastAPI(
        title="Adaptive RAG",
        description="Ask your documents; each question goes the way that suits it.",
        lifespan=lambda app: _run_services(app, settings, question_settings, operator, engine, mcp.lifespan),
        docs_url=None,  # FastAPI's page would load scripts from another host
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    add_problem_handlers(app)
    api = APIRouter(prefix="/api/v1", responses=PROBLEMS, max_body_size=MOST_BYTES)
    for router in ROUTERS:
        api.include_router(router)
    app.include_router(api)
    for router in (models.router, completions.router):
        app.include_router(router, prefix=PREFIX, responses=ERRORS, tags=["OpenAI's API"])
    app.include_router(operation.router)
    app.include_router(browser.router)
    app.router.routes.append(browser.page_files())
    app.router.routes.append(Route(PATH, AuthenticatedApp(mcp)))
    # The middleware added last runs first: the others then see the caller's own address instead of the
    # proxy's. HostNames comes next, so that every response has the security headers.
    app.add_middleware(RequestLimits)
    app.add_middleware(RequestLog)
    app.add_middleware(HostNames, settings=settings)
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.trusted_proxies))
    return app


@asynccontextmanager
async def _run_services(
    app: FastAPI,
    settings: ServerSettings,
    question_settings: Mapping[str, Any],
    operator: Context,
    engine: Engine,
    mcp_lifespan: Lifespan[FastAPI],
) -> AsyncIterator[None]:
    """Open the services when the app starts, and close them when it stops."""
    async with AsyncExitStack() as stack:
        conversations = await stack.enter_async_context(open_conversations(settings, engine))
        stack.callback(engine.dispose)
        provider = Provider(settings) if settings.oidc_issuer else None
        server_model = ServerModel(settings, operator, engine)
        app.state.services = Services(
            settings=settings,
            operator=operator,
            engine=engine,
            answering=Answering(settings, question_settings, conversations, server_model),
            conversations=conversations,
            rates=Rates(settings.rate),
            readiness=Readiness(settings, server_model, engine),
            followers=Followers(engine),
            provider=provider,
            model=server_model,
        )
        await run_in_threadpool(clear_leftovers, settings.data, engine)
        stack.callback(asyncio.create_task(remove_old_rows_daily(engine, settings.audit_days)).cancel)
        await stack.enter_async_context(
            supervise_workers(settings, make_indexing_settings(settings, operator))
        )
        await stack.enter_async_context(mcp_lifespan(app))
        yield


def _require_users_off_loopback(settings: ServerSettings, engine: Engine) -> None:
    """Refuse to start a server that others can reach and that has no users."""
    with Session(engine) as db:
        if not (settings.is_loopback or settings.oidc_issuer or has_users(db)):
            raise ConfigurationError(
                f"The server would listen on {settings.host}, where others can reach it, and has no users. "
                "Add one with: adaptive-rag users add NAME --admin"
            )
