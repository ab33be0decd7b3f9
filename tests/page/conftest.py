"""Servers that the tests share, and people at their pages who notice every error."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from sqlalchemy.orm import Session

from adaptive_rag.server.accounts import add_user
from adaptive_rag.server.database import open_database
from adaptive_rag.server.settings import read_server_settings
from benchmarks.chat_server import ChatServer, say_sensibly
from tests.page.browser import Person, launch, person
from tests.page.servers import Servers

Visit = Callable[..., AbstractContextManager[Person]]
PASSWORD = "correct horse battery"

expect.set_options(timeout=20_000)  # machines of tests are slow at times


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Return what starts servers."""
    with Servers(tmp_path_factory.mktemp("servers")) as started:
        yield started


@pytest.fixture(scope="session")
def demo(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the samples as `serve --demo` does; tests leave the collection `samples` as it is."""
    with servers.serve(tmp_path_factory.mktemp("demo"), "--demo") as address:
        yield address


class Model(ChatServer):
    """A chat model that fills forms sensibly, and writes what it is told to."""

    def __init__(self) -> None:
        super().__init__(say=self._say)
        self.write: Callable[[dict[str, Any]], str] = say_sensibly

    def _say(self, body: dict[str, Any]) -> str:
        return (say_sensibly if body.get("response_format") else self.write)(body)


@pytest.fixture
def model(demo: str) -> Iterator[Model]:
    """Let the demo's server use a chat model during a test, which says what it writes."""
    with Model() as running, httpx.Client(base_url=f"{demo}/api/v1", timeout=30) as api:
        chosen = {"provider": "openai", "name": "scripted", "address": running.url, "key": "key"}
        api.put("/model", json=chosen).raise_for_status()
        yield running
        api.delete("/model").raise_for_status()


@pytest.fixture(scope="session")
def team(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve people who sign in: ada, an admin; in `tides` wim writes and ben reads; otto may do nothing."""
    folder = tmp_path_factory.mktemp("team")
    engine = open_database(read_server_settings(data=folder / "data"))
    with Session(engine) as db:
        for name in ("ada", "wim", "ben", "otto"):
            add_user(db, name, PASSWORD, is_admin=name == "ada")
        db.commit()
    engine.dispose()
    # Nothing is indexed there.
    with servers.serve(folder, "--data", str(folder / "data"), ADAPTIVE_RAG_SERVER__WORKERS="0") as address:
        with httpx.Client(base_url=f"{address}/api/v1", headers={"Origin": address}) as ada:
            ada.post("/session", json={"name": "ada", "password": PASSWORD}).raise_for_status()
            ada.post("/collections", json={"name": "tides"}).raise_for_status()
            for name, role in (("ben", "reader"), ("wim", "writer")):
                ada.put(f"/collections/tides/members/{name}", json={"role": role}).raise_for_status()
        yield address


def sign_in(page: Page, address: str, name: str) -> None:
    """Sign one of the team in, before the page is opened."""
    page.context.request.post(
        f"{address}/api/v1/session",
        data={"name": name, "password": PASSWORD},
        headers={"Origin": address},
        fail_on_status_code=True,
    )


@contextmanager
def new_collection(address: str, name: str) -> Iterator[str]:
    """Make a collection, yield its address in the API, and delete it."""
    collections = f"{address}/api/v1/collections"
    httpx.post(collections, json={"name": name}, headers={"Origin": address}).raise_for_status()
    try:
        yield f"{collections}/{name}"
    finally:
        httpx.delete(f"{collections}/{name}", headers={"Origin": address}).raise_for_status()


def wait_for_indexing(documents: str) -> None:
    """Wait until no document of a collection waits any more; `documents` is the address of its list."""
    for _ in range(1800):
        if not httpx.get(documents, params={"state": "waiting", "limit": 1}, timeout=60).json()["total"]:
            return
        time.sleep(0.1)
    pytest.fail("documents are still waiting")


# Of a module: while it is open, an event loop runs, and the tests of other modules start their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium; each person has a window of their own, which shares nothing with the others."""
    with sync_playwright() as driver:
        running = launch(driver)
        yield running
        running.close()


@pytest.fixture
def visit(browser: Browser) -> Visit:
    """Return what opens a page for a person; at its end nothing may have failed or gone elsewhere."""
    return partial(person, browser, check=_nothing_went_wrong)


@pytest.fixture
def screenshots() -> Path | None:
    """Return the folder of PAGE_SCREENSHOTS, where pictures are kept."""
    if "PAGE_SCREENSHOTS" not in os.environ:
        return None
    folder = Path(os.environ["PAGE_SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _nothing_went_wrong(somebody: Person) -> None:
    assert not somebody.errors
    assert not somebody.foreign
    assert not somebody.violations()
