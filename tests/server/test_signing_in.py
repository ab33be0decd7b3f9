"""Passwords, sessions, tokens and users: who is let in, and how they are kept out again."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session
from typer.testing import CliRunner, Result

from adaptive_rag.cli.app import app
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server import passwords
from adaptive_rag.server.access import SESSION_COOKIE
from adaptive_rag.server.accounts import Conflict, keep_an_admin
from adaptive_rag.server.accounts import add_user as make_user
from adaptive_rag.server.app import build_app
from adaptive_rag.server.database import open_database
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Event, Role, Token, User, now
from tests.server.conftest import Serve, add_user, client_of

API = "/api/v1"
PASSWORD = "a long password"
OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
    passwords._of_nobody.cache_clear()


def known(client: TestClient, name: str = "ada", *, is_admin: bool = True) -> None:
    with database(client) as db:
        make_user(db, name, PASSWORD, is_admin=is_admin)
        db.commit()


def database(client: TestClient) -> Session:
    return Session(client.app.state.services.engine)  # type: ignore[attr-defined]


def signed_in(client: TestClient, name: str = "ada", password: str = PASSWORD) -> TestClient:
    browser = client_of(client.app)  # type: ignore[arg-type]
    answer = browser.post(f"{API}/session", json={"name": name, "password": password}, headers=OURS)
    assert answer.status_code == 200, answer.json()
    return browser


def test_a_session_begins_and_ends(serve: Serve) -> None:
    with serve() as client:
        assert client.get(f"{API}/session").json() == {"needed": False, "provider": False}
        known(client)
        assert client.get(f"{API}/session").json() == {"needed": True, "provider": False}
        assert client.get(f"{API}/me").status_code == 401
        browser = signed_in(client, "Ada")
        assert browser.get(f"{API}/me").json() == {
            "name": "ada", "is_admin": True, "role": "admin", "has_password": True,
        }  # fmt: skip
        secret = browser.cookies[SESSION_COOKIE]
        assert browser.delete(f"{API}/session", headers=OURS).status_code == 204
        assert SESSION_COOKIE not in browser.cookies
        client.cookies.set(SESSION_COOKIE, secret)
        assert client.get(f"{API}/me").status_code == 401


@pytest.mark.parametrize(("tls", "address"), [(False, "http://localhost"), (True, "https://localhost")])
def test_a_session_is_kept_from_scripts_and_other_sites(serve: Serve, tls: bool, address: str) -> None:
    with serve(tls=tls) as client:
        known(client)
        answer = client.post(f"{API}/session", json={"name": "ada", "password": PASSWORD})
        parts = answer.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(parts)
        assert ("Secure" in parts) is tls
        assert ("Strict-Transport-Security" in answer.headers) is tls
        with database(client) as db:
            stored = db.scalars(select(Token.digest)).one()
        assert stored not in parts[0] and parts[0].partition("=")[2] not in stored


def test_all_refusals_of_a_sign_in_read_alike_and_are_noted(serve: Serve) -> None:
    with serve() as client:
        known(client)
        known(client, "bob")
        with database(client) as db:
            db.scalars(select(User).where(User.name == "bob")).one().is_disabled = True
            make_user(db, "token-only")
            db.commit()
        given = [
            ("ada", "wrong"), ("a\0", PASSWORD), ("bob", PASSWORD), ("token-only", ""), ("this-machine", ""),
        ]  # fmt: skip
        answers = [client.post(f"{API}/session", json={"name": n, "password": p}) for n, p in given]
        assert {(answer.status_code, answer.json()["detail"]) for answer in answers} == {
            (401, "The name or the password is wrong.")
        }
        with database(client) as db:
            assert [(event.user, event.action) for event in db.scalars(select(Event).order_by(Event.id))] == [
                (name, "sign-in.refused") for name in ("ada", None, "bob", "token-only", None)
            ]


def test_an_unknown_name_costs_a_hash_too(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: Any, password: Any) -> Any:
            looked_at.append(password)
            return super().verify(hash, password)

    with serve() as client:
        monkeypatch.setattr(passwords, "_hasher", Counting(time_cost=1, memory_cost=64, parallelism=1))
        client.post(f"{API}/session", json={"name": "nobody", "password": "guessed"})
        assert looked_at == ["guessed"]


def test_guessing_ends_with_429_even_where_the_guess_is_right(serve: Serve) -> None:
    with serve() as client:
        known(client)
        for _ in range(10):
            client.post(f"{API}/session", json={"name": "ada", "password": "wrong"})
        answer = client.post(f"{API}/session", json={"name": "ada", "password": PASSWORD})
        assert answer.status_code == 429 and int(answer.headers["Retry-After"]) > 0


def test_few_passwords_are_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(10):
        passwords._INSIDE.acquire()
    try:
        with pytest.raises(Exception, match="Too many people"):
            passwords.is_password(None, "guessed")
    finally:
        for _ in range(10):
            passwords._INSIDE.release()
    assert not passwords.is_password(None, "guessed")


def test_a_hash_of_old_parameters_is_renewed_at_the_sign_in(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve() as client:
        known(client)
        monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=2, memory_cost=64, parallelism=1))
        signed_in(client)
        with database(client) as db:
            assert "t=2" in (db.scalars(select(User.password)).one() or "")


def test_a_new_password_ends_the_other_sessions(serve: Serve) -> None:
    with serve() as client:
        known(client)
        here, elsewhere = signed_in(client), signed_in(client)
        change = {"current": "wrong", "new": "another password"}
        assert here.put(f"{API}/me/password", json=change, headers=OURS).status_code == 403
        change["current"] = PASSWORD
        short = here.put(f"{API}/me/password", json=change | {"new": "short"}, headers=OURS)
        assert (short.status_code, short.json()["detail"]) == (409, "A password has 12 to 200 characters.")
        assert here.put(f"{API}/me/password", json=change, headers=OURS).status_code == 204
        assert (here.get(f"{API}/me").status_code, elsewhere.get(f"{API}/me").status_code) == (200, 401)
        signed_in(client, password="another password")


def test_an_expired_session_lets_nobody_in(serve: Serve) -> None:
    with serve() as client:
        known(client)
        browser = signed_in(client)
        with database(client) as db:
            db.scalars(select(Token)).one().expires = now() - timedelta(seconds=1)
            db.commit()
        assert browser.get(f"{API}/me").status_code == 401


FOREIGN = [
    {},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost.evil.example"},
]


def test_another_sites_page_changes_nothing_by_a_cookie(serve: Serve) -> None:
    with serve() as client:
        known(client)
        browser = signed_in(client)
        for headers in FOREIGN:
            refused = browser.post(f"{API}/collections", json={"name": "theirs"}, headers=headers)
            assert refused.json()["detail"] == "A page of another site may not do this."
            assert refused.status_code == 403
            # A program without a cookie says nothing of sites, and may sign in.
            login = {"name": "ada", "password": PASSWORD}
            assert client.post(f"{API}/session", json=login, headers=headers).status_code == (
                403 if headers else 200
            )
        for ours in (OURS, {"Origin": "http://localhost"}):
            assert browser.post(f"{API}/collections", json={"name": "ours"}, headers=ours).status_code < 410


def test_a_token_does_what_its_role_allows_until_it_is_revoked(serve: Serve) -> None:
    with serve() as client:
        known(client)
        browser = signed_in(client)
        made = browser.post(f"{API}/tokens", json={"name": "report", "role": "writer"}, headers=OURS).json()
        assert made["token"].startswith("arag_") and made["expires"] > made["created"]
        program = client_of(client.app)  # type: ignore[arg-type]
        program.headers["Authorization"] = f"Bearer {made['token']}"
        assert program.get(f"{API}/me").json()["role"] == "writer"
        # Its user is an admin of the server; it is not.
        assert program.post(f"{API}/collections", json={"name": "theirs"}).status_code == 403
        assert program.get(f"{API}/users").status_code == 403
        assert program.post(f"{API}/tokens", json={"name": "x", "role": "admin"}).status_code == 403
        child = program.post(f"{API}/tokens", json={"name": "child", "days": None}).json()
        assert (child["role"], child["expires"]) == ("reader", made["expires"])
        higher = browser.post(f"{API}/tokens", json={"name": "h", "role": "admin"}, headers=OURS).json()
        assert program.delete(f"{API}/tokens/{higher['id']}").status_code == 403
        listed = browser.get(f"{API}/tokens").json()
        assert [row["name"] for row in listed["items"]] == ["report", "child", "h"]
        assert "arag_" not in str(listed)
        assert browser.delete(f"{API}/tokens/{made['id']}", headers=OURS).status_code == 204
        assert program.get(f"{API}/me").status_code == 401


def test_a_token_is_no_session_and_a_session_no_token(serve: Serve) -> None:
    with serve() as client:
        known(client)
        session = signed_in(client).cookies[SESSION_COOKIE]
        assert client.get(f"{API}/me", headers={"Authorization": f"Bearer {session}"}).status_code == 401
        program = add_user(client, "bob", is_admin=True)
        client.cookies.set(SESSION_COOKIE, "bob")
        assert (program.get(f"{API}/me").status_code, client.get(f"{API}/me").status_code) == (200, 401)
        assert program.delete(f"{API}/session").status_code == 409


def test_anothers_token_is_not_found(serve: Serve) -> None:
    with serve() as client:
        ada, bob = (add_user(client, name, is_admin=True) for name in ("ada", "bob"))
        token = ada.post(f"{API}/tokens", json={"name": "mine"}).json()["id"]
        answers = [bob.delete(f"{API}/tokens/{which}") for which in (token, "0" * 32)]
        assert answers[0].status_code == 404 and answers[0].json() == answers[1].json()


def test_without_users_there_is_no_token_to_be_left_behind(serve: Serve) -> None:
    with serve() as client:
        assert client.post(f"{API}/tokens", json={"name": "early"}).status_code == 409
        first = client.post(f"{API}/users", json={"name": "bob", "password": PASSWORD})
        assert (first.status_code, "needs an admin" in first.json()["detail"]) == (409, True)
        assert client.get(f"{API}/users").json()["total"] == 0
        assert client.post(f"{API}/users", json={"name": "this-machine", "is_admin": True}).status_code == 409


def test_users_are_made_changed_and_deleted_and_an_admin_stays(serve: Serve) -> None:
    with serve() as client:
        ada = add_user(client, "ada", is_admin=True)
        new = {"name": "bob", "password": PASSWORD}
        assert ada.post(f"{API}/users", json=new).status_code == 201
        assert ada.post(f"{API}/users", json=new).status_code == 409
        for name in ("Bob", "b b", "", "../x", "-x", "x" * 101, "bоb"):
            assert ada.post(f"{API}/users", json={"name": name}).status_code == 422, name
        browser = signed_in(client, "bob")
        for change in ({"is_admin": False}, {"is_disabled": True}):
            assert ada.patch(f"{API}/users/ada", json=change).status_code == 409
        assert ada.delete(f"{API}/users/ada").status_code == 409
        assert ada.get(f"{API}/me").json()["is_admin"]
        assert ada.patch(f"{API}/users/bob", json={"is_disabled": True}).json()["is_disabled"]
        assert browser.get(f"{API}/me").status_code == 401
        ada.patch(f"{API}/users/bob", json={"is_disabled": False, "is_admin": True})
        assert ada.delete(f"{API}/users/ada").status_code == 204
        assert ada.get(f"{API}/me").status_code == 401
        events = signed_in(client, "bob").get(f"{API}/events?limit=4").json()
        assert [event["action"] for event in events["items"]] == [
            "sign-in", "user.delete", "user.change", "user.change",
        ]  # fmt: skip


def test_members_are_set_by_an_admin_of_the_collection(serve: Serve) -> None:
    with serve() as client:
        client.post(f"{API}/collections", json={"name": "handbook"})
        own = add_user(client, "own", handbook=Role.ADMIN)
        bob, members = add_user(client, "bob"), f"{API}/collections/handbook/members"
        assert bob.get(f"{API}/collections/handbook").status_code == 404
        assert own.put(f"{members}/bob", json={"role": "reader"}).status_code == 200
        assert bob.get(f"{API}/collections/handbook").json()["role"] == "reader"
        own.put(f"{members}/bob", json={"role": "writer"})
        assert own.get(members).json()["items"] == [
            {"name": "bob", "role": "writer"}, {"name": "own", "role": "admin"},
        ]  # fmt: skip
        assert own.put(f"{members}/nobody", json={"role": "reader"}).status_code == 404
        assert own.delete(f"{members}/bob").status_code == 204
        assert bob.get(f"{API}/collections/handbook").status_code == 404


def test_off_loopback_it_starts_with_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = read_server_settings(data=tmp_path / "data", host="0.0.0.0")
    with pytest.raises(ConfigurationError, match="adaptive-rag users add NAME --admin"):
        build_app(settings, {})
    with Session(open_database(settings)) as db:
        with pytest.raises(Conflict, match="needs an admin"):
            make_user(db, "bob")
            keep_an_admin(db)
        make_user(db, "ada", is_admin=True)
        db.commit()
    build_app(settings, {})


NAMES = [("localhost", 200), ("127.0.0.1:8080", 200), ("[::1]:8080", 200), ("10.1.2.3", 200),
         ("docs.example.org", 200), ("DOCS.example.org:443", 200), ("evil.example", 400), ("", 400),
         ("docs.example.org.evil.example", 400), ("[", 400)]  # fmt: skip


def test_it_answers_to_its_own_names_alone(serve: Serve) -> None:
    with serve(names="docs.example.org") as client:
        known(client)
        for host, status in NAMES:
            answer = client.get(f"{API}/session", headers={"Host": host, "Origin": "http://evil.example"})
            assert answer.status_code == status, host
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    ("trusted", "seen"), [("", "10.0.0.1"), ("10.0.0.0/8", "192.0.2.7"), ("10.0.0.2", "10.0.0.1")]
)
def test_a_proxy_is_believed_where_it_is_named(serve: Serve, trusted: str, seen: str) -> None:
    with serve(trusted_proxies=trusted) as client:
        known(client)
        behind = client_of(client.app, "10.0.0.1")  # type: ignore[arg-type]
        # Whoever asks can send the header too: the last address that is no proxy's counts.
        headers = {"X-Forwarded-For": "127.0.0.1, 192.0.2.7"}
        behind.post(f"{API}/session", json={"name": "ada", "password": "wrong"}, headers=headers)
        with database(client) as db:
            assert db.scalars(select(Event.address)).one() == seen


def shell(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, ["users", *words], input=typed)


def test_users_are_made_in_the_shell(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__DATA", str(tmp_path / "data"))
    assert "needs an admin" in (refused := shell("add", "bob").stderr) and "'bob' with --admin" in refused
    assert shell("add", "ada", "--admin", "--password-stdin", typed=f"{PASSWORD}\n").exit_code == 0
    assert "no password" in shell("add", "bob").stderr
    made = shell("token", "bob", "--role", "writer").stdout.strip()
    assert "is no role" in shell("token", "bob", "--role", "owner").stderr
    assert "needs an admin" in shell("disable", "ada").stderr
    assert json.loads(shell("list", "--json").stdout) == [
        {"name": "ada", "admin": True, "disabled": False},
        {"name": "bob", "admin": False, "disabled": False},
    ]
    assert "There is no user 'this-machine'" in shell("disable", "this-machine").stderr
    elsewhere = ("--data", str(tmp_path / "elsewhere"))
    assert shell("add", "eve", "--admin", *elsewhere).exit_code == 0
    assert shell("list", *elsewhere).stdout == "eve (admin)\n"
    with serve() as client:
        program = client_of(client.app)  # type: ignore[arg-type]
        program.headers["Authorization"] = f"Bearer {made}"
        assert program.get(f"{API}/me").json()["role"] == "writer"
        signed_in(client)
        shell("disable", "bob")
        assert program.get(f"{API}/me").status_code == 401
        shell("disable", "bob", "--undo")
        assert program.get(f"{API}/me").status_code == 200
        shell("password", "ada", "--password-stdin", typed="another password\n")
        signed_in(client, password="another password")
