"""Pairing of a data folder with its database, and moving aside the files that the database does not know."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock
from sqlalchemy import Connection, Engine, delete, insert, select
from sqlalchemy.orm import Session

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import make_folder, replace_text
from adaptive_rag.server.folders import collection_folders, folder_of
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Collection, Document, Installation, new_id

_ID_FILE = "installation"
_LOCK = "migration.lock"


@dataclass(frozen=True)
class MovedFolder:
    """A folder that was moved aside, and the number of its files."""

    source: Path
    target: Path
    files: int


@dataclass(frozen=True)
class PairState:
    """The identifier for folder and database; `fault` says why they do not belong together."""

    identifier: str
    fault: str | None = None


def pair_state(settings: ServerSettings, engine: Engine) -> PairState:
    """Check whether a data folder and a database belong together.

    The first start stores the same identifier in both. If one of them has none, they belong together if the
    database knows a collection of the folder, or if neither has documents.
    """
    with Session(engine) as db:
        folder_id, database_id = _read_identifier(settings), db.scalar(select(Installation.id))
        if folder_id and folder_id == database_id:
            return PairState(folder_id)
        folder_names = {folder.path.name for folder in collection_folders(settings.data)}
        with_files = set(db.scalars(select(Document.collection_id).where(Document.digest != "").distinct()))
        is_known = bool(folder_names & set(db.scalars(select(Collection.id))))
    identifier = folder_id or database_id or new_id()
    if not (folder_id and database_id) and (is_known or not (folder_names or with_files)):
        return PairState(identifier)
    return PairState(
        identifier,
        f"the data folder {str(settings.data)!r} ({folder_id or 'without an identifier'}, with "
        f"{len(folder_names)} collections) and the server's database ({database_id or 'a new one'}, with "
        f"documents of {len(with_files)} collections) do not belong together",
    )


def pair(settings: ServerSettings, engine: Engine) -> None:
    """Give data folder and database one identifier; raise ConfigurationError if they are no pair."""
    with FileLock(settings.data / _LOCK):
        state = pair_state(settings, engine)
        if state.fault:
            engine.dispose()  # also removes SQLite's journal, so that the file can be replaced
            raise ConfigurationError(
                f"{state.fault[0].upper()}{state.fault[1:]}. Name the database that the folder was made with "
                "(server.database, or the file server.sqlite in it), or another folder (server.data). To go "
                "on with this database and keep the folder's documents beside it: adaptive-rag move-aside"
            )
        with Session(engine) as db:
            _store_identifier(settings, db, state.identifier)


def pair_new(settings: ServerSettings, connection: Connection) -> None:
    """Store a new identifier in a folder and a database that were filled from a backup."""
    identifier = new_id()
    connection.execute(delete(Installation))
    connection.execute(insert(Installation), {"id": identifier})
    replace_text(settings.data / _ID_FILE, f"{identifier}\n")


def move_aside(settings: ServerSettings, engine: Engine) -> list[MovedFolder]:
    """Move folders that the database does not know into the folder `aside`; delete nothing.

    Afterwards, folder and database belong together. No server or worker may run meanwhile.
    """
    target = settings.data.absolute() / "aside" / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    moved = []
    with FileLock(settings.data / _LOCK), Session(engine) as db:
        for folder in collection_folders(settings.data):
            if db.get(Collection, folder.path.name) is None:
                moved.append(_move(folder.path, target, settings))
                continue
            with folder.lock_documents():  # waits for an upload in progress, which then has its row
                db.rollback()
                rows = db.scalars(select(Document).where(Document.collection_id == folder.path.name)).all()
                moved += [_move(path, target, settings) for path in folder.find_unknown(rows)]
        _store_identifier(settings, db, db.scalar(select(Installation.id)) or new_id())
    return moved


def collections_without_files(settings: ServerSettings, engine: Engine) -> list[str]:
    """Return the names of the collections that have documents in the database but no folder."""
    with Session(engine) as db:
        with_files = select(Collection).where(
            Collection.id.in_(select(Document.collection_id).where(Document.digest != ""))
        )
        return sorted(
            row.name
            for row in db.scalars(with_files)
            if not folder_of(settings.data, row.id).documents.is_dir()
        )


def _read_identifier(settings: ServerSettings) -> str | None:
    try:
        return (settings.data / _ID_FILE).read_text(encoding="ascii").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The file {str(settings.data / _ID_FILE)!r} cannot be read: {error}. It names the database that "
            "the folder belongs to. Where that is the one of the settings, delete the file."
        ) from error


def _store_identifier(settings: ServerSettings, db: Session, identifier: str) -> None:
    if db.get(Installation, identifier) is None:
        db.add(Installation(id=identifier))
        db.commit()
    if _read_identifier(settings) != identifier:
        replace_text(settings.data / _ID_FILE, f"{identifier}\n")


def _move(path: Path, target: Path, settings: ServerSettings) -> MovedFolder:
    destination = target / path.relative_to(settings.data.absolute())
    make_folder(destination.parent)
    files = sum(file.is_file() for file in path.rglob("*"))
    path.replace(destination)
    return MovedFolder(path, destination, files)
