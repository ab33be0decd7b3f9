"""Access control: the one place that turns a request into a caller and the collections open to them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from fastapi import Request
from sqlalchemy import ColumnElement, Select, exists, or_, select, true
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from adaptive_rag.server.database import let_go
from adaptive_rag.server.machine import THIS_MACHINE, admit_this_machine
from adaptive_rag.server.problems import Problem, not_found
from adaptive_rag.server.roles import Action, Role, lowest_with
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import (
    Collection,
    Membership,
    OpenTo,
    Share,
    Thread,
    ThreadCollection,
    Token,
    User,
    now,
)
from adaptive_rag.text.addresses import page_host
from adaptive_rag.text.redaction import redact

_log = logging.getLogger(__name__)
SESSION_COOKIE = "adaptive_rag_session"
# A token's last use is written at most this often.
_NOTED_EVERY = timedelta(minutes=1)
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True)
class Caller:
    """The caller of a request, with the rights that their token gives."""

    id: str
    name: str
    # admin of the server, and so of every collection
    is_admin: bool
    # the highest role that their token gives
    ceiling: Role = Role.ADMIN
    roles: Mapping[str, Role] = field(default_factory=dict)
    token_id: str | None = None

    def role_in(self, collection_id: str) -> Role | None:
        """Return the caller's role in a collection; None if it is not open to them."""
        role = Role.ADMIN if self.is_admin else self.roles.get(collection_id)
        return role.within(self.ceiling) if role else None

    def may_administer(self) -> bool:
        """Tell whether the caller may create collections and users."""
        return self.is_admin and Action.SERVE in self.ceiling.actions

    def may(self, action: Action, collection_id: str) -> bool:
        """Tell whether the caller's role in a collection allows an action."""
        role = self.role_in(collection_id)
        return role is not None and action in role.actions

    def open_ones(self) -> ColumnElement[bool]:
        """Return the SQL condition on `Collection` that selects those that are open to the caller."""
        return true() if self.is_admin else Collection.id.in_(list(self.roles))


def identify(request: Request, db: Session) -> Caller:
    """Identify the caller of a request.

    Raises:
        Problem: 401 without a valid token; 403 if a web page of another site sent the request.
        Refused: the server has no users, and the request comes from another machine.
    """
    settings = request.app.state.services.settings
    if not has_users(db) and settings.oidc_issuer is None:
        # `serving.origins`, which names Studio, applies to the graphs of LangGraph's server only.
        admit_this_machine(request.scope, (), "server users")
        user = this_machine(db)
        request.app.state.services.answering.shared_id = user.id
        return caller_of(db, user, Role.ADMIN)
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and secret:
        return caller_by_token(db, secret.strip(), is_session=False)
    if session := request.cookies.get(cookie_name(SESSION_COOKIE, settings)):
        refuse_other_sites(request)
        return caller_by_token(db, session, is_session=True)
    raise unknown_caller()


def cookie_name(name: str, settings: ServerSettings) -> str:
    """Return a cookie's name; with https, it has the prefix that keeps other hosts from setting it."""
    return f"__Host-{name}" if settings.tls else name


def unknown_caller() -> Problem:
    """Return the refusal of a request without a valid token."""
    return Problem(
        401,
        "Sign in, or send the header 'Authorization: Bearer TOKEN' with a valid token.",
        {"WWW-Authenticate": "Bearer"},
    )


def has_users(db: Session) -> bool:
    """Tell whether there are users other than this machine's own."""
    return bool(db.scalar(select(exists().where(User.name != THIS_MACHINE))))


def this_machine(db: Session) -> User:
    """Return the user that stands for everybody at this machine; create it at the first request."""
    user = db.scalar(select(User).where(User.name == THIS_MACHINE))
    if user is None:
        user = User(name=THIS_MACHINE, is_admin=True)
        db.add(user)
        try:
            db.commit()
        except IntegrityError:  # another request has just created it
            db.rollback()
            user = db.scalars(select(User).where(User.name == THIS_MACHINE)).one()
    return user


def digest_of(secret: str) -> str:
    """Return the hash that is stored for a token. A plain hash is enough, since the token is random."""
    return hashlib.sha256(secret.encode()).hexdigest()


def caller_by_token(db: Session, secret: str, *, is_session: bool) -> Caller:
    """Return the caller of a token, which must be known, not expired, and of a user who is not disabled."""
    token = db.scalar(select(Token).where(Token.digest == digest_of(secret), Token.is_session == is_session))
    user = db.get(User, token.user_id) if token else None
    if token is None or user is None or user.is_disabled or _is_over(token):
        raise unknown_caller()
    if token.used is None or now() - token.used > _NOTED_EVERY:
        _note_use(db, token)
    return caller_of(db, user, token.role, token.id)


def _is_over(token: Token) -> bool:
    return token.expires is not None and token.expires < now()


