"""A PostgreSQL database as the location of an index: connections, the write lock and error messages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from adaptive_rag.errors import ConfigurationError, IndexingError, IndexUnreachableError, import_extra
from adaptive_rag.text.redaction import cause_of, quote_user, redact, remember_address

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

SCHEMES = ("postgres", "postgresql")
# A condition in SQL, and the values of its parameters by name.
Selection: TypeAlias = tuple[str, Mapping[str, Any]]
EVERYTHING: Selection = ("true", {})
# The prefix of the table names, if the address has no `table=`.
TABLE = "adaptive_rag"
# PostgreSQL cuts names at 63 characters; our longest name ends with "_chunks_", a number and "_nearest".
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,39}")
CONNECT_SECONDS, POLL_SECONDS = 10, 0.2
# Parts of the server's error messages, with their meaning and the remedy.
REFUSALS = {
    "authentication failed": "the server refuses this user or password",
    "no password supplied": "the server requires a password: postgresql://USER:PASSWORD@HOST/DATABASE",
    'extension "vector"': "the server lacks the extension pgvector. Install it on the server's machine (for "
    "Debian the package postgresql-NN-pgvector), or have an administrator run: CREATE EXTENSION vector",
    "permission denied": "this user has no permission. Searching needs the right to SELECT, indexing also "
    "the right to CREATE in the schema",
    "no schema has been selected": "this user has no schema for new tables. Grant CREATE on one",
    "could not translate host name": "there is no such host. Correct its name",
    "failed to resolve host": "there is no such host. Correct its name",
    "Connection refused": "no server answers there. Start it, or correct host and port",
    "No such file or directory": "no server answers there. Start it, or correct host and port",
    "timeout expired": "no server answers there. Check the network, the host and the port",
    "terminating connection": "the server has ended the connection. Run the same again",
    "server closed the connection": "the server has ended the connection. Run the same again",
}


class SnapshotGoneError(Exception):
    """The transaction that exported a snapshot has ended."""


class Database:
    """The tables of one index in a PostgreSQL database: chunks, their words, and the manifest.

    Its methods raise IndexUnreachableError if the server does not answer or denies access.
    """

    path = None
    taken_over = False
    """Always False: a writer that loses its lock has also lost its connection, and cannot write."""

    def __init__(self, address: str) -> None:
        """Set the location; the server is not contacted yet."""
        import_extra("pgvector.psycopg", extra="postgres", purpose="An index in PostgreSQL")
        remember_address(address)
        address = quote_user(address)
        remember_address(address)
        self.uri = redact(address)
        try:
            parts = urlsplit(address)
            _ = parts.port  # raises ValueError if it is no number, for example if a password contains a slash
            parameters = parse_qsl(parts.query, keep_blank_values=True)
        except ValueError as error:
            raise ConfigurationError(
                f"index = {self.uri!r} cannot be read: expected postgresql://USER:PASSWORD@HOST/DATABASE."
            ) from cause_of(error)
        self.table = dict(parameters).get("table", TABLE)
        if not _NAME.fullmatch(self.table):
            raise ConfigurationError(
                f"table={self.table!r} cannot be the name of a table: expected up to 40 lower-case letters, "
                "digits and _, not beginning with a digit."
            )
        other_parameters = urlencode([pair for pair in parameters if pair[0] != "table"], quote_via=quote)
        self.address = urlunsplit(parts._replace(scheme="postgresql", query=other_parameters))
        self._files_table = f"{self.table}_files"
        self._writing: Connection[Any] | None = None

    def chunks_of(self, table: str) -> str:
        """Return the database name of a chunk table, given its name in the manifest."""
        return f"{self.table}_{table.replace('-', '_')}"

    def words_of(self, table: str) -> str:
        """Return the database name of the word table of a chunk table."""
        return f"{self.chunks_of(table)}_words"

    def connect(self) -> Connection[Any]:
        """Open a connection in autocommit mode."""
        import psycopg

        with self.translating_errors():
            # a prepared statement would be planned only once, and is lost behind a connection pooler
            options: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "prepare_threshold": None}
            return psycopg.connect(self.address, autocommit=True, **options)

    @property
    def writing(self) -> Connection[Any]:
        """The connection of the writer; `write` commits everything that was written with it."""
        assert self._writing is not None, "the write lock is not held"
        return self._writing

    @contextmanager
    def hold_lock(self, *, wait_seconds: float, on_wait: Callable[[str], None] | None) -> Iterator[None]:
        """Hold the write lock of the index; it ends with the connection, and so with the process."""
        lock_key = "hashtextextended(coalesce(current_schema(), '') || '.' || %s, 0)"
        deadline = time.monotonic() + wait_seconds
        with closing(self.connect()) as connection:
            while True:
                with self.translating_errors():
                    [is_locked] = connection.execute(
                        f"SELECT pg_try_advisory_lock({lock_key})", [self._files_table]
                    ).fetchone() or [False]
                if is_locked:
                    break
                if time.monotonic() >= deadline:
                    raise IndexingError(
                        f"The index {self.uri} is being written by another process. Wait until it has "
                        "finished, or use another table, with ?table=NAME at the end of the address."
                    )
                if on_wait:
                    on_wait(f"Waiting for another process, which is writing the index {self.uri}.")
                    on_wait = None
                time.sleep(min(POLL_SECONDS, max(0.0, deadline - time.monotonic())))
            connection.autocommit = False
            self._writing = connection
            try:
                yield
            finally:
                self._writing = None

    @contextmanager
    def reading(self, snapshot: str | None = None) -> Iterator[Cursor[Any]]:
        """Yield a cursor whose statements all see one state: the current one, or that of a snapshot."""
        from psycopg.errors import InvalidParameterValue, UndefinedObject

        with self.translating_errors(), closing(self._pool.raw_connection()) as pooled:
            connection: Any = pooled.driver_connection
            with connection.cursor(binary=True) as cursor:
                if snapshot:
                    try:
                        cursor.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
                    except (UndefinedObject, InvalidParameterValue) as error:
                        raise SnapshotGoneError(snapshot) from error
                yield cursor

    @cached_property
    def _pool(self) -> Any:
        from sqlalchemy import create_engine

        def connect() -> Connection[Any]:
            from pgvector.psycopg import register_vector
            from psycopg import IsolationLevel

            connection = self.connect()
            register_vector(connection)
            connection.autocommit, connection.read_only = False, True
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            return connection

        # a connection that the server has closed meanwhile is replaced before use
        return create_engine("postgresql+psycopg://", creator=connect, pool_pre_ping=True)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is none."""
        with closing(self.connect()) as connection, self.translating_errors():
            content: bytes | None = self._read_column(connection, "content", name)
        return content

    def stamp(self, name: str) -> Hashable:
        """Return a value that changes with the file; None if there is none."""
        with closing(self.connect()) as connection, self.translating_errors():
            return self.stamp_in(connection, name)

    def stamp_in(self, cursor: Connection[Any] | Cursor[Any], name: str) -> Hashable:
        """Return `stamp` of a file in the state that a cursor sees; None if there is no file."""
        stamp: str | None = self._read_column(cursor, "xmin::text", name)
        return stamp

    def _read_column(self, cursor: Connection[Any] | Cursor[Any], column: str, name: str) -> Any:
        from psycopg.errors import UndefinedTable

        try:
            rows = cursor.execute(f"SELECT {column} FROM {self._files_table} WHERE name = %s", [name])
        except UndefinedTable:
            return None
        return next((row[0] for row in rows), None)

    def write(self, name: str, content: bytes) -> None:
        """Replace a file, and commit it together with everything written since the last commit."""
        with self.translating_errors():
            self.writing.execute(
                f"CREATE TABLE IF NOT EXISTS {self._files_table} "
                "(name text PRIMARY KEY, content bytea NOT NULL)"
            )
            self.writing.execute(
                f"INSERT INTO {self._files_table} VALUES (%s, %s) "
                "ON CONFLICT (name) DO UPDATE SET content = excluded.content",
                [name, content],
            )
            self.writing.commit()

    def names(self, folder: str = "") -> list[str]:
        """Return an empty list, since a database has no other files than those of the index."""
        return []

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turn errors of the server into errors that say what happened and what to do."""
        import psycopg
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (psycopg.Error, SQLAlchemyError) as error:
            message = redact(str(error))
            reason = next((explanation for part, explanation in REFUSALS.items() if part in message), "")
            reason = reason or redact(" ".join((message or repr(error)).split("\n")[0].split()))
            raise IndexUnreachableError(f"The index {self.uri} cannot be reached: {reason}.") from cause_of(
                error
            )
