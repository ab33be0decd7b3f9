"""Users and what they sign in with, as the REST interface and the shell change them."""

from __future__ import annotations

import re
import secrets
import unicodedata
from datetime import datetime, timedelta

from sqlalchemy import Select, delete, select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from adaptive_rag.errors import InputError
from adaptive_rag.server.access import digest_of
from adaptive_rag.server.machine import THIS_MACHINE
from adaptive_rag.server.passwords import LONGEST, SHORTEST, hash_password
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Token, User, new_id, now

# Small letters alone, so that no name looks like another one.
USER_NAME = r"^[a-z0-9][a-z0-9_.@-]{0,99}$"
# Makes a token that was left in a file easy to find.
TOKEN_PREFIX = "arag_"


class Conflict(Problem, InputError):
    """What is asked does not fit what there is: 409 by REST, an error of the input in the shell."""

    def __init__(self, detail: str) -> None:
        super().__init__(409, detail)

    def __str__(self) -> str:
        return self.detail


def add_user(db: Session, name: str, password: str | None = None, *, is_admin: bool = False) -> User:
    """Make a user, within the caller's transaction, or say why there can be no such user (Conflict)."""
    if not re.fullmatch(USER_NAME, name):
        raise Conflict(
            f"{name!r} cannot be a user's name. It has small letters, digits and any of _ . @ - , and "
            "begins with a letter or a digit; 100 characters at most."
        )
    user = User(name=name, is_admin=is_admin)
    if password is not None:
        set_password(db, user, password)
    db.add(user)
    try:
        # Nobody takes the name of this machine's own user, whether it was made already or not.
        if name == THIS_MACHINE:
            raise Conflict(f"The name {name!r} is the server's own.")
        db.flush()
    except IntegrityError:
        db.rollback()
        raise Conflict(f"There is a user {name!r} already.") from None
    return user


def find_user(db: Session, name: str) -> User | None:
    """Return a user by name; the one who stands for this machine is nobody's to change."""
    if name == THIS_MACHINE or not re.fullmatch(USER_NAME, name):
        return None
    return db.scalar(select(User).where(User.name == name))


def set_password(db: Session, user: User, password: str) -> None:
    """Give a user a new password. What lets them in without it is ended by the caller."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Conflict(f"A password has {SHORTEST} to {LONGEST} characters.")
    user.password = hash_password(password)


def end_sessions(db: Session, user: User, *, keep: str | None = None, with_tokens: bool = False) -> None:
    """End the sessions of a user, and their API tokens too where asked for; but for one."""
    ended = true() if with_tokens else Token.is_session
    db.execute(delete(Token).where(Token.user_id == user.id, ended, Token.id != (keep or "")))


def shut_out(db: Session, user: User) -> None:
    """End a user's sessions, and revoke their tokens without an end: an admin took the account in hand."""
    end_sessions(db, user)
    db.execute(delete(Token).where(Token.user_id == user.id, Token.expires.is_(None)))


def tokens_of(user_id: str) -> Select[Token]:
    """Return the query of a user's API tokens, the oldest first."""
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
    """Return a new token and its secret, which is nowhere stored."""
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    facts = {"name": name, "role": role, "expires": expires, "is_session": is_session}
    token = Token(user_id=user.id, digest=digest_of(secret), **facts)
    db.add(token)
    return token, secret


def begin_session(db: Session, user: User, hours: float) -> str:
    """Sign a user in: return the secret of a new session. Their sessions that have ended are forgotten."""
    db.execute(delete(Token).where(Token.user_id == user.id, Token.is_session, Token.expires < now()))
    _, secret = issue_token(db, user, "session", expires=now() + timedelta(hours=hours), is_session=True)
    return secret


def keep_an_admin(db: Session) -> None:
    """Undo what was changed and not committed yet where nobody could administer the server any more."""
    db.flush()
    admins = select(User.id).where(User.is_admin, ~User.is_disabled, User.name != THIS_MACHINE)
    # Locked where the database can: two admins who remove each other at once do not both succeed.
    if not db.scalars(admins.with_for_update()).all():
        db.rollback()
        raise Conflict("The server needs an admin who can sign in. Make somebody else an admin first.")


def user_of_provider(db: Session, issuer: str, subject: str, claimed_name: str) -> User:
    """Return the user whom a provider knows by a subject; they are made at their first sign-in.

    Only issuer and subject say who it is. The claimed name is shown to others, so it is made safe, and
    where somebody has it, the newcomer's ends with random letters.
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
        raise Conflict("This account was made in the same moment. Sign in again.") from None
    return user
