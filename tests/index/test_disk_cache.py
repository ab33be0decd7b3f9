"""Copies of a bucket's files: always one whole version, within their bound, and never in the way."""

import errno
import os
import shutil
import signal
from pathlib import Path

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index import Index, disk_cache
from adaptive_rag.index.bucket import Bucket
from adaptive_rag.index.disk_cache import DiskCache, open_disk_cache
from adaptive_rag.index.index import _open_once, source_of
from adaptive_rag.index.location import bytes_in
from tests.index.made import HashEmbeddings, build, write_files
from tests.index.test_crash import run_python
from tests.s3_server import Network


@pytest.fixture(autouse=True)
def large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search every table as a large one is searched, which reads its files at each question."""
    monkeypatch.setattr("adaptive_rag.index.row_reader.IN_MEMORY_UP_TO", 0)
    monkeypatch.setattr("adaptive_rag.index.index.FOLLOWED_SECONDS", 0.0)


@pytest.fixture
def copies(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "copies", 10**9)


@pytest.fixture
def docs(kb: str, tmp_path: Path) -> Path:
    docs = write_files(tmp_path / "docs", {"1.txt": "Ebb.", "2.txt": "Neap."})
    build(docs, kb)
    return docs


def opened(kb: str, copies: DiskCache) -> Index:
    """Open an index and wait until what is to be copied is, and nothing is read any more."""
    index = Index.open(kb, HashEmbeddings(), copies)
    copied()
    index.reader()._await_indexes()
    return index


def copied() -> None:
    disk_cache._copy_pool().submit(lambda: None).result(timeout=60)


def found(index: Index, word: str) -> list[str]:
    [hits] = index.search([word], limit=5)
    return sorted(hit["text"] for hit in hits)


def versions(copies: DiskCache) -> list[Path]:
    return [place for place in copies.folder.glob("*/*") if place.is_dir()]


def test_once_copied_a_search_asks_the_bucket_for_nothing_but_news(
    docs: Path, kb: str, network: Network, copies: DiskCache
) -> None:
    index = opened(kb, copies)
    assert index.reader().copy is not None
    network.asked.clear()
    assert found(index, "ebb") == ["Ebb.", "Neap."]
    assert {line.split()[0] for line in network.asked} == {"HEAD"}
    network.asked.clear()
    assert found(opened(kb, copies), "ebb") == ["Ebb.", "Neap."]
    assert not [line for line in network.asked if ".lance/" in line], "a later process begins with the copy"


def test_a_new_version_is_followed_and_shares_the_files_that_stayed(
    docs: Path, kb: str, copies: DiskCache
) -> None:
    index = opened(kb, copies)
    during = index.at(index.version)
    write_files(docs, {"3.txt": "Flow."})
    build(docs, kb)
    assert found(index, "flow") == ["Ebb.", "Flow.", "Neap."], "at once, from the bucket"
    copied()
    copy = index.reader().copy
    assert copy is not None
    assert found(index, "flow") == ["Ebb.", "Flow.", "Neap."]
    assert found(during, "flow") == ["Ebb.", "Neap."]
    assert len(versions(copies)) == 2
    data = [file for file in copy.folder.rglob("*.lance") if "data" in file.parts]
    assert sorted(file.stat().st_nlink for file in data) == [1, 2]


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from adaptive_rag.index import Index, disk_cache
    from tests.index.made import HashEmbeddings

    disk_cache.FILES_AT_ONCE = 1
    synced, sync = [], os.fsync

    def fsync(descriptor):
        synced.append(descriptor)
        if len(synced) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        sync(descriptor)

    os.fsync = fsync
    index = Index.open(sys.argv[1], HashEmbeddings(), disk_cache.DiskCache(Path(sys.argv[2]), 10**9))
    disk_cache._copy_pool().submit(lambda: None).result()
"""


