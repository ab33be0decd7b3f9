"""Signing in and out, and the caller's own account: name, password and profile."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field
from sqlalchemy.orm import Session

from adaptive_rag.conversation import MAX_PROFILE, forget_profile, read_profile, write_profile
from adaptive_rag.server.access import SESSION_COOKIE, cookie_name, has_users, refuse_other_sites
from adaptive_rag.server.accounts import (
    begin_session,
    end_sessions,
    find_or_create_provider_user,
    find_user,
    set_password,
)
from adaptive_rag.server.api.forms import Form
from adaptive_rag.server.audit import SIGNED_IN, address_of, has_signed_in_from, record_event
from adaptive_rag.server.calls import AnyCall, count
from adaptive_rag.server.database import Db, release_connection
from adaptive_rag.server.gate import Turns
from adaptive_rag.server.machine import network_of
from adaptive_rag.server.oidc import SIGN_IN_COOKIE, SIGN_IN_SECONDS, NotSignedIn, Person
from adaptive_rag.server.passwords import LONGEST, hash_password, needs_rehash, verify_password
from adaptive_rag.server.problems import Problem, require_found
from adaptive_rag.server.roles import Role, roles_within
from adaptive_rag.server.services import Services, ServicesDep
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Token, User

router = APIRouter(tags=["account"])
# Requests to the provider, in turns of the addresses that sign in: it may be slow.
_PROVIDER_REQUESTS = Turns(8)
Password = Annotated[str, Field(max_length=LONGEST, examples=["correct horse battery"])]


class Credentials(Form):
    """Name and password of a person who signs in."""

    name: str = Field(max_length=100, examples=["ada"])
    password: Password


class NewPassword(Form):
    """A change of one's own password."""

    current: Password
    new: Password
    keep_tokens: bool = Field(
        False, description="Keep your API tokens. Otherwise they are revoked, except the one of this request."
    )


class WaysIn(Form):
    """The ways to sign in."""

    needed: bool = Field(description="False if the server has no users and answers only its own machine.")
    provider: bool = Field(description="Whether one can sign in at GET /api/v1/session/provider.")


class Me(Form):
    """The caller."""

    name: str
    is_admin: bool = Field(description="Admin of the server, and so of every collection.")
    role: Role = Field(description="The highest role that the session or token gives.")
    roles: list[Role] = Field(description="The roles that you can give to a token.")
    has_password: bool = Field(
        description="Whether the server has a password for you; otherwise you sign in through a provider."
    )
    has_model: bool = Field(
        description="Whether a chat model writes the answers; without one, answers quote the documents."
    )


class Profile(Form):
    """What answers should take into account about you."""

    text: str = Field(max_length=MAX_PROFILE, examples=["I use a wheelchair and live in Saltmere."])


@router.get("/session")
def show_ways_in(db: Db, services: ServicesDep) -> WaysIn:
    """Show how people sign in."""
    provider = services.provider is not None
    return WaysIn(needed=provider or has_users(db), provider=provider)


@router.post("/session")
def sign_in(
    credentials: Credentials, db: Db, services: ServicesDep, request: Request, response: Response
) -> Me:
    """Sign in with a name and a password; the answer sets a cookie."""
    refuse_other_sites(request, is_strict=False)
    name, address = credentials.name.strip().lower(), address_of(request)
    user = _check_password(db, services, address, name, credentials.password)
    if user is None:
        # An unknown name may be a password in the wrong field, so it does not go into the audit log.
        record_event(db, address, name if find_user(db, name) else None, "sign-in.refused")
        db.commit()
        raise Problem(401, "The name or the password is wrong.")
    services.rates.forget_sign_in(address, name)
    _start_session(user, db, services.settings, request, response)
    return _describe_me(user, Role.ADMIN, db, services)


@router.delete("/session", status_code=204)
def sign_out(call: AnyCall, response: Response) -> None:
    """Sign out: end the session of the request's cookie."""
    token = call.db.get(Token, call.caller.token_id)
    if token is None or not token.is_session:
        raise Problem(409, "This request has no session to end.")
    call.db.delete(token)
    call.commit("sign-out")
    _delete_cookie(response, SESSION_COOKIE, call.services.settings)


@router.get("/session/provider", status_code=302, response_class=RedirectResponse)
async def sign_in_at_provider(services: ServicesDep, request: Request) -> RedirectResponse:
    """Redirect a browser to the provider's sign-in."""
    provider = require_found(services.provider, "provider")
    address, secret = address_of(request), secrets.token_urlsafe(32)
    services.rates.count_sign_in(address)
    begin = partial(provider.sign_in_address, secret, _return_address(request))
    response = RedirectResponse(await _PROVIDER_REQUESTS.run(network_of(address), begin), 302)
    _set_cookie(response, SIGN_IN_COOKIE, secret, SIGN_IN_SECONDS, services.settings)
    return response


