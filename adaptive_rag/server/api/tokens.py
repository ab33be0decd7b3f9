"""API tokens, which programs send instead of a password."""

from __future__ import annotations

from datetime import datetime, timedelta

from fastapi import APIRouter
from pydantic import Field

from adaptive_rag.server.access import has_users
from adaptive_rag.server.accounts import issue_token, select_tokens
from adaptive_rag.server.api.forms import Form, Page, WindowQuery, fetch_page
from adaptive_rag.server.calls import AnyCall, Call, RowId, count
from adaptive_rag.server.problems import Problem, require_found
from adaptive_rag.server.quotas import check_quota
from adaptive_rag.server.roles import Role, roles_within
from adaptive_rag.server.tables import Token, User, now

router = APIRouter(prefix="/tokens", tags=["account"])


class NewToken(Form):
    """A new token."""

    name: str = Field(min_length=1, max_length=100, examples=["nightly report"])
    role: Role = Field(Role.READER, description="The highest role that it allows in any collection.")
    days: int | None = Field(90, ge=1, le=3650, description="Days until it expires; null for never.")


class TokenShown(Form):
    """A token, without its secret, which is not stored."""

    id: str
    name: str
    role: Role
    created: datetime
    expires: datetime | None
    used: datetime | None = Field(description="Its last use, to the minute.")


class TokenMade(TokenShown):
    """A new token, with its secret."""

    token: str = Field(description="The secret. It is shown only now.", examples=["arag_..."])


@router.get("")
def list_tokens(call: AnyCall, window: WindowQuery) -> Page[TokenShown]:
    """List your API tokens."""
    return fetch_page(call.db, select_tokens(call.caller.id), window, TokenShown.model_validate)


@router.post("", status_code=201, dependencies=[count("change")])
def create_token(new: NewToken, call: AnyCall) -> TokenMade:
    """Create an API token. A token can only create tokens with at most its own role and lifetime."""
    if not has_users(call.db):
        raise Problem(409, "This server has no users, so it asks for no token. Add a user first.")
    _require_within_own(call, new.role, "make")
    check_quota(call.db, call.caller, "tokens")
    expires = now() + timedelta(days=new.days) if new.days else None
    current_token = call.db.get(Token, call.caller.token_id)
    if current_token is not None and not current_token.is_session and current_token.expires is not None:
        expires = min(expires or current_token.expires, current_token.expires)
    user = call.db.get_one(User, call.caller.id)
    token, secret = issue_token(call.db, user, new.name, new.role, expires)
    call.commit("token.create", new.name)
    return TokenMade(**TokenShown.model_validate(token).model_dump(), token=secret)


@router.delete("/{token}", status_code=204)
def revoke_token(token: RowId, call: AnyCall) -> None:
    """Revoke an API token of yours; a token cannot revoke one with a higher role than its own."""
    delete_token(call, None, token)


def delete_token(call: Call, owner: User | None, token: str) -> None:
    """Revoke an API token of a user; of the caller if `owner` is None."""
    tokens = select_tokens(owner.id if owner else call.caller.id)
    row = require_found(call.db.scalar(tokens.where(Token.id == token)), "token")
    _require_within_own(call, row.role, "revoke")
    call.db.delete(row)
    call.commit("token.revoke", f"{owner.name}: {row.name}" if owner else row.name)


def _require_within_own(call: Call, role: Role, verb: str) -> None:
    ceiling = call.caller.ceiling
    if role not in roles_within(ceiling.actions):
        raise Problem(403, f"Your token has the role of {ceiling}, and cannot {verb} a higher one.")
