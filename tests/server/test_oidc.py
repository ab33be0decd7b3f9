"""Sign-in through a provider: a small one over HTTP, with RSA keys; and what must not be let through."""

import json
import re
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server import oidc
from adaptive_rag.server.problems import USER_NAME
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Event, User
from tests.server.conftest import Serve, add_user, client_of


@cache
def rsa_key(number: int, *, names: str = "") -> Any:
    """Make a key once for all tests: that takes half a second."""
    return RSAKey.generate_key(2048, {"kid": names} if names else {})


CLIENT, SECRET = "adaptive-rag", "the client's secret"
BEGIN, BACK = "/api/v1/session/provider", "/api/v1/session/provider/return"


class SmallProvider(ThreadingHTTPServer):
    """Signs in whoever comes as `claims` say; a code can be used once, with its verifier."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.signing_key: Any = rsa_key(0, names="one")
        self.keys: list[Any] | None = [self.signing_key]
        self.times_keys_were_read = 0
        self.names_key = True
        self.algorithm = "RS256"
        self.claims: dict[str, Any] = {"sub": "1234", "preferred_username": "Ada"}
        self.metadata: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}

    def authorize(self, address: str) -> dict[str, str]:
        """Sign somebody in, and return what the browser is sent back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        assert asked["code_challenge_method"] == "S256" and "openid" in asked["scope"].split()
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def token_for(self, given: dict[str, str]) -> dict[str, Any] | None:
        asked = self.codes.pop(given.get("code", ""), None)
        challenge = urlsafe_b64encode(sha256(given.get("code_verifier", "").encode()).digest())
        if asked is None or challenge.decode().rstrip("=") != asked["code_challenge"]:
            return None
        if given["redirect_uri"] != asked["redirect_uri"]:
            return None
        present = int(time.time())
        standard = {"iss": self.issuer, "aud": CLIENT, "iat": present, "exp": present + 60}
        claims = {**standard, "nonce": asked["nonce"], **self.claims}
        header = {"alg": self.algorithm} | ({"kid": "one"} if self.names_key else {})
        if self.algorithm == "none":
            parts = (urlsafe_b64encode(json.dumps(part).encode()).decode() for part in (header, claims))
            signed = ".".join(part.rstrip("=") for part in parts) + "."
        else:
            signed = jwt.encode(header, claims, self.signing_key, algorithms=[self.algorithm])
        return {"access_token": "x", "token_type": "Bearer", "id_token": signed}


class _Answers(BaseHTTPRequestHandler):
    server: SmallProvider

    def do_GET(self) -> None:
        issuer = self.server.issuer
        if self.path.startswith("/authorize?"):
            back = self.server.authorize(self.path)
            self.send_response(302)
            self.send_header(
                "Location", f"{self.server.codes[back['code']]['redirect_uri']}?{urlencode(back)}"
            )
            self.end_headers()
            return
        if self.path == "/keys":
            self.server.times_keys_were_read += 1
            keys = self.server.keys
            self._send(200, {"keys": keys and [key.as_dict(private=False) for key in keys]})
            return
        known = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
        self._send(200, known | self.server.metadata)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        token = self.server.token_for({name: values[0] for name, values in parse_qs(body).items()})
        self._send(200, token) if token else self._send(400, {"error": "invalid_grant"})

    def _send(self, status: int, content: Any) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def provider() -> Iterator[SmallProvider]:
    with SmallProvider() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


def settings_of(provider: SmallProvider) -> dict[str, str]:
    return {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET}


@pytest.fixture
def client(serve: Serve, provider: SmallProvider) -> Iterator[TestClient]:
    """Serve people whom the provider signs in."""
    with serve(**settings_of(provider)) as client:
        yield client


def browser_of(client: TestClient) -> TestClient:
    browser = client_of(client.app)
    browser.follow_redirects = False
    return browser


def come_back(browser: TestClient, provider: SmallProvider, **changed: str) -> Response:
    """Go to the provider and back; `changed` is what the address back holds instead of the provider's."""
    begun = browser.get(BEGIN)
    assert begun.status_code == 302
    back = provider.authorize(begun.headers["location"]) | changed
    return browser.get(f"{BACK}?{urlencode(back)}")


