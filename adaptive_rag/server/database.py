"""The server's database: opens it, and migrates it to the schema of this version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from sqlalchemy import Connection, Engine, Row, Select, create_engine, event, func, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from adaptive_rag.errors import ConfigurationError, import_extra
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Base
from adaptive_rag.text.redaction import redact

# Less than the silence after which a connection to PostgreSQL counts as broken.
SLOW_STATEMENT_SECONDS = 10.0
MIGRATIONS = Path(__file__).parent / "migrations"
_REVISIONS = "alembic_version"
# Tables that are not ours: Alembic's, and LangGraph's for conversations and profiles in PostgreSQL.
_FOREIGN_TABLES = {_REVISIONS, "checkpoints", "checkpoint_blobs", "checkpoint_writes",
                   "checkpoint_migrations", "store", "store_migrations"}  # fmt: skip


def connect(settings: ServerSettings) -> Engine:
    """Return the engine of the database, without creating or migrating it."""
    # The parameters of statements are questions, titles and hashes of passwords, which no error may show.
    options: dict[str, Any] = {"pool_pre_ping": True, "hide_parameters": True}
    if settings.database is None:
        return create_engine(settings.database_address, **options)
    import_extra("psycopg", extra="postgres", purpose="server.database")
    from adaptive_rag.server import postgres

    engine = create_engine(
        settings.database_address,
        **options,
        pool_timeout=postgres.POOL_SECONDS,
        connect_args=postgres.TIMEOUTS,
    )
    event.listen(engine, "do_connect", lambda _, __, args, kwargs: postgres.connect(*args, **kwargs))
    return engine


def open_database(settings: ServerSettings) -> Engine:
    """Open the database and migrate it to the newest revision; create it if it is missing.

    Raises:
        ConfigurationError: the data folder cannot be written, or the database cannot be reached or is of a
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


@contextmanager
def use_database(settings: ServerSettings) -> Iterator[Engine]:
    """Open the database for a command; an error of the database in the block becomes ConfigurationError."""
    engine = open_database(settings)
    try:
        yield engine
    except SQLAlchemyError as error:
        cause = redact(str(getattr(error, "orig", None) or error))
        raise ConfigurationError(f"The server's database failed: {cause}. Try again.") from None
    finally:
        engine.dispose()


def _open(settings: ServerSettings) -> Engine:
    make_folder(settings.data)
    if settings.database is None:
        make_file(settings.data / "server.sqlite")
    engine = connect(settings)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: Any, record: object) -> None:
    # Readers do not wait for a writer, and a writer waits for another one instead of failing. As in
    # PostgreSQL, "reports/a.md" is not in the folder "Reports".
    for setting in ("journal_mode=WAL", "foreign_keys=ON", "busy_timeout=10000", "synchronous=FULL",
                    "case_sensitive_like=ON"):  # fmt: skip
        connection.execute(f"PRAGMA {setting}")
    # SQLite's own function ignores case only for ASCII letters, so a search for "über" would miss "Über".
    connection.create_function("lower", 1, lambda text: text and text.lower(), deterministic=True)


@contextmanager
def _begin(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction that may change tables."""
    with ExitStack() as stack:
        if engine.dialect.name == "sqlite":
            connection = stack.enter_context(engine.begin())
            # Python's driver would otherwise create tables outside of the transaction.
            connection.exec_driver_sql("BEGIN")
        else:
            from adaptive_rag.server.postgres import allow_slow_statements

            stack.enter_context(allow_slow_statements())
            connection = stack.enter_context(engine.begin())
        yield connection


@contextmanager
def open_new_database(settings: ServerSettings, revision: str) -> Iterator[tuple[Connection, set[str]]]:
    """Create the tables of a revision in an empty database; yield a connection and the names of the tables.

    All is one transaction, which is rolled back if the block fails.

    Raises:
        ConfigurationError: the database already has tables of a server.
        SQLAlchemyError: the database cannot be reached, or refuses the tables.
        CommandError: this version does not know the revision.
    """
    engine = _open(settings)
    try:
        with _begin(engine) as connection:
            before = set(inspect(connection).get_table_names())
            if existing := sorted(before & (Base.metadata.tables.keys() | _FOREIGN_TABLES)):
                raise ConfigurationError(
                    f"The database holds tables of a server already: {', '.join(existing)}. Name an empty "
                    "one with server.database."
                )
            migrate(connection, revision)
            yield connection, set(inspect(connection).get_table_names()) - before - {_REVISIONS}
    finally:
        engine.dispose()


def known_revisions() -> list[str]:
    """Return the migrations that this version knows, the newest first."""
    return [each.revision for each in ScriptDirectory.from_config(_alembic()).walk_revisions()]


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
    """Return the newest migration that the database has; None before the first."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def open_session(request: Request) -> Iterator[Session]:
    """Yield a session for one request. Changes that the route does not commit are rolled back."""
    with Session(request.app.state.services.engine, expire_on_commit=False) as session:
        yield session


def fetch_window(
    db: Session, query: Select[*tuple[Any, ...]], limit: int, offset: int
) -> tuple[Sequence[Row[*tuple[Any, ...]]], int]:
    """Return the rows of a range of a query's results, and the number of all results."""
    total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    return db.execute(query.limit(limit).offset(offset)).all(), total


def release_connection(db: Session) -> None:
    """Return a session's connection to the pool; loaded objects stay usable.

    Each dependency does this at its end. Every part of a request waits for a worker thread: if requests held
    connections while they waited for threads, and the threads waited for connections, they would deadlock.
    """
    db.commit()


def limit_statements(db: Session) -> None:
    """Let PostgreSQL cancel slow statements of this transaction: a long silence counts as its failure."""
    if db.get_bind().dialect.name == "postgresql":
        db.execute(text(f"SET LOCAL statement_timeout = {SLOW_STATEMENT_SECONDS * 1000:.0f}"))


Db = Annotated[Session, Depends(open_session)]
