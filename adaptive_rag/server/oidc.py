"""An OpenID Connect provider that signs people in: the authorization code flow with PKCE, state and nonce."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Any

import httpx2
from authlib.integrations.base_client import BaseApp, OAuth2Mixin, OAuthError, OpenIDMixin
from authlib.integrations.httpx_client import OAuth2Client
from joserfc.errors import JoseError

from adaptive_rag.server.problems import Problem
from adaptive_rag.server.settings import ServerSettings

SIGN_IN_COOKIE = "adaptive_rag_sign_in"
# How long a person may take at the provider, and how long the provider may take for each answer.
SIGN_IN_SECONDS, TIMEOUT_SECONDS = 600, 10
# The signature algorithms that are accepted, whatever the provider advertises: "none" is no signature, and
# with HS256 the key would be our own secret.
ALGORITHMS = [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)]
ALGORITHMS += ["EdDSA", "Ed25519"]
_CLOCK_SECONDS = 60


class NotSignedIn(Exception):
    """A sign-in at the provider that cannot be used; the message is for the audit log."""


@dataclass(frozen=True)
class Person:
    """A person whom the provider signed in. The subject identifies them; they choose the name themselves."""

    subject: str
    name: str


@dataclass(frozen=True)
class SignIn:
    """A sign-in that was begun in one browser, the only one that has its secret, in a cookie."""

    secret: str

    @classmethod
    def begin(cls) -> SignIn:
        """Begin a new sign-in."""
        return cls(secrets.token_urlsafe(32))

    def part(self, name: str) -> str:
        """Return the state, the nonce or the PKCE verifier; none of them reveals another, or the secret."""
        return hmac.new(self.secret.encode(), name.encode(), hashlib.sha256).hexdigest()


class _Client(OAuth2Mixin, OpenIDMixin, BaseApp):  # type: ignore[misc]
    """Authlib's client, which accepts metadata only from the issuer that the operator named."""

    client_cls = OAuth2Client

    def load_server_metadata(self) -> dict[str, Any]:
        known: dict[str, Any] = super().load_server_metadata()
        if known.get("issuer") != self.issuer:
            raise ValueError("the provider's metadata name another issuer")
        known["id_token_signing_alg_values_supported"] = ALGORITHMS
        return known


class Provider:
    """The provider that the settings name."""

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

    def address_for(self, begun: SignIn, return_to: str) -> str:
        """Return the provider's address where a person signs in; 503 if the provider does not answer."""
        parts = {"state": "state", "nonce": "nonce", "code_verifier": "verifier"}
        try:
            made = self._client.create_authorization_url(
                return_to, **{key: begun.part(name) for key, name in parts.items()}
            )
        except (httpx2.HTTPError, ValueError, RuntimeError):
            raise Problem(
                503, "The provider that signs people in does not answer. Try again later."
            ) from None
        return str(made["url"])

    def person(self, begun: SignIn, code: str, state: str, return_to: str) -> Person:
        """Return the person whom the provider signed in, after it sent the browser back with a code.

        Raises:
            NotSignedIn: the browser did not begin this sign-in; or the provider refuses the code, or its
                token is not for this server, not for this sign-in, not signed by it, or too old.
        """
        if not begun.secret or not hmac.compare_digest(state.encode(), begun.part("state").encode()):
            raise NotSignedIn("the browser did not begin this sign-in")
        if not code:
            raise NotSignedIn("the provider gave no code")
        try:
            token = self._client.fetch_access_token(
                return_to, code=code, code_verifier=begun.part("verifier")
            )
            claims = self._client.parse_id_token(
                token,
                nonce=begun.part("nonce"),
                claims_options={
                    "iss": {"essential": True, "value": self.issuer},
                    "aud": {"essential": True, "value": self._client_id},
                },
                leeway=_CLOCK_SECONDS,
            )
        except (httpx2.HTTPError, OAuthError, JoseError, ValueError, KeyError, RuntimeError) as error:
            raise NotSignedIn(f"{type(error).__name__}: {error}"[:300]) from error
        if not claims or not isinstance(claims.get("sub"), str) or not 0 < len(claims["sub"]) <= 255:
            raise NotSignedIn("the provider's token names nobody")
        names = (claims.get(claim) for claim in ("preferred_username", "email", "name"))
        return Person(claims["sub"], next((name for name in names if isinstance(name, str) and name), "user"))