def test_a_person_signs_in_as_a_plain_user_and_is_known_again(
    client: TestClient, provider: SmallProvider
) -> None:
    # Without any user it is closed from the first moment.
    assert client.get("/api/v1/collections").status_code == 401
    assert client.get("/api/v1/session").json() == {"needed": True, "provider": True}
    browser = browser_of(client)
    answer = come_back(browser, provider)
    assert (answer.status_code, answer.headers["location"]) == (302, "/")
    me = browser.get("/api/v1/me").json()
    who = {"name": "ada", "is_admin": False, "role": "admin", "has_password": False}
    assert me == {**who, "roles": list(Role), "has_model": False}
    assert browser.get("/api/v1/collections").json()["total"] == 0
    assert browser.get("/api/v1/users").status_code == 403
    provider.claims["preferred_username"] = "renamed"
    come_back(browser_of(client), provider)
    admin = add_user(client, "root", is_admin=True)
    [found, _] = admin.get("/api/v1/users").json()["items"]
    assert (found["name"], found["issuer"], found["subject"]) == ("ada", provider.issuer, "1234")
    admin.patch("/api/v1/users/ada", json={"is_disabled": True})
    assert come_back(browser_of(client), provider).status_code == 401


CLAIMED: list[tuple[Any, str]] = [
    ("root", "root-"), ("this-machine", "this-machine-"), ("Ｒoot", "root-"), ("../../etc", "etc"),
    ("<script>", "script"), ("", "user"), ({"a": 1}, "user-"), ("a" * 5000, "a" * 80),
    ("Ada Lovelace", "ada-lovelace"),
]  # fmt: skip


def test_a_claimed_name_is_made_safe_and_is_nobody_elses(client: TestClient, provider: SmallProvider) -> None:
    add_user(client, "root", is_admin=True)
    for number, (claimed, shown) in enumerate(CLAIMED):
        provider.claims = {"sub": str(number), "preferred_username": claimed}
        browser = browser_of(client)
        come_back(browser, provider)
        me = browser.get("/api/v1/me").json()
        assert me["name"].startswith(shown) and me["name"] != "root" and not me["is_admin"]
        assert re.fullmatch(USER_NAME, me["name"])


WRONG: dict[str, dict[str, Any]] = {
    "another's nonce": {"nonce": "0" * 64},
    "no nonce": {"nonce": None},
    "another audience": {"aud": "another-app"},
    "another audience that names us": {"aud": "another-app", "azp": CLIENT},
    "two audiences, for the other": {"aud": [CLIENT, "another-app"], "azp": "another-app"},
    "another issuer": {"iss": "https://evil.example"},
    "expired": {"exp": 1_000_000_000},
    "not yet": {"nbf": 4_000_000_000},
    "nobody": {"sub": ""},
    "a subject that is no text": {"sub": ["1234"]},
}


def refused(answer: Response, client: TestClient) -> str:
    """Return what the audit log says of a refusal; the answer tells none of it, and nobody was made."""
    assert answer.status_code == 401, answer.text
    assert answer.json()["detail"] == "The provider's sign-in cannot be used. Begin again."
    assert "adaptive_rag_session" not in answer.headers.get("set-cookie", "")
    with Session(client.app.state.services.engine) as db:
        assert db.scalars(select(User)).all() == []
        return db.scalars(select(Event.subject).order_by(Event.id.desc())).first() or ""


def test_a_token_that_is_not_for_this_sign_in_is_refused(client: TestClient, provider: SmallProvider) -> None:
    right = dict(provider.claims)
    for name, wrong in WRONG.items():
        provider.claims = {**right, **wrong}
        assert refused(come_back(browser_of(client), provider), client), name


def test_a_token_that_the_provider_did_not_sign_is_refused(
    client: TestClient, provider: SmallProvider
) -> None:
    provider.algorithm = "none"
    assert "UnsupportedAlgorithm" in refused(come_back(browser_of(client), provider), client)
    # With the client's secret as its key, anybody who knows that could sign.
    from joserfc.jwk import OctKey

    provider.algorithm, provider.signing_key = "HS256", OctKey.import_key(SECRET)
    assert "UnsupportedAlgorithm" in refused(come_back(browser_of(client), provider), client)
    provider.algorithm = "RS256"
    provider.signing_key = rsa_key(1, names="one")
    assert "BadSignature" in refused(come_back(browser_of(client), provider), client)


