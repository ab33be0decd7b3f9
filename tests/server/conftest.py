"""A web server in the test's own process, with a collection of the sample documents."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from fastapi import FastAPI, routing
from fastapi.testclient import TestClient
from filelock import FileLock
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag import Index
from adaptive_rag.samples import lend_vectors, samples_path
from adaptive_rag.server.access import hash_token
from adaptive_rag.server.app import build_app
from adaptive_rag.server.indexing import make_indexing_settings, run_waiting_jobs
from adaptive_rag.server.requests import log_as_json
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Collection, Membership, Token, User
from tests.postgres_server import serving_postgres

# The name of the collection of samples.
SAMPLES = "samples"

# What questions leave out, unless a test asks for it: the model that reads passages takes most of their time.
QUICK: dict[str, Any] = {"without": ["reader"]}

Serve = Callable[..., AbstractContextManager[TestClient]]


@pytest.fixture(scope="session", autouse=True)
def _routes_read_once() -> Iterator[None]:
    """Each app has the same routes; FastAPI takes half a second to read what they take and return."""
    read_route = routing._build_dependant_with_parameterless_dependencies

    @cache
    def read_once(path: str, call: Any, dependencies: tuple[Any, ...]) -> Any:
        return read_route(path=path, call=call, dependencies=dependencies)

    def read(path: str, call: Any, dependencies: Any) -> Any:
        return read_once(path, call, tuple(dependencies))

    with (
        mock.patch.object(routing, "create_model_field", cache(routing.create_model_field)),
        mock.patch.object(routing, "_build_dependant_with_parameterless_dependencies", read),
    ):
        yield


@pytest.fixture(scope="session")
def sample_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an index of the samples, which tests copy or link; all workers of a run share it."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "sample-index"
    is_made = folder.with_suffix(".made")
    with FileLock(folder.with_suffix(".lock")):
        if not is_made.exists():
            lend_vectors(folder)
            Index.build(samples_path(), folder)
            is_made.touch()
    return folder


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Return what starts a server in this process, with an empty collection if it is named.

    `given` are the operator's settings of questions.
    """
    monkeypatch.chdir(tmp_path)

    @contextmanager
    def start(
        given: dict[str, Any] | None = None, *, collection: str = "", **settings: Any
    ) -> Iterator[TestClient]:
        own = read_server_settings(**{"data": tmp_path / "data", "workers": 0, **settings})
        with client_of(build_app(own, QUICK | (given or {}))) as client:
            if collection:
                client.post("/api/v1/collections", json={"name": collection}).raise_for_status()
            yield client

    return start


@pytest.fixture
def fresh(serve: Serve) -> Iterator[TestClient]:
    """Serve without a collection and without users."""
    with serve() as client:
        yield client


@pytest.fixture
def serve_samples(serve: Serve, sample_index: Path) -> Serve:
    """Return what starts such a server with the collection of samples."""

    @contextmanager
    def start(*given: Any, **settings: Any) -> Iterator[TestClient]:
        with serve(*given, **settings) as client:
            add_samples(client, sample_index)
            yield client

    return start


@pytest.fixture
def client(serve_samples: Serve) -> Iterator[TestClient]:
    """Serve the samples to everybody at this machine."""
    with serve_samples() as client:
        yield client


@pytest.fixture
def reading(serve_samples: Serve) -> Iterator[TestClient]:
    """Serve the samples to everybody at this machine, with the model that reads passages."""
    with serve_samples({"without": []}) as client:
        yield client


def client_of(app: FastAPI, address: str = "127.0.0.1") -> TestClient:
    """Return a client that sits at an address; errors of the server come as its answers."""
    return TestClient(
        app, base_url="http://localhost", client=(address, 50_000), raise_server_exceptions=False
    )


def work(client: TestClient) -> None:
    """Do the jobs that wait, as a worker would."""
    services = client.app.state.services
    run_waiting_jobs(
        make_indexing_settings(services.settings, services.operator), services.engine, lambda: False
    )


def add_samples(client: TestClient, sample_index: Path, name: str = SAMPLES) -> Collection:
    """Make a collection whose index holds the samples; its documents are not listed."""
    services = client.app.state.services
    with Session(services.engine, expire_on_commit=False) as db:
        db.add(Collection(name=name))
        db.commit()
        row = db.scalars(select(Collection).where(Collection.name == name)).one()
    place = services.folder_of(row).index
    place.parent.mkdir(parents=True)
    place.symlink_to(sample_index)
    return row


def add_user(client: TestClient, name: str, *, is_admin: bool = False, **roles: Role) -> TestClient:
    """Make a user with roles in collections, and return a client that asks as them, by a token."""
    services = client.app.state.services
    with Session(services.engine) as db:
        user = User(name=name, is_admin=is_admin)
        db.add(user)
        db.flush()
        db.add(Token(user_id=user.id, digest=hash_token(name), name="test", role=Role.ADMIN))
        for collection, role in roles.items():
            row = db.scalars(select(Collection).where(Collection.name == collection)).one()
            db.add(Membership(collection_id=row.id, user_id=user.id, role=role))
        db.commit()
    return program_of(client, name)


def program_of(client: TestClient, token: str = "") -> TestClient:
    """Return a client beside another that sends a token, if there is one."""
    other = client_of(client.app)
    other.portal = client.portal  # all ask in the server's own event loop
    if token:
        other.headers["Authorization"] = f"Bearer {token}"
    return other


def do_after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, then: Callable[[Any], object]) -> None:
    """Have a function do something else before it returns; that is given what it returns."""
    function = getattr(owner, name)

    def do_both(*given: Any, **more: Any) -> Any:
        result = function(*given, **more)
        then(result)
        return result

    monkeypatch.setattr(owner, name, do_both)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """Run a PostgreSQL."""
    with serving_postgres() as server:
        yield server


@pytest.fixture
def log() -> Iterator[StringIO]:
    """Log as `adaptive-rag serve --logs` does."""
    before, ours = list(logging.root.handlers), logging.getLogger("adaptive_rag")
    logging.root.handlers.clear()  # those that stay would be closed: they are pytest's
    stream = StringIO()
    log_as_json(stream)
    yield stream
    logging.root.handlers[:] = before
    ours.setLevel(logging.NOTSET)
