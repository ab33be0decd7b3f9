"""Reads, splits and embeds on the workers of a Ray cluster; the calling run plans, locks and writes."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import ConfigurationError, IndexingError, import_extra
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.index.manifest import Settings, SourceRecord
from adaptive_rag.index.plan import Work, content_key
from adaptive_rag.index.progress import Meter
from adaptive_rag.index.read_ahead import reading_ahead
from adaptive_rag.index.row_maker import Contents, Result, make_rows
from adaptive_rag.index.table import DOC, to_arrow
from adaptive_rag.index.vectorize import Vectorizer
from adaptive_rag.ingest import Failure, hash_file
from adaptive_rag.ingest.archives import on_disk
from adaptive_rag.models.embeddings import load_embeddings
from adaptive_rag.models.onnx import OnnxEmbeddings, load_minilm

if TYPE_CHECKING:
    import pyarrow as pa


PACKAGE = "adaptive-rag"
# A task takes one core of its node, and this many bytes for the models, the file that is read and its rows.
TASK_MEMORY = 1_000_000_000
# A lost worker loses its task, so a task is some seconds of work or one file. In a small run, tasks are
# smaller, so that every worker gets some.
MOST_BYTES, FEWEST_BYTES, SOURCES_PER_TASK, TASKS_EACH = 256_000, 8_000, 64, 8
TASKS_AHEAD = 2  # for each task that can run at once
RETRIES = 3
CONNECT_SECONDS, CHECK_SECONDS, POLL_SECONDS = 5.0, 120.0, 1.0
# The longest time that a cluster may be without a usable node.
WITHOUT_NODES_SECONDS = 60.0
FILES_CHECKED = 3
LOCAL, ANY = "local", "auto"


@dataclass(frozen=True, slots=True)
class Batch:
    """The results of a worker for some sources, in the order of the sources, and the worker's node."""

    node: str
    parts: list[Failure | SourceRecord]
    rows: pa.Table | None
    seconds: float
    embedded: int


@contextmanager
def open_cluster(address: str, work: Sequence[Work]) -> Iterator[Any]:
    """Connect to the cluster at an address, or start one on this machine, and yield the Ray module.

    At the end, the cluster is disconnected. If the program was connected to a cluster before, that one is
    used and stays connected.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigurationError: there is no cluster, or it cannot be used: it has another version of Ray, Python
            or this package, or no node with a core and the memory that a task takes.
        IndexingError: a node cannot read the documents.
    """
    ray, is_ours = connect_cluster(address, "Indexing by Ray")
    try:
        check_nodes(ray, work)
        yield ray
    finally:
        if is_ours:
            ray.shutdown()


