"""Users, passwords, sessions and tokens, as the REST API and the command line change them."""

from __future__ import annotations

import re
import secrets
import unicodedata
from datetime import datetime, timedelta

from sqlalchemy import Select, delete, select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from adaptive_rag.errors import InputError
from adaptive_rag.server.access import hash_token
from adaptive_rag.server.machine import THIS_MACHINE
from adaptive_rag.server.passwords import LONGEST, SHORTEST, hash_password
from adaptive_rag.server.problems import USER_NAME, Problem
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Token, User, new_id, now

# Scanners for secrets can find a token by its prefix.
TOKEN_PREFIX = "arag_"


class Conflict(Problem, InputError):
    """A request that conflicts with the current state: 409 in the REST API, an input error in the CLI."""

    def __init__(self, detail: str) -> None:
        super().__init__(409, detail)

    def __str__(self) -> str:
        return self.detail


def add_user(db: Session, name: str, password: str | None = None, *, is_admin: bool = False) -> User:
    """Create a user, without committing; raise Conflict if the name is invalid or taken."""
    if not re.fullmatch(USER_NAME, name):
        raise Conflict(
            f"{name!r} cannot be a user's name. A name has small letters, digits and any of _ . @ - , begins "
            "with a letter or a digit, and has 100 characters at most."
        )
    user = User(name=name, is_admin=is_admin)
    if password is not None:
        set_password(db, user, password)
    db.add(user)
    try:
        # The name of this machine's own user is reserved, even before that user is created.
        if name == THIS_MACHINE:
            raise Conflict(f"The name {name!r} is the server's own.")
        db.flush()
    except IntegrityError:
        db.rollback()
        raise Conflict(f"There is a user {name!r} already.") from None
    return user


def find_user(db: Session, name: str) -> User | None:
    """Return a user by name; None for an unknown name, and for the user that stands for this machine."""
    if name == THIS_MACHINE or not re.fullmatch(USER_NAME, name):
        return None
    return db.scalar(select(User).where(User.name == name))


def set_password(db: Session, user: User, password: str) -> None:
    """Set a user's password. The calling code decides whether sessions and tokens end."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Conflict(f"A password has {SHORTEST} to {LONGEST} characters.")
    user.password = hash_password(password)


def end_sessions(db: Session, user: User, *, keep: str | None = None, with_tokens: bool = False) -> None:
    """End a user's sessions except the one to `keep`; `with_tokens` also revokes their API tokens."""
    which = true() if with_tokens else Token.is_session
    db.execute(delete(Token).where(Token.user_id == user.id, which, Token.id != (keep or "")))


def revoke_access(db: Session, user: User) -> None:
    """End a user's sessions and revoke their tokens that never expire, after an admin changed the account."""
    end_sessions(db, user)
    db.execute(delete(Token).where(Token.user_id == user.id, Token.expires.is_(None)))


def select_tokens(user_id: str) -> Select[Token]:
    """Return a query for a user's API tokens, oldest first."""
    return select(Token).where(Token.user_id == user_id, ~Token.is_session).order_by(Token.created, Token.id)


def issue_token(
    db: Session,
    user: User,
    name: str,
    role: Role = Role.ADMIN,
    expires: datetime | None = None,
    *,
    is_session: bool = False,
) -> tuple[Token, str]:
    """Create a token; return it with its secret, which is not stored."""
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    digest = hash_token(secret)
    token = Token(
        user_id=user.id, digest=digest, name=name, role=role, expires=expires, is_session=is_session
    )
    db.add(token)
    return token, secret


def begin_session(db: Session, user: User, hours: float) -> str:
    """Create a session for a user and return its secret; delete their expired sessions."""
    db.execute(delete(Token).where(Token.user_id == user.id, Token.is_session, Token.expires < now()))
    _, secret = issue_token(db, user, "session", expires=now() + timedelta(hours=hours), is_session=True)
    return secret


def ensure_admin_left(db: Session) -> None:
    """Roll back uncommitted changes and raise Conflict if they leave no admin who can sign in."""
    db.flush()
    admins = select(User.id).where(User.is_admin, ~User.is_disabled, User.name != THIS_MACHINE)
    # The lock (in PostgreSQL) keeps two admins who remove each other at once from both succeeding.
    if not db.scalars(admins.with_for_update()).all():
        db.rollback()
        raise Conflict("The server needs an admin who can sign in. Make somebody else an admin first.")


def find_or_create_provider_user(db: Session, issuer: str, subject: str, claimed_name: str) -> User:
    """Return the user for a subject of a provider; create the user at the first sign-in.

    Only issuer and subject identify the user. Other users see the claimed name, so unsafe characters are
    replaced, and random characters are appended if the name is taken.
    """
    user = db.scalar(select(User).where(User.issuer == issuer, User.subject == subject))
    if user is not None:
        return user
    plain = unicodedata.normalize("NFKC", claimed_name).lower()
    name = re.sub(r"[^a-z0-9_.@-]+", "-", plain).strip("_.@-")[:80] or "user"
    if name == THIS_MACHINE or db.scalar(select(User.id).where(User.name == name)):
        name = f"{name}-{new_id()[:8]}"
    user = User(name=name, issuer=issuer, subject=subject)
    db.add(user)
    try:
        db.flush()
    except IntegrityError:
        db.rollback()
        raise Conflict("This account was created at the same moment. Sign in again.") from None
    return user
