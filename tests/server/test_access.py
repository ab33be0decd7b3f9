"""Every route, and who may use it. A route without a row here fails the test."""

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server.roles import Action, Role
from adaptive_rag.server.tables import Collection, Membership, Token, User
from adaptive_rag.text.languages import load_words
from tests.server.conftest import SAMPLES, Serve, add_samples, add_user, client_of
from tests.server.doors import JSON_RPC, doors

# Each may do what those before may, but for the neighbour, who is admin of another collection alone.
KINDS = ("nobody", "stranger", "neighbour", "reader", "writer", "owner", "root")
# For each door: what those get who may not pass it. Whoever comes after them passes.
NO_COLLECTION = {"nobody": 401, "stranger": 404, "neighbour": 404}
DOORS: dict[str, dict[str, int]] = {
    "everybody": {},
    "signed in": {"nobody": 401},
    "reader": NO_COLLECTION,
    "writer": NO_COLLECTION | {"reader": 403},
    # Of what does not exist a reader learns that alone.
    "writer of nothing": NO_COLLECTION | {"reader": 404},
    "owner": NO_COLLECTION | {"reader": 403, "writer": 403},
    "root": {"nobody": 401} | dict.fromkeys(KINDS[1:-1], 403),
}
# What stands for the names in a path.
NAMES = {
    "{collection}": SAMPLES,
    "{user}": "guest",
    "{model}": "none",
    "{number}": "1",
    **dict.fromkeys(
        ("{document}", "{feedback}", "{job}", "{note}", "{thread}", "{token}", "{turn}"), "0" * 32
    ),
}
QUESTION = "What is the highest water level ever recorded?"
# Where no model's server listens.
CLOSED = "http://127.0.0.1:9/v1"
IN_SAMPLES = {"collections": [SAMPLES]}
# By route: its door, what is sent, and what the first who may pass gets. What deletes comes last.
ROUTES: dict[str, tuple[str, Any, int]] = {
    "GET /healthz": ("everybody", None, 200),
    "GET /readyz": ("everybody", None, 200),
    "GET /metrics": ("everybody", None, 200),  # at this machine
    "GET /api/v1/session": ("everybody", None, 200),
    "POST /api/v1/session": ("everybody", {"name": "guest", "password": "guessed"}, 401),
    "GET /api/v1/session/provider": ("everybody", None, 404),
    "GET /api/v1/session/provider/return": ("everybody", None, 404),
    "GET /api/v1/me": ("signed in", None, 200),
    "PUT /api/v1/me/password": ("signed in", {"current": "guessed", "new": "a long password"}, 403),
    "GET /api/v1/tokens": ("signed in", None, 200),
    "POST /api/v1/tokens": ("signed in", {"name": "report"}, 201),
    "GET /api/v1/users": ("root", None, 200),
    "POST /api/v1/users": ("root", {"name": "eve"}, 201),
    "PATCH /api/v1/users/{user}": ("root", {"is_admin": False}, 200),
    "GET /api/v1/users/{user}/tokens": ("root", None, 200),
    "DELETE /api/v1/users/{user}/tokens/{token}": ("root", None, 404),
    "GET /api/v1/model": ("root", None, 200),
    "POST /api/v1/model/try": ("root", {"provider": "openai", "name": "m", "address": CLOSED}, 200),
    "PUT /api/v1/model": ("root", {"provider": "openai", "name": "m", "address": CLOSED}, 200),
    "DELETE /api/v1/model": ("root", None, 204),
    "GET /api/v1/events": ("root", None, 200),
    "GET /api/v1/strategies": ("signed in", None, 200),
    "GET /api/v1/collections": ("signed in", None, 200),
    "POST /api/v1/collections": ("root", {"name": "new"}, 201),
    "GET /api/v1/collections/{collection}": ("reader", None, 200),
    "PATCH /api/v1/collections/{collection}": ("owner", {"description": "Tides"}, 200),
    "GET /api/v1/collections/{collection}/questions": ("reader", None, 200),
    "POST /api/v1/collections/{collection}/ask": ("reader", {"question": "When?"}, 409),  # it is empty
    "POST /api/v1/collections/{collection}/ask/events": ("reader", {"question": "When?"}, 409),
    "POST /api/v1/collections/{collection}/compare": ("reader", {"question": "When?"}, 409),
    "GET /api/v1/collections/{collection}/folders": ("reader", None, 200),
    "GET /api/v1/fields": ("signed in", None, 422),  # of no collection
    "POST /api/v1/selection": ("reader", IN_SAMPLES, 409),
    "POST /api/v1/ask": ("reader", {"question": "When?", **IN_SAMPLES}, 409),
    "POST /api/v1/ask/events": ("reader", {"question": "When?", **IN_SAMPLES}, 409),
    "POST /api/v1/compare": ("reader", {"question": "When?", **IN_SAMPLES}, 409),
    "GET /api/v1/collections/{collection}/documents": ("reader", None, 200),
    "POST /api/v1/collections/{collection}/documents": ("writer", None, 415),  # without a file
    "POST /api/v1/collections/{collection}/documents/address": ("writer", {"address": "no address"}, 422),
    "POST /api/v1/collections/{collection}/documents/reindex": ("owner", None, 202),
    "GET /api/v1/collections/{collection}/documents/uploadable": ("reader", None, 200),
    "POST /api/v1/collections/{collection}/documents/delete": ("writer", {"documents": ["0" * 32]}, 404),
    "GET /api/v1/collections/{collection}/documents/{document}": ("reader", None, 404),
    "GET /api/v1/collections/{collection}/documents/{document}/text": ("reader", None, 404),
    "GET /api/v1/collections/{collection}/documents/{document}/outline": ("reader", None, 404),
    "GET /api/v1/collections/{collection}/documents/{document}/file": ("reader", None, 404),
    "GET /api/v1/collections/{collection}/documents/{document}/notes": ("reader", None, 404),
    "POST /api/v1/collections/{collection}/documents/{document}/notes": (
        "reader", {"source": "a.md", "start": 0, "end": 1, "text": "Ask Ada."}, 404,
    ),
    "PATCH /api/v1/collections/{collection}/documents/{document}/notes/{note}": (
        "reader", {"text": "Ask Ben."}, 404,
    ),
    "DELETE /api/v1/collections/{collection}/documents/{document}/notes/{note}": ("reader", None, 404),
    "POST /api/v1/collections/{collection}/documents/{document}/reindex": ("writer of nothing", None, 404),
    "DELETE /api/v1/collections/{collection}/documents/{document}": ("writer of nothing", None, 404),
    "GET /api/v1/collections/{collection}/jobs": ("reader", None, 200),
    "GET /api/v1/collections/{collection}/jobs/{job}": ("reader", None, 404),
    "GET /api/v1/collections/{collection}/jobs/{job}/events": ("reader", None, 404),
    "POST /api/v1/collections/{collection}/jobs/{job}/cancel": ("writer of nothing", None, 404),
    "POST /api/v1/collections/{collection}/threads": ("reader", {}, 201),
    "POST /api/v1/threads": ("reader", IN_SAMPLES, 201),
    "GET /api/v1/threads": ("signed in", None, 200),
    "GET /api/v1/threads/{thread}": ("signed in", None, 404),
    "PATCH /api/v1/threads/{thread}": ("signed in", {"title": "New"}, 404),
    "GET /api/v1/threads/{thread}/export": ("signed in", None, 404),
    "POST /api/v1/threads/{thread}/branches": ("signed in", {"turns": 0}, 404),
    "POST /api/v1/threads/{thread}/ask": ("signed in", {"question": "When?"}, 404),
    "POST /api/v1/threads/{thread}/ask/events": ("signed in", {"question": "When?"}, 404),
    "POST /api/v1/threads/{thread}/turns/{number}/feedback": ("signed in", {"is_good": True}, 404),
    "GET /api/v1/threads/{thread}/sharing": ("signed in", None, 404),
    "PUT /api/v1/threads/{thread}/sharing": ("signed in", {"open_to": "link"}, 404),
    "PUT /api/v1/threads/{thread}/sharing/{user}": ("signed in", None, 404),
    "DELETE /api/v1/threads/{thread}/sharing/{user}": ("signed in", None, 404),
    "DELETE /api/v1/threads/{thread}/turns/{turn}": ("signed in", None, 404),
    "DELETE /api/v1/threads/{thread}": ("signed in", None, 404),
    "POST /api/v1/collections/{collection}/feedback": (
        "reader", {"question": "When?", "route": "factual", "is_good": True}, 201,
    ),
    "GET /api/v1/collections/{collection}/feedback": ("owner", None, 200),
    "DELETE /api/v1/feedback/{feedback}": ("signed in", None, 404),
    "GET /api/v1/feedback/export": ("root", None, 200),
    "GET /api/v1/router": ("root", None, 200),
    "POST /api/v1/router/learn": ("root", None, 409),  # nobody has voted
    "DELETE /api/v1/router": ("root", None, 204),
    "GET /api/v1/me/profile": ("signed in", None, 200),
    "PUT /api/v1/me/profile": ("signed in", {"text": "A baker."}, 200),
    "DELETE /api/v1/me/profile": ("signed in", None, 204),
    "GET /api/v1/collections/{collection}/members": ("owner", None, 200),
    "PUT /api/v1/collections/{collection}/members/{user}": ("owner", {"role": "reader"}, 200),
    "GET /v1/models": ("signed in", None, 200),
    "GET /v1/models/{model}": ("signed in", None, 404),
    "POST /v1/chat/completions": (
        "signed in", {"model": "none", "messages": [{"role": "user", "content": "When?"}]}, 404,
    ),
    "DELETE /api/v1/session": ("signed in", None, 409),
    "DELETE /api/v1/tokens/{token}": ("signed in", None, 404),
    "DELETE /api/v1/collections/{collection}/members/{user}": ("owner", None, 204),
    "DELETE /api/v1/users/{user}": ("root", None, 204),
    "DELETE /api/v1/collections/{collection}": ("owner", None, 204),
}  # fmt: skip


