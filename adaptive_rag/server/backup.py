"""Everything that a server keeps, in one file: written while it runs, and restored into an empty place.

A backup is a tar file. `data/` lies as in the data folder; `tables/` has a file of JSON lines for each table,
from whichever database; `conversations/` has the newest state of each thread, and `profiles.json` what users
tell of themselves; `manifest.json` comes last and names all of them with their SHA-256.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Connection, DateTime, Engine, MetaData, Table, insert, select
from sqlalchemy.orm import Session

from adaptive_rag.conversation import read_profile, write_profile
from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import COPY, MANIFEST, read_manifest
from adaptive_rag.ingest.web import is_address
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.conversations import open_conversations
from adaptive_rag.server.database import open_database, revision_of
from adaptive_rag.server.folders import folder_of
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Base, Collection, Document, Thread, User

FORMAT = 1
_CONTENTS = "manifest.json"
_PROFILES = "profiles.json"
_STAGE = ".backup"
# What is deleted or indexed while we look sends us back to the start.
_ATTEMPTS = 5
_ROWS_AT_ONCE = 500


class BackupError(AdaptiveRAGError):
    """A backup cannot be written, or it cannot be restored."""


def back_up(settings: ServerSettings, file: Path) -> dict[str, int]:
    """Write everything into a file, which takes its name when it is whole; return the number of each kind.

    Uploads and deletions wait for the moment in which the files are marked as belonging to the backup.

    Raises:
        ConfigurationError: there is no data, or it cannot be opened.
        BackupError: a file is missing, another backup is at work, or this one cannot be written.
    """
    if not settings.data.is_dir():
        raise ConfigurationError(f"There is no server's data in {str(settings.data)!r}.")
    engine = open_database(settings)
    stage, partial = settings.data / _STAGE, file.with_name(file.name + ".partial")
    try:
        with FileLock(settings.data / "backup.lock", timeout=0):
            shutil.rmtree(stage, ignore_errors=True)
            try:
                counts = _freeze(settings, engine, stage)
                counts["conversations"] = asyncio.run(_save_conversations(settings, engine, stage))
                _pack(stage, partial, revision_of(engine))
                os.replace(partial, file)
            finally:
                shutil.rmtree(stage, ignore_errors=True)
                partial.unlink(missing_ok=True)
    except Timeout:
        raise BackupError("Another backup of this server is being written.") from None
    except Problem as error:
        raise BackupError(f"{error.detail} There is no backup.") from error
    except OSError as error:
        raise BackupError(f"The backup {file} cannot be written: {error}. There is none.") from error
    finally:
        engine.dispose()
    return counts


def _freeze(settings: ServerSettings, engine: Engine, stage: Path) -> dict[str, int]:
    """Bring the state of one moment below `stage`: the rows, and links to the files, which never change."""
    for attempt in range(1, _ATTEMPTS + 1):
        shutil.rmtree(stage, ignore_errors=True)
        try:
            with ExitStack() as stack:
                with Session(engine) as db:
                    known = sorted(db.scalars(select(Collection.id)))
                for collection_id in known:
                    stack.enter_context(folder_of(settings.data, collection_id).changing())
                with _moment(engine) as connection:
                    counts = _save_rows(connection, stage / "tables")
                    _link_files(settings, connection, stage)
                return counts
        except FileNotFoundError as error:
            if attempt == _ATTEMPTS:
                raise BackupError(
                    f"The file {error.filename!r} of a document is missing. Delete the document or upload it "
                    "again; there is no backup."
                ) from error
    raise AssertionError("the last attempt returns or raises")


@contextmanager
def _moment(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees the database as it was at its first question."""
    is_sqlite = engine.dialect.name == "sqlite"
    with engine.connect() as connection:
        if is_sqlite:  # its driver would begin with the first change alone
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection
        connection.rollback()


def _save_rows(connection: Connection, folder: Path) -> dict[str, int]:
    make_folder(folder)
    counts = {}
    for table in Base.metadata.sorted_tables:
        place = folder / f"{table.name}.jsonl"
        make_file(place)
        with place.open("w", encoding="utf-8") as lines:
            counts[table.name] = 0
            for row in connection.execute(select(table).order_by(*table.primary_key)).mappings():
                lines.write(json.dumps(dict(row), default=datetime.isoformat) + "\n")
                counts[table.name] += 1
    return counts


