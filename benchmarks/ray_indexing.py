"""How fast Ray's workers index beside one process, and what a chunk costs, in one run.

    python -m benchmarks.ray_indexing [--pairs 5] [--files 80] [--nodes 4]

All clusters are on this machine. A rate is that of a cluster that runs and whose workers have loaded the
model: what starting costs is printed apart. Runs in one process and by Ray follow each other in pairs, and
each ratio is the median of those of the pairs. Processor seconds are those of all processes that take part:
with Ray its own servers too.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from adaptive_rag.index import Index
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.samples import samples_path

WORKERS = 2
SENTENCES_PER_FILE, PER_PARAGRAPH = 60, 6
STORE_BYTES, NODE_BYTES = 200_000_000, 4_000_000_000


@dataclass(frozen=True)
class Run:
    """What indexing all documents took."""

    chunks: int
    seconds: float
    processor: float
    """Seconds of all processes."""
    own: float
    """Those of this process."""


def make_documents(folder: Path, files: int, seed: int) -> None:
    """Write texts of the words of the sample documents, no sentence twice, over those that are there."""
    words = (samples_path() / "sea_wall_debate.md").read_text(encoding="utf-8").split()
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        sentences = [
            " ".join(draw.choices(words, k=draw.randint(8, 26))).capitalize() + "."
            for _ in range(SENTENCES_PER_FILE)
        ]
        paragraphs = [
            " ".join(sentences[at : at + PER_PARAGRAPH]) for at in range(0, len(sentences), PER_PARAGRAPH)
        ]
        (folder / f"{number:04}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")


def processor_seconds(*, of_ray: bool) -> float:
    """Return the processor time so far of this process and those it started, with or without Ray's."""
    total = sum(psutil.Process().cpu_times()[:4])
    for process in psutil.Process().children(recursive=True):
        try:
            if of_ray or "adaptive_rag.ingest.worker" in " ".join(process.cmdline()):
                total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def index(documents: Path, place: Path, *, by_ray: bool) -> Run:
    """Make an index anew, and measure it."""
    shutil.rmtree(place, ignore_errors=True)
    processor, own = processor_seconds(of_ray=by_ray), time.process_time()
    report = Index.build(documents, place, ray="auto" if by_ray else None)
    processor, own = processor_seconds(of_ray=by_ray) - processor, time.process_time() - own
    return Run(report.chunks, report.seconds, processor, own)


@contextmanager
def connected(nodes: int, cores: int, documents: Path, place: Path) -> Iterator[tuple[float, float]]:
    """Start a cluster on this machine; give the seconds that it and its workers took."""
    import ray
    from ray.cluster_utils import Cluster

    started = time.perf_counter()
    node = {
        "num_cpus": cores,
        "memory": NODE_BYTES,
        "object_store_memory": STORE_BYTES,
    }
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(**node)
        ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
        up = time.perf_counter() - started
        index(documents, place, by_ray=True)
        yield up, time.perf_counter() - started - up
    finally:
        ray.shutdown()
        cluster.shutdown()


def compare(documents: Path, files: int, place: Path, pairs: int) -> list[tuple[Run, Run]]:
    """Index in one process and by Ray, one after the other, beginning with either in turn.

    Each pair has documents of its own: a worker that lives on remembers the vectors of the last texts.
    """
    found = []
    for number in range(pairs):
        make_documents(documents, files, seed=1 + number)
        order = (False, True) if number % 2 else (True, False)
        runs = {by_ray: index(documents, place, by_ray=by_ray) for by_ray in order}
        found.append((runs[False], runs[True]))
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--files", type=int, default=80)
    parser.add_argument("--nodes", type=int, default=4)
    arguments = parser.parse_args()
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on the loopback interface alone
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    load_minilm()
    folder = Path(tempfile.mkdtemp(prefix="adaptive-rag-ray-"))
    try:
        documents = folder / "documents"
        place = folder / "kb"
        for nodes, cores in ((1, WORKERS), (arguments.nodes, 1)):
            make_documents(documents, arguments.files, seed=0)
            with connected(nodes, cores, documents, place) as (up, ready):
                pairs = compare(documents, arguments.files, place, arguments.pairs)
            rate = [(b.chunks / b.seconds) / (a.chunks / a.seconds) for a, b in pairs]
            work = [(b.processor / b.chunks) / (a.processor / a.chunks) for a, b in pairs]
            share = [b.own / b.processor for _, b in pairs]
            print(f"{nodes} nodes with {cores} workers each, {pairs[0][0].chunks} chunks")
            print(f"  start of the cluster, seconds            {up:.1f}")
            print(f"  first run, with the start of its workers {ready:.1f}")
            print(f"  rate by Ray over one process             {middle(rate)}")
            print(f"  work a chunk by Ray over one process     {middle(work)}")
            print(f"  share of it in the process that asks     {middle(share)}")
            print(
                f"  one process, chunks a second             {pairs[0][0].chunks / pairs[0][0].seconds:.1f}"
            )
    finally:
        shutil.rmtree(folder)


def middle(values: list[float]) -> str:
    """Write the median of figures, and all of them."""
    return f"{statistics.median(values):.3f}  of {' '.join(f'{value:.2f}' for value in values)}"


if __name__ == "__main__":
    main()
