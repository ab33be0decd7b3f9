"""An OpenID Connect provider that signs people in: the authorization code flow with PKCE, state and nonce."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from dataclasses import dataclass
from typing import Any

import httpx2
from authlib.integrations.base_client import BaseApp, OAuth2Mixin, OAuthError, OpenIDMixin
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry, extract_compact

from adaptive_rag.server.problems import Problem
from adaptive_rag.server.settings import ServerSettings

SIGN_IN_COOKIE = "adaptive_rag_sign_in"
# How long a person may take at the provider, and the timeout of requests to the provider.
SIGN_IN_SECONDS, TIMEOUT_SECONDS = 600, 10
# The accepted signature algorithms, whatever the provider advertises: "none" would be no signature, and with
# HS256 our own secret would be the key.
ALGORITHMS = [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)]
ALGORITHMS += ["EdDSA", "Ed25519"]
_CLOCK_SKEW_SECONDS = 60
# What the libraries raise for a token, or for keys, that cannot be used.
_UNVERIFIED = (JoseError, ValueError, KeyError, TypeError)
# The provider's keys are fetched again at most once in this time.
_RENEWAL_SECONDS = 10


class NotSignedIn(Exception):
    """A sign-in at the provider has failed; the message is for the audit log."""


@dataclass(frozen=True)
class Person:
    """A person whom the provider has signed in. The subject identifies them; they can choose the name."""

    subject: str
    name: str


def _derive(secret: str, name: str) -> str:
    """Derive the state, the nonce or the PKCE verifier from a sign-in's secret, which they do not reveal."""
    return hmac.new(secret.encode(), name.encode(), hashlib.sha256).hexdigest()


class _Client(OAuth2Mixin, OpenIDMixin, BaseApp):  # type: ignore[misc]
    """Authlib's client, but it accepts metadata only from the issuer that the operator named.

    It also verifies tokens that do not name their key, before and after the provider has changed its keys.
    """

    client_cls = OAuth2Client

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._renewal, self._renewable_at = threading.Lock(), 0.0

    def load_server_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = super().load_server_metadata()
        if metadata.get("issuer") != self.issuer:
            del metadata["_loaded_at"]  # load them again next time
            raise ValueError("the provider's metadata name another issuer")
        return metadata

    def verify(self, token: str) -> jwt.Token:
        """Return a token that the provider has signed, perhaps with a key that it did not have before.

        Raises:
            JoseError, ValueError, KeyError, TypeError: none of the provider's keys has signed it.
        """
        keys = self.fetch_jwk_set()
        try:
            return _verify(token, keys)
        except _UNVERIFIED:
            with self._renewal:  # several sign-ins may come with a new key
                renewed = self.fetch_jwk_set()
                if renewed is keys and time.monotonic() >= self._renewable_at:
                    self._renewable_at = time.monotonic() + _RENEWAL_SECONDS
                    renewed = self.fetch_jwk_set(force=True)
            return _verify(token, renewed)


def _verify(token: str, keys: Any) -> jwt.Token:
    """Return a token that the key named in its header has signed, or any of the keys if it names none."""
    key_set = KeySet.import_key_set(keys)
    names_key = extract_compact(token.encode()).headers().get("kid")
    registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    failures = list[JoseError]()
    for key in [key_set] if names_key else key_set:
        try:
            return jwt.decode(token, key, registry=registry)
        except JoseError as error:
            failures.append(error)
    raise failures[0]


class Provider:
    """The OpenID Connect provider that the settings name."""

    def __init__(self, settings: ServerSettings) -> None:
        secret = settings.oidc_client_secret
        self.issuer = settings.oidc_issuer or ""
        self._client_id = settings.oidc_client_id
        self._client = _Client(
            framework=None,
            client_id=settings.oidc_client_id,
            client_secret=secret.get_secret_value() if secret else None,
            server_metadata_url=self.issuer.rstrip("/") + "/.well-known/openid-configuration",
            client_kwargs={
                "scope": settings.oidc_scopes,
                "code_challenge_method": "S256",
                "timeout": TIMEOUT_SECONDS,
            },
        )
        self._client.issuer = self.issuer

    def sign_in_address(self, secret: str, return_to: str) -> str:
        """Return the provider's address for a sign-in; raise 503 if the provider does not answer.

        Only the browser that signs in has the secret, in a cookie.
        """
        parts = {"state": "state", "nonce": "nonce", "code_verifier": "verifier"}
        try:
            authorization = self._client.create_authorization_url(
                return_to, **{key: _derive(secret, name) for key, name in parts.items()}
            )
        except (httpx2.HTTPError, ValueError, RuntimeError):
            detail = "The provider that signs people in does not answer. Try again later."
            raise Problem(503, detail) from None
        return str(authorization["url"])

    def fetch_person(self, secret: str, code: str, state: str, return_to: str) -> Person:
        """Fetch the person whom the provider has signed in, with the code that the browser brought back.

        Raises:
            NotSignedIn: this browser did not start the sign-in; the provider refuses the code; or its token
                is for another server or sign-in, is not signed by the provider, or is too old.
        """
        if not secret or not hmac.compare_digest(state.encode(), _derive(secret, "state").encode()):
            raise NotSignedIn("the browser did not begin this sign-in")
        if not code:
            raise NotSignedIn("the provider gave no code")
        try:
            token = self._client.fetch_access_token(
                return_to, code=code, code_verifier=_derive(secret, "verifier")
            )
            verified = self._client.verify(str(token["id_token"]))
            claims = CodeIDToken(
                verified.claims,
                verified.header,
                {
                    "iss": {"essential": True, "value": self.issuer},
                    "aud": {"essential": True, "value": self._client_id},
                },
                {
                    "nonce": _derive(secret, "nonce"),
                    "client_id": self._client_id,
                    "access_token": token.get("access_token"),
                },
            )
            claims.validate(leeway=_CLOCK_SKEW_SECONDS)
        except (*_UNVERIFIED, httpx2.HTTPError, OAuthError, RuntimeError) as error:
            raise NotSignedIn(f"{type(error).__name__}: {error}"[:300]) from error
        if not isinstance(claims.get("sub"), str) or not 0 < len(claims["sub"]) <= 255:
            raise NotSignedIn("the provider's token names nobody")
        names = (claims.get(claim) for claim in ("preferred_username", "email", "name"))
        return Person(claims["sub"], next((name for name in names if isinstance(name, str) and name), "user"))
