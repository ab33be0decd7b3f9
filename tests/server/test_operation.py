"""For whoever runs the server: health, figures and logs."""

import json
from datetime import timedelta
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server import pruning, readiness
from adaptive_rag.server.readiness import Readiness
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Collection, Event, Job, JobState, now
from tests.server.conftest import Serve, add_samples, client_of
from tests.server.processes import wait_for

QUESTION = {"question": "What is the highest water level ever recorded at Pellhythe?"}


def test_a_server_says_that_it_runs_and_is_ready(fresh: TestClient) -> None:
    assert fresh.get("/healthz").json() == {"status": "ok"}
    ready = fresh.get("/readyz")
    assert ready.status_code == 200
    assert ready.json() == {
        "status": "ready", "store": "ok", "disk": "ok", "indexing": "ok", "model": "none",
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz"])
def test_monitors_may_ask_by_head(fresh: TestClient, path: str) -> None:
    assert fresh.head(path).status_code == 200


def test_a_full_disk_is_not_ready(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "LEAST_FREE_MEGABYTES", 2**40)
    with serve() as client:
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "http://a..b/v1", "http://[::1]x/v1"])
def test_a_model_that_cannot_be_reached_is_said_and_not_fatal(serve: Serve, address: str) -> None:
    given = {"model": "openai:local", "models": {"base_url": address}}
    with serve(given) as client:
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["model"]) == (200, "unreachable")


def test_old_jobs_and_audit_entries_go_at_the_start_and_each_day(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add_rows(db: Session) -> None:
        for days, state in ((31, JobState.FAILED), (29, JobState.DONE), (400, JobState.QUEUED)):
            then = now() - timedelta(days=days)
            ended = None if state == JobState.QUEUED else then
            row = {"collection_id": collection_id, "kind": "remove", "created": then}
            db.add(Job(**row, state=state, ended=ended))
        db.add_all(Event(action=f"{days} days", at=now() - timedelta(days=days)) for days in (366, 364))
        db.commit()

    def kept(db: Session) -> tuple[list[str], list[str]]:
        states = db.scalars(select(Job.state).order_by(Job.state))
        return list(states), list(db.scalars(select(Event.action).where(Event.action.like("% days"))))

    with serve(data=tmp_path, collection="tides") as client, Session(client.app.state.services.engine) as db:
        collection_id = db.scalars(select(Collection.id)).one()
        add_rows(db)
    monkeypatch.setattr(pruning, "_PAUSE_SECONDS", 0.01)
    with serve(data=tmp_path) as client, Session(client.app.state.services.engine) as db:
        wait_for(lambda: kept(db) == (["done", "queued"], ["364 days"]), "the old rows are removed")
        add_rows(db)
        wait_for(lambda: len(kept(db)[0]) == 4, "the old job is removed")
    with Session(client.app.state.services.engine) as db:
        add_rows(db)
        pruning.remove_old_rows(client.app.state.services.engine, audit_days=0)
        assert len(kept(db)[0]) == 6 and kept(db)[1].count("366 days") == 1


@pytest.mark.parametrize("name", ["session_hours", "max_seconds", "stop_seconds"])
def test_a_time_that_no_clock_can_count_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(
        ConfigurationError, match=rf"server\.{name} is not usable: expected less than or equal to"
    ):
        read_server_settings(**{name: float("inf")})


def test_figures_tell_routes_and_steps_and_no_name(fresh: TestClient, sample_index: Path) -> None:
    add_samples(fresh, sample_index, "secret-plans")
    fresh.post("/api/v1/collections/secret-plans/ask", json=QUESTION)
    figures = fresh.get("/metrics").text
    assert 'adaptive_rag_questions_total{outcome="answered",route="factual"}' in figures
    assert 'adaptive_rag_step_seconds_count{step="classify"}' in figures
    assert 'route="/api/v1/collections/{collection}/ask"' in figures
    assert "secret-plans" not in figures
    assert client_of(fresh.app, "10.1.2.3").get("/metrics").status_code == 403


def test_what_a_caller_invents_is_no_label_and_not_in_the_log(serve: Serve, log: StringIO) -> None:
    with serve() as client:
        assert client.get("/page/planted.js").status_code == 404
        assert client.request("PLANTED", "/api/v1/session").status_code == 405
        figures = client.get("/metrics").text
    assert 'route="/page/{file}"' in figures and 'method="other",route="/api/v1/session"' in figures
    assert not any("planted" in text.lower() for text in (figures, log.getvalue()))


def test_a_part_of_an_answer_that_fails_is_counted_and_its_reason_stays_in_the_log(
    serve_samples: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("of the word planted-secret")

    monkeypatch.delenv("ADAPTIVE_RAG_STRICT")
    monkeypatch.setattr(import_module("adaptive_rag.nodes.classify"), "correct_spelling", fail)
    with serve_samples() as client:
        answer = client.post("/api/v1/collections/samples/ask", json=QUESTION)
        assert answer.status_code == 200 and "4.83" in answer.json()["answer"]
        assert "planted-secret" not in answer.text and "the server's log says why" in answer.text
        assert "planted-secret" in caplog.text
        assert 'adaptive_rag_left_out_total{part="spelling"}' in client.get("/metrics").text


def test_the_log_of_a_request_has_its_id_and_no_text(serve: Serve, sample_index: Path, log: StringIO) -> None:
    with serve() as client:
        add_samples(client, sample_index, "secret-plans")
        given = {"X-Request-ID": "from-a-proxy"}
        answer = client.post("/api/v1/collections/secret-plans/ask", json=QUESTION, headers=given)
        assert answer.headers["X-Request-ID"] == "from-a-proxy"
        other = client.get("/healthz", headers={"X-Request-ID": "two words"})
        assert other.headers["X-Request-ID"] != "two words"
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    asked = next(line for line in lines if line["request_id"] == "from-a-proxy")
    assert (asked["method"], asked["route"], asked["status"]) == (
        "POST", "/api/v1/collections/{collection}/ask", 200,
    )  # fmt: skip
    assert not any(word in str(lines) for word in ("secret-plans", "Pellhythe"))


def test_a_fault_of_the_server_is_logged_and_not_shown(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(Readiness, "_check_store", fail)
    with serve() as client:
        answer = client.get("/readyz")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "/secret/path" not in answer.text
    reference = answer.json()["detail"].rpartition(" ")[2].rstrip(".")
    assert reference in caplog.text
    assert "/secret/path" in caplog.text
