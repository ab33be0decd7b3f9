"""Keys, passwords and paths that the operator has set, planted to be told: no door shows one of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from adaptive_rag.llm import exchange
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tracing import trace_to_collector
from tests.echo_server import KEY, PASSWORD, EchoServer, echoing, forms_of
from tests.server.conftest import Serve, client_of, work
from tests.server.doors import JSON_RPC, doors
from tests.server.test_oidc import BEGIN, SmallProvider, come_back

pytest.importorskip("openinference.instrumentation.langchain", reason="the extra tracing is not installed")

OIDC = "planted-oidc-90c2d7"
DATABASE = "planted-database-51ab3f"
PLACE = "planted-place"  # a folder above the data
QUESTION = "What is the highest water level ever recorded at Pellhythe?"
SAMPLES = "/api/v1/collections/samples"
SECRETS = [form for secret in (KEY, PASSWORD, OIDC, DATABASE) for form in forms_of(secret)]


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    with echoing() as server:
        yield server


def knock(client: TestClient) -> dict[str, str]:
    """Ask at every door; return what each said, with its headers."""
    made = client.post(f"{SAMPLES}/threads", json={}).json()["id"]
    thread, asked = f"/api/v1/threads/{made}", {"question": QUESTION}
    said = {
        name: client.post(path, json=body, headers=JSON_RPC)
        for name, (path, body) in doors(QUESTION, thread=made).items()
    }
    said |= {
        "turns": client.get(thread),
        "export": client.get(f"{thread}/export"),
        "export as data": client.get(f"{thread}/export?form=json"),
        "feedback": client.get("/api/v1/feedback/export"),
        "events of the audit": client.get("/api/v1/events"),
        "figures": client.get("/metrics"),
        "ready": client.get("/readyz"),
        "wrong body": client.post(f"{SAMPLES}/ask", content=b"{"),
        "wrong setting": client.post(f"{SAMPLES}/ask", json={**asked, "settings": {"model": "x"}}),
        "missing": client.get(f"{SAMPLES}/documents/none/file"),
    }
    return {name: f"{answer.headers} {answer.text}" for name, answer in said.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "fault",
    [
        "500",
        "reply",
        "reply to a stored key",
        *(pytest.param(of, marks=pytest.mark.nightly) for of in ("401", "gone")),
    ],
)
def test_no_door_shows_a_secret_whatever_the_models_server_does(
    serve_samples: Serve,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    echo: EchoServer,
    log: StringIO,
    fault: str,
) -> None:
    address = echo.address.replace(str(echo.server_port), "9") if fault == "gone" else echo.address
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", echo.collector)
    monkeypatch.setattr(exchange, "BACKOFF", 0.001)
    echo.fault = fault.partition(" to ")[0]
    given: dict[str, Any] = {"budget": {"deadline_s": 5}}
    is_stored = "stored" in fault
    if not is_stored:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        given |= {"model": "openai:scripted", "models": {"base_url": address}}
    data = tmp_path / PLACE / "data"
    hidden = fault == "401"
    end = trace_to_collector(read_server_settings(trace=True, trace_contents=not hidden))
    try:
        with serve_samples(given, data=data) as client:
            if is_stored:
                model = {
                    "provider": "openai",
                    "name": "scripted",
                    "address": f"{echo.collector}/v1",
                    "key": KEY,
                }
                client.put("/api/v1/model", json=model).raise_for_status()
            said = knock(client)
    finally:
        end()
    # It was asked, and what it did was noticed.
    assert fault == "gone" or "stand_ins" in said["ask"] or "reference" in said["ask"], said["ask"]
    said["log"] = log.getvalue()
    said["traces"] = b"".join(echo.traces).decode(errors="replace")
    assert "classify" in said["traces"] and '"status": 200' in said["log"]
    assert ("Pellhythe" in said["traces"]) is not hidden
    shown = [(door, secret) for door, text in said.items() for secret in SECRETS if secret in text]
    assert shown == []
    placed = [door for door, text in said.items() if PLACE in text]
    assert placed == []


class Repeating(SmallProvider):
    """A provider that refuses every code with what it was sent, the secret included."""

    def token_for(self, given: dict[str, str]) -> dict[str, str]:
        """Return an error in place of tokens."""
        return {"error": "invalid_client", "error_description": f"{given} {OIDC} {forms_of(OIDC)}"}


@pytest.mark.few(1)
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_provider_that_repeats_its_secret_or_is_gone_shows_it_to_nobody(
    serve: Serve, log: StringIO, tmp_path: Path, is_gone: bool
) -> None:
    with Repeating() as provider:
        threading.Thread(target=provider.serve_forever, args=(0.05,), daemon=True).start()
        settings = {"oidc_issuer": provider.issuer, "oidc_client_id": "adaptive-rag"}
        if is_gone:
            settings["oidc_issuer"] = "http://127.0.0.1:9"
        with serve(data=tmp_path / PLACE, oidc_client_secret=OIDC, **settings) as client:
            browser = client_of(client.app)
            browser.follow_redirects = False
            answer = browser.get(BEGIN) if is_gone else come_back(browser, provider)
        provider.shutdown()
    assert answer.status_code == (503 if is_gone else 401)
    for text in (f"{answer.headers} {answer.text}", log.getvalue()):
        assert [secret for secret in [*SECRETS, PLACE] if secret in text] == []


@pytest.mark.nightly
def test_documents_that_fail_are_named_without_where_they_lie(
    serve: Serve, log: StringIO, tmp_path: Path
) -> None:
    with serve(data=tmp_path / PLACE, collection="tides") as client:
        place = "/api/v1/collections/tides"
        files = [("files", (name, b"\0 no such thing")) for name in ("a.pdf", "b.docx", "c.zip", "d.xlsx")]
        took = client.post(f"{place}/documents", files=files)
        assert took.status_code == 202, took.text
        work(client)
        said = [client.get(f"{place}/{path}") for path in ("documents", "jobs", "documents/none")]
        said.append(client.get(f"{place}/jobs/{took.json()['job']['id']}/events"))
        assert said[0].text.count('"failed"') == 4
    for text in [took.text, *(each.text for each in said), log.getvalue()]:
        assert PLACE not in text
