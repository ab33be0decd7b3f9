import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError, IndexingError, IndexUnreachableError, MissingExtraError
from adaptive_rag.index import Index, lease
from adaptive_rag.index.bucket import Bucket, ChangedError
from adaptive_rag.index.lock import write_lock
from adaptive_rag.index.sources import list_sources, remove_sources
from tests.index.conftest import use
from tests.index.made import HashEmbeddings, build, open_index, texts_in, write_files
from tests.index.test_crash import NEW, OLD, run_python
from tests.s3_server import Network


@pytest.mark.nightly
def test_of_many_writers_at_once_one_makes_an_object_and_one_replaces_it(kb: str) -> None:
    def swap(number: int) -> bool:
        try:
            bucket.swap("manifest.json", f"{turn} {number}".encode(), tag)
        except ChangedError:
            return False
        return True

    bucket = Bucket(kb)
    with ThreadPoolExecutor(8) as pool:
        for turn in range(3):
            before, tag = bucket.read_tagged("manifest.json")
            assert (before is None) == (turn == 0)
            assert sum(pool.map(swap, range(8))) == 1


def test_an_index_in_a_bucket_is_built_read_changed_checked_and_repaired(kb: str, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"1.txt": "Ebb.", "2.txt": "Neap."})
    assert build(docs, kb).added == 2
    write_files(docs, {"1.txt": "Flow."})
    report = build(docs, kb)
    assert (report.updated, report.unchanged) == (1, 1)
    assert texts_in(kb) == ["Flow.", "Neap."]
    assert Index.check(kb, deep=True).healthy
    remove_sources(kb, ["2.txt"])
    assert [each.source for each in list_sources(kb)] == [str(docs / "1.txt")]
    bucket = Bucket(kb)
    for name in bucket.names("chunks-1.lance/data"):
        bucket.write(f"chunks-1.lance/data/{name}", b"spoilt")
    assert not Index.check(kb).healthy
    assert Index.repair(kb, embeddings=HashEmbeddings()).lost == {}
    assert Index.check(kb, deep=True).healthy and texts_in(kb) == ["Flow."]


