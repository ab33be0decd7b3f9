"""The table of stores: what every row must do."""

from adaptive_rag.index.index import STORES, Index, open_source
from adaptive_rag.index.postgres.source import PostgresIndex
from adaptive_rag.source import ChunkSource


def test_a_row_opens_something_that_can_be_searched() -> None:
    # those of PostgreSQL are opened in test_postgres_store.py, where a server runs
    own = {scheme for scheme, opener in STORES.items() if opener not in (Index.open, PostgresIndex.open)}
    for scheme in own:
        source = open_source(f"{scheme}://anything")
        assert isinstance(source, ChunkSource), f"{scheme}: it lacks a method of ChunkSource"
        [found] = source.search(["a question"], limit=3)
        assert all({"dense", "sparse"} <= candidate["scores"].keys() for candidate in found)
