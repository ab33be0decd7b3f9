"""Users, for admins of the server."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from adaptive_rag.conversation import forget_profile
from adaptive_rag.server.access import Administrator
from adaptive_rag.server.accounts import (
    USER_NAME,
    add_user,
    find_user,
    keep_an_admin,
    set_password,
    shut_out,
    tokens_of,
)
from adaptive_rag.server.api.pages import Page, Part, page_of
from adaptive_rag.server.api.tokens import TokenShown
from adaptive_rag.server.audit import note
from adaptive_rag.server.database import Db
from adaptive_rag.server.machine import THIS_MACHINE
from adaptive_rag.server.passwords import LONGEST, SHORTEST
from adaptive_rag.server.problems import not_found
from adaptive_rag.server.services import Parts
from adaptive_rag.server.tables import Thread, Token, User

router = APIRouter(prefix="/users", tags=["users"])
FirstPassword = Annotated[
    str, Field(min_length=SHORTEST, max_length=LONGEST, examples=["correct horse battery"])
]


class NewUser(BaseModel):
    """A user who is made."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=USER_NAME, examples=["ada"])
    password: FirstPassword | None = Field(None, description="Without one they have API tokens alone.")
    is_admin: bool = Field(False, description="Admin of the server, and so of every collection.")


class UserChange(BaseModel):
    """What of a user is changed; the rest stays."""

    model_config = ConfigDict(extra="forbid")

    password: FirstPassword | None = Field(
        None, description="A new one; it ends their sessions and their tokens without an end."
    )
    is_admin: bool | None = None
    is_disabled: bool | None = Field(
        None,
        description="A disabled user's sessions and tokens let nobody in; tokens without an end are revoked.",
    )


class UserShown(BaseModel):
    """A user as admins see them."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    is_admin: bool
    is_disabled: bool
    issuer: str | None = Field(description="The provider that signs them in.")
    subject: str | None = Field(description="Who they are there. Their name is what they call themselves.")
    created: datetime


def user_named(db: Db, user: Annotated[str, Path(max_length=100)]) -> User:
    """Return the user that a path names.

    Raises:
        Problem: 404; there is none.
    """
    found = find_user(db, user)
    if found is None:
        raise not_found("user")
    return found


def user_for_admin(caller: Administrator, db: Db, user: Annotated[str, Path(max_length=100)]) -> User:
    """Return the user that a path names, to an admin of the server alone."""
    return user_named(db, user)


NamedUser = Annotated[User, Depends(user_for_admin)]


@router.get("")
def list_users(db: Db, caller: Administrator, part: Part) -> Page[UserShown]:
    """List the users."""
    query = select(User).where(User.name != THIS_MACHINE).order_by(User.name)
    return page_of(db, query, part, UserShown.model_validate)


@router.post("", status_code=201)
def create_user(new: NewUser, db: Db, caller: Administrator, request: Request) -> UserShown:
    """Make a user. The first one is an admin, since from then on nobody is let in without signing in."""
    user = add_user(db, new.name, new.password, is_admin=new.is_admin)
    keep_an_admin(db)
    note(db, request, caller, "user.create", user.name)
    db.commit()
    return UserShown.model_validate(user)


@router.patch("/{user}")
def change_user(
    change: UserChange, found: NamedUser, db: Db, caller: Administrator, request: Request
) -> UserShown:
    """Disable a user, make them an admin, or give them a new password."""
    if change.password is not None:
        set_password(db, found, change.password)
        shut_out(db, found)
    if change.is_admin is not None:
        found.is_admin = change.is_admin
    if change.is_disabled is not None:
        if change.is_disabled or found.is_disabled:
            shut_out(db, found)
        found.is_disabled = change.is_disabled
    keep_an_admin(db)
    changed = ", ".join(sorted(change.model_dump(exclude_none=True)))
    note(db, request, caller, "user.change", f"{found.name}: {changed}")
    db.commit()
    return UserShown.model_validate(found)


@router.get("/{user}/tokens")
def list_tokens_of_user(found: NamedUser, db: Db, part: Part) -> Page[TokenShown]:
    """List the API tokens of a user."""
    return page_of(db, tokens_of(found.id), part, TokenShown.model_validate)


@router.delete("/{user}/tokens/{token}", status_code=204)
def revoke_token_of_user(
    found: NamedUser,
    token: Annotated[str, Path(max_length=32)],
    db: Db,
    caller: Administrator,
    request: Request,
) -> None:
    """Revoke an API token of a user."""
    row = db.scalar(tokens_of(found.id).where(Token.id == token))
    if row is None:
        raise not_found("token")
    db.delete(row)
    note(db, request, caller, "token.revoke", f"{found.name}: {row.name}")
    db.commit()


@router.delete("/{user}", status_code=204)
def delete_user(found: NamedUser, db: Db, caller: Administrator, parts: Parts, request: Request) -> None:
    """Delete a user with their tokens, roles, conversations and profile; documents that they added stay."""
    threads = db.scalars(select(Thread.id).where(Thread.owner_id == found.id)).all()
    db.delete(found)
    keep_an_admin(db)
    note(db, request, caller, "user.delete", found.name)
    db.commit()
    for thread_id in threads:
        parts.conversations.forget(thread_id)
    forget_profile(parts.conversations.store, found.id)