def run_each(address: str, function: Callable[..., Any], calls: Mapping[str, Sequence[Any]]) -> Iterator[Any]:
    """Run a function on workers, once for each list of arguments, and yield the results as they come.

    If a worker is lost, another one gets its call, `RETRIES` times.
    """
    with open_cluster(address, ()) as ray:
        task = ray.remote(num_cpus=1, memory=TASK_MEMORY, max_retries=RETRIES)(function)
        spread = task.options(scheduling_strategy="SPREAD")
        running = {spread.remote(*arguments): name for name, arguments in calls.items()}
        try:
            while running:
                _wait_for_nodes(ray)
                done, _ = ray.wait(list(running), timeout=POLL_SECONDS)
                for reference in done:
                    name = running.pop(reference)
                    try:
                        yield ray.get(reference)
                    except ray.exceptions.RayTaskError as error:
                        raise error.cause from None
                    except ray.exceptions.RayError as error:
                        raise IndexingError(
                            f"The worker that built {name} was lost {RETRIES + 1} times. Published work is "
                            "kept. Run the same command again to continue from there."
                        ) from error
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def connect_cluster(address: str, purpose: str) -> tuple[Any, bool]:
    """Return the connected Ray module, and whether this call made the connection."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address == LOCAL:
        # This keeps Ray's servers on the loopback interface, on Linux too. A cluster runs the code of anyone
        # who can reach it.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    else:
        # Otherwise Ray tries for a quarter of an hour to reach an address without a cluster; one try is 40 s.
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")
    ray: Any = import_extra("ray", extra="ray", purpose=purpose)
    if ray.is_initialized():
        return ray, False
    _connect(ray, address)
    return ray, True


class Cluster:
    """Sends sources to the workers of a cluster, and yields the rows that they make.

    `seconds` is the time that the workers spent inside the models, `embedded` is the number of texts.
    """

    def __init__(self, ray: Any, embeddings: str | Embeddings) -> None:
        self.seconds = 0.0
        self.embedded = 0
        self._ray = ray
        self._names = dict[str, str]()
        self._embeddings: Any = embeddings
        if isinstance(embeddings, Embeddings):
            try:
                self._embeddings = ray.put(embeddings)
            except TypeError as error:
                raise ConfigurationError(
                    f"The embedding model {type(embeddings).__name__} cannot be sent to the workers of a "
                    "cluster. Pass it by its name, such as 'openai:text-embedding-3-small'."
                ) from error

    def make_tables(
        self, work: Sequence[Work], settings: Settings, contents: Contents, meter: Meter
    ) -> Generator[Result | pa.Table, None, None]:
        """Read and embed sources on the workers, and yield their records before their rows.

        Ray repeats the task of a lost worker or node on another one. If that fails too, the sources of the
        task are tried one by one, so that only the bad source fails.
        """
        errors = self._ray.exceptions
        lost_errors = (
            errors.WorkerCrashedError,
            errors.OutOfMemoryError,
            errors.NodeDiedError,
            errors.LocalRayletDiedError,
            errors.ObjectLostError,
        )
        task = self._ray.remote(num_cpus=1, memory=TASK_MEMORY, max_retries=RETRIES)(embed_sources)
        contents_of_size = defaultdict[int | None, Contents](dict)
        for content, (source, record) in contents.items():
            contents_of_size[record.size][content] = source, record
        waiting, running = deque(make_batches(work, _wait_for_nodes(self._ray))), dict[Any, list[Work]]()
        try:
            while waiting or running:
                free_slots = TASKS_AHEAD * _wait_for_nodes(self._ray) - len(running)
                for batch in [waiting.popleft() for _ in range(min(free_slots, len(waiting)))]:
                    candidates = {
                        key: first for item in batch for key, first in contents_of_size[item.size].items()
                    }
                    sent = [_absolute(item) for item in batch]
                    running[task.remote(sent, settings, self._embeddings, candidates)] = batch
                done, _ = self._ray.wait(list(running), timeout=POLL_SECONDS)
                for reference in done:
                    batch = running.pop(reference)
                    try:
                        yield from self._settle(batch, self._ray.get(reference), contents, meter)
                    except errors.RayTaskError as error:
                        raise error.cause from None
                    except lost_errors:
                        if len(batch) > 1:
                            waiting += [[item] for item in batch]
                            continue
                        reason = f"ended the worker that indexed it, {RETRIES + 1} times"
                        yield Failure(batch[0].source, f"{reason}. Index it without --ray to see why")
                        meter.finish_source(batch[0].size)
        finally:
            for reference in running:
                self._ray.cancel(reference, force=True)

    def _settle(
        self, batch: Sequence[Work], result: Batch, contents: Contents, meter: Meter
    ) -> Iterator[Result | pa.Table]:
        from pyarrow import array, compute, string

        repeated_docs, rows = list[str](), result.rows
        for item, part in zip(batch, result.parts, strict=True):
            meter.finish_source(item.size)
            if isinstance(part, Failure):
                yield part
                continue
            content = content_key(part.path, part.hash)
            if content is not None and part.copy_of is None:
                owner, first = contents.setdefault(content, (item.source, part))
                if owner != item.source:  # another worker has embedded the same content meanwhile
                    repeated_docs.append(part.doc)
                    part = replace(part, doc=first.doc, chunks=first.chunks, copy_of=owner)
            yield item, part
        if rows is not None and repeated_docs:
            rows = rows.filter(compute.invert(compute.is_in(rows[DOC], array(repeated_docs, string()))))
        self.seconds += result.seconds
        self.embedded += result.embedded
        if rows is not None and len(rows):
            meter.chunks += len(rows)
            meter.nodes[self._name(result.node)] += len(rows)
            yield rows

    def _name(self, node: str) -> str:
        """Return the name of a node, followed by the start of its id if other nodes have the same name."""
        if node not in self._names:
            name_of = {entry["NodeID"]: entry["NodeName"] for entry in self._ray.nodes()}
            count = Counter(name_of.values())
            for id_, name in name_of.items():
                self._names[id_] = name if count[name] == 1 else f"{name}/{id_[:6]}"
        return self._names[node]


def embed_sources(
    work: Sequence[Work], settings: Settings, embeddings: str | Embeddings, contents: Mapping[Any, Any]
) -> Batch:
    """Read, split and embed sources in a worker; a source with one of the `contents` becomes a copy."""
    import pyarrow as pa
    import ray

    model = _load_model(embeddings) if isinstance(embeddings, str) else embeddings
    if settings.sentence_vectors:
        load_minilm().workers = 1
    vectorizer = Vectorizer(model, settings, EmbeddingCache(None))
    parts, tables = list[Any](), []
    with reading_ahead(work) as texts:
        for result in make_rows(texts, settings, vectorizer, dict(contents), Meter(1, None)):
            if isinstance(result, list):
                tables.append(to_arrow(result, settings.dimension))
            else:
                parts.append(result[1] if isinstance(result, tuple) else result)
    rows = pa.concat_tables(tables).combine_chunks() if tables else None
    node = ray.get_runtime_context().get_node_id()
    return Batch(node, parts, rows, vectorizer.seconds, vectorizer.embedded)


def make_batches(work: Sequence[Work], slots: int) -> list[list[Work]]:
    """Group sources into batches for `slots` workers, largest first; equal contents share a batch."""
    sizes = Counter(item.size for item in work)
    groups = dict[Any, list[Work]]()
    for item in work:
        key: Any = item.source
        if item.file and item.stamp and sizes[item.size] > 1:
            with suppress(OSError, IndexingError):  # the worker reports the error
                key = content_key(item.stamp.path, hash_file(item.file.path))
        groups.setdefault(key, []).append(item)
    target = sum(item.size for item in work) // (TASKS_EACH * slots)
    max_bytes = min(max(target, FEWEST_BYTES), MOST_BYTES)
    batches, batch_bytes, batch_sources = list[list[Work]](), 0, 0
    for group in groups.values():
        if not batches or batch_bytes + group[0].size > max_bytes or batch_sources == SOURCES_PER_TASK:
            batches.append([])
            batch_bytes = batch_sources = 0
        batches[-1] += group
        batch_bytes, batch_sources = batch_bytes + group[0].size, batch_sources + 1
    return sorted(batches, key=lambda batch: -sum(item.size for item in batch))


@cache
def _load_model(spec: str) -> Embeddings:
    """Load a model once for all tasks of a worker, to run on its one core."""
    model = load_embeddings(spec)
    if isinstance(model, OnnxEmbeddings):
        model.workers = 1
    return model


def _absolute(item: Work) -> Work:
    """Return the source with an absolute path, for workers in another folder."""
    if item.file is None:
        return item
    return replace(item, file=replace(item.file, path=Path(os.path.abspath(item.file.path))))


def _connect(ray: Any, address: str) -> None:
    """Connect to a cluster, or start one."""
    options = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        ray.init(LOCAL, include_dashboard=False, **options)
        return
    if address != ANY:
        host, _, port = address.rpartition(":")
        if not host or "/" in host or not port.isdigit():
            raise ConfigurationError(
                f"ray = {address!r} is not the address of a Ray cluster: expected HOST:PORT of its head "
                f"node, {ANY!r} for the one on this machine, or {LOCAL!r} to start one."
            )
        try:
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        except (OSError, OverflowError, UnicodeError) as error:
            raise ConfigurationError(
                f"No Ray cluster answers at {address!r}: {error}. Expected HOST:PORT of its head node, as "
                "`ray start --head` prints it."
            ) from error
    try:
        ray.init(address, **options)
    except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
        message = " ".join(str(error).split())
        raise ConfigurationError(
            f"The Ray cluster {address!r} cannot be used: {message.rstrip('.')}. This program must run on "
            "one of its nodes, with the same versions of Ray and Python."
        ) from error


def check_nodes(ray: Any, work: Sequence[Work]) -> None:
    """Raise an error if a node lacks the package or the documents, or if no node has room for a task."""

    # A nested function is sent to the nodes as code, so that a node without this package can run it.
    def look(package: str, files: list[tuple[str, int]]) -> tuple[str | None, list[str]]:
        import os
        from importlib import metadata

        def is_there(file: str, size: int) -> bool:
            return os.path.exists(file) and os.path.getsize(file) == size

        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:
            version = None
        return version, [file for file, size in files if not is_there(file, size)]

    errors = ray.exceptions
    nodes = [node for node in ray.nodes() if node["Alive"] and _count_slots([node])]
    if not nodes:
        raise ConfigurationError(
            f"No node of the Ray cluster has a core and {TASK_MEMORY / 1e9:g} GB of memory, which a task "
            "takes. Start nodes with more: ray start --address HOST:PORT --memory BYTES"
        )
    own_version, files = metadata.version(PACKAGE), list[tuple[str, int]]()
    for item in work:
        if item.file is not None and item.stamp is not None and len(files) < FILES_CHECKED:
            files.append((os.path.abspath(on_disk(item.file.path)), item.stamp.size))
    on_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    look_from = ray.remote(num_cpus=0)(look)
    tasks = [
        (node["NodeName"], look_from.options(scheduling_strategy=on_node(node["NodeID"], soft=False)))
        for node in nodes
    ]
    for name, answer in [(name, task.remote(PACKAGE, files)) for name, task in tasks]:
        try:
            version, missing = ray.get(answer, timeout=CHECK_SECONDS)
        except (errors.TaskUnschedulableError, errors.NodeDiedError, errors.LocalRayletDiedError):
            continue  # the node has left the cluster meanwhile
        except errors.RayError as error:
            message = str(error).partition("\n")[0]
            raise IndexingError(f"The node {name} of the Ray cluster does not answer: {message}") from error
        if version != own_version:
            actual = f"has version {version} of" if version else "does not have"
            raise ConfigurationError(
                f"The node {name} of the Ray cluster {actual} the package adaptive-rag; this program is "
                f"version {own_version}. Install it there: pip install 'adaptive-rag[ray]=={own_version}'"
            )
        if missing:
            raise IndexingError(
                f"The node {name} of the Ray cluster cannot read {missing[0]}, or has another file there. "
                "Put the documents on a disk that all nodes share, under the same path, or leave --ray out."
            )


def _wait_for_nodes(ray: Any) -> int:
    """Wait until the cluster has a usable node, and return how many tasks it can run at a time."""
    started = time.monotonic()
    while not (slots := _count_slots(ray.nodes())):
        if time.monotonic() - started > WITHOUT_NODES_SECONDS:
            raise IndexingError(
                f"The Ray cluster has had no usable node for {WITHOUT_NODES_SECONDS:.0f} s. Published work "
                "is kept. Start nodes, and run the same command again to continue from there."
            )
        time.sleep(POLL_SECONDS)
    return slots


def _count_slots(nodes: Sequence[Mapping[str, Any]]) -> int:
    """Return how many tasks fit on the cores and the memory of the nodes."""
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    return sum(int(min(each.get("CPU", 0), each.get("memory", 0) // TASK_MEMORY)) for each in resources)
