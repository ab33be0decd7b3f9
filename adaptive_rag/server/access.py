"""Access control: identifies the caller of a request, and what collections and threads are open to them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from fastapi import Request
from sqlalchemy import ColumnElement, Select, exists, false, or_, select, true
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import InstrumentedAttribute, Session

from adaptive_rag.server.audit import address_of
from adaptive_rag.server.database import release_connection
from adaptive_rag.server.machine import THIS_MACHINE, admit_this_machine
from adaptive_rag.server.problems import Problem, not_found
from adaptive_rag.server.roles import Action, Role, roles_with, roles_within
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
# The last use of a token is written at most this often.
_LAST_USE_INTERVAL = timedelta(minutes=1)
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True)
class Caller:
    """The caller of a request, with their rights."""

    id: str
    name: str
    # An admin of the server is admin of every collection.
    is_admin: bool
    # the role that their token allows at most, in any collection
    ceiling: Role = Role.ADMIN
    roles: Mapping[str, Role] = field(default_factory=dict)
    token_id: str | None = None
    # where the request comes from
    address: str = ""

    def role_in(self, collection_id: str) -> Role | None:
        """Return the caller's role in a collection; None if they have none."""
        return Role.ADMIN if self.is_admin else self.roles.get(collection_id)

    def actions_in(self, collection_id: str) -> frozenset[Action]:
        """Return what the caller may do in a collection: what both their role and their token allow."""
        role = self.role_in(collection_id)
        actions = role.actions & self.ceiling.actions if role else frozenset[Action]()
        return actions if Action.SEE in actions else frozenset()

    def may(self, action: Action, collection_id: str) -> bool:
        """Return whether the caller may do an action in a collection."""
        return action in self.actions_in(collection_id)

    def roles_to_give(self, collection_id: str) -> list[Role]:
        """Return the roles in a collection that the caller may give to others and take away from them."""
        return roles_within(self.actions_in(collection_id)) if self.may(Action.MANAGE, collection_id) else []

    def may_administer(self) -> bool:
        """Return whether the caller may create collections and users."""
        return self.is_admin and Action.SERVE in self.ceiling.actions

    def collection_filter(self, action: Action) -> ColumnElement[bool]:
        """Return the SQL condition for the collections in which the caller may do an action."""
        if self.is_admin:  # their actions are the same in every collection
            return true() if self.may(action, "") else false()
        return Collection.id.in_([each for each in self.roles if self.may(action, each)])


def identify(request: Request, db: Session) -> Caller:
    """Identify the caller of a request.

    Raises:
        Problem: 401 without a valid token; 403 if a web page of another site sent the request.
        Refused: the server has no users, and the request comes from another machine.
    """
    settings = request.app.state.services.settings
    if not has_users(db) and settings.oidc_issuer is None:
        # `serving.origins`, which allows Studio, applies only to LangGraph's server.
        admit_this_machine(request.scope, (), "server users")
        return load_caller(db, this_machine_user(db), Role.ADMIN, address=address_of(request))
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and secret:
        return _load_caller_by_token(request, db, secret.strip(), is_session=False)
    if session := request.cookies.get(cookie_name(SESSION_COOKIE, settings)):
        refuse_other_sites(request)
        return _load_caller_by_token(request, db, session, is_session=True)
    raise not_signed_in()


def cookie_name(name: str, settings: ServerSettings) -> str:
    """Return a cookie's name; with https, it has the prefix that keeps other hosts from setting it."""
    return f"__Host-{name}" if settings.tls else name


def not_signed_in() -> Problem:
    """Return the refusal of a request without a valid token."""
    return Problem(
        401,
        "Sign in, or send the header 'Authorization: Bearer TOKEN' with a valid token.",
        {"WWW-Authenticate": "Bearer"},
    )


def has_users(db: Session) -> bool:
    """Return whether there are users besides the one that stands for this machine."""
    return bool(db.scalar(select(exists().where(User.name != THIS_MACHINE))))


def this_machine_user(db: Session) -> User:
    """Return the user that stands for everybody at this machine; create the user at the first request."""
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


