"""The checks of `adaptive-rag doctor --server`: the parts of the web server, which no check changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from adaptive_rag.cli import options
from adaptive_rag.cli.output import format_count
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.text.redaction import redact

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from adaptive_rag.server.settings import ServerSettings


class Finding(NamedTuple):
    """The result of one check."""

    what: str
    state: Literal["ok", "note", "fault"]
    found: str
    mend: str = ""


def check_server(data: Path | None) -> Iterator[Finding]:
    """Check the server's settings, data folder, database, users, workers, and how it is reached."""
    try:
        settings = options.server_settings(data=data)
    except ConfigurationError as error:
        yield Finding("server", "fault", str(error), "Correct the variable or the file.")
        return
    yield Finding("server", "ok", f"listens on {settings.host}, port {settings.port}")
    yield from _check_folder(settings)
    yield from _check_network(settings)
    if settings.database is None and not os.path.exists(settings.data / "server.sqlite"):
        yield Finding("database", "note", "none yet: the first start makes it")
        yield from _check_users(settings)
        return
    yield from _check_database(settings)


def _check_folder(settings: ServerSettings) -> Iterator[Finding]:
    from filelock import FileLock, Timeout

    from adaptive_rag.server.process import LOCK
    from adaptive_rag.server.readiness import LEAST_FREE_MEGABYTES

    exists = os.path.isdir(settings.data)  # unlike a method of Path, False where access is denied
    existing_folder = settings.data.absolute()
    while not exists and not os.path.exists(existing_folder):
        existing_folder = existing_folder.parent
    path = os.path.abspath(settings.data)
    if not os.access(existing_folder, os.W_OK | os.X_OK) or not existing_folder.is_dir():
        yield Finding("data", "fault", f"{path} cannot be written", "Set server.data to another folder.")
        return
    use = "not in use" if exists else "not made yet"
    if exists and (settings.data / LOCK).exists():
        try:
            with FileLock(settings.data / LOCK, timeout=0):
                pass
        except Timeout:
            use = "a server is running"
    free = shutil.disk_usage(existing_folder).free // 2**20
    state = f"{path}: {use}, {free:,} MB free"
    if free >= LEAST_FREE_MEGABYTES:
        yield Finding("data", "ok", state)
    else:
        yield Finding("data", "fault", state, "Make room, or move the folder.")


def _check_network(settings: ServerSettings) -> Iterator[Finding]:
    if settings.is_loopback:
        proxy = ", behind a proxy with TLS" if settings.tls else ""
        yield Finding("reached", "ok", f"from this machine alone{proxy}")
    elif not settings.tls:
        problem = "from other machines, without TLS: passwords and tokens can be read on the way"
        yield Finding("reached", "fault", problem, "Put a proxy with TLS before it, and set server.tls.")
    else:
        yield Finding("reached", "ok", "from other machines, by https through a proxy")
    if settings.tls and not settings.trusted_proxies:
        problem = "no proxy is trusted: limits and records take every caller for the proxy"
        yield Finding("proxy", "fault", problem, "Set server.trusted_proxies to its address.")
    if not settings.names and (settings.tls or not settings.is_loopback):
        problem = "the server answers to the name of its machine alone"
        yield Finding("names", "note", problem, "Set server.names to the names that callers use.")


def _check_database(settings: ServerSettings) -> Iterator[Finding]:
    from sqlalchemy.exc import SQLAlchemyError

    from adaptive_rag.server.database import connect, known_revisions, revision_of

    engine = connect(settings)
    try:
        revision, known = revision_of(engine), known_revisions()
        expected = known[0]
        if revision is None:
            yield Finding("database", "note", f"{engine.dialect.name}, empty", "The first start fills it.")
        elif revision == expected:
            yield Finding("database", "ok", f"{engine.dialect.name}, at migration {expected}")
        else:
            problem = f"{engine.dialect.name}, at migration {revision}; this version has {expected}"
            if revision in known:
                mend = "The next start brings it up to date; make a backup first."
                yield Finding("database", "note", problem, mend)
            else:
                yield Finding("database", "fault", problem, "Install the newer version that made it.")
        if revision is not None:
            if revision == expected:
                yield from _check_pairing(settings, engine)
            yield from _check_users(settings, *_count_users(engine))
            yield from _check_jobs(settings, engine)
    except SQLAlchemyError as error:
        problem = f"cannot be read: {redact(str(error)).splitlines()[0]}"
        yield Finding("database", "fault", problem, "Start it, or correct server.database.")
    finally:
        engine.dispose()


def _check_pairing(settings: ServerSettings, engine: Engine) -> Iterator[Finding]:
    from adaptive_rag.server.pairing import pair_state

    state = pair_state(settings, engine)
    if state.fault:
        yield Finding("documents", "fault", state.fault, "Correct server.database or server.data.")
    else:
        yield Finding("documents", "ok", "folder and database belong together")


def _count_users(engine: Engine) -> tuple[bool, bool]:
    """Return whether there are users, and whether an admin among them can sign in to the page."""
    from sqlalchemy import exists, select
    from sqlalchemy.orm import Session

    from adaptive_rag.server.access import has_users
    from adaptive_rag.server.tables import User

    can_sign_in = User.is_admin & ~User.is_disabled & (User.password.is_not(None) | User.issuer.is_not(None))
    with Session(engine) as db:
        return has_users(db), bool(db.scalar(select(exists().where(can_sign_in))))


def _check_users(
    settings: ServerSettings, has_users: bool = False, has_admin: bool = False
) -> Iterator[Finding]:
    if settings.oidc_issuer:
        yield Finding("users", "ok", f"sign in through {settings.oidc_issuer}")
    elif has_admin:
        yield Finding("users", "ok", "sign in")
    elif has_users:
        problem = "no admin can sign in to the page, because none has a password"
        mend = "adaptive-rag users password NAME; for programs: adaptive-rag users token NAME"
        yield Finding("users", "note", problem, mend)
    elif settings.is_loopback:
        yield Finding("users", "note", "none: whoever is at this machine may do everything")
    else:
        problem = f"none, and {settings.host} is open to others: the server will not start"
        yield Finding("users", "fault", problem, "adaptive-rag users add NAME --admin")


def _check_jobs(settings: ServerSettings, engine: Engine) -> Iterator[Finding]:
    from sqlalchemy import func, select

    from adaptive_rag.server.tables import Job, JobState

    with engine.connect() as connection:
        count = select(func.count()).where(Job.state.in_((JobState.QUEUED, JobState.RUNNING)))
        pending = format_count(connection.scalar(count) or 0, "job")
    if settings.workers:
        yield Finding("workers", "ok", f"{settings.workers}, started with the server; {pending} to do")
    else:
        problem = f"none are started with the server; {pending} to do"
        yield Finding("workers", "note", problem, "Run: adaptive-rag worker")
