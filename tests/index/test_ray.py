"""Indexing by Ray: what the workers make is what one process makes, whoever is killed meanwhile.

By default some moments are tried; RAY_KILLS=all tries all of them.
"""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from adaptive_rag.errors import ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.index import Progress
from adaptive_rag.index.cluster import Cluster, open_cluster, run_each
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import complete_manifest
from adaptive_rag.index.plan import Stamp, Work
from adaptive_rag.index.table import connect
from adaptive_rag.ingest import SourceFile
from adaptive_rag.samples import samples_path
from tests.index.deadly import DeadlyEmbeddings, FailingEmbeddings, PoisonedEmbeddings
from tests.index.made import HashEmbeddings, build, open_index, write_files
from tests.index.test_crash import MANIFEST, SCRIPT, TABLE, run_python

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed")

ROOT = Path(__file__).parents[2]
OLD = {f"{n:02}.txt": f"Old note {n} on tides." for n in range(12)}
NEW = {f"{n:02}.txt": f"New note {n} on tides." for n in range(3, 15)}

ALL = os.environ.get("RAY_KILLS") == "all"
WORKER_MOMENTS = [("before", 1), ("on arrival", 0), ("after", 2), ("after", 1), ("before", 2), ("before", 3)]
WORKER_MOMENTS += [("after", 3)]
DRIVER_MOMENTS = [
    ("before", f"{TABLE}.copy"),
    ("after", f"{MANIFEST}.publish"),
    ("after", "adaptive_rag.index.cluster.Cluster.__init__"),
    ("after", f"{TABLE}.copy"),
    ("before", f"{MANIFEST}.publish"),
    ("after", f"{TABLE}.remove"),
    ("before", f"{TABLE}.index_words"),
    ("after", f"{TABLE}.optimize"),
]
NODE_MOMENTS = [1, 2, 3, 4, 5]
NODE = {"num_cpus": 2, "memory": 4_000_000_000, "object_store_memory": 100_000_000}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of one node on this machine, to which this process is connected."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # its servers on the loopback interface alone, which it looks at when it is imported
        environment.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        environment.setenv("PYTHONPATH", str(ROOT))
        import ray
        from ray.cluster_utils import Cluster as SimulatedCluster

        head = {**NODE, "include_dashboard": False}
        simulated = SimulatedCluster(initialize_head=True, head_node_args=head)
        try:
            ray.init(simulated.address, log_to_driver=False, logging_level="ERROR")
            yield simulated
        finally:
            ray.shutdown()
            simulated.shutdown()


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptive_rag.index.cluster.SOURCES_PER_TASK", 3)
    monkeypatch.setattr("adaptive_rag.index.run.SECONDS_PER_PUBLISH", 0.0)