def _link_files(settings: ServerSettings, connection: Connection, stage: Path) -> None:
    data = settings.data.absolute()
    with Session(connection) as db:
        rows, known = db.scalars(select(Document)).all(), db.scalars(select(Collection.id)).all()
    for row in rows:
        if not is_address(row.name):
            path = folder_of(data, row.collection_id).file_of(row)
            _link(path, stage / "data" / path.relative_to(data))
    for collection_id in known:
        index = folder_of(data, collection_id).index
        place = stage / "data" / index.relative_to(data)
        # The manifest names the files of one version, which stay for its readers while another is written.
        manifest = read_manifest(open_location(index))
        for name in (*(manifest.files or ()), MANIFEST, COPY) if manifest else ():
            _link(index / name, place / name)
    if (learned := settings.learned_router).exists():
        _link(learned, stage / "data" / learned.name)


def _link(file: Path, place: Path) -> None:
    make_folder(place.parent)
    try:
        os.link(file, place)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        shutil.copyfile(file, place)


async def _save_conversations(settings: ServerSettings, engine: Engine, stage: Path) -> int:
    """Keep profiles and the newest state of each thread, without what only this kind of database knows."""
    folder, count = stage / "conversations", 0
    make_folder(folder)
    with Session(engine) as db:
        threads, users = list(db.scalars(select(Thread.id))), list(db.scalars(select(User.id)))
    async with open_conversations(settings, engine) as conversations:
        saver, store = conversations.saver, conversations.store
        profiles = {
            user: text for user in users if (text := await asyncio.to_thread(read_profile, store, user))
        }
        (stage / _PROFILES).write_text(json.dumps(profiles), encoding="utf-8")
        for thread_id in threads:
            kept = await saver.aget_tuple(_place_of(thread_id))
            if kept is not None:
                form, content = saver.serde.dumps_typed((kept.checkpoint, kept.metadata))
                (folder / f"{thread_id}.{form}").write_bytes(content)
                count += 1
    return count


def _place_of(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def _pack(stage: Path, partial: Path, revision: str | None) -> None:
    make_file(partial)
    contents: dict[str, Any] = {
        "format": FORMAT,
        "made_by": f"adaptive-rag {version('adaptive-rag')}",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": revision,
        "files": {},
    }
    with partial.open("wb") as target:
        with tarfile.open(fileobj=target, mode="w") as tar:
            for path in sorted(stage.rglob("*")):
                if path.is_file():
                    name = path.relative_to(stage).as_posix()
                    contents["files"][name] = _digest(path)
                    tar.add(path, name)
            place = stage / _CONTENTS
            place.write_text(json.dumps(contents), encoding="utf-8")
            tar.add(place, _CONTENTS)
        target.flush()
        os.fsync(target.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def restore(settings: ServerSettings, file: Path) -> dict[str, int]:
    """Bring back all that a backup holds, or nothing, into an empty data folder and an empty database.

    Raises:
        ConfigurationError: the data folder or the database holds something, or cannot be written.
        BackupError: the backup is not whole, damaged, or of a newer version; the message names what failed.
    """
    if settings.data.exists() and any(settings.data.iterdir()):
        raise ConfigurationError(
            f"The data folder {str(settings.data)!r} is not empty. Name a new one with --data."
        )
    stage = settings.data.absolute().with_name(f"{settings.data.name}.restoring")
    shutil.rmtree(stage, ignore_errors=True)
    try:
        make_folder(stage)
        contents = _unpack(file, stage)
        data = stage / "data"
        make_folder(data)
        placed = settings.model_copy(update={"data": data})
        engine = open_database(placed, contents["revision"])
        try:
            _refuse_users(engine)
            conversations = asyncio.run(_load_conversations(placed, engine, stage))
            with engine.begin() as connection:
                counts = _load_rows(connection, stage / "tables")
            open_database(placed).dispose()
        finally:
            engine.dispose()
        if settings.data.exists():
            settings.data.rmdir()
        os.replace(data, settings.data)
    except OSError as error:
        raise BackupError(f"The backup {file} cannot be restored: {error}.") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return {**counts, "conversations": conversations}


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, stage: Path) -> None:
    """Write a file of a backup below a folder; `extractall` would be safe from Python 3.11.4 on alone.

    Raises:
        TarError: it would lie elsewhere, or is neither a file nor a folder.
    """
    place = stage / member.name
    if not place.resolve().is_relative_to(stage.resolve()) or not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"it holds {member.name[:200]!r}, which no backup does")
    if member.isdir():
        make_folder(place)
        return
    make_folder(place.parent)
    make_file(place)
    content = tar.extractfile(member)
    assert content is not None, "only files are read here"
    with content, place.open("wb") as file:
        shutil.copyfileobj(content, file)


