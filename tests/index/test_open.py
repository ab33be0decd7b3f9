"""Which place a run searches, and that it is opened once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from typer.testing import CliRunner

from adaptive_rag import Index
from adaptive_rag.cli.app import app
from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError, IndexingError, IndexMismatchError
from adaptive_rag.index import IndexReport, describe, describe_fields
from adaptive_rag.index.index import STORES, _open_once, narrow_to, open_source, source_of
from adaptive_rag.index.location import Folder
from adaptive_rag.index.manifest import read_manifest
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.index.open_index import OpenedIndex
from adaptive_rag.index.sources import list_sources
from adaptive_rag.models.embeddings import EMBEDDINGS
from tests.index.made import HashEmbeddings


@pytest.fixture(autouse=True)
def _nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    _open_once.cache_clear()
    yield
    _open_once.cache_clear()


def build(uri: str, *names: str) -> IndexReport:
    return Index.build([Document(f"This is {name}.", metadata={"source": name}) for name in names], uri)


def test_a_live_index_is_searched_as_it_is(town: MemoryIndex) -> None:
    assert source_of(make_context(index=town)) is town


def test_an_index_is_opened_once_by_whatever_path_it_is_named_and_two_do_not_mix(tmp_path: Path) -> None:
    build("kb", "a")
    build("two", "b")
    source = source_of(make_context(index="kb"))
    assert source is source_of(make_context(index="kb", k=7))
    assert source is source_of(make_context(index=str(tmp_path / "kb")))
    assert source is not source_of(make_context(index="two"))
    build("kb", "b")
    assert isinstance(source, Index) and set(source.sources()) == {"a", "b"}, "it sees what was indexed since"


class ToyEmbeddings(HashEmbeddings):
    name = "toy:model"


def check_that_a_new_model_is_followed(uri: str, patch: pytest.MonkeyPatch, **options: Any) -> None:
    """Rebuild an index with another model while it is open, searched and not searched yet."""
    patch.setitem(EMBEDDINGS, "toy", lambda _: ToyEmbeddings())
    documents = [[Document(f"This is {name}.", metadata={"source": name})] for name in "ab"]
    Index.build(documents[0], uri, **options)
    context = make_context(index=uri)
    searched, unused = source_of(context), _open_once.__wrapped__(uri, None, None, None)
    assert isinstance(searched, OpenedIndex) and len(searched.search(["this"], limit=1)[0]) == 1
    begun = {"index_version": searched.version}
    Index.build(documents[1], uri, embeddings="toy:model", rebuild=True)
    pinned = source_of(context, begun)
    assert isinstance(pinned, OpenedIndex) and set(pinned.sources()) == {"a"}, "a question keeps its version"
    again = source_of(context)
    assert isinstance(again, OpenedIndex) and isinstance(again.embeddings, ToyEmbeddings)
    assert [each["source"] for each in again.search(["this"], limit=1)[0]] == ["b"]
    assert source_of(context) is open_source(uri) is again
    for source in (searched, unused):
        with pytest.raises(IndexMismatchError, match="Open it again"):
            source.search(["this"], limit=1)


@pytest.mark.parametrize("shards", [None, 2])
def test_an_index_that_was_rebuilt_with_another_model_is_opened_again(
    monkeypatch: pytest.MonkeyPatch, shards: int | None
) -> None:
    check_that_a_new_model_is_followed("kb", monkeypatch, shards=shards)


def test_a_relative_path_means_the_folder_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        build("kb", name)
        source = source_of(make_context(index="kb"))
        assert isinstance(source, Index) and list(source.sources()) == [name]


def test_a_store_with_a_scheme_of_its_own_is_listed_and_described(
    monkeypatch: pytest.MonkeyPatch, town: MemoryIndex
) -> None:
    monkeypatch.setitem(STORES, "toy", lambda uri, embeddings: town)
    assert {each.source: each.chunks for each in list_sources("toy://town")} == town.sources()
    assert describe("toy://town")["chunks"] == len(town) and describe_fields("toy://town") == {}
    for command in ("list", "info", "doctor"):
        result = CliRunner().invoke(app, [command, "--index", "toy://town"])
        assert result.exit_code == 0, result.output
    with pytest.raises(
        ConfigurationError, match=r"such as s3://bucket/kb or gs://bucket/kb or az://bucket/kb"
    ):
        list_sources("toi://town")


def test_what_cannot_be_opened_is_tried_again() -> None:
    with pytest.raises(IndexMismatchError, match="There is no index"):
        source_of(make_context(index="kb"))
    build("kb", "a")
    assert isinstance(source_of(make_context(index="kb")), Index)


def test_the_documents_of_a_run_are_searched_alone_though_the_index_holds_others_or_gets_them_later() -> None:
    runs = [{"a"}, {"b", "c"}, {"a", "b", "c"}]
    for names, narrowed in [(names, narrow_to(build("kb", *names), "kb", None)) for names in runs]:
        assert isinstance(narrowed, Index)
        [found] = narrowed.search(["this"], limit=10)
        assert {candidate["source"] for candidate in found} == narrowed.sources().keys() == names


def test_a_run_that_read_nothing_leaves_nothing_to_ask() -> None:
    with pytest.raises(IndexingError, match="No document could be read"):
        narrow_to(IndexReport(), "kb", None)


def test_an_index_that_is_begun_while_it_is_looked_for_is_no_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(str(tmp_path / "kb"), "one")
    looks, read = list[str](), Folder.read

    def read_too_early(self: Folder, name: str) -> bytes | None:
        looks.append(name)
        return None if looks == ["manifest.json"] else read(self, name)

    monkeypatch.setattr(Folder, "read", read_too_early)
    assert read_manifest(Folder(tmp_path / "kb")) is not None
