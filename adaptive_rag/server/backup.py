"""Backup of everything that a server stores into one file while the server runs, and restoring it.

`data/` mirrors the data folder; `tables/` has a file of JSON lines for each table, whatever the database;
`conversations/` has the newest state of each thread, and `profiles.jsonl` the profiles of users.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from alembic.util import CommandError
from filelock import FileLock, Timeout
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from sqlalchemy import Connection, DateTime, Engine, MetaData, RowMapping, Table, insert, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from adaptive_rag.conversation import read_profile, write_profile
from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import COPY, MANIFEST, read_manifest
from adaptive_rag.ingest.web import is_address
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.archive import (
    FORMAT_ERRORS,
    HOW_TO_RESTORE,
    LONGEST_LINE,
    PROFILES,
    Archive,
    BackupError,
    make_key,
    read_key,
    read_lines,
    write_archive,
)
from adaptive_rag.server.connections import raise_file_limit
from adaptive_rag.server.conversations import open_conversations, thread_config, write_conversations
from adaptive_rag.server.database import migrate, open_new_database, revision_of, use_database
from adaptive_rag.server.folders import folder_of
from adaptive_rag.server.pairing import pair_new
from adaptive_rag.server.problems import Problem, database_error_types
from adaptive_rag.server.settings import BACKUP_KEY, ServerSettings
from adaptive_rag.server.tables import (
    Base,
    Collection,
    Document,
    Installation,
    ModelChoice,
    Share,
    Thread,
    ThreadCollection,
    TurnText,
    User,
)
from adaptive_rag.text.redaction import redact

_STAGE_FOLDER = ".backup"
# A deletion or an indexing run may remove a file while the files are linked. Then the snapshot starts again.
_ATTEMPTS = 5
_CONVERSATIONS = "conversations"


def back_up(settings: ServerSettings, file: Path) -> dict[str, int]:
    """Write a backup, which gets its name when it is complete; return the number of rows by table.

    Uploads and deletions wait while the files are linked.

    Raises:
        ConfigurationError: there is no data or no such folder, or the data or the key cannot be opened.
        BackupError: a file is missing, another backup is running, or this one cannot be written.
    """
    if not settings.data.is_dir():
        raise ConfigurationError(f"There is no server's data in {str(settings.data)!r}.")
    if not file.parent.is_dir():
        raise ConfigurationError(f"The folder {str(file.parent)!r} does not exist. Create it first.")
    raise_file_limit()  # the lock of each collection is an open file
    stage, partial = settings.data / _STAGE_FOLDER, file.with_name(file.name + ".partial")
    try:
        with use_database(settings) as engine, FileLock(settings.data / "backup.lock", timeout=0):
            shutil.rmtree(stage, ignore_errors=True)
            try:
                counts = _take_snapshot(settings, engine, stage)
                counts["conversations"] = asyncio.run(_save_conversations(settings, engine, stage))
                if settings.backup_key is None:
                    make_key(settings.signing_key)
                about = {
                    "made_by": f"adaptive-rag {version('adaptive-rag')}",
                    "made": datetime.now(UTC).isoformat(timespec="seconds"),
                    "revision": revision_of(engine),
                }
                write_archive(stage, partial, about, read_key(settings.signing_key))
                os.replace(partial, file)
            finally:
                shutil.rmtree(stage, ignore_errors=True)
                partial.unlink(missing_ok=True)
    except Timeout:
        raise BackupError("Another backup of this server is being written.") from None
    except Problem as error:
        raise BackupError(f"{error.detail} There is no backup.") from error
    except database_error_types(OSError, sqlite3.Error) as error:
        detail = f"The backup {file} cannot be written: {redact(str(error))}. There is no backup."
        raise BackupError(detail) from error
    return counts


def _take_snapshot(settings: ServerSettings, engine: Engine, stage: Path) -> dict[str, int]:
    """Write a consistent snapshot of the database, and link the files, which never change, below `stage`."""
    missing = FileNotFoundError()
    for _ in range(_ATTEMPTS):
        shutil.rmtree(stage, ignore_errors=True)
        try:
            with ExitStack() as stack:
                with Session(engine) as db:
                    collection_ids = sorted(db.scalars(select(Collection.id)))
                for collection_id in collection_ids:
                    stack.enter_context(folder_of(settings.data, collection_id).lock_documents())
                with _consistent_connection(engine) as connection:
                    counts = _save_rows(connection, stage / "tables")
                    _link_files(settings, connection, stage)
                return counts
        except FileNotFoundError as error:
            missing = error
    raise BackupError(
        f"The file {missing.filename!r} is missing. Delete its document or upload it again; if it is a file "
        "of an index, rebuild that index. There is no backup."
    ) from missing


@contextmanager
def _consistent_connection(engine: Engine) -> Iterator[Connection]:
    """Yield a connection whose queries all see the database as it was at the first query."""
    is_sqlite = engine.dialect.name == "sqlite"
    with engine.connect() as connection:
        if is_sqlite:  # Python's driver would begin a transaction only at the first change
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection
        connection.rollback()


def _save_rows(connection: Connection, folder: Path) -> dict[str, int]:
    make_folder(folder)
    counts = {}
    for table in Base.metadata.sorted_tables:
        if table.name == Installation.__tablename__:
            continue  # a restored server is another installation
        target = folder / f"{table.name}.jsonl"
        make_file(target)
        with target.open("w", encoding="utf-8") as lines:
            counts[table.name] = 0
            for row in connection.execute(select(table).order_by(*table.primary_key)).mappings():
                line = json.dumps(dict(row), default=datetime.isoformat) + "\n"
                if len(line) > LONGEST_LINE:
                    raise BackupError(_explain_long_row(connection, table, row, len(line)))
                lines.write(line)
                counts[table.name] += 1
    return counts


def _explain_long_row(connection: Connection, table: Table, row: RowMapping, size: int) -> str:
    """Return which row is too long for a backup, and what to do."""
    key = ", ".join(f"{column.name} {row[column]!r}" for column in table.primary_key)
    name = connection.scalar(select(Collection.name).where(Collection.id == row.get("collection_id")))
    owner = f", of the collection {name!r}," if name else ""
    return (
        f"The row with {key} of the table {table.name}{owner} has {size:,} bytes; a backup takes "
        f"{LONGEST_LINE:,}. {'Delete that collection, or stop' if name else 'Stop'} the server and delete "
        "this row. There is no backup."
    )


def _link_files(settings: ServerSettings, connection: Connection, stage: Path) -> None:
    data = settings.data.absolute()
    with Session(connection) as db:
        rows, collection_ids = db.scalars(select(Document)).all(), db.scalars(select(Collection.id)).all()
    for row in rows:
        if not is_address(row.name):
            path = folder_of(data, row.collection_id).file_of(row)
            _link(path, stage / "data" / path.relative_to(data))
    for collection_id in collection_ids:
        index = folder_of(data, collection_id).index
        target = stage / "data" / index.relative_to(data)
        if read_manifest(open_location(index)) is None:
            continue
        # First the manifest, because a job may publish another one meanwhile. It names the files of one
        # version, which are kept for readers while the next version is written.
        _link(index / MANIFEST, target / MANIFEST)
        _link(target / MANIFEST, target / COPY)
        manifest = read_manifest(open_location(target))
        for name in manifest.files if manifest else ():
            _link(index / name, target / name)
    if (learned := settings.learned_router).exists():
        _link(learned, stage / "data" / learned.name)


def _link(file: Path, target: Path) -> None:
    make_folder(target.parent)
    try:
        os.link(file, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        shutil.copyfile(file, target)


async def _save_conversations(settings: ServerSettings, engine: Engine, stage: Path) -> int:
    """Save profiles and the newest state of each thread in a format that is the same for all databases."""
    folder, count = stage / _CONVERSATIONS, 0
    make_folder(folder)
    async with open_conversations(settings, engine) as conversations:
        saver, store = conversations.saver, conversations.store
        with (stage / PROFILES).open("w", encoding="utf-8") as lines:
            for user in _read_ids(stage, User):
                if text := await asyncio.to_thread(read_profile, store, user):
                    lines.write(json.dumps({"user": user, "text": text}) + "\n")
        for thread_id in _read_ids(stage, Thread):
            stored = await saver.aget_tuple(thread_config(thread_id))
            if stored is not None:
                format_name, content = saver.serde.dumps_typed((stored.checkpoint, stored.metadata))
                (folder / f"{thread_id}.{format_name}").write_bytes(content)
                count += 1
    return count


def restore(settings: ServerSettings, file: Path, *, foreign: bool = False) -> dict[str, int]:
    """Restore a backup, completely or not at all, into an empty data folder and an empty database.

    A backup of another server (`foreign`) needs no signature, and is restored without its conversations;
    their number is returned as `left_out`.

    Raises:
        ConfigurationError: the data folder or the database is not empty, or cannot be written.
        BackupError: the backup is incomplete, damaged, of a newer version, or not signed with this server's
            key.
    """
    _require_empty(settings.data)
    if not foreign and settings.backup_key is None:
        raise BackupError(f"The backup {file} may be of any server: no key is named. {HOW_TO_RESTORE}")
    key = None if foreign else read_key(settings.signing_key)
    try:
        with Archive.open(file, key) as archive, _temporary_folder_beside(settings.data) as folder:
            stage = Path(folder)
            archive.unpack(stage, without=f"{_CONVERSATIONS}/" if foreign else None)
            make_folder(stage / "data")
            left_out = {}
            if foreign:
                left_out["left_out"] = _remove_conversations(archive, stage)
            else:
                make_file(stage / "data" / BACKUP_KEY)
                shutil.copyfile(settings.signing_key, stage / "data" / BACKUP_KEY)
            return _load_backup(settings, stage, archive.about["revision"]) | left_out
    except AdaptiveRAGError:
        raise
    except CommandError as error:
        raise BackupError(
            f"The backup {file} is of a newer version of adaptive-rag than this one: {redact(str(error))}. "
            "Install that version. Nothing was restored."
        ) from error
    except (OSError, SQLAlchemyError, sqlite3.Error, *FORMAT_ERRORS) as error:
        raise BackupError(
            f"The backup {file} cannot be restored: {redact(str(error))[:300]}. Nothing was restored."
        ) from error


def _require_empty(data: Path) -> None:
    try:
        fault = "is not empty" if data.exists() and any(data.iterdir()) else None
    except OSError as error:  # for example, it is a file
        fault = f"cannot be read: {error.strerror or error}"
    if fault:
        raise ConfigurationError(f"The data folder {str(data)!r} {fault}. Name a new one with --data.")


def _temporary_folder_beside(data: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder next to a data folder, so on the same disk."""
    target = data.absolute()
    make_folder(target.parent)
    prefix = f"{target.name}.restoring-"
    return tempfile.TemporaryDirectory(prefix=prefix, dir=target.parent, ignore_cleanup_errors=True)


