"""The shards of an index on a Ray cluster, each held by an actor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adaptive_rag.errors import IndexUnreachableError
from adaptive_rag.index.cluster import check_nodes, connect_cluster
from adaptive_rag.index.disk_cache import DiskCache
from adaptive_rag.index.sharding.shard import Shard

# Of an actor: questions that it works on side by side, and how long one waits for it, with the time that it
# takes to start on another node.
CALLS_AT_ONCE, ANSWER_SECONDS = 8, 120.0


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