def filled(route: str, **names: str) -> tuple[str, str]:
    """Return the method and the path of a route, with something in the place of each name."""
    method, path = route.split()
    return method, path.format(**{name.strip("{}"): value for name, value in NAMES.items()} | names)


def test_every_route_lets_in_whom_it_should_and_nobody_else(fresh: TestClient) -> None:
    for name in (SAMPLES, "other"):
        fresh.post("/api/v1/collections", json={"name": name})
    add_user(fresh, "guest")
    callers = {
        "nobody": client_of(fresh.app),
        "stranger": add_user(fresh, "stranger"),
        "neighbour": add_user(fresh, "neighbour", other=Role.ADMIN),
        "reader": add_user(fresh, "reader", samples=Role.READER),
        "writer": add_user(fresh, "writer", samples=Role.WRITER),
        "owner": add_user(fresh, "owner", samples=Role.ADMIN),
        "root": add_user(fresh, "root", is_admin=True),
    }
    known = fresh.app.openapi()["paths"]
    assert {f"{method.upper()} {path}" for path in known for method in known[path]} == set(ROUTES)
    wrong: dict[str, Any] = {}
    for route, (door, body, passed) in ROUTES.items():
        method, path = filled(route)
        sent = {} if body is None else {"json": body}
        missing = path.replace(f"/{SAMPLES}", "/no-such-collection")
        refused = DOORS[door]
        first = next(kind for kind in KINDS if kind not in refused)
        for kind, status in [*refused.items(), (first, passed)]:
            answer = callers[kind].request(method, path, **sent)
            if answer.status_code != status:
                wrong[f"{route} by {kind}"] = answer.status_code
            elif status == 404 and kind in NO_COLLECTION and kind in refused:
                # What is not open reads like what does not exist.
                assert answer.content == callers[kind].request(method, missing, **sent).content
    assert wrong == {}


