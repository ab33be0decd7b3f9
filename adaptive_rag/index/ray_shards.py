"""The shards of an index on a Ray cluster: built by its workers, and held by its actors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adaptive_rag.errors import IndexingError, IndexUnreachableError
from adaptive_rag.index.build import IndexReport
from adaptive_rag.index.cluster import RETRIES, TASK_MEMORY, check_nodes, connect_cluster, connected
from adaptive_rag.index.disk_cache import DiskCache
from adaptive_rag.index.shard import Shard
from adaptive_rag.index.shards import Part, build_part

# Of an actor: questions that it works on side by side, and how long one waits for it, with the time that it
# takes to start on another node.
CALLS_AT_ONCE, ANSWER_SECONDS = 8, 120.0


def build_by_cluster(
    address: str, parts: Sequence[Part], uris: Sequence[str], settings: Mapping[str, Any]
) -> Iterator[IndexReport]:
    """Have each shard of an index built by a worker, as they are done; a lost one is built on by another.

    Raises:
        IndexingError: a worker was lost again and again.
        ConfigurationError, MissingExtraError: as `open_cluster` says.
    """
    with connected(address, ()) as ray:
        task = ray.remote(num_cpus=1, memory=TASK_MEMORY, max_retries=RETRIES)(build_part)
        spread = task.options(scheduling_strategy="SPREAD")
        running = {
            spread.remote(part, uri, os.getcwd(), dict(settings)): uri
            for part, uri in zip(parts, uris, strict=True)
        }
        try:
            while running:
                [done], _ = ray.wait(list(running))
                uri = running.pop(done)
                try:
                    yield ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except ray.exceptions.RayError as error:
                    raise IndexingError(
                        f"The worker that built the shard {uri} was lost {RETRIES + 1} times: "
                        f"{str(error).partition(chr(10))[0]} Run the same command again: it goes on "
                        "from there."
                    ) from error
        finally:
            for each in running:
                ray.cancel(each, force=True)


def hold_shards(address: str, uris: Sequence[str], copies: DiskCache | None) -> ShardActors:
    """Have actors of a cluster open the shards of an index, and hold them as long as this process lasts.

    Raises:
        ConfigurationError, MissingExtraError: as `open_cluster` says.
    """
    ray, _ = connect_cluster(address, "Shards held by Ray")
    check_nodes(ray, ())
    return ShardActors(ray, uris, copies)


class ShardActors:
    """Shards of an index, each held by an actor, on as many nodes as there are; a lost one is begun anew."""

    def __init__(self, ray: Any, uris: Sequence[str], copies: DiskCache | None) -> None:
        self._ray, self._uris = ray, uris
        kept = {"max_restarts": -1, "max_task_retries": 1, "max_concurrency": CALLS_AT_ONCE}
        actor = ray.remote(Shard).options(**kept, scheduling_strategy="SPREAD")
        self._actors = [actor.remote(uri, copies) for uri in uris]

    def ask(self, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call `Shard.call` of several shards side by side, by their numbers, and return what each says.

        Raises:
            IndexUnreachableError: an actor was lost twice, or does not answer.
        """
        errors = self._ray.exceptions
        asked = {number: self._actors[number].call.remote(*call) for number, call in calls.items()}
        said = {}
        for number, one in asked.items():
            try:
                said[number] = self._ray.get(one, timeout=ANSWER_SECONDS)
            except errors.RayTaskError as error:
                raise error.cause from None
            except errors.RayError as error:
                why = " ".join(str(error).split())
                raise IndexUnreachableError(
                    f"The shard {self._uris[number]} does not answer, asked twice: {why} Look whether the "
                    "nodes of the Ray cluster have the memory that the shard takes."
                ) from error
        return said
