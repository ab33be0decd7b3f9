"""API tokens, which programs send instead of a password."""

from __future__ import annotations

from datetime import datetime, timedelta

from fastapi import APIRouter
from pydantic import Field

from adaptive_rag.server.access import has_users
from adaptive_rag.server.accounts import issue_token, tokens_of
from adaptive_rag.server.api.forms import Form, Page, WindowAsked, page_of
from adaptive_rag.server.calls import CHANGING, AnyCall, Call, RowId
from adaptive_rag.server.problems import Problem, found
from adaptive_rag.server.quotas import check_number
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Token, User, now

router = APIRouter(prefix="/tokens", tags=["account"])


class NewToken(Form):
    """A token that is made."""

    name: str = Field(min_length=1, max_length=100, examples=["nightly report"])
    role: Role = Field(Role.READER, description="The highest role that it gives in any collection.")
    days: int | None = Field(90, ge=1, le=3650, description="When it expires; null for never.")


class TokenShown(Form):
    """A token; its secret is not kept."""

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
def list_tokens(call: AnyCall, window: WindowAsked) -> Page[TokenShown]:
    """List your API tokens."""
    return page_of(call.db, tokens_of(call.caller.id), window, TokenShown.model_validate)


@router.post("", status_code=201, dependencies=[CHANGING])
def create_token(new: NewToken, call: AnyCall) -> TokenMade:
    """Make an API token. One that a token makes has no higher role and does not outlive it."""
    if not has_users(call.db):
        raise Problem(409, "This server has no users, so it asks for no token. Add a user first.")
    ceiling = call.caller.ceiling
    if not ceiling.includes(new.role):
        raise Problem(403, f"Your token has the role of {ceiling}, and cannot make a higher one.")
    check_number(call.db, call.caller, "tokens")
    expires = now() + timedelta(days=new.days) if new.days else None
    by = call.db.get(Token, call.caller.token_id)
    if by is not None and not by.is_session and by.expires is not None:
        expires = min(expires or by.expires, by.expires)
    user = call.db.get_one(User, call.caller.id)
    token, secret = issue_token(call.db, user, new.name, new.role, expires)
    call.commit("token.create", new.name)
    return TokenMade(**TokenShown.model_validate(token).model_dump(), token=secret)


@router.delete("/{token}", status_code=204)
def revoke_token(token: RowId, call: AnyCall) -> None:
    """Revoke an API token of yours; a token can revoke none of a higher role than its own."""
    delete_token(call, None, token)


def delete_token(call: Call, of: User | None, token: str) -> None:
    """Revoke an API token of the user `of`, or of the caller if `of` is None."""
    tokens = tokens_of(of.id if of else call.caller.id)
    row = found(call.db.scalar(tokens.where(Token.id == token)), "token")
    ceiling = call.caller.ceiling
    if not ceiling.includes(row.role):
        raise Problem(403, f"Your token has the role of {ceiling}, and cannot revoke a higher one.")
    call.db.delete(row)
    call.commit("token.revoke", f"{of.name}: {row.name}" if of else row.name)