def test_a_role_that_may_ask_and_vote_does_nothing_else(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Role.READER, "actions", frozenset({Action.SEE, Action.ASK, Action.VOTE}))
    may = re.compile(r".*(ask(/events)?|compare|threads|feedback|questions|{collection})")
    with serve(collection=SAMPLES) as client:
        reviewer = add_user(client, "reviewer", samples=Role.READER)
        for route, (door, body, passed) in ROUTES.items():
            if door == "reader":
                status = reviewer.request(*filled(route), json=body).status_code
                assert status == (passed if may.fullmatch(route) else 403), route
        assert [row["name"] for row in reviewer.get("/api/v1/collections").json()["items"]] == [SAMPLES]


def test_each_role_has_a_label() -> None:
    assert load_words("en").labels["role"].keys() == set(Role)


def set_role(client: TestClient, name: str, collection: str, role: Role) -> None:
    """Give somebody another role in a collection."""
    with Session(client.app.state.services.engine) as db:
        ids = (
            db.scalars(select(table.id).where(table.name == key)).one()
            for table, key in ((Collection, collection), (User, name))
        )
        db.get_one(Membership, tuple(ids)).role = role
        db.commit()


@pytest.fixture
def librarian(monkeypatch: pytest.MonkeyPatch) -> Role:
    """Return a role of the table that may do everything with documents, and may not ask."""
    monkeypatch.setattr(Role.WRITER, "actions", frozenset({Action.SEE, Action.READ, Action.WRITE}))
    return Role.WRITER


def test_a_role_that_may_not_ask_is_refused_at_every_door(serve_samples: Serve, librarian: Role) -> None:
    # Of a thread and of a model, nothing is said to those who may not ask; an agent is told in the result.
    refused = {"thread": 404, "thread events": 404, "chat": 404, "chat stream": 404, "agent": 200}
    with serve_samples() as client:
        ada, lia = add_user(client, "ada", samples=Role.READER), add_user(client, "lia", samples=librarian)
        thread = ada.post(f"/api/v1/collections/{SAMPLES}/threads", json={}).json()["id"]
        assert [row["name"] for row in lia.get("/api/v1/collections").json()["items"]] == [SAMPLES]
        assert lia.get(f"/api/v1/collections/{SAMPLES}/documents").status_code == 200
        for door, (path, body) in doors(QUESTION, thread=thread).items():
            assert "4.83" in ada.post(path, json=body, headers=JSON_RPC).text, door
            answer = lia.post(path, json=body, headers=JSON_RPC)
            assert answer.status_code == refused.get(door, 403) and "4.83" not in answer.text, door
        for path in ("ask", "ask/events", "compare"):
            asked = lia.post(f"/api/v1/{path}", json={"question": QUESTION, **IN_SAMPLES})
            assert asked.json()["type"] == "role_too_low"
        for path, body in ((f"collections/{SAMPLES}/threads", {}), ("threads", IN_SAMPLES)):
            assert lia.post(f"/api/v1/{path}", json=body).status_code == 403
        assert lia.get(f"/api/v1/collections/{SAMPLES}/questions").status_code == 403
        assert lia.get("/v1/models").json()["data"] == []