def _unpack(file: Path, stage: Path) -> dict[str, Any]:
    """Unpack a backup, and return what it says of itself.

    Raises:
        BackupError: it is not one, or what it holds is not what it names.
    """
    try:
        with tarfile.open(file, "r:") as tar:
            for member in tar:
                _write(tar, member, stage)
        if not (stage / _CONTENTS).is_file():
            raise BackupError(f"The file {file} is not a whole backup: it has no {_CONTENTS}.")
        contents: dict[str, Any] = json.loads((stage / _CONTENTS).read_text(encoding="utf-8"))
        named, form = contents["files"], contents["format"]
    except (tarfile.TarError, EOFError, ValueError, KeyError) as error:
        raise BackupError(f"The file {file} is not a whole backup: {error}.") from error
    if form != FORMAT:
        raise BackupError(f"The backup {file} is of form {form}; this version reads form {FORMAT}.")
    held = {path.relative_to(stage).as_posix(): path for path in stage.rglob("*") if path.is_file()}
    del held[_CONTENTS]
    wrong = [name for name in named if name not in held or _digest(held[name]) != named[name]]
    wrong += sorted(held.keys() - named.keys())
    if wrong:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise BackupError(
            f"The backup {file} is damaged at {', '.join(wrong[:5])}{more}. Nothing was restored."
        )
    return contents


def _refuse_users(engine: Engine) -> None:
    with Session(engine) as db:
        if db.scalar(select(User.id).limit(1)):
            raise ConfigurationError(
                "The database holds users already. Name an empty one with server.database."
            )


def _load_rows(connection: Connection, folder: Path) -> dict[str, int]:
    """Write the rows of a backup into tables as they were in its version; migrations come after."""
    names = [path.stem for path in folder.iterdir()]
    metadata = MetaData()
    metadata.reflect(connection, only=names)
    counts = {}
    for table in metadata.sorted_tables:
        rows = []
        counts[table.name] = 0
        with (folder / f"{table.name}.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                rows.append(_read_row(table, json.loads(line)))
                counts[table.name] += 1
                if len(rows) == _ROWS_AT_ONCE:
                    connection.execute(insert(table), rows)
                    rows = []
        if rows:
            connection.execute(insert(table), rows)
    return counts


def _read_row(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    for column in table.columns:
        if isinstance(column.type, DateTime) and row.get(column.name) is not None:
            row[column.name] = datetime.fromisoformat(row[column.name]).astimezone(UTC)
    # A database that counts such a column goes on from the last number that it gave itself.
    if (numbered := table.autoincrement_column) is not None:
        del row[numbered.name]
    return row


async def _load_conversations(settings: ServerSettings, engine: Engine, stage: Path) -> int:
    # A backup from before the first conversation has no such folder.
    files = sorted((stage / "conversations").glob("*"))
    async with open_conversations(settings, engine) as conversations:
        saver = conversations.saver
        for user, text in json.loads((stage / _PROFILES).read_text(encoding="utf-8")).items():
            await asyncio.to_thread(write_profile, conversations.store, user, text)
        for path in files:
            thread_id, _, form = path.name.partition(".")
            checkpoint, metadata = saver.serde.loads_typed((form, path.read_bytes()))
            await saver.aput(_place_of(thread_id), checkpoint, metadata, checkpoint["channel_versions"])
    return len(files)