@router.get("/session/provider/return", status_code=302, response_class=RedirectResponse)
async def return_from_provider(
    services: ServicesDep, db: Db, request: Request, code: str = "", state: str = ""
) -> RedirectResponse:
    """Sign in a person who returns from the provider, and redirect the browser to the page."""
    provider, address = require_found(services.provider, "provider"), address_of(request)
    services.rates.count_sign_in(address)
    secret = request.cookies.get(cookie_name(SIGN_IN_COOKIE, services.settings), "")
    fetch = partial(provider.fetch_person, secret, code, state, _return_address(request))
    end = partial(_end_provider_sign_in, services, provider.issuer, db, request, fetch)
    return await _PROVIDER_REQUESTS.run(network_of(address), end)


def _end_provider_sign_in(
    services: Services, issuer: str, db: Session, request: Request, fetch: Callable[[], Person]
) -> RedirectResponse:
    """Start the session of a person whom the provider has signed in, or record why it has not."""
    try:
        person = fetch()
        user = find_or_create_provider_user(db, issuer, person.subject, person.name)
        if user.is_disabled:
            raise NotSignedIn("the account is disabled")
    except NotSignedIn as error:
        record_event(db, address_of(request), None, "sign-in.refused", str(error))
        db.commit()
        raise Problem(401, "The provider's sign-in cannot be used. Begin again.") from None
    response = RedirectResponse("/", 302)
    _delete_cookie(response, SIGN_IN_COOKIE, services.settings)
    _start_session(user, db, services.settings, request, response)
    return response


@router.get("/me")
def show_me(call: AnyCall) -> Me:
    """Show your own account."""
    return _describe_me(call.db.get_one(User, call.caller.id), call.caller.ceiling, call.db, call.services)


@router.put("/me/password", status_code=204)
def change_password(credentials: NewPassword, call: AnyCall) -> None:
    """Change your password. Your other sessions end; your API tokens too, unless you keep them."""
    caller = call.caller
    user = _check_password(call.db, call.services, caller.address, caller.name, credentials.current)
    if user is None:
        call.commit("password.refused")
        raise Problem(403, "The current password is wrong.", type="wrong_password")
    set_password(call.db, user, credentials.new)
    end_sessions(call.db, user, keep=caller.token_id, with_tokens=not credentials.keep_tokens)
    call.commit("password.change")


@router.get("/me/profile", tags=["you"])
def show_profile(call: AnyCall) -> Profile:
    """Show your profile; its text is empty if you have none."""
    return Profile(text=read_profile(call.services.conversations.store, call.caller.id))


@router.put("/me/profile", tags=["you"], dependencies=[count("change")])
def replace_profile(profile: Profile, call: AnyCall) -> Profile:
    """Replace your profile."""
    write_profile(call.services.conversations.store, call.caller.id, profile.text)
    return profile


@router.delete("/me/profile", status_code=204, tags=["you"])
def delete_profile(call: AnyCall) -> None:
    """Delete your profile."""
    forget_profile(call.services.conversations.store, call.caller.id)


def _check_password(db: Session, services: Services, address: str, name: str, password: str) -> User | None:
    """Return the user of a name with this password, if they may sign in; count the attempt."""
    services.rates.count_password(address, name, lambda: has_signed_in_from(db, name, address))
    user = find_user(db, name)
    stored = renewed = user.password if user else None
    release_connection(db)
    is_correct = verify_password(stored, password, network_of(address))
    if is_correct and stored and needs_rehash(stored):
        renewed = hash_password(password, network_of(address))
    # An admin may have changed or deleted the account while the password was checked.
    user = db.get(User, user.id if user else "", populate_existing=True)
    if user is None or not is_correct or user.password != stored or user.is_disabled:
        services.rates.count_wrong_password(address, name)
        return None
    user.password = renewed
    return user


def _describe_me(user: User, role: Role, db: Session, services: Services) -> Me:
    return Me(
        name=user.name,
        is_admin=user.is_admin,
        role=role,
        roles=roles_within(role.actions),
        has_password=user.password is not None,
        has_model=services.model.is_set(db),
    )


def _start_session(
    user: User, db: Session, settings: ServerSettings, request: Request, response: Response
) -> None:
    secret = begin_session(db, user, settings.session_hours)
    record_event(db, address_of(request), user.name, SIGNED_IN)
    db.commit()
    _set_cookie(response, SESSION_COOKIE, secret, int(settings.session_hours * 3600), settings)


def _set_cookie(response: Response, name: str, value: str, seconds: int, settings: ServerSettings) -> None:
    name = cookie_name(name, settings)
    response.set_cookie(name, value, seconds, httponly=True, samesite="lax", secure=settings.tls)


def _delete_cookie(response: Response, name: str, settings: ServerSettings) -> None:
    # Browsers accept a cookie with the prefix __Host- only if it is secure, even to delete it.
    response.delete_cookie(cookie_name(name, settings), httponly=True, samesite="lax", secure=settings.tls)


def _return_address(request: Request) -> str:
    return str(request.url_for("return_from_provider"))