def test_a_sign_in_ends_in_the_browser_that_began_it_and_once(
    client: TestClient, provider: SmallProvider
) -> None:
    assert "did not begin" in refused(come_back(browser_of(client), provider, state="0" * 64), client)
    assert "did not begin" in refused(come_back(browser_of(client), provider, state="é"), client)
    back = provider.authorize(browser_of(client).get(BEGIN).headers["location"])
    stranger = browser_of(client)
    assert "did not begin" in refused(stranger.get(f"{BACK}?{urlencode(back)}"), client)
    stranger.get(BEGIN)
    assert "did not begin" in refused(stranger.get(f"{BACK}?{urlencode(back)}"), client)
    # Another person's code, in the address back to a browser that began a sign-in of its own.
    assert refused(come_back(browser_of(client), provider, code=back["code"]), client)
    assert "no code" in refused(come_back(browser_of(client), provider, code=""), client)


def test_somebody_who_turns_back_at_the_provider_gets_a_page_and_no_json(client: TestClient) -> None:
    address, accepted = f"{BACK}?error=access_denied&state=x", "text/html,application/xhtml+xml,*/*;q=0.8"
    shown = client.get(address, headers={"Accept": accepted})
    assert (shown.status_code, shown.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "Begin again." in shown.text and 'href="/"' in shown.text
    assert client.get(address, headers={"Accept": "text/html, *; q=.2"}).json()["status"] == 401  # from Java


def test_a_code_is_not_taken_twice(client: TestClient, provider: SmallProvider) -> None:
    browser = browser_of(client)
    begun = browser.get(BEGIN)
    secret = browser.cookies["adaptive_rag_sign_in"]
    back = urlencode(provider.authorize(begun.headers["location"]))
    assert browser.get(f"{BACK}?{back}").status_code == 302
    assert browser.get(f"{BACK}?{back}").status_code == 401
    browser.cookies.set("adaptive_rag_sign_in", secret)
    assert browser.get(f"{BACK}?{back}").status_code == 401


def test_a_provider_that_was_another_for_a_moment_is_asked_again(
    client: TestClient, provider: SmallProvider
) -> None:
    provider.metadata = {"issuer": "https://evil.example"}
    assert browser_of(client).get(BEGIN).status_code == 503
    provider.metadata = {}
    assert come_back(browser_of(client), provider).headers["location"] == "/"


def test_a_provider_changes_its_keys_without_naming_them(
    client: TestClient, provider: SmallProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_key(*earlier: RSAKey) -> int:
        provider.signing_key = rsa_key(next(numbers))
        provider.keys = [ECKey.generate_key("P-256"), *earlier, provider.signing_key]
        return come_back(browser_of(client), provider).status_code

    provider.names_key, numbers = False, count()
    assert come_back(browser_of(client), provider).status_code == 302
    assert change_key(provider.signing_key) == 302
    assert provider.times_keys_were_read == 2
    assert change_key() == 401 and provider.times_keys_were_read == 2  # too soon
    monkeypatch.setattr(oidc, "_RENEWAL_SECONDS", 0)
    monkeypatch.setattr(client.app.state.services.provider._client, "_renewable_at", 0)
    assert change_key() == 302 and provider.times_keys_were_read == 3
    provider.signing_key = rsa_key(next(numbers))
    for not_keys in ([], None):
        provider.keys = not_keys
        assert come_back(browser_of(client), provider).status_code == 401
    assert change_key() == 302


@pytest.mark.parametrize(
    "given",
    [{"oidc_issuer": "https://idp.example"}, {"oidc_issuer": "http://idp.example", "oidc_client_id": "x"}],
)
def test_a_provider_that_could_not_be_trusted_is_refused_at_the_start(given: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="oidc_issuer"):
        read_server_settings(**given)
