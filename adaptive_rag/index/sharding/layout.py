"""The layout of an index of shards: where each shard is, and which documents belong to it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xxhash import xxh3_64_intdigest

from adaptive_rag.errors import ConfigurationError, IndexingError, IndexMismatchError
from adaptive_rag.index.location import Location, open_location
from adaptive_rag.index.postgres.database import Database

SHARDS = "shards.json"
MOST_SHARDS = 1000


@dataclass(frozen=True, slots=True)
class Share:
    """The documents of a build, restricted to the share of one shard."""

    documents: Any
    shard: int
    shards: int

    def contains(self, source: str) -> bool:
        """Return whether a document belongs to the shard."""
        return shard_of(source, self.shards) == self.shard


def shard_of(source: str, shards: int) -> int:
    """Return the number of the shard that a document belongs to; it depends only on the document's name."""
    return xxh3_64_intdigest(source.encode(errors="surrogatepass")) % shards


def shard_uris(location: Location) -> list[str]:
    """Return the URIs of the shards of an index; an empty list if it has no shards."""
    try:
        content = None if isinstance(location, Database) else location.read(SHARDS)
    except OSError as error:
        raise IndexingError(f"The index {location.uri} cannot be read: {error.strerror}.") from error
    if content is None:
        return []
    try:
        count = int(json.loads(content)["shards"])
    except (ValueError, KeyError, TypeError) as error:
        raise IndexMismatchError(
            f"The index {location.uri} is damaged: its {SHARDS} cannot be read ({error}). Expected one line "
            'such as {"shards": 4}, with the number of the folders shard-0, shard-1, ... next to it.'
        ) from error
    return [f"{location.uri}/shard-{number}" for number in range(count)]


def whole_of(uri: str) -> str:
    """Return the URI of the index that a URI is a shard of, or the URI itself if it is no shard."""
    whole, _, name = uri.rpartition("/")
    is_shard = whole and re.fullmatch(r"shard-\d+", name) and uri in shard_uris(open_location(whole))
    return whole if is_shard else uri


def refuse_shards(location: Location, operation: str, alternative: str = "") -> None:
    """Raise an error for an index of shards, which names the operation and an alternative."""
    if uris := shard_uris(location):
        raise ConfigurationError(
            f"{operation} is for one shard at a time: {location.uri} is an index of {len(uris)} shards. "
            + (alternative or f"Name each of them, such as {uris[0]}.")
        )


def join_facts(uri: str, facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join the descriptions of shards to that of the whole index."""
    sizes = [shard_facts["bytes"] for shard_facts in facts]
    recalls = [shard_facts["recall"] for shard_facts in facts if shard_facts["recall"]]
    is_approximate = any(shard_facts["vector_search"] == "approximate" for shard_facts in facts)
    return {
        **facts[0],
        "index": uri,
        "shards": len(facts),
        "sources": sum(shard_facts["sources"] for shard_facts in facts),
        "chunks": sum(shard_facts["chunks"] for shard_facts in facts),
        "bytes": None if None in sizes else sum(sizes),
        "vector_search": "approximate" if is_approximate else "exact",
        # of the shard with the lowest recall
        "recall": min(recalls, key=lambda recall: recall["recall_at_10"], default=None),
        "updated": max(shard_facts["updated"] for shard_facts in facts),
        "notes": [note for shard_facts in facts for note in shard_facts["notes"]],
    }
