"""The table of stores: what every row must do, and what an own store can do."""

import pytest
from fastmcp import Client

from adaptive_rag.cli.mcp import _LocalReader
from adaptive_rag.errors import InputError
from adaptive_rag.index.index import STORES, Index, open_source
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.index.postgres.source import PostgresIndex
from adaptive_rag.index.sources import list_sources, read_chunks, remove_sources
from adaptive_rag.server.mcp import build_mcp
from adaptive_rag.source import ChunkSource, Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Vectors
from tests.conftest import TOWN


class SearchOnly:
    """A store with the methods that each must have, and no others."""

    def __init__(self) -> None:
        self._index = MemoryIndex.from_texts(TOWN)

    def search(self, queries: list[str], *, limit: int) -> list[list[Candidate]]:
        return self._index.search(queries, limit=limit)

    def vectors(self, ids: list[str]) -> Vectors:
        return self._index.vectors(ids)

    def sentences(self, ids: list[str]) -> list[Sentences]:
        return self._index.sentences(ids)


@pytest.fixture
def own_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STORES, "town", lambda *_: MemoryIndex.from_texts(TOWN, source="docs/town.txt"))
    monkeypatch.setitem(STORES, "plain", lambda *_: SearchOnly())


def test_a_row_opens_something_that_can_be_searched() -> None:
    # those of PostgreSQL are opened in test_postgres_store.py, where a server runs
    own = {scheme for scheme, opener in STORES.items() if opener not in (Index.open, PostgresIndex.open)}
    for scheme in own:
        source = open_source(f"{scheme}://anything")
        assert isinstance(source, ChunkSource), f"{scheme}: it lacks a method of ChunkSource"
        [found] = source.search(["a question"], limit=3)
        assert all({"dense", "sparse"} <= candidate["scores"].keys() for candidate in found)


@pytest.mark.usefixtures("own_stores")
async def test_the_documents_of_an_own_store_are_listed_and_read() -> None:
    source, chunks = read_chunks("town://kb", "town.txt")
    assert source == "docs/town.txt" and [chunk["text"] for chunk in chunks] == list(TOWN)
    reader = _LocalReader({"index": "town://kb"}, "")
    async with Client(build_mcp(lambda: reader)) as agent:
        listed = (await agent.call_tool("list_documents")).structured_content
        assert listed["documents"] == [{"document": source, "passages": len(TOWN), "notes": []}]
        read = (await agent.call_tool("read_document", {"document": source})).structured_content
        assert read["text"] == "\n".join(TOWN)


@pytest.mark.usefixtures("own_stores")
def test_an_own_store_says_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="cannot list its chunks"):
        read_chunks("plain://kb", "town.txt")
    with pytest.raises(InputError, match="cannot list its documents"):
        list_sources("plain://kb")
    with pytest.raises(InputError, match="removed where it keeps them"):
        remove_sources("town://kb", ["docs/town.txt"])
