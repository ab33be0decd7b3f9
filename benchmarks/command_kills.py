"""Kills the server's commands at random moments: migrations, backups while the server runs, and restores.

    python -m benchmarks.command_kills [--moments 30]

Each is done once without a kill, to know how long it takes, and then killed at `--moments` moments of that
time. What a kill leaves must not hinder the next attempt: a migration is finished by it; a backup is whole
whenever it has its name, the one before included; a restore brings back all that the backup holds.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from uuid import uuid4

from alembic.script import ScriptDirectory
from sqlalchemy import Engine, MetaData, Table, func, insert, select
from sqlalchemy.orm import Session

from adaptive_rag.server.backup import back_up, restore
from adaptive_rag.server.database import MIGRATIONS, newest_revision, open_database, revision_of
from adaptive_rag.server.settings import ServerSettings, read_server_settings
from adaptive_rag.server.tables import Collection, now
from tests.server.processes import ServerProcess, wait_for

DOCUMENTS, COLLECTIONS = 40, 2000
# A forked process has nothing to import: each kill falls into the work itself.
FORK = multiprocessing.get_context("fork")
Work = Callable[[], object]


def main() -> None:
    """Kill each kind of work, and print what was left of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--moments", type=int, default=30)
    moments = parser.parse_args().moments
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        kill_migrations(Path(folder), moments, chance)
        kill_backups_and_restores(Path(folder), moments, chance)


def kill_migrations(folder: Path, moments: int, chance: random.Random) -> None:
    """Kill migrations of an empty folder, and of one of each older revision that holds collections."""
    known = [script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()]
    befores = [*known[1:], None]

    def before(number: int) -> str | None:
        return befores[number % len(befores)]

    def migration(number: int) -> Work:
        settings = read_server_settings(data=folder / f"migration-{number}")
        if old := before(number):
            _fill_tables(open_database(settings, old))
        return partial(open_database, settings)

    def check(number: int) -> None:
        engine = open_database(read_server_settings(data=folder / f"migration-{number}"))
        assert revision_of(engine) == newest_revision()
        with Session(engine) as db:
            assert db.scalar(select(func.count(Collection.name.distinct()))) == (
                COLLECTIONS if before(number) else 0
            )
        engine.dispose()

    kill_often("migrations", migration, check, moments, chance)


def _fill_tables(engine: Engine) -> None:
    """Put collections into a database whose tables may be older than ours."""
    table = Table("collections", MetaData(), autoload_with=engine)
    rows = [
        {"id": uuid4().hex, "name": f"pier-{number}", "description": "", "hidden": [], "created": now()}
        for number in range(COLLECTIONS)
    ]
    with engine.begin() as connection:
        connection.execute(insert(table), rows)
    engine.dispose()


def kill_backups_and_restores(folder: Path, moments: int, chance: random.Random) -> None:
    """Kill backups of a server to which documents are uploaded, and restores of the last one."""
    server = ServerProcess(folder)
    server.start()
    server.http.post("/collections", json={"name": "kills"})
    settings, archive = read_server_settings(data=server.data), folder / "all.tar"
    _fill(server)
    uploads = FORK.Process(target=_upload, args=(server,))
    uploads.start()

    def backup(number: int) -> Work:
        if number % 2:
            archive.unlink(missing_ok=True)
        return partial(back_up, settings, archive)

    def check_backup(number: int) -> None:
        if archive.exists():
            restore(_empty(settings, f"backup-{number}"), archive)
        counts = back_up(settings, archive)
        assert restore(_empty(settings, f"next-{number}"), archive) == counts

    try:
        kill_often("backups", backup, check_backup, moments, chance)
    finally:
        uploads.kill()
        uploads.join()
        server.stop()
    counts = back_up(settings, archive)

    def restoring(number: int) -> Work:
        return partial(restore, _empty(settings, f"restore-{number}"), archive)

    def check_restore(number: int) -> None:
        place = _empty(settings, f"restore-{number}")
        if not place.data.exists():  # otherwise it was whole before the kill
            assert restore(place, archive) == counts
        assert back_up(place, folder / "again.tar") == counts

    kill_often("restores", restoring, check_restore, moments, chance)


def _fill(server: ServerProcess) -> None:
    job = ""
    for number in range(DOCUMENTS):
        job = server.upload(f"{number}.md", f"The mark of pier {number} stands at {number} metres.\n" * 20)
    wait_for(lambda: server.job(job)["ended"], "the documents are indexed", 300)
    thread = server.http.post("/collections/kills/threads", json={}).json()["id"]
    asked = {"question": "At how many metres is the mark of pier 7?"}
    server.http.post(f"/threads/{thread}/ask", json=asked).raise_for_status()


def _upload(server: ServerProcess) -> None:
    for number in itertools.count():
        server.upload(f"{number % 10}.md", f"The mark of pier {number} stands at {number} metres.\n")
        time.sleep(0.5)


def _empty(settings: ServerSettings, name: str) -> ServerSettings:
    """Return the settings of a server without data that has the key of another one."""
    return read_server_settings(data=settings.data.with_name(name), backup_key=settings.signing_key)


def kill_often(
    name: str,
    prepare: Callable[[int], Work],
    check: Callable[[int], None],
    moments: int,
    chance: random.Random,
) -> None:
    """Kill work at random moments of the time that it takes, and check what was left; print how it went."""
    prepare(-2)()  # it imports what is needed
    work = prepare(-1)
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    done, wrong = 0, list[str]()
    for number in range(moments):
        done += _kill_within(prepare(number), chance.uniform(0, seconds))
        try:
            check(number)
        except Exception as error:  # whatever it is, it is counted and shown
            wrong.append(repr(error)[:300])
    print(
        f"{name}: {moments} kills within {seconds:.2f} s, {done} after the end; {len(wrong)} wrong",
        flush=True,
    )
    for error in wrong:
        print(f"  {error}")


def _kill_within(work: Work, seconds: float) -> bool:
    """Do work in a process that is killed so many seconds after its begin; tell whether it was at its end."""
    begun = FORK.Event()
    process = FORK.Process(target=_begin, args=(work, begun))
    process.start()
    begun.wait()
    process.join(seconds)
    process.kill()
    process.join()
    return process.exitcode == 0


def _begin(work: Work, begun: Event) -> None:
    begun.set()
    work()


if __name__ == "__main__":
    main()