def test_a_copy_that_was_broken_off_is_never_read_and_is_gone_on_with(
    docs: Path, kb: str, copies: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = run_python(KILLED, kb, copies.folder)
    assert killed.returncode == -signal.SIGKILL, killed.stderr and killed.stderr.read()
    [partial] = versions(copies)
    assert partial.suffix == ".partial"
    whole = {str(file.relative_to(partial)) for file in partial.rglob("*") if file.is_file()}
    whole = {name for name in whole if not name.endswith(".part")}
    assert len(whole) == 2
    read: list[str] = []
    pieces = Bucket.pieces
    monkeypatch.setattr(Bucket, "pieces", lambda self, name: read.append(name) or pieces(self, name))
    index = opened(kb, copies)
    assert index.reader().copy is not None
    assert read and whole.isdisjoint(read)
    assert found(index, "ebb") == ["Ebb.", "Neap."]
    [version] = versions(copies)
    assert not version.suffix


def test_a_full_disk_leaves_the_bucket_to_be_read_and_is_said_once(
    docs: Path, kb: str, copies: DiskCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    index = opened(kb, copies)
    assert found(index, "ebb") == found(index, "ebb") == ["Ebb.", "Neap."]
    assert index.reader().copy is None
    assert [record.getMessage() for record in caplog.records] == [
        f"The index {kb} is read from the bucket at every search: No space left on device"
    ]
    assert versions(copies) == [], "what was copied so far is given back"


def test_files_that_are_not_as_the_manifest_says_are_not_kept(
    docs: Path, kb: str, copies: DiskCache, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = Bucket(kb)
    name = f"chunks-1.lance/data/{bucket.names('chunks-1.lance/data')[0]}"
    content = bytearray(bucket.read(name) or b"")
    content[8] ^= 1
    bucket.write(name, bytes(content))
    assert opened(kb, copies).reader().copy is None
    assert f"{name} is not as it was written" in caplog.text
    assert versions(copies) == []


def test_what_was_not_used_for_longest_makes_room_but_for_what_is_in_use(
    docs: Path, kb: str, copies: DiskCache, caplog: pytest.LogCaptureFixture
) -> None:
    for number in (2, 3):
        build(docs, f"{kb}-{number}")
    first = opened(kb, copies)
    tight = DiskCache(copies.folder, int(2.5 * bytes_in(copies.folder)))
    second, third = opened(f"{kb}-2", tight), opened(f"{kb}-3", tight)
    assert [each.reader().copy is not None for each in (first, second, third)] == [True, True, False]
    assert "other copies in use" in caplog.text
    assert found(third, "ebb") == ["Ebb.", "Neap."]
    kept = second.reader().copy
    del first
    assert opened(f"{kb}-3", tight).reader().copy is not None
    assert kept is not None and kept.folder.exists()
    assert bytes_in(copies.folder) <= tight.most_bytes
    assert len(versions(copies)) == 2


def test_a_version_larger_than_the_limit_removes_no_copy(
    docs: Path, kb: str, copies: DiskCache, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(kb, copies)
    text = "\n\n".join(f"Wave {n} breaks." for n in range(9000))
    build(write_files(tmp_path / "larger", {"1.txt": text}), f"{kb}-2")
    tight = DiskCache(copies.folder, bytes_in(copies.folder))
    assert opened(f"{kb}-2", tight).reader().copy is None
    assert "GB of bucket.cache_gb" in caplog.text
    assert len(versions(copies)) == 1


def test_copies_that_somebody_removes_are_no_loss(docs: Path, kb: str, copies: DiskCache) -> None:
    index = opened(kb, copies)
    shutil.rmtree(copies.folder)
    assert found(index, "ebb") == ["Ebb.", "Neap."]
    copy = opened(kb, copies).reader().copy
    assert copy is not None
    next(file for file in copy.folder.rglob("*") if file.is_file()).unlink()
    assert copies.find(Bucket(kb), index.reader().manifest) is None
    assert not copy.folder.exists(), "a part of a version is never read"


def test_a_folder_that_cannot_be_written_is_said_and_the_bucket_is_read(
    docs: Path, kb: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    index = opened(kb, DiskCache(tmp_path / "file" / "copies", 10**9))
    assert found(index, "ebb") == ["Ebb.", "Neap."]
    assert "is read from the bucket at every search" in caplog.text


def test_the_setting_reaches_the_index_in_a_bucket_and_no_folder(
    docs: Path, kb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.index.load_model_of", lambda *rest: HashEmbeddings())
    build(docs, tmp_path / "kb")

    def source(place: object) -> Index:
        opened = source_of(make_context(index=str(place)))
        assert isinstance(opened, Index) and opened is source_of(make_context(index=str(place)))
        copied()
        return opened

    try:
        assert source(kb).reader().copy is None
        monkeypatch.setenv("ADAPTIVE_RAG_BUCKET__CACHE_GB", "0.5")
        monkeypatch.setenv("ADAPTIVE_RAG_BUCKET__CACHE", str(tmp_path / "copies"))
        copy = source(kb).reader().copy
        assert copy is not None and copy.folder.is_relative_to(tmp_path / "copies")
        assert source(tmp_path / "kb").reader().copy is None
    finally:
        _open_once.cache_clear()


def test_where_a_lock_cannot_be_shared_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "SHARES_LOCKS", False)
    with pytest.raises(ConfigurationError, match="cannot be used on Windows"):
        open_disk_cache(None, 1.5)
