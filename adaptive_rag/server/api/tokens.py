"""API tokens: what programs show instead of a password."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.server.access import CurrentCaller, has_users
from adaptive_rag.server.accounts import issue_token, tokens_of
from adaptive_rag.server.api.pages import Page, Part, page_of
from adaptive_rag.server.audit import note
from adaptive_rag.server.database import Db
from adaptive_rag.server.problems import Problem, not_found
from adaptive_rag.server.quotas import check_tokens
from adaptive_rag.server.rates import ChangingCaller
from adaptive_rag.server.tables import Role, Token, User, now

router = APIRouter(prefix="/tokens", tags=["account"])


class NewToken(BaseModel):
    """A token that is made."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=100, examples=["nightly report"])
    role: Role = Field(Role.READER, description="The highest role that it gives in any collection.")
    days: int | None = Field(90, ge=1, le=3650, description="When it expires; null for never.")


class TokenShown(BaseModel):
    """A token; its secret is not kept."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    role: Role
    created: datetime
    expires: datetime | None
    used: datetime | None = Field(description="Its last use, to the minute.")


class TokenMade(TokenShown):
    """A new token."""

    token: str = Field(description="The secret. It is shown this once.", examples=["arag_..."])


@router.get("")
def list_tokens(db: Db, caller: CurrentCaller, part: Part) -> Page[TokenShown]:
    """List your API tokens."""
    return page_of(db, tokens_of(caller.id), part, TokenShown.model_validate)


@router.post("", status_code=201)
def create_token(new: NewToken, db: Db, caller: ChangingCaller, request: Request) -> TokenMade:
    """Make an API token. One that a token makes has no higher role and does not outlive it."""
    if not has_users(db):
        raise Problem(409, "This server has no users, so it asks for no token. Add a user first.")
    if not caller.ceiling.includes(new.role):
        raise Problem(403, f"Your token has the role of {caller.ceiling}, and cannot make a higher one.")
    check_tokens(db, caller)
    expires = now() + timedelta(days=new.days) if new.days else None
    by = db.get(Token, caller.token_id)
    if by is not None and not by.is_session and by.expires is not None:
        expires = min(expires or by.expires, by.expires)
    user = db.get_one(User, caller.id)
    token, secret = issue_token(db, user, new.name, new.role, expires)
    note(db, request, caller, "token.create", new.name)
    db.commit()
    return TokenMade(**TokenShown.model_validate(token).model_dump(), token=secret)


@router.delete("/{token}", status_code=204)
def revoke_token(
    token: Annotated[str, Path(max_length=32)], db: Db, caller: CurrentCaller, request: Request
) -> None:
    """Revoke an API token of yours; a token can revoke none of a higher role than its own."""
    row = db.get(Token, token)
    if row is None or row.user_id != caller.id or row.is_session:
        raise not_found("token")
    if not caller.ceiling.includes(Role(row.role)):
        raise Problem(403, f"Your token has the role of {caller.ceiling}, and cannot revoke a higher one.")
    db.delete(row)
    note(db, request, caller, "token.revoke", row.name)
    db.commit()
