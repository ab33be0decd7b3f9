"""Pairing of a data folder with its database, and handling of files that the database does not know."""

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

_FILE = "installation"
_LOCK = "migration.lock"


@dataclass(frozen=True)
class Aside:
    """A folder that was moved aside."""

    came_from: Path
    now_at: Path
    files: int


@dataclass(frozen=True)
class PairState:
    """The identifier that folder and database share or will share, or why they do not belong together."""

    identifier: str
    fault: str | None = None


def pair_state(settings: ServerSettings, engine: Engine) -> PairState:
    """Tell whether a data folder and a database belong together.

    Both hold one identifier, which the first start gives them. If one of them has none, they are a pair if
    the database knows a collection that is in the folder, or if neither has documents.
    """
    with Session(engine) as db:
        at_folder, at_database = _read(settings), db.scalar(select(Installation.id))
        if at_folder and at_folder == at_database:
            return PairState(at_folder)
        lying = {folder.path.name for folder in collection_folders(settings.data)}
        filed = set(db.scalars(select(Document.collection_id).where(Document.digest != "").distinct()))
        is_known = bool(lying & set(db.scalars(select(Collection.id))))
    identifier = at_folder or at_database or new_id()
    if not (at_folder and at_database) and (is_known or not (lying or filed)):
        return PairState(identifier)
    return PairState(
        identifier,
        f"the data folder {str(settings.data)!r} ({at_folder or 'without an identifier'}, with {len(lying)} "
        f"collections) and the server's database ({at_database or 'a new one'}, with documents of "
        f"{len(filed)} collections) do not belong together",
    )


def pair(settings: ServerSettings, engine: Engine) -> None:
    """Check that the data folder and the database belong together, and give both one identifier.

    Raises:
        ConfigurationError: they do not; the message names both, and what can be done.
    """
    with FileLock(settings.data / _LOCK):
        state = pair_state(settings, engine)
        if state.fault:
            engine.dispose()  # removes SQLite's journal too, so that the right file can be put in its place
            raise ConfigurationError(
                f"{state.fault[0].upper()}{state.fault[1:]}. Name the database that the folder was made with "
                "(server.database, or the file server.sqlite in it), or another folder (server.data). To go "
                "on with this database and keep the folder's documents beside it: adaptive-rag move-aside"
            )
        with Session(engine) as db:
            _give(settings, db, state.identifier)


def pair_new(settings: ServerSettings, connection: Connection) -> None:
    """Give a newly filled folder and database an identifier of their own."""
    identifier = new_id()
    connection.execute(delete(Installation))
    connection.execute(insert(Installation), {"id": identifier})
    replace_text(settings.data / _FILE, f"{identifier}\n")


def move_aside(settings: ServerSettings, engine: Engine) -> list[Aside]:
    """Move folders without a collection or document in the database to the folder `aside`; delete nothing.

    Folder and database belong together afterwards. No server or worker may run meanwhile.
    """
    target = settings.data.absolute() / "aside" / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    moved = []
    with FileLock(settings.data / _LOCK), Session(engine) as db:
        for folder in collection_folders(settings.data):
            if db.get(Collection, folder.path.name) is None:
                moved.append(_move(folder.path, target, settings))
                continue
            with folder.changing():  # an upload in progress has its row before this goes on
                db.rollback()
                rows = db.scalars(select(Document).where(Document.collection_id == folder.path.name)).all()
                moved += [_move(path, target, settings) for path in folder.unknown(rows)]
        _give(settings, db, db.scalar(select(Installation.id)) or new_id())
    return moved


def collections_without_files(settings: ServerSettings, engine: Engine) -> list[str]:
    """Return the names of the collections that have documents in the database but no folder."""
    with Session(engine) as db:
        filed = select(Collection).where(
            Collection.id.in_(select(Document.collection_id).where(Document.digest != ""))
        )
        return sorted(
            row.name for row in db.scalars(filed) if not folder_of(settings.data, row.id).documents.is_dir()
        )


def _read(settings: ServerSettings) -> str | None:
    try:
        return (settings.data / _FILE).read_text(encoding="ascii").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The file {str(settings.data / _FILE)!r} cannot be read: {error}. It names the database that "
            "the folder belongs to. Where that is the one of the settings, delete the file."
        ) from error


def _give(settings: ServerSettings, db: Session, identifier: str) -> None:
    if db.get(Installation, identifier) is None:
        db.add(Installation(id=identifier))
        db.commit()
    if _read(settings) != identifier:
        replace_text(settings.data / _FILE, f"{identifier}\n")


def _move(path: Path, target: Path, settings: ServerSettings) -> Aside:
    place = target / path.relative_to(settings.data.absolute())
    make_folder(place.parent)
    files = sum(each.is_file() for each in path.rglob("*"))
    path.replace(place)
    return Aside(path, place, files)
