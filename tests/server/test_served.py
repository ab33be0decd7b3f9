"""Hostile calls of the really running server: each is refused or does no harm, and no secret comes back."""

import hashlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from adaptive_rag.index import Index
from benchmarks.chat_server import Behaviour, ChatServer
from tests.served import Server, served
from tests.server.hostile import SETTINGS

pytestmark = pytest.mark.slow

KEY = "sk-canary-of-the-operator"
SECRET = "The canary of the host sings at midnight."
PUBLIC = "# Saltmere\n\nThe sea wall of Saltmere is 2,340 metres long and was finished in 1968.\n"
ASK = "How long is the sea wall of Saltmere?"
TOKENS = {name: f"token-of-{name}-0123456789" for name in ("ada", "bob")}
DEADLINE = 4.0


def behave(number: int, body: dict[str, Any]) -> Behaviour:
    said = json.dumps(body)
    marks: dict[str, Behaviour] = {"HANG": "hang", "BADKEY": "wrong key", "FAULT": "500"}
    return next((behaviour for mark, behaviour in marks.items() if mark in said), "answer")


@dataclass
class Place:
    """The running server, whoever asks it, and what must never come back."""

    server: Server
    folder: Path
    model: ChatServer
    stranger: ChatServer
    bobs_thread: str = ""
    bobs_run: str = ""
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    def __getitem__(self, name: str) -> httpx.Client:
        if name not in self.clients:
            headers = {"Authorization": f"Bearer {TOKENS[name]}"} if name in TOKENS else {}
            self.clients[name] = httpx.Client(base_url=self.server.url, headers=headers, timeout=60)
        return self.clients[name]

    def fill(self, value: Any) -> Any:
        """Write this place's own addresses into a call."""
        text = json.dumps(value)
        for name, own in {
            "FOLDER": str(self.folder),
            "STRANGER": self.stranger.url,
            "BOBS_THREAD": self.bobs_thread,
            "BOBS_RUN": self.bobs_run,
        }.items():
            text = text.replace(name, own)
        return json.loads(text)

    def leaked(self, text: str, sent: str = "") -> list[str]:
        """Return what stands in an answer that no caller may read, unless the caller sent it."""
        secrets = [SECRET[:20], KEY, f"127.0.0.1:{self.model.port}", "Traceback", "bob's secret"]
        secrets += [str(self.folder / name) for name in ("host", "kb", "other")]
        return [secret for secret in secrets if secret in text and secret not in sent]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("served")
    host, documents = folder / "host", folder / "documents"
    for made in (host, documents, folder / "app"):
        made.mkdir()
    (host / "secret.md").write_text(SECRET)
    (documents / "saltmere.md").write_text(PUBLIC)
    (documents / ".hidden.md").write_text(SECRET)
    (documents / "way-out").symlink_to(host)
    (documents / "leak.md").symlink_to(host / "secret.md")
    (folder / "app" / "near").symlink_to(folder / "other")
    Index.build(str(documents / "saltmere.md"), folder / "kb")
    Index.build(str(host / "secret.md"), folder / "other")
    users = ",".join(f"{name}={hashlib.sha256(TOKENS[name].encode()).hexdigest()}" for name in TOKENS)
    with ChatServer(behave=behave) as model, ChatServer() as stranger:
        settings = {
            "OPENAI_API_KEY": KEY,
            "ADAPTIVE_RAG_MODEL": "openai:scripted",
            "ADAPTIVE_RAG_MODELS__BASE_URL": model.url,
            "ADAPTIVE_RAG_INDEX": str(folder / "kb"),
            "ADAPTIVE_RAG_BUDGET__DEADLINE_S": str(DEADLINE),
            "ADAPTIVE_RAG_SERVING__USERS": users,
            "ADAPTIVE_RAG_SERVING__ROOTS": str(documents),
            "ADAPTIVE_RAG_WITHOUT": "reader",
        }
        with served(folder, settings, "--n-jobs-per-worker", "5") as server:
            running = Place(server, folder, model, stranger)
            bob = running["bob"]
            running.bobs_thread = bob.post("/threads", json={}).json()["thread_id"]
            run = {"assistant_id": "adaptive_rag", "input": {"question": f"{ASK} bob's secret"}}
            bob.post(f"/threads/{running.bobs_thread}/runs/wait", json=run)
            running.bobs_run = bob.get(f"/threads/{running.bobs_thread}/runs").json()[0]["run_id"]
            profile = {
                "namespace": ["adaptive_rag", "profiles"],
                "key": "bob",
                "value": {"text": "bob's secret"},
            }
            assert bob.put("/store/items", json=profile).status_code == 204
            yield running
        # Nobody but the operator's own server was ever sent the key, or anything at all.
        assert stranger.requests == []
        assert server.refused == ""