def _remove_conversations(archive: Archive, stage: Path) -> int:
    """Remove threads and the chat model from an unpacked backup; return the number of threads."""
    paths = (name.split("/") for name in archive.members)
    threads = {parts[1].partition(".")[0] for parts in paths if parts[0] == _CONVERSATIONS}
    # Otherwise questions would be sent to the address that the other server's admin has set.
    (stage / "tables" / f"{ModelChoice.__tablename__}.jsonl").unlink(missing_ok=True)
    threads.update(_read_ids(stage, Thread))
    for of_threads in (Thread, ThreadCollection, Share, TurnText):
        (stage / "tables" / f"{of_threads.__tablename__}.jsonl").unlink(missing_ok=True)
    return len(threads)


def _read_ids(stage: Path, table: type[Thread | User]) -> list[str]:
    """Return the ids in a table of an unpacked backup."""
    rows = stage / "tables" / f"{table.__tablename__}.jsonl"
    if not rows.exists():
        return []
    with rows.open("rb") as lines:
        return [str(row["id"]) for row in read_lines(lines)]


def _load_backup(settings: ServerSettings, stage: Path, revision: str) -> dict[str, int]:
    """Fill a new database from an unpacked backup, and move the data folder into place: all or nothing."""
    data = stage / "data"
    new_settings, existed = settings.model_copy(update={"data": data}), settings.data.exists()
    try:
        with open_new_database(new_settings, revision) as (connection, tables):
            counts = _load_rows(connection, stage / "tables", tables)
            with write_conversations(new_settings, connection) as (saver, store):
                counts["conversations"] = _load_conversations(saver, store, stage)
            migrate(connection)
            pair_new(new_settings, connection)
            if settings.database is not None:  # PostgreSQL: commit only after the files are in place
                _move(data, settings.data)
        if settings.database is None:  # SQLite: its files are in the data folder, and must be closed first
            _move(data, settings.data)
    except BaseException:
        if not data.exists():
            os.replace(settings.data, data)
        if existed:
            make_folder(settings.data)
        raise
    return {Thread.__tablename__: 0} | counts


