"""An index of shards: several indexes, each on any machine, that one question asks side by side."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xxhash import xxh3_64_intdigest

from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index.database import Database
from adaptive_rag.index.location import Location

if TYPE_CHECKING:
    from adaptive_rag.index.build import IndexReport
    from adaptive_rag.index.plan import Documents, Progress

SHARDS = "shards.json"
MOST_SHARDS = 1000
COUNTED = ("added", "updated", "moved", "removed", "unchanged", "copies", "chunks", "total_chunks")


@dataclass(frozen=True, slots=True)
class Part:
    """The share of some documents that belongs to one shard."""

    documents: Documents
    shard: int
    shards: int

    def holds(self, source: str) -> bool:
        """Tell whether a document belongs to the shard, by its name."""
        return shard_of(source, self.shards) == self.shard


def shard_of(source: str, shards: int) -> int:
    """Return the shard that a document belongs to: it depends on its name alone."""
    return xxh3_64_intdigest(source.encode(errors="surrogatepass")) % shards


def shard_uris(location: Location) -> list[str]:
    """Return where the shards of an index lie; none where it is no index of shards.

    Raises:
        IndexMismatchError: the file that says how many there are cannot be read.
    """
    content = None if isinstance(location, Database) else location.read(SHARDS)
    if content is None:
        return []
    try:
        count = int(json.loads(content)["shards"])
    except (ValueError, KeyError, TypeError) as error:
        raise IndexMismatchError(
            f"The index {location.uri} is damaged: its {SHARDS} cannot be read ({error}). It holds one line "
            'such as {"shards": 4}: the number of the folders shard-0, shard-1, ... beside it.'
        ) from error
    return [f"{location.uri}/shard-{number}" for number in range(count)]


def refuse_shards(location: Location, what: str, instead: str = "") -> None:
    """Refuse to do with an index of shards what is done with each of them.

    Raises:
        ConfigurationError: it is one; `what` is what was to be done, `instead` what does it with all.
    """
    if uris := shard_uris(location):
        raise ConfigurationError(
            f"{what} is for one shard at a time: {location.uri} is an index of {len(uris)} shards. "
            + (instead or f"Name each of them, such as {uris[0]}.")
        )


def build_shards(
    documents: Documents,
    location: Location,
    shards: int | None,
    *,
    ray: str | None,
    progress: Callable[[Progress], None] | None,
    on_wait: Callable[[str], None] | None,
    **settings: Any,
) -> IndexReport:
    """Bring each shard up to date with its share of the documents; by Ray each in a process of its own.

    A run that breaks off leaves the last complete state of each shard.

    Raises:
        ConfigurationError: the number of shards is another one than the index has, or the place cannot hold
            shards.
        IndexingError: nothing could be read.
    """
    from adaptive_rag.index.build import build_index, nothing_read
    from adaptive_rag.index.plan import Progress

    uris = _lay_out(location, shards)
    if isinstance(documents, Iterable) and not isinstance(documents, str):
        documents = list[Any](documents)
    parts = [Part(documents, number, len(uris)) for number in range(len(uris))]
    started, reports = time.perf_counter(), list[Any]()
    if ray:
        from adaptive_rag.index.ray_shards import build_by_cluster

        made = build_by_cluster(ray, parts, uris, settings)
    else:
        pairs = zip(parts, uris, strict=True)
        made = (build_index(part, uri, on_wait=on_wait, **settings) for part, uri in pairs)
    for report in made:
        reports.append(report)
        if progress is not None:
            done, seconds = sum(each.chunks for each in reports), time.perf_counter() - started
            left, rate = len(uris) / len(reports), done / max(seconds, 1e-9)
            progress(Progress(done, round(done * left), rate, seconds * (left - 1), uris[len(reports) - 1]))
    joined = join_reports(reports, time.perf_counter() - started)
    if joined.failed and not joined.total_chunks:
        raise nothing_read(joined.failed)
    return joined


def build_part(part: Part, uri: str, folder: str, settings: Mapping[str, Any]) -> IndexReport:
    """Build one shard in a worker, in which files are named as they are from the folder of the caller."""
    from adaptive_rag.index.build import build_index

    with contextlib.chdir(folder):
        return build_index(part, uri, **settings)


def join_facts(uri: str, facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what an index of shards holds, from what each of them does."""
    sizes, recalls = [each["bytes"] for each in facts], [each["recall"] for each in facts if each["recall"]]
    rough = any(each["vector_search"] == "approximate" for each in facts)
    return {
        **facts[0],
        "index": uri,
        "shards": len(facts),
        "sources": sum(each["sources"] for each in facts),
        "chunks": sum(each["chunks"] for each in facts),
        "bytes": None if None in sizes else sum(sizes),
        "vector_search": "approximate" if rough else "exact",
        # that of the shard that finds least
        "recall": min(recalls, key=lambda recall: recall["recall_at_10"], default=None),
        "updated": max(each["updated"] for each in facts),
        "notes": [note for each in facts for note in each["notes"]],
    }


def _lay_out(location: Location, shards: int | None) -> list[str]:
    """Return where the shards lie; of a new index, write how many there are."""
    from adaptive_rag.index.lock import refuse_foreign_folder
    from adaptive_rag.index.manifest import MANIFEST
    from adaptive_rag.private import make_folder

    if isinstance(location, Database):
        raise ConfigurationError(
            f"{location.uri} is a database: shards are folders, or prefixes of a bucket."
        )
    if uris := shard_uris(location):
        if shards not in (None, len(uris)):
            raise ConfigurationError(
                f"shards = {shards}, but the index {location.uri} has {len(uris)}. Leave it out, or make "
                "another index beside this one."
            )
        return uris
    if shards is None or not 1 <= shards <= MOST_SHARDS:
        raise ConfigurationError(f"shards = {shards!r} is not usable: expected 1 to {MOST_SHARDS}.")
    if location.stamp(MANIFEST) is not None:
        raise ConfigurationError(
            f"The index {location.uri} has no shards. Make one that has beside it, under another name."
        )
    refuse_foreign_folder(location)
    if location.path is not None:
        make_folder(location.path)
    location.write(SHARDS, json.dumps({"shards": shards}).encode())
    return shard_uris(location)


def join_reports(reports: Sequence[IndexReport], seconds: float) -> IndexReport:
    """Return one report; what every shard came across, such as an unreadable archive, is named once."""
    from adaptive_rag.index.build import IndexReport

    joined = IndexReport(seconds=seconds)
    for report in reports:
        for name in (*COUNTED, "texts_embedded", "embedding_seconds"):
            setattr(joined, name, getattr(joined, name) + getattr(report, name))
        for name in ("failed", "unknown", "sources", "notes"):
            held = getattr(joined, name)
            held += [each for each in getattr(report, name) if each not in held]
    for name in ("unknown", "sources"):
        getattr(joined, name).sort()
    return joined
