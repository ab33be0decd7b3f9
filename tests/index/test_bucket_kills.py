"""A writer to a bucket is killed at one of its requests: readers see a whole state, and the next run goes on.

By default some moments are tried; BUCKET_KILLS=all tries all 30.
"""

import os
import re
import shutil
import signal
import subprocess
from concurrent.futures import Future
from pathlib import Path

import pytest

from adaptive_rag.errors import IndexingError, IndexMismatchError
from adaptive_rag.index import Index, lease
from adaptive_rag.index.bucket import Bucket
from adaptive_rag.index.manifest import HOLDER
from tests.index.made import build, found, open_index, texts_in, write_files
from tests.index.test_crash import run_python
from tests.s3_server import Network

OLD = {f"{n}.txt": f"Old note {n} on tides." for n in range(6)}
# One as it was, one under another name, one gone, three changed, three new.
NEW = {"0.txt": OLD["0.txt"], "moved.txt": OLD["1.txt"]}
NEW |= {f"{n}.txt": f"New note {n} on tides." for n in range(3, 9)}

# The run that is killed, at which of its requests of a kind, and whether the store gets that one and answers
# it ("after") or not ("before").
MOMENTS = [
    ("change", "PUT .*/data/", 2, "after"),
    ("change", "PUT .*/manifest.json", 1, "after"),
    ("change", "PUT .*/lock.json", 3, "before"),  # let go
    ("rebuild", "PUT .*/manifest.json", 1, "before"),
]
MORE_MOMENTS = [
    ("change", "PUT .*/lock.json", 1, "before"),
    ("change", "PUT .*/lock.json", 1, "after"),
    ("renewing", "PUT .*/lock.json", 4, "after"),
    ("change", "PUT .*/data/", 1, "before"),  # the rows of the file that was renamed
    ("change", "PUT .*/_transactions/", 2, "before"),
    ("change", "PUT .*/_versions/", 2, "before"),
    ("change", "PUT .*/_versions/", 2, "after"),
    ("change", "PUT .*/_deletions/", 1, "before"),
    ("change", "PUT .*/_deletions/", 1, "after"),
    ("change", "PUT .*/_versions/", 3, "after"),  # old rows are removed
    ("change", "PUT .*/part_0_invert", 1, "before"),
    ("change", "PUT .*/metadata.lance", 1, "after"),
    ("change", "PUT .*/_versions/", 4, "after"),  # the word index is in
    ("change", "GET .*/_versions/.*manifest", 2, "before"),  # the first checksum
    ("change", "PUT .*/manifest.json", 1, "before"),
    ("change", "PUT .*/manifest.copy.json", 1, "before"),
    ("change", "PUT .*/data/", 4, "after"),  # files that are joined
    ("change", "PUT .*/_versions/", 5, "before"),
    ("change", "PUT .*/_versions/", 6, "after"),  # indexes over the joined files
    ("change", "PUT .*/manifest.json", 2, "before"),
    ("change", "PUT .*/manifest.json", 2, "after"),
    ("change", "PUT .*/lock.json", 3, "after"),
    ("rebuild", "PUT .*/_versions/", 1, "after"),
    ("rebuild", "PUT .*/data/", 1, "after"),
    ("rebuild", "POST .*delete", 1, "before"),  # the table before the last
    ("first", "PUT .*/_versions/", 2, "after"),
]
ALL = os.environ.get("BUCKET_KILLS") == "all"

SCRIPT = """
    import sys
    from adaptive_rag.index import lease
    from tests.index.made import build

    run, docs, kb = sys.argv[1:]
    lease.RENEW_SECONDS = 0.005 if run == "renewing" else 600
    build(docs, kb, rebuild=run == "rebuild")
"""


def run_until(network: Network, request: str, number: int, when: str, *arguments: object) -> list[str]:
    """Run the script and kill it at its nth request of a kind; return the requests that were answered."""
    process: Future[subprocess.Popen[str]] = Future()
    asked, answered = list[str](), list[str]()

    def is_moment(line: str, at: str) -> bool:
        if at != when or not re.match(request, line) or len(asked) != number:
            return False
        process.result().kill()
        process.result().wait()
        return True

    def before(line: str) -> str:
        if re.match(request, line):
            asked.append(line)
        return "drop" if is_moment(line, "before") else ""

    def after(line: str) -> None:
        answered.append(line)
        is_moment(line, "after")

    with pytest.MonkeyPatch.context() as armed:
        armed.setattr(network, "fault", before)
        armed.setattr(network, "answered", after)
        process.set_result(run_python(SCRIPT, *arguments, wait=False))
        _, said = process.result().communicate(timeout=120)
    assert process.result().returncode == -signal.SIGKILL, said
    return answered


@pytest.mark.few(1)
@pytest.mark.parametrize(("run", "request_", "number", "when"), [*MOMENTS, *(MORE_MOMENTS if ALL else [])])
def test_after_a_kill_readers_see_one_whole_state_and_the_next_run_completes_it(
    kb: str,
    tmp_path: Path,
    network: Network,
    monkeypatch: pytest.MonkeyPatch,
    run: str,
    request_: str,
    number: int,
    when: str,
) -> None:
    monkeypatch.setattr("adaptive_rag.index.index.FOLLOWED_SECONDS", 0.0)
    docs, rebuild, bucket = write_files(tmp_path / "docs", OLD), run == "rebuild", Bucket(kb)
    for turn in range({"first": 0, "rebuild": 2}.get(run, 1)):
        build(docs, kb, rebuild=turn == 1)
    reader = None if run == "first" else open_index(kb)
    shutil.rmtree(docs)
    write_files(docs, NEW)

    answered = run_until(network, request_, number, when, run, docs, kb)
    if reader is None:
        with pytest.raises(IndexMismatchError, match="is still empty"):
            open_index(kb)
    else:
        published = any(re.match("PUT .*/manifest.json", line) for line in answered)
        # a lease is renewed beside the run, wherever that is
        whole = [OLD, NEW] if run == "renewing" else [NEW if published else OLD]
        assert texts_in(kb) in [sorted(state.values()) for state in whole]
        assert sorted(chunk["text"] for chunk in reader.chunks()) == texts_in(kb)
    if bucket.read(HOLDER) not in (None, lease.FREE):
        with pytest.raises(
            IndexingError, match=r"being written by process .*; the lock of a killed process expires"
        ):
            build(docs, kb, wait_seconds=0)

    monkeypatch.setattr(lease, "LEASE_SECONDS", 1.0)
    build(docs, kb, rebuild=rebuild)
    assert texts_in(kb) == sorted(NEW.values())
    assert found(open_index(kb), ["new note 8"], limit=1)[0][0] == NEW["8.txt"]
    assert Index.check(kb, deep=True).healthy
    assert build(docs, kb).unchanged == len(NEW)