def asking(**changes: Any) -> dict[str, Any]:
    return {"assistant_id": "adaptive_rag", "input": {"question": ASK}} | changes


@pytest.mark.few(20)
@pytest.mark.parametrize("where", ["context", "configurable"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_caller_sets_only_what_the_allowlist_names(place: Place, name: str, where: str) -> None:
    given = place.fill(SETTINGS[name])
    body = asking(context=given) if where == "context" else asking(config={"configurable": given})
    answer = place["ada"].post("/runs/wait", json=body)
    assert answer.status_code == 422, answer.text
    # A name with a NUL is refused by the development server itself.
    reasons = ("cannot be set by a caller", "is not usable", "does not match")
    assert any(reason in answer.text for reason in reasons)
    assert place.leaked(answer.text, json.dumps(body)) == []


DEEP = "[" * 100_000 + "]" * 100_000
OBJECTS = '[{"role": "user", "text": ' + '{"a": ' * 900 + "1" + "}" * 900 + "}]"
INPUTS: dict[str, tuple[Any, str]] = {
    "a question of 30,000 characters": ({"question": "a" * 30000}, "at most 20,000"),
    "a context of 30,000 characters": ({"question": ASK, "user_context": "a" * 30000}, "at most 20,000"),
    "20,000 messages": ({"messages": [{"role": "user", "content": "x"}] * 20000}, "at most 100"),
    "200 turns": ({"question": ASK, "history": [{"role": "user", "text": "x"}] * 200}, "at most 100"),
    "long messages": ({"messages": [{"role": "user", "content": "a" * 2000}] * 60}, "at most 100,000"),
    "nested messages": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a" * 110_000}]}]},
        "at most 100,000",
    ),
    "a question that is a list": ({"question": ["a"]}, "expected a text"),
    "a history of numbers": ({"question": ASK, "history": [1, 2]}, "expected a list of objects"),
    "keys of the state": ({"question": ASK, "started_at": 1e12, "trace": []}, "expected an object with"),
    "a text as input": ("question", "expected an object with"),
    "too many paths": ({"paths": ["a.md"] * 20000}, "at most 100"),
}  # fmt: skip


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_beyond_a_bound_is_refused_with_a_line_that_names_it(place: Place, name: str) -> None:
    content, words = INPUTS[name]
    answer = place["ada"].post("/runs/wait", json=asking(input=content))
    assert answer.status_code == 422, answer.text[:500]
    assert words in answer.text and len(answer.text) < 500


def body_of(text: str) -> bytes:
    return f'{{"assistant_id": "adaptive_rag", "input": {{"question": "{ASK}", {text}}}}}'.encode()


BODIES: dict[str, tuple[bytes, tuple[int, ...]]] = {
    "5 MB of context": (body_of(f'"user_context": "{"a" * 5_000_000}"'), (413,)),
    "lists in lists": (body_of(f'"history": {DEEP}'), (400, 422)),
    "900 objects in each other": (body_of(f'"history": {OBJECTS}'), (400, 422)),
    "not a number": (body_of('"user_context": NaN'), (400, 422)),
    "a number of 400 digits": (body_of(f'"user_context": {"9" * 400}'), (400, 422)),
    "no JSON": (b"\xff\xfe{", (400, 422)),
    "half a surrogate": (body_of('"user_context": "\\ud800"'), (400, 422)),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_body_that_no_client_would_send_is_refused(place: Place, name: str, in_pieces: bool) -> None:
    body, statuses = BODIES[name]
    pieces = (body[start : start + 65_536] for start in range(0, len(body), 65_536))
    headers = {"Content-Type": "application/json"}
    answer = place["ada"].post("/runs/wait", content=pieces if in_pieces else body, headers=headers)
    assert answer.status_code in statuses, answer.text[:500]
    assert place.leaked(answer.text) == []
    assert place["ada"].get("/ok").status_code == 200


RUNS: dict[str, tuple[Any, str]] = {
    "the state by a command": ({"command": {"update": {"started_at": 1e12}}}, "may only resume"),
    "a jump to a step": ({"command": {"goto": "generate"}}, "may only resume"),
    "a webhook": ({"webhook": "STRANGER"}, "ebhook"),
    "the server's own calls": ({"stream_mode": "events"}, "shows the server's own calls"),
    "the run loop's own settings": ({"config": {"configurable": {"__pregel_runtime": {}}}}, "cannot be set"),
    "a project for traces": ({"langsmith_tracer": {"project_name": "theirs"}}, "cannot be set"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_a_question_and_nothing_else(place: Place, name: str) -> None:
    changes, words = RUNS[name]
    answer = place["ada"].post("/runs/wait", json=place.fill(asking(**changes)))
    assert answer.status_code == 422 and words in answer.text, answer.text


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "claim",
    [
        {"langgraph_auth_user": {"identity": "bob"}},
        {"langgraph_auth_user_id": "bob"},
        {"langgraph_auth_user": "bob", "langgraph_auth_permissions": ["all"]},
    ],
)
def test_a_caller_who_claims_to_be_another_stays_who_they_are(place: Place, claim: dict[str, Any]) -> None:
    ada = place["ada"]
    thread = ada.post("/threads", json={}).json()["thread_id"]
    answer = ada.post(f"/threads/{thread}/runs/wait", json=asking(config={"configurable": claim}))
    assert answer.json()["citations"]
    values = ada.get(f"/threads/{thread}/state").json()["values"]
    assert "bob's secret" not in json.dumps(values)


CALLS: dict[str, tuple[str, str, Any]] = {
    "an assistant of one's own": ("POST", "/assistants", {"graph_id": "adaptive_rag", "context": {"k": 1}}),
    "a patched assistant": ("PATCH", "/assistants/ASSISTANT", {"context": {"k": 1}}),
    "a patched assistant's index": ("PATCH", "/assistants/ASSISTANT", {"context": {"index": "FOLDER/other"}}),
    "another version": ("POST", "/assistants/ASSISTANT/latest", {"version": 1}),
    "an assistant deleted": ("DELETE", "/assistants/ASSISTANT", None),
    "another's thread": ("GET", "/threads/BOBS_THREAD", None),
    "its state": ("GET", "/threads/BOBS_THREAD/state", None),
    "its state by a checkpoint": (
        "POST", "/threads/OWN_THREAD/state/checkpoint",
        {"checkpoint": {"thread_id": "BOBS_THREAD", "checkpoint_ns": ""}},
    ),
    "its history": ("GET", "/threads/BOBS_THREAD/history", None),
    "its history by a checkpoint": (
        "POST", "/threads/OWN_THREAD/history",
        {"checkpoint": {"thread_id": "BOBS_THREAD", "checkpoint_ns": ""}},
    ),
    "its runs": ("GET", "/threads/BOBS_THREAD/runs", None),
    "a run of it": ("GET", "/threads/BOBS_THREAD/runs/BOBS_RUN", None),
    "a run of it, joined": ("GET", "/threads/BOBS_THREAD/runs/BOBS_RUN/join", None),
    "a run of it, streamed": ("GET", "/threads/BOBS_THREAD/runs/BOBS_RUN/stream", None),
    "a run of it, cancelled": ("POST", "/threads/BOBS_THREAD/runs/BOBS_RUN/cancel", None),
    "a run of it, deleted": ("DELETE", "/threads/BOBS_THREAD/runs/BOBS_RUN", None),
    "a question in it": ("POST", "/threads/BOBS_THREAD/runs/wait", asking()),
    "a question that makes it": (
        "POST", "/threads/BOBS_THREAD/runs/wait", asking(if_not_exists="create", metadata={"owner": "bob"}),
    ),
    "a question from a checkpoint of it": (
        "POST", "/threads/OWN_THREAD/runs/wait",
        asking(input=None, checkpoint={"thread_id": "BOBS_THREAD", "checkpoint_ns": ""}),
    ),
    "a copy of it": ("POST", "/threads/BOBS_THREAD/copy", None),
    "it made one's own": ("PATCH", "/threads/BOBS_THREAD", {"metadata": {"owner": "ada"}}),
    "it made anew": (
        "POST", "/threads",
        {"thread_id": "BOBS_THREAD", "if_exists": "do_nothing", "metadata": {"owner": "bob"}},
    ),
    "it deleted": ("DELETE", "/threads/BOBS_THREAD", None),
    "all threads": ("POST", "/threads/search", {"metadata": {"owner": "bob"}}),
    "its state written": ("POST", "/threads/BOBS_THREAD/state", {"values": {"started_at": 1000000000000.0}}),
    "one's own state written": ("POST", "/threads/OWN_THREAD/state", {"values": {"started_at": 1e12}}),
    "a thread with a state": (
        "POST", "/threads",
        {"supersteps": [{"updates": [{"values": {"started_at": 1e12}, "as_node": "classify"}]}]},
    ),
    "all runs cancelled": ("POST", "/runs/cancel", {"status": "all"}),
    "another's profile": ("GET", "/store/items?namespace=adaptive_rag.profiles&key=bob", None),
    "another's profile written": (
        "PUT", "/store/items",
        {"namespace": ["adaptive_rag", "profiles"], "key": "bob", "value": {"text": "I am ada."}},
    ),
    "another's profile deleted": (
        "DELETE", "/store/items", {"namespace": ["adaptive_rag", "profiles"], "key": "bob"},
    ),
    "all profiles": ("POST", "/store/items/search", {"namespace_prefix": ["adaptive_rag", "profiles"]}),
    "all namespaces": ("POST", "/store/namespaces", {}),
    "a namespace of one's own": ("PUT", "/store/items", {"namespace": ["x"], "key": "ada", "value": {}}),
    "a profile of a megabyte": (
        "PUT", "/store/items",
        {"namespace": ["adaptive_rag", "profiles"], "key": "ada", "value": {"text": "a" * 1_000_000}},
    ),
    "a question every minute": ("POST", "/runs/crons", asking(schedule="* * * * *")),
    "any thread, raw": ("GET", "/internal/debug/thread/BOBS_THREAD", None),
    "all data deleted": ("POST", "/internal/truncate", None),
    "the deployment": ("GET", "/deploy", None),
    "a deployment started": ("POST", "/deploy", {"name": "theirs"}),
    "the tools": ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    "the agent": ("POST", "/a2a/adaptive_rag", {"jsonrpc": "2.0", "id": 1, "method": "message/send"}),
    "the counts": ("GET", "/metrics", None),
    "the counts by another path": ("GET", "//metrics", None),
    "the deployment by another path": ("GET", "/threads/../deploy", None),
}  # fmt: skip


@pytest.mark.few(12)
@pytest.mark.parametrize("name", CALLS)
def test_a_caller_reaches_what_is_theirs_and_nothing_else(place: Place, name: str) -> None:
    method, path, body = place.fill(CALLS[name])
    ada = place["ada"]
    [assistant] = ada.post("/assistants/search", json={"graph_id": "adaptive_rag"}).json()
    own = ada.post("/threads", json={}).json()["thread_id"]
    sent = json.dumps([path, body]).replace("OWN_THREAD", own)
    path, body = json.loads(sent.replace("ASSISTANT", assistant["assistant_id"]))
    answer = ada.request(method, path, json=body)
    assert place.leaked(answer.text) == []
    # What is not refused holds nothing.
    is_empty = answer.text in ("", "[]", "{}") or "Thread not found" in answer.text
    assert answer.status_code >= 400 or is_empty or not answer.json().get("values")
    bob = place["bob"]
    assert bob.get(f"/threads/{place.bobs_thread}").json()["metadata"]["owner"] == "bob"
    state = bob.get(f"/threads/{place.bobs_thread}/state").json()["values"]
    assert "bob's secret" in state["question"] and state["started_at"] < 1e11
    profile = bob.get("/store/items", params={"namespace": "adaptive_rag.profiles", "key": "bob"}).json()
    assert profile["value"] == {"text": "bob's secret"}


HEADERS: dict[str, dict[str, str]] = {
    "no token": {},
    "a wrong token": {"Authorization": "Bearer wrong"},
    "a token's hash": {"Authorization": f"Bearer {hashlib.sha256(TOKENS['ada'].encode()).hexdigest()}"},
    "an empty token": {"Authorization": "Bearer"},
    "another scheme": {"Authorization": f"Basic {TOKENS['ada']}"},
    "no scheme": {"Authorization": TOKENS["ada"]},
    "Studio's scheme": {"x-auth-scheme": "langsmith"},
    "a key of LangSmith": {"x-api-key": "lsv2_0123", "x-auth-scheme": "langsmith-api-key"},
    "a name": {"x-user-id": "ada", "x-forwarded-user": "ada"},
    "this machine": {"X-Forwarded-For": "127.0.0.1", "Host": "localhost"},
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("name", HEADERS)
def test_nobody_asks_without_the_token_of_a_user(place: Place, name: str) -> None:
    for method, path in (("POST", "/runs/wait"), ("POST", "/assistants/search"), ("GET", "/info")):
        answer = httpx.request(method, place.server.url + path, headers=HEADERS[name], json=asking())
        assert answer.status_code == 401 and "Bearer TOKEN" in answer.text


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}], ids=["no token", "a wrong token"]
)
def test_nobody_opens_a_socket_without_the_token_of_a_user(place: Place, headers: dict[str, str]) -> None:
    url = place.server.url.replace("http", "ws") + f"/threads/{place.bobs_thread}/stream/events"
    with pytest.raises(InvalidStatus, match="403"), connect(url, additional_headers=headers):
        pass


def test_a_socket_on_anothers_thread_brings_nothing_of_theirs(place: Place) -> None:
    url = place.server.url.replace("http", "ws") + f"/threads/{place.bobs_thread}/stream/events"
    headers = {"Authorization": f"Bearer {TOKENS['ada']}"}
    subscribe = {"channels": ["values", "updates", "messages", "checkpoints"]}
    commands = [
        ("subscription.subscribe", subscribe),
        ("run.start", asking()),
        ("agent.getTree", {}),
        ("input.respond", {"namespace": [], "interrupt_id": "x", "response": "x"}),
    ]
    got: list[str] = []
    with connect(url, additional_headers=headers) as socket, suppress(ConnectionClosed, TimeoutError):
        for number, (method, params) in enumerate(commands):
            socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            got.append(str(socket.recv(timeout=3)))
    assert "2,340" not in "".join(got) and place.leaked("".join(got)) == []
    assert len(place["bob"].get(f"/threads/{place.bobs_thread}/runs").json()) == 1


PATHS = {
    "a folder of the host": "FOLDER/host",
    "a file of the host": "FOLDER/host/secret.md",
    "the whole host": "/",
    "a folder by ..": "FOLDER/documents/../host",
    "a folder by .. and a pattern": "FOLDER/documents/*/../../host/*.md",
    "the user's folder": "~",
    "a file by its URI": "file://FOLDER/host/secret.md",
    "a folder through a link": "FOLDER/documents/way-out",
    "a file through a link": "FOLDER/documents/leak.md",
    "a file through a linked folder": "FOLDER/documents/way-out/secret.md",
    "a pattern through a link": "FOLDER/documents/way-out/*.md",
    "a pattern of the host": "FOLDER/h*/*.md",
    "a hidden file": "FOLDER/documents/.hidden.md",
    "a path that is not there": "FOLDER/host/nothing.md",
    "the server's own folder": ".",
    "a path with a NUL": "FOLDER/documents/\x00",
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("name", PATHS)
def test_nothing_outside_the_operators_folders_is_indexed(place: Place, name: str) -> None:
    path = place.fill(PATHS[name])
    answer = place["ada"].post("/runs/wait", json={"assistant_id": "indexing", "input": {"paths": [path]}})
    # One line for all: it does not tell what there is.
    assert "is not in a folder that callers may index" in answer.text, answer.text
    assert place.leaked(answer.text, path) == []


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "paths", [["FOLDER/documents"], ["FOLDER/documents/*"], ["FOLDER/documents/**/*.md"]]
)
def test_what_lies_in_the_operators_folders_is_indexed_and_links_are_not_followed_out(
    place: Place, paths: list[str]
) -> None:
    body = {"assistant_id": "indexing", "input": {"paths": place.fill(paths)}}
    report = place["ada"].post("/runs/wait", json=body).json()["report"]
    assert [Path(source).name for source in report["sources"]] == ["saltmere.md"]
    asked = place["ada"].post("/runs/wait", json=asking(input={"question": "What sings at midnight?"}))
    assert place.leaked(asked.text) == []


@pytest.mark.parametrize(
    "setting",
    [
        {"index": "FOLDER/new"},
        {"rebuild": True},
        {"embeddings": "onnx:FOLDER"},
        {"chunk_size": 100},
        {"k": 3},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_how_and_where_is_indexed_is_the_operators(place: Place, setting: dict[str, Any]) -> None:
    body = {"input": {"paths": ["FOLDER/documents"]}, "assistant_id": "indexing", "context": setting}
    answer = place["ada"].post("/runs/wait", json=place.fill(body))
    assert answer.status_code == 422 and "has no settings for callers" in answer.text
    assert not (place.folder / "new").exists()


@pytest.mark.parametrize("mode", ["wait", "stream", "thread"])
def test_what_goes_wrong_on_the_server_is_read_in_its_log_alone(place: Place, mode: str) -> None:
    body = asking(input={"question": f"{ASK} BADKEY"})
    ada = place["ada"]
    if mode == "thread":
        thread = ada.post("/threads", json={}).json()["thread_id"]
        ada.post(f"/threads/{thread}/runs/wait", json=body)
        paths = ("", "/state", "/history", "/runs")
        text = "".join(ada.get(f"/threads/{thread}{path}").text for path in paths)
    else:
        all_of_it = ["values", "updates", "debug", "tasks", "checkpoints", "messages-tuple"]
        modes = {"stream_mode": all_of_it, "stream_subgraphs": True} if mode == "stream" else {}
        text = ada.post(f"/runs/{mode}", json=body | modes).text
    assert "under the reference " in text
    assert place.leaked(text) == [] and "Incorrect API key" not in text
    reference = text.split("under the reference ")[1][:8]
    assert f"Reference {reference}: The server refused the key" in place.server.log


def test_what_the_models_server_says_is_read_in_the_log_alone(place: Place) -> None:
    answer = place["ada"].post("/runs/wait", json=asking(input={"question": f"{ASK} FAULT"}))
    assert answer.json()["answer"]
    reasons = [entry["reason"] for record in answer.json()["trace"] for entry in record.get("stand_ins", [])]
    assert "the server's log says why" in reasons
    assert "The server had an error" not in answer.text and "The server had an error" in place.server.log


def test_three_hanging_questions_leave_the_fourth_its_answer(place: Place) -> None:
    def ask(question: str) -> float:
        started = time.monotonic()
        answer = place["ada"].post("/runs/wait", json=asking(input={"question": question}))
        # the word that makes the model hang is in no document, so that the question may be refused
        assert answer.json()["citations" if question == ASK else "answer"]
        return time.monotonic() - started

    with ThreadPoolExecutor() as callers:
        hanging = [callers.submit(ask, f"{ASK} HANG {number}") for number in range(3)]
        time.sleep(0.5)
        assert ask(ASK) < DEADLINE + 10
        assert all(future.result() < DEADLINE + 10 for future in hanging)


def test_a_long_thread_stays_open(place: Place) -> None:
    ada = place["ada"]
    thread = ada.post("/threads", json={}).json()["thread_id"]
    talk = [{"role": ("user", "assistant")[i % 2], "content": f"{i} " + "a" * 900} for i in range(99)]
    for _ in range(2):
        answer = ada.post(
            f"/threads/{thread}/runs/wait",
            json=asking(input={"messages": [*talk, {"role": "user", "content": ASK}]}),
        )
        assert answer.json()["citations"], answer.text[:500]
    assert len(answer.json()["messages"]) > 100


def test_a_callers_own_profile_reaches_their_question_and_no_others(place: Place) -> None:
    item = {"namespace": ["adaptive_rag", "profiles"], "key": "ada", "value": {"text": "I keep bees."}}
    assert place["ada"].put("/store/items", json=item).status_code == 204
    for name, known in (("ada", "I keep bees."), ("bob", "bob's secret")):
        thread = place[name].post("/threads", json={}).json()["thread_id"]
        place[name].post(f"/threads/{thread}/runs/wait", json=asking())
        values = place[name].get(f"/threads/{thread}/state").json()["values"]
        assert values["messages"][-1]["response_metadata"]["user_context"] == known
        assert not values["user_context"]


def test_what_a_caller_may_set_is_set(place: Place) -> None:
    given = {"route": "opinion", "k": 1, "retrieval": {"alpha": 0.5}, "budget": {"deadline_s": 3}}
    output = place["ada"].post("/runs/wait", json=asking(context=given)).json()
    assert output["query_type"] == "opinion" and len(output["documents"]) == 1


@pytest.mark.parametrize("transport", ["sse", "websocket"])
async def test_the_client_library_asks_over_every_transport_within_the_same_bounds(
    place: Place, transport: Any
) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['ada']}"}
    client = get_client(url=place.server.url, headers=headers)

    def open_stream() -> Any:
        # A socket is opened with the stream's own headers.
        return client.threads.stream(assistant_id="adaptive_rag", transport=transport, headers=headers)

    async with open_stream() as thread:
        await thread.run.start(input={"question": ASK}, config={"configurable": {"k": 1}})
        output = await thread.output
        assert len(output["documents"]) == 1 and output["citations"]
    for given in ({"index": "FOLDER/other"}, {"models": {"base_url": "STRANGER"}}, {"k": 10**9}):
        async with open_stream() as thread:
            with pytest.raises(Exception, match=r"by a caller|is not usable") as error:
                await thread.run.start(input={"question": ASK}, config={"configurable": place.fill(given)})
            assert place.leaked(str(error.value), json.dumps(place.fill(given))) == []
