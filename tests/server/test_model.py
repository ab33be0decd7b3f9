"""The chat model that an admin sets on the page: who may, where its key goes, and what answers then."""

import json
import socket
import tarfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from sqlalchemy.orm import Session

from adaptive_rag.llm import exchange
from adaptive_rag.server.backup import back_up, restore
from adaptive_rag.server.model import check_address, may_connect
from adaptive_rag.server.model_trial import OUTCOME_TEXTS
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import ModelChoice
from adaptive_rag.text.redaction import REDACTED
from benchmarks.chat_server import Behaviour, ChatServer
from tests.server.conftest import Serve, add_samples

MODEL = "/api/v1/model"
ASK = "/api/v1/collections/samples/ask"
KEY = "planted-model-key-5c1d9e77"
QUESTION = {"question": "How long is the Long Wall and how high is its crest?"}


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(exchange, "BACKOFF", 0.001)
    with ChatServer() as server:
        yield server


def given(server: ChatServer, **changed: Any) -> dict[str, Any]:
    return {"provider": "openai", "name": "scripted", "address": server.url, "key": KEY, **changed}


def keys_sent(server: ChatServer) -> set[str]:
    return {call.headers["authorization"] for call in server.calls}


def asked_of(client: TestClient) -> tuple[int, bool]:
    """Ask; return the calls of the model, and whether the answer was written without it because it failed."""
    answer = client.post(ASK, json=QUESTION)
    assert answer.status_code == 200, answer.text
    trace = answer.json()["trace"]
    stand_ins = [made for each in trace for made in each.get("stand_ins", ())]
    failed = [made for made in stand_ins if "no chat model" not in made["reason"]]
    calls = sum(each.get("calls", 0) for each in trace)
    return calls, any(made["skill"] == "generate" for made in failed)


def test_the_next_question_is_answered_by_the_model_that_was_set_in_every_process(
    serve: Serve, sample_index: Path, tmp_path: Path, chat: ChatServer
) -> None:
    with serve() as client, serve() as beside:
        add_samples(client, sample_index)
        assert client.get(MODEL).json()["set_by"] is None
        assert client.get("/api/v1/me").json()["has_model"] is False
        assert (asked_of(client)[0], asked_of(beside)[0]) == (0, 0)
        shown = client.put(MODEL, json=given(chat)).json()
        told = ("admin", "openai", "scripted", chat.url, "stored")
        assert tuple(shown[name] for name in ("set_by", "provider", "name", "address", "key")) == told
        assert client.get("/api/v1/me").json()["has_model"] is True
        assert beside.get("/readyz").json()["model"] == "ok"
        for each in (client, beside):
            before = len(chat.calls)
            calls, has_failed = asked_of(each)
            assert (calls, has_failed) == (len(chat.calls) - before, False) and calls > 0
        message = {"messages": [{"role": "user", "content": QUESTION["question"]}], "model": "samples"}
        before = len(chat.calls)
        assert client.post("/v1/chat/completions", json=message).status_code == 200
        compared = {**QUESTION, "routes": ["factual", "opinion"]}
        assert client.post(ASK.replace("/ask", "/compare"), json=compared).status_code == 200
        assert len(chat.calls) > before + 1
        assert keys_sent(chat) == {f"Bearer {KEY}"}
        chat.behave = lambda number, body: "reset"
        assert asked_of(beside)[1]
        assert beside.delete(MODEL).status_code == 204
        before = len(chat.calls)
        assert (asked_of(client), len(chat.calls)) == ((0, False), before)


@pytest.mark.parametrize(("is_operators", "behaviour"), [(False, "wrong key"), (True, "unknown model")])
def test_a_model_that_its_server_refuses_later_is_told_and_the_servers_words_are_not(
    serve_samples: Serve, chat: ChatServer, is_operators: bool, behaviour: Behaviour
) -> None:
    chat.behave = lambda number, body: behaviour
    operators = {"model": "openai:scripted", "models": {"base_url": chat.url}}
    with serve_samples(operators if is_operators else {}) as client:
        if not is_operators:
            client.put(MODEL, json=given(chat)).raise_for_status()
        refused = client.post(ASK, json=QUESTION)
        streamed = client.post(f"{ASK}/events", json=QUESTION).text
    assert refused.status_code == 503 and '"status":503' in streamed.replace(" ", "")
    for text in (refused.json()["detail"], streamed):
        assert "the key is refused, or the model is not known" in text and "under the reference" in text
        assert KEY not in text and "Incorrect" not in text