def _move(data: Path, target: Path) -> None:
    if target.exists():
        target.rmdir()  # fails if it is no longer empty
    os.replace(data, target)


def _load_rows(connection: Connection, folder: Path, tables: set[str]) -> Counter[str]:
    """Insert the rows of a backup into the tables of the backup's version, before they are migrated."""
    names = {path.stem for path in folder.iterdir()}
    if unknown := sorted(names - tables):
        raise ValueError(f"its revision has no table {unknown[0][:200]!r}")
    counts = Counter(dict.fromkeys(names, 0))
    metadata = MetaData()
    metadata.reflect(connection, only=sorted(names))
    for table in metadata.sorted_tables:
        if table.name in names:
            with (folder / f"{table.name}.jsonl").open("rb") as lines:
                for row in read_lines(lines):
                    connection.execute(insert(table), _read_row(table, names, row))
                    counts[table.name] += 1
    return counts


def _read_row(table: Table, names: set[str], row: dict[str, Any]) -> dict[str, Any]:
    for column in table.columns:
        if isinstance(column.type, DateTime) and row.get(column.name) is not None:
            row[column.name] = datetime.fromisoformat(row[column.name]).astimezone(UTC)
    for key in table.foreign_keys:
        if key.column.table.name not in names:  # the backup was restored without that table
            row[key.parent.name] = None
    # The database assigns new numbers: it would not count the numbers of inserted rows as used.
    if (numbered := table.autoincrement_column) is not None:
        del row[numbered.name]
    return row


def _load_conversations(saver: BaseCheckpointSaver[Any], store: BaseStore, stage: Path) -> int:
    with (stage / PROFILES).open("rb") as lines:
        for row in read_lines(lines):
            write_profile(store, row["user"], row["text"])
    # A backup from before the first conversation has no such folder.
    files = sorted((stage / _CONVERSATIONS).glob("*"))
    for path in files:
        thread_id, _, format_name = path.name.partition(".")
        if format_name != "msgpack":
            raise BackupError(f"The backup holds {path.name[:200]!r}, which no backup does.")
        checkpoint, metadata = saver.serde.loads_typed((format_name, path.read_bytes()))
        saver.put(thread_config(thread_id), checkpoint, metadata, checkpoint["channel_versions"])
    return len(files)