def may_still_read(db: Session, caller: Caller, collection_id: str) -> bool:
    """Tell whether a caller who was identified earlier still has access and may read a collection."""
    user = db.get(User, caller.id)
    token = db.get(Token, caller.token_id) if caller.token_id else None
    if user is None or user.is_disabled or (user.name == THIS_MACHINE and has_users(db)):
        return False
    if caller.token_id and (token is None or _is_over(token)):
        return False
    return caller_of(db, user, caller.ceiling).may(Action.READ, collection_id)


def _note_use(db: Session, token: Token) -> None:
    token.used = now()
    try:
        db.commit()
    except OperationalError as error:  # A full disk must not sign anybody out.
        db.rollback()
        _log.warning("When a token was used could not be written: %s", redact(str(error.orig)))


def caller_of(db: Session, user: User, ceiling: Role, token_id: str | None = None) -> Caller:
    """Return a user as a caller, with their current roles."""
    rows = db.execute(select(Membership.collection_id, Membership.role).where(Membership.user_id == user.id))
    roles = {collection: role for collection, role in rows}
    return Caller(user.id, user.name, user.is_admin, ceiling, roles, token_id)


def refuse_other_sites(request: Request, *, is_strict: bool = True) -> None:
    """Refuse (403) what another site's page makes a browser send, with our cookie or to get one.

    If the check is strict, a request that changes something and does not name its origin is refused too.
    """
    if request.method in _SAFE_METHODS:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is None:
        is_ours = not is_strict
    else:
        is_ours = site in ("same-origin", "none") if site else _is_own(origin or "", request)
    if not is_ours or (origin not in (None, "null") and page_host(origin) is None):
        raise Problem(403, "A page of another site may not do this.")


def _is_own(origin: str, request: Request) -> bool:
    return origin.partition("://")[2] == request.headers.get("host") and page_host(origin) is not None


def collection_open_to(db: Session, caller: Caller, name: str, action: Action = Action.ASK) -> Collection:
    """Return a collection by name, if the caller's role in it allows an action.

    Raises:
        Problem: 404 if it is not open to them, whether it exists or not; 403 if their role is too low.
    """
    collection = db.scalar(select(Collection).where(Collection.name == name))
    own = caller.role_in(collection.id) if collection else None
    if collection is None or own is None:
        raise not_found("collection")
    if action not in own.actions:
        detail = f"You are {own} of this collection; this takes the role of {lowest_with(action)}."
        raise Problem(403, detail, type="role_too_low")
    let_go(db)
    return collection


def threads_of(caller: Caller) -> Select[Thread]:
    """Return a query for the caller's own threads, if all collections of a thread are open to them now."""
    return _open_threads(caller).where(Thread.owner_id == caller.id)


def threads_open_to(caller: Caller, *reach: OpenTo) -> Select[Thread]:
    """Return a query for the caller's own threads, and those that are shared with them.

    These are shared with them by name, or are open to everybody in one of the ways named. Sharing widens no
    right: all collections of the thread are open to the caller, and to its owner.
    """
    by_name = exists().where(Share.thread_id == Thread.id, Share.user_id == caller.id)
    reads = exists().where(Membership.user_id == User.id, Membership.collection_id == Thread.collection_id)
    reads_other = exists().where(
        Membership.user_id == Thread.owner_id, Membership.collection_id == ThreadCollection.collection_id
    )
    closed = select(ThreadCollection.thread_id).where(
        ThreadCollection.thread_id == Thread.id, ~reads_other.correlate(Thread, ThreadCollection)
    )
    owner_reads = exists().where(
        User.id == Thread.owner_id,
        ~User.is_disabled,
        User.name != THIS_MACHINE,
        or_(User.is_admin, reads & ~closed.correlate(Thread).exists()),
    )
    shared = or_(by_name, Thread.open_to.in_(reach)) & owner_reads
    return _open_threads(caller).where(or_(Thread.owner_id == caller.id, shared))


def _open_threads(caller: Caller) -> Select[Thread]:
    joined = select(Thread).join(Collection, Collection.id == Thread.collection_id)
    others = select(ThreadCollection).join(Collection, Collection.id == ThreadCollection.collection_id)
    closed = others.where(ThreadCollection.thread_id == Thread.id, ~caller.open_ones()).correlate(Thread)
    return joined.where(caller.open_ones(), ~closed.exists())


def is_over(collection_id: str) -> ColumnElement[bool]:
    """Return the SQL condition on `Thread` for the threads over a collection, alone or with others."""
    others = select(ThreadCollection.thread_id).where(ThreadCollection.collection_id == collection_id)
    return (Thread.collection_id == collection_id) | Thread.id.in_(others)


def collections_of_thread(db: Session, thread: Thread) -> list[Collection]:
    """Return the collections that a thread asks; those after the first by name."""
    others = select(ThreadCollection.collection_id).where(ThreadCollection.thread_id == thread.id)
    further = db.scalars(select(Collection).where(Collection.id.in_(others)).order_by(Collection.name))
    return [db.get_one(Collection, thread.collection_id), *further]
