"""Passwords, sessions, tokens and users: who is let in, and how they are kept out again."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import Executable, delete, event, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from typer.testing import CliRunner, Result

from adaptive_rag.cli.app import app
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server import passwords
from adaptive_rag.server.access import SESSION_COOKIE
from adaptive_rag.server.accounts import Conflict, ensure_admin_left
from adaptive_rag.server.accounts import add_user as make_user
from adaptive_rag.server.api import session
from adaptive_rag.server.app import build_app
from adaptive_rag.server.database import open_database
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Event, Token, User, now
from tests.server.conftest import Serve, add_user, client_of, do_after, program_of
from tests.server.processes import wait_for

API = "/api/v1"
PASSWORD = "a long password"
OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
    passwords._dummy_hash.cache_clear()


@pytest.fixture
def client(serve: Serve) -> Iterator[TestClient]:
    """Serve with one user, ada, who is an admin."""
    with serve() as client:
        known(client)
        yield client


def known(client: TestClient, name: str = "ada", *, is_admin: bool = True) -> None:
    with database(client) as db:
        make_user(db, name, PASSWORD, is_admin=is_admin)
        db.commit()


def database(client: TestClient) -> Session:
    return Session(client.app.state.services.engine)


def signed_in(client: TestClient, name: str = "ada", password: str = PASSWORD) -> TestClient:
    browser = client_of(client.app)
    answer = browser.post(f"{API}/session", json={"name": name, "password": password}, headers=OURS)
    assert answer.status_code == 200, answer.json()
    return browser


def test_a_session_begins_and_ends(fresh: TestClient) -> None:
    assert fresh.get(f"{API}/session").json() == {"needed": False, "provider": False}
    known(fresh)
    assert fresh.get(f"{API}/session").json() == {"needed": True, "provider": False}
    assert fresh.get(f"{API}/me").status_code == 401
    browser = signed_in(fresh, " Ada ")
    assert browser.get(f"{API}/me").json() == {
        "name": "ada", "is_admin": True, "role": "admin", "has_password": True, "has_model": False,
        "roles": ["reader", "writer", "admin"],
    }  # fmt: skip
    secret = browser.cookies[SESSION_COOKIE]
    assert browser.delete(f"{API}/session", headers=OURS).status_code == 204
    assert SESSION_COOKIE not in browser.cookies
    fresh.cookies.set(SESSION_COOKIE, secret)
    assert fresh.get(f"{API}/me").status_code == 401


@pytest.mark.parametrize("tls", [False, True])
def test_a_session_is_kept_from_scripts_and_other_sites(serve: Serve, tls: bool) -> None:
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


def test_behind_tls_no_other_host_can_set_the_cookie_of_a_session(serve: Serve) -> None:
    with serve(tls=True) as client:
        known(client)
        browser = client_of(client.app)
        browser.base_url = "https://localhost"
        login = {"name": "ada", "password": PASSWORD}
        answer = browser.post(f"{API}/session", json=login, headers=OURS)
        name, secret = answer.headers["set-cookie"].split("; ")[0].split("=", 1)
        assert name == f"__Host-{SESSION_COOKIE}" and "Domain" not in answer.headers["set-cookie"]
        assert browser.get(f"{API}/me").status_code == 200
        # A page of a neighbouring host may set the name without the prefix.
        assert client.get(f"{API}/me", headers={"Cookie": f"{SESSION_COOKIE}={secret}"}).status_code == 401
        ended = browser.delete(f"{API}/session", headers=OURS)
        assert ended.headers["set-cookie"].startswith(f'{name}=""')
        assert {"Path=/", "Secure", "Max-Age=0"} <= set(ended.headers["set-cookie"].split("; "))
        assert browser.get(f"{API}/me").status_code == 401


def test_all_refusals_of_a_sign_in_read_alike_and_are_noted(client: TestClient) -> None:
    known(client, "bob")
    with database(client) as db:
        db.scalars(select(User).where(User.name == "bob")).one().is_disabled = True
        make_user(db, "token-only")
        db.commit()
    given = [
        ("ada", "wrong"), ("a\t", PASSWORD), ("bob", PASSWORD), ("token-only", ""), ("this-machine", ""),
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


def guess(client: TestClient, address: str, password: str = "wrong", name: str = "ada") -> Response:
    there = client_of(client.app, address)
    return there.post(f"{API}/session", json={"name": name, "password": password})


OF_BOB = User.name == "bob"
KEPT_OUT = {
    "another password": update(User).where(OF_BOB).values(password="another hash"),
    "disabled": update(User).where(OF_BOB).values(is_disabled=True),
    "deleted": delete(User).where(OF_BOB),
}


@pytest.mark.parametrize("change", KEPT_OUT.values(), ids=KEPT_OUT)
def test_whoever_is_kept_out_while_their_password_is_checked_stays_out(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, change: Executable
) -> None:
    def keep_out(_: object) -> None:
        with database(client) as db:
            db.execute(change)
            db.commit()

    known(client, "bob", is_admin=False)
    browser = signed_in(client, "bob")
    do_after(monkeypatch, session, "verify_password", keep_out)
    new = {"current": PASSWORD, "new": "a password of bob's"}
    assert browser.put(f"{API}/me/password", json=new, headers=OURS).status_code == 403
    with database(client) as db:
        db.execute(delete(User).where(OF_BOB))
        db.commit()
    known(client, "bob", is_admin=False)
    assert guess(client, "10.0.0.9", PASSWORD, "bob").status_code == 401
    with database(client) as db:
        assert db.scalars(select(Token.id)).all() == []


def test_wrong_guesses_keep_out_who_guesses_and_not_whom_they_guess(client: TestClient) -> None:
    assert guess(client, "10.0.0.9", PASSWORD).status_code == 200  # ada's own machine
    guesses = [guess(client, f"10.0.1.{number % 20}").status_code for number in range(120)]
    assert set(guesses[:100]) == {401} and set(guesses[100:]) == {429}
    # Each machine that has guessed is kept out, also with the right password; a new one has one guess.
    refused = guess(client, "10.0.1.1", PASSWORD)
    assert refused.status_code == 429 and 0 < int(refused.headers["Retry-After"]) <= 3600
    assert [guess(client, "10.0.2.1").status_code for _ in range(2)] == [401, 429]
    # Ada signs in from a machine that is new, and from her own even after a slip of hers.
    assert guess(client, "10.0.3.1", PASSWORD).status_code == 200
    answers = [guess(client, "10.0.0.9", password).status_code for password in ("slip", PASSWORD)]
    assert answers == [401, 200]


def test_many_guesses_at_once_leave_others_their_places(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(PasswordHasher):
        def verify(self, hash: Any, password: Any) -> Any:
            time.sleep(0.1 if password == "wrong" else 0)
            return super().verify(hash, password)

    with serve() as client, ThreadPoolExecutor(40) as guessers:
        known(client)
        monkeypatch.setattr(passwords, "_hasher", Slow(time_cost=1, memory_cost=64, parallelism=1))
        sent = [guessers.submit(guess, client, "10.0.1.1", name=f"user{n}") for n in range(40)]
        wait_for(lambda: sum(one.done() for one in sent) >= 20, "some guesses are refused")
        assert not all(one.done() for one in sent)
        assert guess(client, "10.0.0.9", PASSWORD).status_code == 200
        assert {one.result().status_code for one in sent} == {401, 429}


def test_a_hash_of_old_parameters_is_renewed_at_the_sign_in(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=2, memory_cost=64, parallelism=1))
    signed_in(client)
    with database(client) as db:
        assert "t=2" in (db.scalars(select(User.password)).one() or "")


def test_a_full_disk_is_told_and_ends_no_session(client: TestClient) -> None:
    browser = signed_in(client)
    with database(client) as db:
        db.scalars(select(Token)).one().used = now() - timedelta(hours=1)  # the next use is written down
        db.commit()
        # SQLite says the same of a disk that is full, and of a database at its bound.
        event.listen(
            db.get_bind(), "checkout", lambda opened, *_: opened.execute("PRAGMA max_page_count = 1")
        )
        for size in (4000, 400, 40, 1):
            with pytest.raises(OperationalError, match="full"):
                while True:
                    db.add(Event(action="filled", subject="x" * size))
                    db.commit()
            db.rollback()
    for password in (PASSWORD, "wrong"):
        refused = client.post(f"{API}/session", json={"name": "ada", "password": password})
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
        assert "disk is full" in refused.json()["detail"] and "set-cookie" not in refused.headers
    assert browser.post(f"{API}/collections", json={"name": "a"}, headers=OURS).status_code == 503
    assert browser.get(f"{API}/me").status_code == 200


def test_without_users_no_page_of_another_site_is_answered_and_studio_is_one(serve: Serve) -> None:
    with serve({"serving": {"origins": ["https://intranet.example"]}}) as client, serve() as plain:
        for server, origin in [(client, "https://intranet.example"), (plain, "https://smith.langchain.com")]:
            refused = server.post(f"{API}/collections", json={"name": "theirs"}, headers={"Origin": origin})
            assert refused.status_code == 403
            assert refused.json()["detail"] == "This web page may not ask this server."
            assert "Access-Control-Allow-Origin" not in refused.headers
        for scheme in ("moz-extension", "chrome-extension", "file", "app", "HTTP "):
            refused = plain.get(f"{API}/collections", headers={"Origin": f"{scheme}://localhost"})
            assert refused.status_code == 403, scheme
        ours = plain.post(f"{API}/collections", json={"name": "o"}, headers={"Origin": "http://localhost"})
        assert ours.status_code == 201


FOREIGN = [
    {}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "moz-extension://localhost"},
    {"Origin": "chrome-extension://localhost", "Sec-Fetch-Site": "none"},
    {"Origin": "moz-extension://localhost", "Sec-Fetch-Site": "same-origin"},
    {"Origin": "http://localhost:8080"}, {"Origin": "file://localhost"},
    {"Origin": "http://localhost.evil.example"},
]  # fmt: skip


def test_another_sites_page_changes_nothing_by_a_cookie(client: TestClient) -> None:
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


def test_a_token_does_what_its_role_allows_until_it_is_revoked(client: TestClient) -> None:
    browser = signed_in(client)
    made = browser.post(f"{API}/tokens", json={"name": "report", "role": "writer"}, headers=OURS).json()
    assert made["token"].startswith("arag_") and made["expires"] > made["created"]
    program = program_of(client, made["token"])
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


def test_a_token_is_no_session_and_a_session_no_token(client: TestClient) -> None:
    session = signed_in(client).cookies[SESSION_COOKIE]
    assert client.get(f"{API}/me", headers={"Authorization": f"Bearer {session}"}).status_code == 401
    program = add_user(client, "bob", is_admin=True)
    client.cookies.set(SESSION_COOKIE, "bob")
    assert (program.get(f"{API}/me").status_code, client.get(f"{API}/me").status_code) == (200, 401)
    assert program.delete(f"{API}/session").status_code == 409


def token_for(client: TestClient, name: str, days: int | None) -> TestClient:
    """Return a program that asks by a new token of somebody who is signed in."""
    made = signed_in(client, name).post(f"{API}/tokens", json={"name": "x", "days": days}, headers=OURS)
    program = program_of(client, made.json()["token"])
    assert program.get(f"{API}/me").status_code == 200
    return program


def test_an_admin_lists_and_revokes_anothers_tokens(fresh: TestClient) -> None:
    admin = add_user(fresh, "root", is_admin=True)
    known(fresh, is_admin=False)
    program = token_for(fresh, "ada", days=None)
    [listed] = admin.get(f"{API}/users/ada/tokens").json()["items"]
    assert (listed["name"], listed["expires"]) == ("x", None)
    assert "arag_" not in str(listed)
    assert program.get(f"{API}/users/root/tokens").status_code == 403
    # one of somebody else is not ada's
    [own] = admin.get(f"{API}/tokens").json()["items"]
    assert admin.delete(f"{API}/users/ada/tokens/{own['id']}").status_code == 404
    assert admin.delete(f"{API}/users/ada/tokens/{listed['id']}").status_code == 204
    assert program.get(f"{API}/me").status_code == 401
    assert admin.get(f"{API}/events?limit=1").json()["items"][0]["subject"] == "ada: x"


RESETS = [{"password": "a second password"}, {"is_disabled": True}]


@pytest.mark.few(1)
@pytest.mark.parametrize("change", RESETS, ids=["reset", "disabled"])
@pytest.mark.parametrize("by", ["rest", "shell"])
def test_a_token_without_an_end_ends_when_an_admin_takes_the_account_in_hand(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], by: str
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__DATA", str(tmp_path / "data"))
    with serve() as client:
        admin = add_user(client, "root", is_admin=True)
        known(client, is_admin=False)
        endless, bounded = token_for(client, "ada", days=None), token_for(client, "ada", days=30)
        assert admin.patch(f"{API}/users/ada", json={"is_disabled": False}).status_code == 200
        shell("disable", "ada", "--undo")
        assert endless.get(f"{API}/me").status_code == 200, "who is enabled already keeps all"
        if by == "rest":
            assert admin.patch(f"{API}/users/ada", json=change).status_code == 200
        elif "password" in change:
            shell("password", "ada", "--password-stdin", typed="a second password\n")
        else:
            shell("disable", "ada")
        assert endless.get(f"{API}/me").status_code == 401
        assert bounded.get(f"{API}/me").status_code == (401 if "is_disabled" in change else 200)
        admin.patch(f"{API}/users/ada", json={"is_disabled": False})
        assert endless.get(f"{API}/me").status_code == 401
        assert bounded.get(f"{API}/me").status_code == 200


@pytest.mark.few(2)
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("by", ["session", "token"])
def test_a_new_password_ends_the_other_sessions_and_the_tokens_unless_they_are_kept(
    client: TestClient, keeps: bool, by: str
) -> None:
    here, elsewhere = signed_in(client), signed_in(client)
    program, *others = (token_for(client, "ada", days) for days in (30, None, 30))
    here = program if by == "token" else here
    others += [program] if by == "session" else []
    change = {"current": "wrong", "new": "another password", "keep_tokens": keeps}
    assert here.put(f"{API}/me/password", json=change, headers=OURS).status_code == 403
    change["current"] = PASSWORD
    short = here.put(f"{API}/me/password", json=change | {"new": "short"}, headers=OURS)
    assert (short.status_code, short.json()["detail"]) == (409, "A password has 12 to 200 characters.")
    assert here.put(f"{API}/me/password", json=change, headers=OURS).status_code == 204
    assert (here.get(f"{API}/me").status_code, elsewhere.get(f"{API}/me").status_code) == (200, 401)
    assert {other.get(f"{API}/me").status_code for other in others} == {200 if keeps else 401}
    signed_in(client, password="another password")


def test_without_users_there_is_no_token_to_be_left_behind(fresh: TestClient) -> None:
    assert fresh.post(f"{API}/tokens", json={"name": "early"}).status_code == 409
    first = fresh.post(f"{API}/users", json={"name": "bob", "password": PASSWORD})
    assert (first.status_code, "needs an admin" in first.json()["detail"]) == (409, True)
    assert fresh.get(f"{API}/users").json()["total"] == 0
    assert fresh.post(f"{API}/users", json={"name": "this-machine", "is_admin": True}).status_code == 409


def test_users_are_made_changed_and_deleted_and_an_admin_stays(fresh: TestClient) -> None:
    ada = add_user(fresh, "ada", is_admin=True)
    new = {"name": "bob", "password": PASSWORD}
    assert ada.post(f"{API}/users", json=new).status_code == 201
    assert ada.post(f"{API}/users", json=new).status_code == 409
    for name in ("Bob", "b b", "", "../x", "-x", "x" * 101, "bоb"):
        assert ada.post(f"{API}/users", json={"name": name}).status_code == 422, name
    browser = signed_in(fresh, "bob")
    for change in ({"is_admin": False}, {"is_disabled": True}):
        assert ada.patch(f"{API}/users/ada", json=change).status_code == 409
    assert ada.delete(f"{API}/users/ada").status_code == 409
    assert ada.get(f"{API}/me").json()["is_admin"]
    assert ada.patch(f"{API}/users/bob", json={"is_disabled": True}).json()["is_disabled"]
    assert browser.get(f"{API}/me").status_code == 401
    ada.patch(f"{API}/users/bob", json={"is_disabled": False, "is_admin": True})
    assert ada.delete(f"{API}/users/ada").status_code == 204
    assert ada.get(f"{API}/me").status_code == 401
    events = signed_in(fresh, "bob").get(f"{API}/events?limit=4").json()
    assert [event["action"] for event in events["items"]] == [
        "sign-in", "user.delete", "user.change", "user.change",
    ]  # fmt: skip


def test_members_are_set_by_an_admin_of_the_collection(fresh: TestClient) -> None:
    fresh.post(f"{API}/collections", json={"name": "handbook"})
    own = add_user(fresh, "own", handbook=Role.ADMIN)
    bob, members = add_user(fresh, "bob"), f"{API}/collections/handbook/members"
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
            ensure_admin_left(db)
        make_user(db, "ada", is_admin=True)
        db.commit()
    build_app(settings, {})


NAMES = [("localhost", 200), ("127.0.0.1:8080", 200), ("[::1]:8080", 200), ("10.1.2.3", 200),
         ("docs.example.org", 200), ("DOCS.example.org:443", 200), ("evil.example", 400), ("", 400),
         ("docs.example.org.evil.example", 400), ("[", 400)]  # fmt: skip


def test_it_answers_to_its_own_names_alone(serve: Serve) -> None:
    with serve(names="Docs.example.org:8443") as client:
        known(client)
        for host, status in NAMES:
            answer = client.get(f"{API}/session", headers={"Host": host, "Origin": "http://evil.example"})
            assert answer.status_code == status, host
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("trusted", "seen"), [("", "10.0.0.1"), ("10.0.0.0/8", "192.0.2.7"), ("10.0.0.2", "10.0.0.1")]
)
def test_a_proxy_is_believed_where_it_is_named(serve: Serve, trusted: str, seen: str) -> None:
    with serve(trusted_proxies=trusted) as client:
        known(client)
        behind = client_of(client.app, "10.0.0.1")
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
    unread = shell("password", "ada", "--password-stdin", typed="a caf\ufffd password\n")
    assert "not text" in unread.stderr and unread.exit_code == 1
    made = shell("token", "bob", "--role", "writer").stdout.strip()
    listed = shell("tokens", "bob").stdout
    assert "shell (writer, until 2" in listed and listed.endswith(", never used)\n")
    [row] = json.loads(shell("tokens", "bob", "--json").stdout)
    assert row["id"] == listed.split()[0] and made not in str(row)
    assert "has no token" in shell("revoke", "ada", row["id"]).stderr
    extra = shell("token", "bob", "--label", "extra").stdout.strip()
    [extra_id] = [each.split()[0] for each in shell("tokens", "bob").stdout.splitlines() if "extra" in each]
    assert shell("revoke", "bob", extra_id).stdout == "Revoked: extra\n"
    assert extra and len(json.loads(shell("tokens", "bob", "--json").stdout)) == 1
    assert "is not one of reader, writer, admin" in shell("token", "bob", "--role", "owner").stderr
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
        program = program_of(client, made)
        assert program.get(f"{API}/me").json()["role"] == "writer"
        signed_in(client)
        shell("disable", "bob")
        assert program.get(f"{API}/me").status_code == 401
        shell("disable", "bob", "--undo")
        assert program.get(f"{API}/me").status_code == 200
        shell("password", "ada", "--password-stdin", typed="another password\n")
        signed_in(client, password="another password")