def rows_in(uri: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of the version that is published, by the ids of the chunks; each is there once."""
    manifest = complete_manifest(open_location(uri))
    table = connect(str(uri)).open_table(manifest.table)
    table.checkout(manifest.version)
    rows = table.to_arrow().to_pylist()
    by_id = {row["id"]: row for row in rows}
    assert len(by_id) == len(rows) == manifest.chunks
    return by_id


def texts_of(uri: Path) -> list[str]:
    return sorted(row["text"] for row in rows_in(uri).values())


def records_in(uri: Path) -> dict[str, dict[str, Any]]:
    """Return what the manifest remembers of the sources, but for the time."""
    sources = complete_manifest(open_location(uri)).sources
    fields = ("hash", "doc", "chunks", "path", "size", "mtime_ns", "notes", "copy_of")
    return {name: {field: getattr(each, field) for field in fields} for name, each in sources.items()}


def assert_same_rows(made: Path, expected: Path) -> None:
    rows, wanted = rows_in(made), rows_in(expected)
    assert rows.keys() == wanted.keys()
    for id_, row in rows.items():
        vectors = [np.array(each.pop("vector")) for each in (row, wanted[id_])]
        assert np.abs(vectors[0] - vectors[1]).max() < 1e-6
        assert row == wanted[id_]


def test_an_index_made_by_ray_equals_that_of_one_process(tmp_path: Path, cluster: Any) -> None:
    (docs := tmp_path / "docs").mkdir()
    shutil.copy2(samples_path() / "sea_wall_debate.md", docs)
    faq = "question,answer\nWhen is the library open?,From nine to five.\nWho pays?,The town pays for it.\n"
    texts = {"copy of a note.txt": "A note.", "faq.csv": faq, "note.txt": "A note.", "empty.txt": ""}
    write_files(docs, texts)
    alone, together, seen = tmp_path / "alone", tmp_path / "together", list[Progress]()
    expected = build(docs, alone, sentence_vectors=True)
    report = build(docs, together, sentence_vectors=True, ray="auto", progress=seen.append)
    assert_same_rows(together, alone)
    assert records_in(together) == records_in(alone)
    counted = ("added", "copies", "chunks", "total_chunks", "sources", "notes", "unknown")
    assert [getattr(report, name) for name in counted] == [getattr(expected, name) for name in counted]
    assert set(map(str, report.failed)) == set(map(str, expected.failed))
    assert len(report.failed) == 1 and report.copies == 1
    assert sum(seen[-1].nodes.values()) == seen[-1].done == report.chunks
    assert [c["text"] for c in open_index(together).search(["a note"], limit=1)[0]] == ["A note."]


@pytest.mark.usefixtures("small_tasks")
def test_what_is_unchanged_is_left_and_what_changed_is_replaced(tmp_path: Path, cluster: Any) -> None:
    docs, kb = write_files(tmp_path / "docs", OLD), tmp_path / "kb"
    assert build(docs, kb, ray="auto").added == len(OLD)
    for name in OLD:
        (docs / name).unlink()
    write_files(docs, {**NEW, "11.txt": OLD["11.txt"], "moved.txt": OLD["00.txt"], "copy.txt": OLD["11.txt"]})
    report = build(docs, kb, ray="auto")
    assert (report.added, report.updated, report.moved, report.removed) == (4, 8, 1, 2)
    assert (report.unchanged, report.copies) == (1, 1)
    build(docs, tmp_path / "anew")
    assert_same_rows(kb, tmp_path / "anew")
    assert build(docs, kb, ray="auto").changed is False


@pytest.mark.few(1)
@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize(("when", "number"), WORKER_MOMENTS if ALL else WORKER_MOMENTS[:1])
def test_the_work_of_a_killed_worker_is_done_by_another(
    tmp_path: Path, cluster: Any, when: str, number: int
) -> None:
    # so many tasks that some worker has three of them
    texts = {f"{n:02}.txt": f"Note {n} on tides." for n in range(45)}
    docs, mark = write_files(tmp_path / "docs", texts), tmp_path / "killed"
    report = build(docs, tmp_path / "kb", embeddings=DeadlyEmbeddings(mark, when, number), ray="auto")
    assert mark.exists()
    assert (report.added, report.failed) == (len(texts), [])
    assert texts_of(tmp_path / "kb") == sorted(texts.values())


@pytest.mark.nightly
@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize(("when", "target"), DRIVER_MOMENTS if ALL else DRIVER_MOMENTS[:1])
def test_a_killed_run_leaves_whole_sources_and_the_next_goes_on(
    tmp_path: Path, cluster: Any, when: str, target: str
) -> None:
    docs, kb = write_files(tmp_path / "docs", OLD), tmp_path / "kb"
    build(docs, kb)
    shutil.rmtree(docs)
    write_files(docs, NEW)
    # what is called more than once is cut off in the middle of the run
    number = 2 if target.endswith(("copy", "publish")) else 1
    killed = run_python(SCRIPT, when, target, number, docs, kb, cluster.address, wait=False)
    assert killed.wait(timeout=300) == -signal.SIGKILL, killed.stderr and killed.stderr.read()
    present = texts_of(kb)
    assert len(present) == len(set(present)) and set(present) <= {*OLD.values(), *NEW.values()}
    done = sum(text in NEW.values() for text in present)
    report = build(docs, kb, ray="auto")
    assert texts_of(kb) == sorted(NEW.values())
    assert report.added + report.updated == len(NEW) - done


@pytest.mark.nightly
@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize("number", NODE_MOMENTS if ALL else NODE_MOMENTS[1:2])
def test_the_work_of_a_killed_node_is_done_by_another(tmp_path: Path, cluster: Any, number: int) -> None:
    node, seen = cluster.add_node(**NODE), list[Progress]()

    def look(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == number:
            cluster.remove_node(node, allow_graceful=False)

    docs = write_files(tmp_path / "docs", {**OLD, **NEW, **{f"more-{n}.txt": f"More {n}." for n in range(9)}})
    report = build(docs, tmp_path / "kb", ray="auto", progress=look)
    assert len(seen) >= number
    assert (report.added, report.failed) == (24, [])
    assert len(texts_of(tmp_path / "kb")) == 24


@pytest.mark.nightly
def test_a_file_that_ends_every_worker_fails_alone(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.cluster.RETRIES", 0)
    docs = write_files(tmp_path / "docs", {"a.txt": "A note.", "b.txt": "A poison.", "c.txt": "A tide."})
    report = build(docs, tmp_path / "kb", embeddings=PoisonedEmbeddings(), ray="auto")
    [failure] = report.failed
    assert failure.source.endswith("b.txt")
    assert failure.reason.startswith("ended the worker that indexed it, ")
    assert texts_of(tmp_path / "kb") == ["A note.", "A tide."]


def test_an_error_of_the_model_is_that_of_one_process(tmp_path: Path, cluster: Any) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    with pytest.raises(IndexingError, match=r"^The embedding model 'far:away' failed: connection refused$"):
        build(docs, tmp_path / "kb", embeddings=FailingEmbeddings(), ray="auto")


@pytest.mark.nightly
def test_the_command_starts_a_cluster_of_its_own(tmp_path: Path) -> None:
    write_files(tmp_path / "docs", OLD)
    command = [sys.executable, "-m", "adaptive_rag", "index", "docs", "--index", "kb", "--ray", "local"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert "12 added" in done.stdout and done.stderr == ""
    assert texts_of(tmp_path / "kb") == sorted(OLD.values())


@pytest.mark.nightly
@pytest.mark.usefixtures("small_tasks")
def test_an_interrupted_run_keeps_what_is_complete(tmp_path: Path, cluster: Any) -> None:
    docs, kb = write_files(tmp_path / "docs", OLD), tmp_path / "kb"

    def stop(progress: Progress) -> None:
        if progress.done > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        build(docs, kb, ray="auto", progress=stop)
    assert "6 sources are complete and kept" in caught.value.__notes__[0]
    assert len(texts_of(kb)) == 6
    assert build(docs, kb, ray="auto").added == 6


def test_shards_are_not_waited_for_where_no_node_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = MagicMock(**{"nodes.return_value": [], "wait.return_value": ([], [])})
    monkeypatch.setattr("adaptive_rag.index.cluster.WITHOUT_NODES_SECONDS", -1.0)
    monkeypatch.setattr("adaptive_rag.index.cluster.open_cluster", lambda *_: nullcontext(ray))
    with pytest.raises(IndexingError, match="no usable node"):
        list(run_each("auto", print, {"shard-0": ()}))
    ray.cancel.assert_called_once()


def work_of(path: str) -> list[Work]:
    return [Work(path, 5, SourceFile(Path(path), path), None, Stamp(path, 5, None))]


def test_a_node_that_lacks_the_documents_is_named(cluster: Any) -> None:
    with (
        pytest.raises(IndexingError, match=r"node \S+ of the Ray cluster cannot read /nowhere/a\.txt.*share"),
        open_cluster("auto", work_of("/nowhere/a.txt")),
    ):
        pass


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"PACKAGE": "no-such-package", "metadata.version": lambda _: "9.9"},
            r"does not have the package adaptive-rag.*pip install",
        ),
        (
            {"metadata.version": lambda _: "9.9"},
            r"has version 0\.\d+\.\d+ of the package adaptive-rag; this program is version 9\.9",
        ),
        ({"TASK_MEMORY": 10**15}, r"No node of the Ray cluster has a core and .* GB of memory"),
    ],
    ids=["no package", "other version", "no memory"],
)
def test_a_cluster_that_cannot_be_used_says_why(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], said: str
) -> None:
    for name, value in changed.items():
        monkeypatch.setattr(f"adaptive_rag.index.cluster.{name}", value)
    with pytest.raises(ConfigurationError, match=said), open_cluster("auto", []):
        pass


def test_a_model_that_cannot_be_sent_says_so(cluster: Any) -> None:
    import threading

    import ray

    model = HashEmbeddings()
    model.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="HashEmbeddings cannot be sent to the workers"):
        Cluster(ray, model)


@pytest.mark.nightly
def test_a_cluster_of_another_version_says_so(cluster: Any) -> None:
    script = (
        "import sys, ray; ray.__version__ = '2.0.0'\n"
        "from adaptive_rag.index.cluster import open_cluster\n"
        "with open_cluster(sys.argv[1], []): pass"
    )
    command = [sys.executable, "-c", script, cluster.address]
    failed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    last = failed.stderr.strip().splitlines()[-1]
    assert last.startswith("adaptive_rag.errors.ConfigurationError: The Ray cluster"), failed.stderr
    assert "2.0.0" in last and "with the same versions of Ray and Python" in last


@pytest.mark.parametrize("address", ["nonsense", "ray://127.0.0.1:10001", "host:port", "127.0.0.1:1"])
def test_wrong_addresses_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    docs = write_files(tmp_path / "docs", {"a.txt": "A note."})
    # this process may be connected to a cluster, and would use that
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    expected = rf"{re.escape(repr(address))}.*xpected HOST:PORT of its head node"
    with pytest.raises(ConfigurationError, match=expected):
        build(docs, tmp_path / "kb", ray=address)
    assert not (tmp_path / "kb").exists()


def test_ray_is_loaded_only_where_it_has_work_and_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    docs = write_files(tmp_path / "docs", {"a.txt": "A note."})
    with pytest.raises(MissingExtraError, match=r"pip install 'adaptive-rag\[ray\]'"):
        build(docs, tmp_path / "kb", ray="local")
    assert build(docs, tmp_path / "kb").added == 1
    assert build(docs, tmp_path / "kb", ray="local").unchanged == 1