WRITE = """
    import sys
    from concurrent.futures import ThreadPoolExecutor
    from tests.index.made import build

    *folders, kb = sys.argv[1:]
    with ThreadPoolExecutor(len(folders)) as pool:
        list(pool.map(lambda folder: build(folder, kb, wait_seconds=120), folders))
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_writers_at_once_all_keep_their_documents(kb: str, tmp_path: Path, processes: int) -> None:
    write_at_once(kb, tmp_path, processes)
    assert Index.check(kb, deep=True).healthy


def write_at_once(kb: str, tmp_path: Path, processes: int) -> None:
    """Index folders at once, two in each of some processes."""
    texts = {f"{number}.txt": f"Tide table {number}." for number in range(2 * processes)}
    written = [write_files(tmp_path / name, {name: text}) for name, text in texts.items()]
    runs = [run_python(WRITE, *written[n::processes], kb, wait=False) for n in range(processes)]
    outputs = [run.communicate(timeout=120) for run in runs]
    assert [run.returncode for run in runs] == [0] * processes, outputs
    assert texts_in(kb) == sorted(texts.values())


@pytest.mark.nightly
def test_a_live_writer_is_waited_for_however_long_it_takes(kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 2.0)
    monkeypatch.setattr(lease, "RENEW_SECONDS", 0.2)
    heard: list[str] = []
    refused = pytest.raises(IndexingError, match=f"being written by process {os.getpid()} on")
    with write_lock(Bucket(kb), wait_seconds=0, on_wait=None), refused:
        take(kb, 4, heard)
    assert len(heard) == 1
    take(kb, 0, heard)
    assert len(heard) == 1, "who has finished lets go at once"


def take(kb: str, wait_seconds: float, heard: list[str]) -> None:
    with write_lock(Bucket(kb), wait_seconds=wait_seconds, on_wait=heard.append):
        pass


def test_a_writer_that_stood_still_learns_that_another_took_over(
    kb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr(lease, "RENEW_SECONDS", 600.0)
    docs = write_files(tmp_path / "docs", {"1.txt": "Ebb."})
    build(docs, kb)
    others = write_files(tmp_path / "others", {"2.txt": "Neap."})
    again = threading.Event()

    def meanwhile(_: object) -> None:
        if not again.is_set():
            again.set()
            build(others, kb)

    write_files(docs, {"1.txt": "Flow."})
    with pytest.raises(IndexingError, match=r"Another process has written .* Run the same command again"):
        build(docs, kb, progress=meanwhile)
    assert texts_in(kb) == ["Ebb.", "Neap."]
    build(docs, kb)
    assert texts_in(kb) == ["Flow.", "Neap."]
    assert Index.check(kb, deep=True).healthy


def test_a_question_reads_one_version_and_the_next_one_the_new_state(
    kb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write_files(tmp_path / "docs", {"1.txt": "Ebb."})
    build(docs, kb)
    index = open_index(kb)
    during = index.at(index.version)
    write_files(docs, {"1.txt": "Flow."})
    build(docs, kb)
    assert [chunk["text"] for chunk in index.chunks()] == ["Ebb."], "a bucket is not asked at every step"
    monkeypatch.setattr("adaptive_rag.index.index.FOLLOWED_SECONDS", 0.0)
    assert [chunk["text"] for chunk in index.chunks()] == ["Flow."]
    assert [chunk["text"] for chunk in during.chunks()] == ["Ebb."]


@pytest.mark.few(1)
@pytest.mark.parametrize("fault", ["drop", "cut", "mute"])
def test_a_network_that_fails_now_and_then_loses_nothing(
    kb: str, tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    network.seconds = 0.01
    # one GET in seven, drawn: runs of as many requests each would all fail at the same one; and the
    # answer to a PUT of the manifest, which is written all the same
    spoilt, drawn = list[str](), random.Random(7)

    def fail(line: str) -> str:
        of_kind = "PUT" in line and "/manifest.json" in line if fault == "mute" else line.startswith("GET")
        if of_kind and (fault == "mute" or drawn.random() < 1 / 7) and line not in spoilt:
            spoilt.append(line)
            return fault
        return ""

    monkeypatch.setattr(network, "fault", fail)
    for _ in range(20):
        try:
            build(docs, kb)
            break
        except (IndexingError, IndexUnreachableError) as error:
            assert fault == "cut" and "broke off" in str(error)
    assert spoilt
    monkeypatch.setattr(network, "fault", lambda _: "")
    assert texts_in(kb) == sorted(OLD.values())
    assert Index.check(kb, deep=True).healthy


def test_credentials_that_expire_during_a_run_are_named_and_the_state_is_kept(
    kb: str, tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    build(docs, kb)
    write_files(docs, NEW)
    monkeypatch.setattr(network, "fault", lambda line: "ExpiredToken" if "/data/" in line else "")
    with pytest.raises(
        IndexingError, match=r"the credentials have expired.*last complete state is untouched"
    ):
        build(docs, kb)
    monkeypatch.setattr(network, "fault", lambda _: "ExpiredToken")
    with pytest.raises(IndexUnreachableError, match="the credentials have expired"):
        open_index(kb)
    monkeypatch.setattr(network, "fault", lambda _: "")
    assert texts_in(kb) == sorted(OLD.values())
    build(docs, kb)
    assert texts_in(kb) == sorted(NEW.values())


def test_what_a_bucket_refuses_is_said_in_a_line(
    kb: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write_files(tmp_path / "docs", {"1.txt": "Ebb."})
    build(docs, kb)
    use(monkeypatch, port, "reader")
    assert texts_in(kb) == ["Ebb."], "to search one needs no right to write"
    with pytest.raises(IndexUnreachableError, match=r"do not allow it.*indexing also those to write"):
        build(docs, kb)
    with pytest.raises(IndexUnreachableError, match="there is no such bucket"):
        open_index("s3://nowhere/kb")
    use(monkeypatch, port, "writer", "wrong")
    with pytest.raises(IndexUnreachableError, match="AWS_SECRET_ACCESS_KEY does not belong to"):
        open_index(kb)
    use(monkeypatch, port, "nobody")
    with pytest.raises(IndexUnreachableError, match="the store does not know this AWS_ACCESS_KEY_ID"):
        open_index(kb)
    use(monkeypatch, 1)
    monkeypatch.setattr("adaptive_rag.index.bucket.RETRIES", 1)
    with pytest.raises(IndexUnreachableError, match=r"nothing answers there.*AWS_ENDPOINT_URL"):
        open_index(kb)
    with pytest.raises(ConfigurationError, match="expected a folder, or a bucket such as s3://"):
        open_index("ftp://bucket/kb")


def test_a_store_that_ignores_conditions_is_refused(kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(bucket: Bucket, name: str, content: bytes, tag: object) -> None:
        bucket.write(name, content)

    monkeypatch.setattr(Bucket, "swap", careless)
    with pytest.raises(IndexingError, match="ignores the condition of a write"):
        take(kb, 0, [])


def test_without_the_package_a_bucket_names_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore.store", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adaptive-rag\[s3\]'"):
        open_index("s3://wiki/kb")
