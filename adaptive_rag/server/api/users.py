"""Users and the audit log, for admins of the server."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field
from sqlalchemy import select

from adaptive_rag.conversation import forget_profile
from adaptive_rag.server.accounts import (
    USER_NAME,
    add_user,
    find_user,
    keep_an_admin,
    set_password,
    shut_out,
    tokens_of,
)
from adaptive_rag.server.api.forms import Form, Page, WindowAsked, page_of
from adaptive_rag.server.api.tokens import TokenShown, delete_token
from adaptive_rag.server.calls import AdminCall, RowId, UserName
from adaptive_rag.server.machine import THIS_MACHINE
from adaptive_rag.server.passwords import LONGEST, SHORTEST
from adaptive_rag.server.problems import found
from adaptive_rag.server.tables import Event, Thread, User

router = APIRouter(tags=["users"])
FirstPassword = Annotated[
    str, Field(min_length=SHORTEST, max_length=LONGEST, examples=["correct horse battery"])
]


class NewUser(Form):
    """A user who is made."""

    name: str = Field(pattern=USER_NAME, examples=["ada"])
    password: FirstPassword | None = Field(None, description="Without one they have API tokens alone.")
    is_admin: bool = Field(False, description="Admin of the server, and so of every collection.")


class UserChange(Form):
    """What of a user is changed; the rest stays."""

    password: FirstPassword | None = Field(
        None, description="A new one; it ends their sessions and their tokens without an end."
    )
    is_admin: bool | None = None
    is_disabled: bool | None = Field(
        None,
        description="A disabled user's sessions and tokens let nobody in; tokens without an end are revoked.",
    )


class UserShown(Form):
    """A user as admins see them."""

    name: str
    is_admin: bool
    is_disabled: bool
    issuer: str | None = Field(description="The provider that signs them in.")
    subject: str | None = Field(description="Who they are there. Their name is what they call themselves.")
    created: datetime


class EventShown(Form):
    """What somebody did."""

    at: datetime
    user: str | None = Field(description="Who did it, by their name of that time.")
    address: str | None = Field(description="From where.")
    action: str = Field(examples=["collection.delete"])
    subject: str = Field(description="What it was done to.")


def _user_of_path(call: AdminCall, user: UserName) -> User:
    return found(find_user(call.db, user), "user")


NamedUser = Annotated[User, Depends(_user_of_path)]


@router.get("/users")
def list_users(call: AdminCall, window: WindowAsked) -> Page[UserShown]:
    """List the users."""
    query = select(User).where(User.name != THIS_MACHINE).order_by(User.name)
    return page_of(call.db, query, window, UserShown.model_validate)


@router.post("/users", status_code=201)
def create_user(new: NewUser, call: AdminCall) -> UserShown:
    """Create a user. The first one must be an admin, since from then on everybody has to sign in."""
    user = add_user(call.db, new.name, new.password, is_admin=new.is_admin)
    keep_an_admin(call.db)
    call.commit("user.create", user.name)
    return UserShown.model_validate(user)


@router.patch("/users/{user}")
def change_user(change: UserChange, named: NamedUser, call: AdminCall) -> UserShown:
    """Disable a user, make them an admin, or give them a new password."""
    if change.password is not None:
        set_password(call.db, named, change.password)
        shut_out(call.db, named)
    if change.is_admin is not None:
        named.is_admin = change.is_admin
    if change.is_disabled is not None:
        if change.is_disabled or named.is_disabled:
            shut_out(call.db, named)
        named.is_disabled = change.is_disabled
    keep_an_admin(call.db)
    changed = ", ".join(sorted(change.model_dump(exclude_none=True)))
    call.commit("user.change", f"{named.name}: {changed}")
    return UserShown.model_validate(named)


@router.get("/users/{user}/tokens")
def list_tokens_of_user(named: NamedUser, call: AdminCall, window: WindowAsked) -> Page[TokenShown]:
    """List the API tokens of a user."""
    return page_of(call.db, tokens_of(named.id), window, TokenShown.model_validate)


@router.delete("/users/{user}/tokens/{token}", status_code=204)
def revoke_token_of_user(named: NamedUser, token: RowId, call: AdminCall) -> None:
    """Revoke an API token of a user."""
    delete_token(call, named, token)


@router.delete("/users/{user}", status_code=204)
def delete_user(named: NamedUser, call: AdminCall) -> None:
    """Delete a user with their tokens, roles, conversations and profile; documents that they added stay."""
    threads = call.db.scalars(select(Thread.id).where(Thread.owner_id == named.id)).all()
    call.db.delete(named)
    keep_an_admin(call.db)
    call.commit("user.delete", named.name)
    for thread_id in threads:
        call.parts.conversations.forget(thread_id)
    forget_profile(call.parts.conversations.store, named.id)


@router.get("/events")
def list_events(call: AdminCall, window: WindowAsked) -> Page[EventShown]:
    """List what was done, the latest first."""
    return page_of(call.db, select(Event).order_by(Event.id.desc()), window, EventShown.model_validate)
