"""Users and the audit log, for admins of the server."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field
from sqlalchemy import select

from adaptive_rag.conversation import forget_profile
from adaptive_rag.server.accounts import (
    add_user,
    ensure_admin_left,
    find_user,
    revoke_access,
    select_tokens,
    set_password,
)
from adaptive_rag.server.api.forms import Form, Page, WindowQuery, fetch_page
from adaptive_rag.server.api.tokens import TokenShown, delete_token
from adaptive_rag.server.calls import AdminCall, RowId, UserName
from adaptive_rag.server.machine import THIS_MACHINE
from adaptive_rag.server.passwords import LONGEST, SHORTEST
from adaptive_rag.server.problems import USER_NAME, require_found
from adaptive_rag.server.tables import Event, Thread, User

router = APIRouter(tags=["users"])
FirstPassword = Annotated[
    str, Field(min_length=SHORTEST, max_length=LONGEST, examples=["correct horse battery"])
]


class NewUser(Form):
    """A new user."""

    name: str = Field(pattern=USER_NAME, examples=["ada"])
    password: FirstPassword | None = Field(
        None, description="Without a password, they can use only API tokens."
    )
    is_admin: bool = Field(False, description="Admin of the server, and so of every collection.")


class UserChange(Form):
    """The fields of a user to change; the others stay."""

    password: FirstPassword | None = Field(
        None,
        description="A new password. It ends their sessions, and revokes their tokens that never expire.",
    )
    is_admin: bool | None = None
    is_disabled: bool | None = Field(
        None,
        description="A disabled user has no access. Their sessions end, and their tokens that never expire "
        "are revoked.",
    )


class UserShown(Form):
    """A user as admins see them."""

    name: str
    is_admin: bool
    is_disabled: bool
    issuer: str | None = Field(description="The provider through which they sign in.")
    subject: str | None = Field(description="Their id at the provider; the name is chosen by themselves.")
    created: datetime


class EventShown(Form):
    """An entry of the audit log."""

    at: datetime
    user: str | None = Field(description="The user's name at that time.")
    address: str | None = Field(description="The address of the request.")
    action: str = Field(examples=["collection.delete"])
    subject: str = Field(description="The object of the action.")


def _find_user(call: AdminCall, user: UserName) -> User:
    return require_found(find_user(call.db, user), "user")


NamedUser = Annotated[User, Depends(_find_user)]


@router.get("/users")
def list_users(call: AdminCall, window: WindowQuery) -> Page[UserShown]:
    """List the users."""
    query = select(User).where(User.name != THIS_MACHINE).order_by(User.name)
    return fetch_page(call.db, query, window, UserShown.model_validate)


@router.post("/users", status_code=201)
def create_user(new: NewUser, call: AdminCall) -> UserShown:
    """Create a user. The first user must be an admin, since from then on everybody has to sign in."""
    user = add_user(call.db, new.name, new.password, is_admin=new.is_admin)
    ensure_admin_left(call.db)
    call.commit("user.create", user.name)
    return UserShown.model_validate(user)


@router.patch("/users/{user}")
def change_user(change: UserChange, user_row: NamedUser, call: AdminCall) -> UserShown:
    """Disable or enable a user, make them an admin or not, or set a new password."""
    if change.password is not None:
        set_password(call.db, user_row, change.password)
        revoke_access(call.db, user_row)
    if change.is_admin is not None:
        user_row.is_admin = change.is_admin
    if change.is_disabled is not None:
        if change.is_disabled or user_row.is_disabled:
            revoke_access(call.db, user_row)
        user_row.is_disabled = change.is_disabled
    ensure_admin_left(call.db)
    changed_fields = ", ".join(sorted(change.model_dump(exclude_none=True)))
    call.commit("user.change", f"{user_row.name}: {changed_fields}")
    return UserShown.model_validate(user_row)


@router.get("/users/{user}/tokens")
def list_tokens_of_user(user_row: NamedUser, call: AdminCall, window: WindowQuery) -> Page[TokenShown]:
    """List the API tokens of a user."""
    return fetch_page(call.db, select_tokens(user_row.id), window, TokenShown.model_validate)


@router.delete("/users/{user}/tokens/{token}", status_code=204)
def revoke_token_of_user(user_row: NamedUser, token: RowId, call: AdminCall) -> None:
    """Revoke an API token of a user."""
    delete_token(call, user_row, token)


@router.delete("/users/{user}", status_code=204)
def delete_user(user_row: NamedUser, call: AdminCall) -> None:
    """Delete a user with their tokens, roles, threads and profile; documents that they added stay."""
    threads = call.db.scalars(select(Thread.id).where(Thread.owner_id == user_row.id)).all()
    call.db.delete(user_row)
    ensure_admin_left(call.db)
    # Before the commit, because nobody could repeat it without the user.
    call.services.conversations.forget(*threads)
    forget_profile(call.services.conversations.store, user_row.id)
    call.commit("user.delete", user_row.name)


@router.get("/events")
def list_events(call: AdminCall, window: WindowQuery) -> Page[EventShown]:
    """List the audit log, the newest entries first."""
    return fetch_page(call.db, select(Event).order_by(Event.id.desc()), window, EventShown.model_validate)
