"""The server's database: opened, and migrated to the schema of this version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from fastapi import Depends, Request
from filelock import FileLock
from sqlalchemy import Connection, Engine, create_engine, event, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from adaptive_rag.errors import ConfigurationError, import_extra
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Base
from adaptive_rag.text.redaction import redact

MIGRATIONS = Path(__file__).parent / "migrations"
_REVISIONS = "alembic_version"
# Tables that are not ours: Alembic's, and LangGraph's for conversations and profiles in PostgreSQL.
_BESIDE = {_REVISIONS, "checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations",
           "store", "store_migrations"}  # fmt: skip


def connect(settings: ServerSettings) -> Engine:
    """Return the engine of the database, which may be missing or not up to date.

    Raises:
        MissingExtraError: the database is PostgreSQL, and its packages are not installed.
    """
    if settings.database is None:
        return create_engine(settings.database_address, pool_pre_ping=True)
    import_extra("psycopg", extra="postgres", purpose="server.database")
    from adaptive_rag.server import postgres

    engine = create_engine(
        settings.database_address,
        pool_pre_ping=True,
        pool_timeout=postgres.SECONDS_FOR_A_PLACE,
        connect_args=postgres.GIVE_UP,
    )
    event.listen(engine, "do_connect", lambda _, __, args, given: postgres.connect(*args, **given))
    return engine


def open_database(settings: ServerSettings) -> Engine:
    """Open the database and migrate it to the newest revision; create it if it is missing.

    Raises:
        ConfigurationError: the data folder cannot be written, the database cannot be reached, or it is of a
            newer version of this program.
        MissingExtraError: the database is PostgreSQL, and its packages are not installed.
    """
    try:
        engine = _open(settings)
        # If several servers start at once, one migrates and the others wait.
        with FileLock(settings.data / "migration.lock"), _begin(engine) as connection:
            migrate(connection)
    except CommandError as error:
        raise ConfigurationError(
            f"The server's data in {str(settings.data)!r} is of a newer version of adaptive-rag than this "
            f"one: {error}. Install that version, or name another folder with server.data."
        ) from error
    except (OSError, SQLAlchemyError) as error:
        raise ConfigurationError(
            f"The server's data in {str(settings.data)!r} cannot be opened: {redact(str(error))}. Set "
            "server.data to a folder that can be written, or server.database to a database that runs."
        ) from error
    return engine


def _open(settings: ServerSettings) -> Engine:
    make_folder(settings.data)
    if settings.database is None:
        make_file(settings.data / "server.sqlite")
    engine = connect(settings)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: Any, record: object) -> None:
    # Readers do not wait for a writer, and a writer waits for another one rather than failing.
    for setting in ("journal_mode=WAL", "foreign_keys=ON", "busy_timeout=10000", "synchronous=FULL"):
        connection.execute(f"PRAGMA {setting}")


@contextmanager
def _begin(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction that changes tables."""
    with ExitStack() as stack:
        if engine.dialect.name == "sqlite":
            connection = stack.enter_context(engine.begin())
            connection.exec_driver_sql("BEGIN")  # otherwise its driver creates tables outside of it
        else:
            from adaptive_rag.server.postgres import changing_tables

            stack.enter_context(changing_tables())
            connection = stack.enter_context(engine.begin())
        yield connection


@contextmanager
def open_new_database(settings: ServerSettings, revision: str) -> Iterator[tuple[Connection, set[str]]]:
    """Create the tables of a revision in a database without any; yield a connection and their names.

    Everything is one transaction, which is rolled back if the block fails.

    Raises:
        ConfigurationError: the database already has tables of a server.
        SQLAlchemyError: the database cannot be reached, or refuses the tables.
        CommandError: this version does not know the revision.
    """
    engine = _open(settings)
    try:
        with _begin(engine) as connection:
            before = set(inspect(connection).get_table_names())
            if there := sorted(before & (Base.metadata.tables.keys() | _BESIDE)):
                raise ConfigurationError(
                    f"The database holds tables of a server already: {', '.join(there)}. Name an empty one "
                    "with server.database."
                )
            migrate(connection, revision)
            yield connection, set(inspect(connection).get_table_names()) - before - {_REVISIONS}
    finally:
        engine.dispose()


def newest_revision() -> str | None:
    """Return the last migration that this version knows."""
    return ScriptDirectory.from_config(_alembic()).get_current_head()


def _alembic() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def migrate(connection: Connection, revision: str = "head") -> None:
    """Run the migrations up to a revision, within the transaction of a connection."""
    config = _alembic()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def revision_of(engine: Engine) -> str | None:
    """Return the last migration that was run; None before the first."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def open_session(request: Request) -> Iterator[Session]:
    """Yield a session for one request. Changes that the route does not commit are rolled back."""
    with Session(request.app.state.services.engine, expire_on_commit=False) as session:
        yield session


def let_go(db: Session) -> None:
    """Return a session's connection to the pool; loaded objects stay usable.

    A dependency does this at its end. Each part of a request waits for its own worker thread: if requests
    held connections while they wait for threads, and the threads waited for connections, they would deadlock.
    """
    db.commit()


Db = Annotated[Session, Depends(open_session)]