def hash_token(secret: str) -> str:
    """Return the hash under which a token is stored. A fast hash is enough, since tokens are random."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _load_caller_by_token(request: Request, db: Session, secret: str, *, is_session: bool) -> Caller:
    """Return the caller who sent a token; 401 if it is unknown or expired, or its user is disabled."""
    token = db.scalar(select(Token).where(Token.digest == hash_token(secret), Token.is_session == is_session))
    user = db.get(User, token.user_id) if token else None
    if token is None or user is None or user.is_disabled or _is_expired(token):
        raise not_signed_in()
    if token.used is None or now() - token.used > _LAST_USE_INTERVAL:
        _record_use(db, token)
    return load_caller(db, user, token.role, token.id, address_of(request))


def _is_expired(token: Token) -> bool:
    return token.expires is not None and token.expires < now()


def may_still_read(db: Session, caller: Caller, collection_id: str) -> bool:
    """Return whether a caller who was identified earlier may still read a collection."""
    user = db.get(User, caller.id)
    token = db.get(Token, caller.token_id) if caller.token_id else None
    if user is None or user.is_disabled or (user.name == THIS_MACHINE and has_users(db)):
        return False
    if caller.token_id and (token is None or _is_expired(token)):
        return False
    return load_caller(db, user, caller.ceiling).may(Action.READ, collection_id)


def _record_use(db: Session, token: Token) -> None:
    token.used = now()
    try:
        db.commit()
    except OperationalError as error:  # a full disk must not sign anybody out
        db.rollback()
        _log.warning("The last use of a token could not be recorded: %s", redact(str(error.orig)))


def load_caller(
    db: Session, user: User, ceiling: Role, token_id: str | None = None, address: str = ""
) -> Caller:
    """Return a user as a caller, with their current roles from the database."""
    rows = db.execute(select(Membership.collection_id, Membership.role).where(Membership.user_id == user.id))
    roles = {collection: role for collection, role in rows}
    return Caller(user.id, user.name, user.is_admin, ceiling, roles, token_id, address)


def refuse_other_sites(request: Request, *, is_strict: bool = True) -> None:
    """Refuse (403) a request that the page of another site made a browser send.

    Requests that change nothing are let through. A strict check also refuses a request that does not name
    its origin.
    """
    if request.method in _SAFE_METHODS:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is None:
        is_own_page = not is_strict
    elif site:
        is_own_page = site in ("same-origin", "none")
    else:
        is_own_page = (origin or "").partition("://")[2] == request.headers.get("host")
    if not is_own_page or (origin not in (None, "null") and page_host(origin) is None):
        raise Problem(403, "A page of another site may not do this.")


def require_collection(db: Session, caller: Caller, name: str, action: Action) -> Collection:
    """Return a collection by name, if the caller may do an action in it.

    Raises:
        Problem: 404 if they may not see it, whether it exists or not; 403 if their role or their token does
            not allow the action.
    """
    collection = db.scalar(select(Collection).where(Collection.name == name))
    actions = caller.actions_in(collection.id) if collection else frozenset[Action]()
    if collection is None or not actions:
        raise not_found("collection")
    if action not in actions:
        detail = (
            f"Your role in this collection, or your token, is too low: it must be {roles_with(action)[0]}."
        )
        raise Problem(403, detail, type="role_too_low")
    release_connection(db)
    return collection


def select_own_threads(caller: Caller) -> Select[Thread]:
    """Return a query for the caller's own threads of which they may ask all collections now."""
    return _select_open_threads(caller).where(Thread.owner_id == caller.id)


def select_readable_threads(caller: Caller, *open_to: OpenTo) -> Select[Thread]:
    """Return a query for the caller's own threads, and those that are shared with them.

    A thread is shared with the caller by name, or is open to everybody in one of the ways `open_to`. Sharing
    gives no right to a collection: both the caller and the owner may ask all collections of the thread.
    """
    by_name = exists().where(Share.thread_id == Thread.id, Share.user_id == caller.id)
    closed_to_owner = exists().where(
        ThreadCollection.thread_id == Thread.id, ~_owner_may_ask(ThreadCollection.collection_id)
    )
    owner_asks = _owner_may_ask(Thread.collection_id) & ~closed_to_owner.correlate(Thread)
    owner_reads = exists().where(
        User.id == Thread.owner_id,
        ~User.is_disabled,
        User.name != THIS_MACHINE,
        or_(User.is_admin, owner_asks),
    )
    shared = or_(by_name, Thread.open_to.in_(open_to)) & owner_reads
    return _select_open_threads(caller).where(or_(Thread.owner_id == caller.id, shared))


def _owner_may_ask(collection_id: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Return the SQL condition on `Thread` that its owner may ask a collection, as a member."""
    memberships = exists().where(
        Membership.user_id == Thread.owner_id,
        Membership.collection_id == collection_id,
        Membership.role.in_(roles_with(Action.ASK)),
    )
    # Named, because SQLAlchemy would take only the tables of the next query around this one from outside.
    return memberships.correlate(Thread, ThreadCollection)


def _select_open_threads(caller: Caller) -> Select[Thread]:
    is_open = caller.collection_filter(Action.ASK)
    others = select(ThreadCollection).join(Collection, Collection.id == ThreadCollection.collection_id)
    closed = others.where(ThreadCollection.thread_id == Thread.id, ~is_open).correlate(Thread)
    threads = select(Thread).join(Collection, Collection.id == Thread.collection_id)
    return threads.where(is_open, ~closed.exists())


def thread_asks(collection_id: str) -> ColumnElement[bool]:
    """Return the SQL condition on `Thread` for the threads that ask a collection, alone or with others."""
    others = select(ThreadCollection.thread_id).where(ThreadCollection.collection_id == collection_id)
    return (Thread.collection_id == collection_id) | Thread.id.in_(others)


def collections_of_thread(db: Session, thread: Thread) -> list[Collection]:
    """Return the collections that a thread asks: its first one, then the others by name."""
    others = select(ThreadCollection.collection_id).where(ThreadCollection.thread_id == thread.id)
    further = db.scalars(select(Collection).where(Collection.id.in_(others)).order_by(Collection.name))
    return [db.get_one(Collection, thread.collection_id), *further]