OUTCOMES = {
    "answer": "works", "wrong key": "key_refused", "unknown model": "unknown_model", "reset": "unreachable",
    "500": "failed", "429": "failed", "not json": "failed",
}  # fmt: skip


def test_a_trial_says_in_plain_words_what_came_of_it_and_keeps_nothing(
    fresh: TestClient, chat: ChatServer
) -> None:
    for behaviour, outcome in OUTCOMES.items():
        chat.behave = lambda number, body, now=behaviour: now
        tried = fresh.post(f"{MODEL}/try", json=given(chat)).json()
        assert (behaviour, tried) == (behaviour, {"outcome": outcome, "detail": OUTCOME_TEXTS[outcome]})
    assert len(chat.calls) == len(OUTCOMES)  # no call is repeated
    limits = {call.body.get("max_tokens") or call.body["max_completion_tokens"] for call in chat.calls}
    assert max(limits) <= 64
    gone = fresh.post(f"{MODEL}/try", json=given(chat, address="http://127.0.0.1:9/v1"))
    assert gone.json()["outcome"] == "unreachable"
    assert fresh.get(MODEL).json()["set_by"] is None


def test_a_model_that_hangs_is_waited_for_no_longer_than_a_trial_may_take(
    serve: Serve, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.server.model_trial.SECONDS", 0.5)
    chat.behave = lambda number, body: "hang"
    with serve() as client:
        assert client.post(f"{MODEL}/try", json=given(chat)).json()["outcome"] == "unreachable"


def test_the_key_is_in_no_answer_log_event_file_or_backup(
    serve_samples: Serve, tmp_path: Path, chat: ChatServer, log: StringIO
) -> None:
    async def repeat(writer: Any) -> bool:
        said = json.dumps({"error": {"message": f"Bearer {KEY} is wrong", "code": KEY}}).encode()
        writer.write(b"HTTP/1.1 401 -\r\nContent-Length: %d\r\n\r\n" % len(said) + said)
        return False

    with serve_samples() as client:
        said = [client.put(MODEL, json=given(chat)), client.get(MODEL)]
        said += [client.post(f"{MODEL}/try", json=given(chat, key=None)), client.post(ASK, json=QUESTION)]
        chat.behave = lambda number, body: repeat
        said += [client.post(f"{MODEL}/try", json=given(chat)), client.post(ASK, json=QUESTION)]
        assert said[-2].json()["outcome"] == "key_refused"
        for wrong in (
            {"key": f"{KEY}\n"},
            {"key": KEY * 200},
            {"provider": KEY},
            {"address": f"http://{KEY}@127.0.0.1"},
        ):
            said.append(client.put(MODEL, json=given(chat, **wrong)))
            assert said[-1].status_code == 422
        said += [client.get("/api/v1/events"), client.get("/metrics"), client.get("/readyz")]
        said += [client.get("/api/v1/me"), client.get("/api/openapi.json")]
        events = [row for row in said[-5].json()["items"] if row["action"].startswith("model.")]
        assert {row["subject"] for row in events} == {f"openai:scripted {chat.url}"}
        settings = client.app.state.services.settings
        back_up(settings, tmp_path / "all.tar")
        assert all(KEY not in f"{answer.headers} {answer.text}" for answer in said)
    assert REDACTED in log.getvalue() and KEY not in log.getvalue()
    written = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert tmp_path / "data" / "server.sqlite" in written
    for path in [*written, tmp_path / "all.tar"]:
        assert KEY.encode() not in path.read_bytes(), path
    key = tmp_path / "data" / "secrets.key"
    assert key.stat().st_mode & 0o777 == 0o600
    with tarfile.open(tmp_path / "all.tar") as archive:
        assert not any("secrets" in name for name in archive.getnames())
    assert key.read_bytes().strip() not in (tmp_path / "all.tar").read_bytes()


def test_a_restored_model_needs_the_secrets_key_and_a_foreign_one_is_left_out(
    serve: Serve, serve_samples: Serve, tmp_path: Path, chat: ChatServer
) -> None:
    with serve() as client:
        client.put(MODEL, json=given(chat)).raise_for_status()
        settings = client.app.state.services.settings
        back_up(settings, tmp_path / "all.tar")
    there = read_server_settings(data=tmp_path / "there", backup_key=settings.signing_key)
    restore(there, tmp_path / "all.tar")
    with serve_samples(data=there.data) as client:
        assert client.get(MODEL).json()["key"] == "unreadable"
        assert client.get("/api/v1/me").json()["has_model"] is False
        assert (asked_of(client)[0], chat.calls) == (0, [])
        assert client.put(MODEL, json=given(chat)).json()["key"] == "stored"
    with serve(data=there.data, secrets_key=settings.encryption_key) as client:
        assert client.get(MODEL).json()["key"] == "unreadable"  # it was stored with a new one
    elsewhere = read_server_settings(data=tmp_path / "elsewhere")
    restore(elsewhere, tmp_path / "all.tar", foreign=True)
    with serve(data=elsewhere.data) as client:
        assert client.get(MODEL).json()["set_by"] is None


def test_what_the_operator_sets_goes_before_and_cannot_be_changed(
    serve: Serve, serve_samples: Serve, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve() as client, ChatServer() as other:
        client.put(MODEL, json=given(other)).raise_for_status()
        operators = {"model": "openai:operators", "models": {"base_url": chat.url}}
        with serve_samples(operators) as client:
            shown = client.get(MODEL).json()
            assert (shown["set_by"], shown["name"], shown["address"]) == ("operator", "operators", None)
            assert client.put(MODEL, json=given(other)).status_code == 409
            assert client.post(f"{MODEL}/try", json=given(other)).status_code == 409
            assert asked_of(client)[0] == len(chat.calls) > 0
        # An address of the operator's goes before an admin's, who then cannot give one.
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        with serve() as client:
            before = len(chat.calls)
            assert client.get(MODEL).json()["has_operators_address"]
            assert client.put(MODEL, json=given(other)).status_code == 422
            assert asked_of(client)[0] == len(chat.calls) - before > 0
            assert chat.calls[-1].headers["authorization"] == "Bearer none"
        assert other.requests == []


def test_a_key_goes_nowhere_but_where_it_was_given_for(
    client: TestClient, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-operators-key-1")
    with ChatServer() as other:
        # The operator's, in the environment, is not sent to an address that an admin names.
        shown = client.put(MODEL, json=given(other, key=None)).json()
        assert shown["key"] == "none"
        assert asked_of(client)[0] > 0
        assert keys_sent(other) == {"Bearer none"}
        assert client.put(MODEL, json=given(chat, address=None, key=None)).json()["key"] == "environment"
        # A stored one stays for the same address alone, whoever sets it and whatever a row says.
        assert client.put(MODEL, json=given(chat)).json()["key"] == "stored"
        assert client.put(MODEL, json=given(chat, name="another", key=None)).json()["key"] == "stored"
        client.post(f"{MODEL}/try", json=given(other, key=None))
        with Session(client.app.state.services.engine) as db:
            db.execute(update(ModelChoice).values(address=other.url))
            db.commit()
        assert client.get(MODEL).json()["key"] == "unreadable"
        assert asked_of(client)[0] == 0
        assert client.put(MODEL, json=given(other, key=None)).json()["key"] == "none"
        assert client.put(MODEL, json=given(chat)).json()["key"] == "stored"
        assert client.put(MODEL, json=given(chat, key="")).json()["key"] == "none"
        assert keys_sent(other) == {"Bearer none"}


REFUSED = [
    "ftp://127.0.0.1/v1", "//127.0.0.1/v1", "127.0.0.1:11434", "http://", "http://[::1/v1",
    "http://127.0.0.1:99999/v1", "http://ada:secret@127.0.0.1/v1", "http://127.0.0.1/v1?key=x",
    "http://127.0.0.1/v1#x", "http://exämple.org/v1", "http://[::1]x/v1", "https://x\ty/v1",
    "http://93.184.216.34/v1",  # in plain text over the Internet
    "http://169.254.169.254/latest/meta-data", "https://169.254.169.254/v1", "https://169.254.170.2/v1",
    "https://[fe80::1]/v1", "https://[fd00:ec2::254]/v1", "https://[fd00:ec2::254%1]/v1",
    "https://[::ffff:169.254.169.254]/v1", "https://[::ffff:100.100.100.200]/v1",
    "https://[64:ff9b::a9fe:a9fe]/v1", "https://100.100.100.200/v1", "https://168.63.129.16/v1",
    "http://0.0.0.0/v1", "http://224.0.0.1/v1",
    "http://localhost:8080/v1",  # this server
]  # fmt: skip


def test_addresses_that_no_model_is_asked_at_are_refused(serve: Serve, chat: ChatServer) -> None:
    with serve() as client:
        for address in REFUSED:
            for method, path in (("PUT", MODEL), ("POST", f"{MODEL}/try")):
                answer = client.request(method, path, json=given(chat, address=address))
                assert (address, answer.status_code) == (address, 422), answer.text
        assert client.put(MODEL, json={"provider": "openai", "name": "m"}).status_code == 422  # without a key
        assert client.put(MODEL, json=given(chat, provider="groq")).status_code == 422
        assert client.put(MODEL, json=given(chat, name="a b\n")).status_code == 422
        settings = client.app.state.services.settings
        for address in ("https://api.example.org/v1", "http://ollama:11434/v1", "http://[fd12::1]:8000/v1"):
            assert check_address(address, settings) is None
    assert may_connect("https", "93.184.216.34") and may_connect("http", "10.1.2.3")


def test_a_name_that_leads_where_no_model_may_be_is_not_connected_to(
    client: TestClient, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, connected = socket.getaddrinfo, list[str]()

    def look_up(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if host == "models.example.org":
            family = socket.AF_INET6 if ":" in leads_to else socket.AF_INET
            return [(family, socket.SOCK_STREAM, 6, "", (leads_to, port))]
        connected.append(host)
        return real(host, port, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    named = given(chat, address="http://models.example.org/v1")
    for leads_to in ("169.254.169.254", "93.184.216.34", "fd00:ec2::254"):
        assert client.post(f"{MODEL}/try", json=named).json()["outcome"] == "address_refused"
        client.put(MODEL, json=named).raise_for_status()
        assert asked_of(client)[1]
        assert leads_to not in connected


def test_a_redirect_of_a_models_server_is_not_followed(client: TestClient, chat: ChatServer) -> None:
    with ChatServer() as other:

        async def redirect(writer: Any) -> bool:
            head = f"HTTP/1.1 307 -\r\nLocation: {other.url}/chat/completions\r\nContent-Length: 0\r\n\r\n"
            writer.write(head.encode())
            return True

        chat.behave = lambda number, body: redirect
        assert client.post(f"{MODEL}/try", json=given(chat)).json()["outcome"] == "failed"
        client.put(MODEL, json=given(chat)).raise_for_status()
        asked_of(client)
        assert chat.calls and other.requests == []


def test_a_name_in_the_address_is_sent_as_the_host_and_localhost_is_reached(
    fresh: TestClient, chat: ChatServer
) -> None:
    named = given(chat, address=chat.url.replace("127.0.0.1", "localhost"))
    assert fresh.post(f"{MODEL}/try", json=named).json()["outcome"] == "works"
    assert chat.calls[0].headers["host"] == f"localhost:{chat.port}"