def test_a_role_that_may_not_ask_reads_no_thread_and_shares_none(
    serve_samples: Serve, sample_index: Path, librarian: Role
) -> None:
    with serve_samples() as client:
        add_samples(client, sample_index, "other")
        ada, ben = (add_user(client, name, samples=Role.READER, other=Role.READER) for name in ("ada", "ben"))
        lia = add_user(client, "lia", samples=librarian, other=Role.READER)
        rows = (ada.post("/api/v1/threads", json={"collections": names}) for names in
                ([SAMPLES], [SAMPLES, "other"], ["other", SAMPLES]))  # fmt: skip
        for thread in (row.json()["id"] for row in rows):
            at = f"/api/v1/threads/{thread}"
            assert ada.put(f"{at}/sharing/lia").status_code == 404
            for way in ("link", "collection"):
                assert ada.put(f"{at}/sharing", json={"open_to": way}).status_code == 200
                assert ben.get(at).status_code == 200
                assert lia.get(at).status_code == lia.get(f"{at}/export").status_code == 404
                assert lia.post(f"{at}/branches", json={"turns": 0}).status_code == 404
            set_role(client, "ada", SAMPLES, librarian)
            assert ada.get(at).status_code == ben.get(at).status_code == 404
            assert [person.get("/api/v1/threads").json()["total"] for person in (ada, ben, lia)] == [0] * 3
            set_role(client, "ada", SAMPLES, Role.READER)


def test_a_token_of_a_role_that_may_not_ask_keeps_an_admin_from_asking(
    serve_samples: Serve, librarian: Role
) -> None:
    with serve_samples() as client:
        root = add_user(client, "root", is_admin=True)
        thread = root.post(f"/api/v1/collections/{SAMPLES}/threads", json={}).json()["id"]
        with Session(client.app.state.services.engine) as db:
            db.scalars(select(Token)).one().role = librarian
            db.commit()
        roles = root.get("/api/v1/me").json()["roles"]
        assert librarian in roles and not {Role.READER, Role.ADMIN} & set(roles)
        [row] = root.get("/api/v1/collections").json()["items"]
        assert row["may"] == ["read", "see", "write"]
        assert root.post(f"/api/v1/collections/{SAMPLES}/ask", json={"question": QUESTION}).status_code == 403
        assert root.get(f"/api/v1/threads/{thread}").status_code == 404
        assert root.get("/v1/models").json()["data"] == []


def test_a_role_that_may_not_see_a_collection_reaches_nothing_of_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Role.WRITER, "actions", frozenset(Action) - {Action.SEE})
    with serve(collection=SAMPLES) as client:
        blind = add_user(client, "blind", samples=Role.WRITER)
        assert blind.get("/api/v1/collections").json()["total"] == 0
        for route, (door, body, _) in ROUTES.items():
            if door in ("reader", "writer", "writer of nothing", "owner"):
                assert blind.request(*filled(route), json=body).status_code == 404, route


def test_nobody_gives_or_takes_a_role_that_allows_more_than_theirs(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Role.WRITER, "actions", frozenset({*Role.READER.actions, Action.MANAGE}))
    with serve(collection=SAMPLES) as client:
        owner = add_user(client, "owner", samples=Role.ADMIN)
        steward = add_user(client, "steward", samples=Role.WRITER)
        add_user(client, "guest")
        [all_roles, within] = (
            person.get(f"/api/v1/collections/{SAMPLES}").json()["roles"] for person in (owner, steward)
        )
        assert all_roles == list(Role) and Role.WRITER in within and Role.ADMIN not in within
        members = f"/api/v1/collections/{SAMPLES}/members"
        for role in Role:
            given = steward.put(f"{members}/guest", json={"role": role})
            assert given.status_code == (200 if role in within else 403), role
        assert steward.put(f"{members}/steward", json={"role": "admin"}).status_code == 403
        assert steward.put(f"{members}/owner", json={"role": "reader"}).status_code == 403
        assert steward.delete(f"{members}/owner").status_code == 403
        assert owner.delete(f"{members}/steward").status_code == 204
