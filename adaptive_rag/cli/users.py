"""`adaptive-rag users`: manage who may sign in to the web server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, Typer, prompt

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_json, print_line, print_note, print_plain, reporting_errors
from adaptive_rag.errors import InputError
from adaptive_rag.server.roles import Role

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from adaptive_rag.server.settings import ServerSettings
    from adaptive_rag.server.tables import User

users_app = Typer(
    name="users",
    help="Users of the web server (adaptive-rag serve).",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, Argument(help="The user's name.")]
FromStdin = Annotated[bool, Option("--password-stdin", help="Read the password from standard input.")]


@users_app.command()
@reporting_errors
def add(
    name: Name,
    admin: Annotated[
        bool, Option("--admin", help="Let the user make collections and users, and read everything.")
    ] = False,
    password_stdin: FromStdin = False,
    data: options.Data = None,
) -> None:
    """Add a user; the first one must be an admin.

    Without a terminal or --password-stdin the user gets no password, only tokens.
    """
    password = _read_password(password_stdin)
    with _database(options.server_settings(data=data)) as db:
        from adaptive_rag.server.accounts import Conflict, add_user, ensure_admin_left

        add_user(db, name, password, is_admin=admin)
        try:
            ensure_admin_left(db)
        except Conflict as error:
            raise InputError(
                f"The server needs an admin who can sign in, and has none yet. Add {name!r} with --admin."
            ) from error
        _record(db, "user.create", name)
    print_line(f"Added: {name}")
    if password is None:
        print_note(
            f"{name} has no password, and cannot sign in to the page. To set one: "
            f"adaptive-rag users password {name}. To make a token for programs: "
            f"adaptive-rag users token {name}"
        )


@users_app.command("list")
@reporting_errors
def list_users(data: options.Data = None, as_json: options.Json = False) -> None:
    """List the users."""
    with _database(options.existing_server_settings(data)) as db:
        from sqlalchemy import select

        from adaptive_rag.server.machine import THIS_MACHINE
        from adaptive_rag.server.tables import User

        rows = db.scalars(select(User).where(User.name != THIS_MACHINE).order_by(User.name)).all()
    if as_json:
        print_json([{"name": row.name, "admin": row.is_admin, "disabled": row.is_disabled} for row in rows])
        return
    for row in rows:
        notes = [note for note, holds in (("admin", row.is_admin), ("disabled", row.is_disabled)) if holds]
        print_line(f"{row.name} ({', '.join(notes)})" if notes else row.name)
    if not rows:
        print_note("There are no users: the server answers only to its own machine.")


@users_app.command()
@reporting_errors
def password(name: Name, password_stdin: FromStdin = False, data: options.Data = None) -> None:
    """Give a user a new password; this ends their sessions, and revokes their tokens that never expire."""
    new_password = _read_password(password_stdin)
    if new_password is None:
        raise InputError("There is no terminal to ask for the password. Pass it with --password-stdin.")
    with _database(options.existing_server_settings(data)) as db:
        from adaptive_rag.server.accounts import revoke_access, set_password

        user = _find_user(db, name)
        set_password(db, user, new_password)
        revoke_access(db, user)
        _record(db, "user.change", f"{name}: password")
    print_line(f"New password: {name}")


@users_app.command()
@reporting_errors
def disable(
    name: Name,
    undo: Annotated[bool, Option("--undo", help="Let the user in again.")] = False,
    data: options.Data = None,
) -> None:
    """Disable a user; their data stays, except tokens that never expire."""
    with _database(options.existing_server_settings(data)) as db:
        from adaptive_rag.server.accounts import ensure_admin_left, revoke_access

        user = _find_user(db, name)
        if user.is_disabled or not undo:
            revoke_access(db, user)
        user.is_disabled = not undo
        ensure_admin_left(db)
        _record(db, "user.change", f"{name}: is_disabled")
    print_line(f"{'Enabled' if undo else 'Disabled'}: {name}")


@users_app.command()
@reporting_errors
def token(
    name: Name,
    label: Annotated[str, Option("--label", help="What it is for.")] = "shell",
    role: Annotated[
        str,
        Option(
            "--role",
            help="The highest role that it gives.",
            parser=options.one_of(*Role),
            metavar=f"[{'|'.join(Role)}]",
        ),
    ] = Role.READER,
    days: Annotated[int, Option("--days", min=1, max=3650, help="Days until it expires.")] = 90,
    data: options.Data = None,
) -> None:
    """Print a new API token of a user; it is shown only once."""
    with _database(options.existing_server_settings(data)) as db:
        from adaptive_rag.server.accounts import issue_token
        from adaptive_rag.server.tables import now

        _, secret = issue_token(
            db, _find_user(db, name), label[:100], Role(role), now() + timedelta(days=days)
        )
        _record(db, "token.create", f"{name}: {label[:100]}")
    print_plain(f"{secret}\n")


@users_app.command()
@reporting_errors
def tokens(name: Name, data: options.Data = None, as_json: options.Json = False) -> None:
    """List the API tokens of a user."""
    with _database(options.existing_server_settings(data)) as db:
        from adaptive_rag.server.accounts import select_tokens

        rows = db.scalars(select_tokens(_find_user(db, name).id)).all()

    if as_json:
        listed = []
        for row in rows:
            dates = {name: getattr(row, name) for name in ("created", "expires", "used")}
            texts = {name: date.isoformat() if date else None for name, date in dates.items()}
            listed.append({"id": row.id, "name": row.name, "role": row.role, **texts})
        print_json(listed)
        return
    for row in rows:
        expiry = f"until {row.expires:%Y-%m-%d}" if row.expires else "without an end"
        last_use = f"last used {row.used:%Y-%m-%d}" if row.used else "never used"
        print_line(f"{row.id} {row.name} ({row.role}, {expiry}, {last_use})")
    if not rows:
        print_note(f"{name} has no tokens.")


@users_app.command()
@reporting_errors
def revoke(
    name: Name,
    token_id: Annotated[str, Argument(metavar="TOKEN", help="The token's id, as `users tokens` lists it.")],
    data: options.Data = None,
) -> None:
    """Revoke an API token of a user."""
    with _database(options.existing_server_settings(data)) as db:
        from adaptive_rag.server.accounts import select_tokens
        from adaptive_rag.server.tables import Token

        row = db.scalar(select_tokens(_find_user(db, name).id).where(Token.id == token_id))
        if row is None:
            raise InputError(
                f"{name!r} has no token {token_id!r}. `adaptive-rag users tokens {name}` lists them."
            )
        db.delete(row)
        _record(db, "token.revoke", f"{name}: {row.name}")
    print_line(f"Revoked: {row.name}")


@contextmanager
def _database(settings: ServerSettings) -> Iterator[Session]:
    """Open the server's database; commit the changes at the end of the block, unless it fails."""
    from sqlalchemy.orm import Session

    from adaptive_rag.server.database import use_database

    with use_database(settings) as engine, Session(engine, expire_on_commit=False) as db:
        yield db
        db.commit()


def _find_user(db: Session, name: str) -> User:
    """Return a user by name."""
    from adaptive_rag.server.accounts import find_user

    user = find_user(db, name)
    if user is None:
        raise InputError(f"There is no user {name!r}. `adaptive-rag users list` names them.")
    return user


def _record(db: Session, action: str, subject: str) -> None:
    from adaptive_rag.server.audit import record_event

    record_event(db, "shell", None, action, subject)


def _read_password(is_piped: bool) -> str | None:
    """Return the password, from standard input or asked in the terminal; None if there is no terminal."""
    if is_piped:
        line = sys.stdin.readline().rstrip("\r\n")
        if "\ufffd" in line:
            raise InputError(
                "The password holds bytes that are not text. Send it in the encoding of the shell."
            )
        return line
    if sys.stdin.isatty():
        return str(prompt("Password", hide_input=True, confirmation_prompt=True))
    return None
