"""Runs the shards of an index on a Ray cluster, each in an actor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adaptive_rag.errors import IndexUnreachableError
from adaptive_rag.index.cluster import check_nodes, connect_cluster
from adaptive_rag.index.disk_cache import DiskCache
from adaptive_rag.index.sharding.shard import Shard

# Calls that an actor runs in parallel, and the longest wait for a result, which includes the time to restart
# the actor on another node.
CALLS_AT_ONCE, ANSWER_SECONDS = 8, 120.0


class ShardActors:
    """The shards of an index, each in an actor that holds it until this process ends.

    The actors are spread over all nodes of the cluster and restarted if lost.
    """

    def __init__(self, address: str, uris: Sequence[str], disk_cache: DiskCache | None) -> None:
        self._uris = uris
        self._ray, _ = connect_cluster(address, "Shards held by Ray")
        check_nodes(self._ray, ())
        options = {"max_restarts": -1, "max_task_retries": 1, "max_concurrency": CALLS_AT_ONCE}
        actor = self._ray.remote(Shard).options(**options, scheduling_strategy="SPREAD")
        self._actors = [actor.remote(uri, disk_cache) for uri in uris]

    def call(self, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call `Shard.call` of several shards in parallel, and return the results by shard number."""
        errors = self._ray.exceptions
        pending = {number: self._actors[number].call.remote(*call) for number, call in calls.items()}
        results = {}
        for number, future in pending.items():
            try:
                results[number] = self._ray.get(future, timeout=ANSWER_SECONDS)
            except errors.RayTaskError as error:
                raise error.cause from None
            except errors.RayError as error:
                reason = " ".join(str(error).split())
                raise IndexUnreachableError(
                    f"The shard {self._uris[number]} does not answer, after two tries: {reason} Check that "
                    "the nodes of the Ray cluster have the memory that the shard takes."
                ) from error
        return results
