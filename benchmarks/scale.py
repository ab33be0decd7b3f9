"""How an index grows: time to make, disk, memory, the time of each search and of a question, recall.

    python -m benchmarks.scale --sizes 10000 100000 1000000 --bucket --filters --add --out scale.json
    python -m benchmarks.scale --sizes 10000 100000 --compare --data DATA
    python -m benchmarks.scale --sizes 1000000 --keep KEPT --questions 200

Without `--data` the corpus is made up: words drawn by Zipf's law around topics, the commonest of which are
stop words that full-text search drops, vectors in clusters, and for each question one chunk that answers it.
With `--data` it holds the passages of public data sets and is asked their questions; made-up passages fill it
up. All sides get the same vectors, ready made, so embedding takes no time on any; only a whole question
embeds its text. Each size is asked in `--runs` fresh processes, of which the one with the median p95 is
reported. `--bucket` asks the same index in a bucket of a server on this machine, with and without copies on
disk, and once more with `--delay-ms` added to each request. `--keep` keeps what was made for the next time:
the index of a million chunks takes many minutes to make. `benchmarks.scale_figures` fits and draws all.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.index.disk_cache import DiskCache
from adaptive_rag.index.files import seal_files
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import (
    MANIFEST,
    Manifest,
    Settings,
    SourceRecord,
    complete_manifest,
    key_of,
)
from adaptive_rag.index.run import ROWS_PER_WRITE
from adaptive_rag.index.table import SENTENCE_DIMENSION, TableRow, TableWriter, pack_sentences
from adaptive_rag.models.embeddings import embedding_name
from adaptive_rag.source import Sentences
from adaptive_rag.state import Chunk
from benchmarks.scale_corpora import DIMENSION, Array, Corpus, made_up, public, unit
from benchmarks.scale_sides import (
    CONDITIONS,
    ROOT,
    TOP,
    ReadyMade,
    add_chunks,
    ask_filtered,
    ask_index,
    ask_lancedb,
    ask_langchain,
    ask_while_added,
    id_of,
)

PER_SOURCE, SENTENCES = 50, 6
COPIES_GB = 50.0


def make_index(folder: Path, corpus: Corpus, holds: Callable[[str], bool] = bool) -> dict[str, float]:
    """Write the corpus as an index, the way a build does; return the seconds that each part of it took.

    `holds` tells of each source whether it belongs to the index.
    """
    location = open_location(folder)
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(embedding_name(ReadyMade({})), DIMENSION, 1000, 200, sentence_vectors=True)
    manifest = Manifest(settings, "chunks-1").publish(location)
    writer = TableWriter(location.uri, "chunks-1", None, DIMENSION)
    number, seconds = 0, {"rows": 0.0}
    moved = unit(np.random.default_rng(0).normal(size=(997, SENTENCE_DIMENSION)))
    for texts, vectors in corpus.slices():
        rows = [
            make_row(number + i, text, vectors[i], moved)
            for i, text in enumerate(texts)
            if holds(f"source-{(number + i) // PER_SOURCE}")
        ]
        began = time.perf_counter()
        for start in range(0, len(rows), ROWS_PER_WRITE):
            writer.add(rows[start : start + ROWS_PER_WRITE])
        seconds["rows"] += time.perf_counter() - began
        number += len(texts)
    lap = time.perf_counter()
    writer.index_words()
    writer.optimize(keep_since=time.time())
    seconds["words"], lap = time.perf_counter() - lap, time.perf_counter()
    recall = writer.index_vectors()
    seconds["vectors"], lap = time.perf_counter() - lap, time.perf_counter()
    names = [f"source-{n}" for n in range(-(-number // PER_SOURCE))]
    counts = [min(PER_SOURCE, number - PER_SOURCE * n) for n in range(len(names))]
    held = [(name, count) for name, count in zip(names, counts, strict=True) if holds(name)]
    replace(
        manifest,
        version=writer.version,
        chunks=sum(count for _, count in held),
        sources={name: SourceRecord("0" * 64, key_of(name, "made"), count) for name, count in held},
        recall=recall,
        committed=time.time(),
        files=seal_files(location, "chunks-1", writer.version, None),
    ).publish(location)
    seconds["checksums"] = time.perf_counter() - lap
    return seconds


def store_questions(corpus: Corpus, file: Path) -> None:
    """Write what a process needs to ask and to judge: texts, vectors, grades, and the nearest chunks."""
    asked = corpus.questions()
    conditions = {"": lambda page: page > 0, **{name: _kept_by(name) for name in CONDITIONS}}
    cosines: dict[str, list[Array]] = {name: [] for name in conditions}
    rows: dict[str, list[Array]] = {name: [] for name in conditions}
    number = 0
    for vectors in corpus.vectors():
        found = asked.vectors @ vectors.T
        numbers = number + np.arange(len(vectors))
        for name, keeps in conditions.items():
            kept = np.flatnonzero(keeps(_page(numbers)))
            among = found[:, kept]
            few = min(TOP, len(kept))
            top = np.argpartition(among, -few, axis=1)[:, -few:]
            cosines[name].append(np.take_along_axis(among, top, axis=1))
            rows[name].append(numbers[kept][top])
        number += len(vectors)
    nearest = {}
    for name in conditions:
        best = np.argsort(-np.concatenate(cosines[name], axis=1), axis=1)[:, :TOP]
        nearest[name or "nearest"] = np.take_along_axis(np.concatenate(rows[name], axis=1), best, axis=1)
    gold = json.dumps([list(grades.items()) for grades in asked.gold])
    np.savez(file, texts=asked.texts, vectors=asked.vectors, gold=gold, **nearest)


def run(size: int, arguments: argparse.Namespace, folder: Path) -> tuple[str, dict[str, Any]]:
    """Measure one size; what is made stays in the folder."""
    corpus = _corpus(size, arguments)
    folder = folder / f"{corpus.name}-{corpus.size}"
    made = folder / "made.json"
    result: dict[str, Any] = {"kept": made.exists()}
    if not made.exists():
        shutil.rmtree(folder, ignore_errors=True)
        seconds = make_index(folder / "kb", corpus)
        disk = _disk(folder / "kb")
        store_questions(corpus, folder / "questions.npz")
        made.write_text(json.dumps({"made": seconds, "disk": disk, "load": os.getloadavg()[0]}))
    result |= json.loads(made.read_text())
    if arguments.make_only:
        return corpus.name, result
    runs = [_ask("index", size, arguments, folder) for _ in range(arguments.runs)]
    result["index"] = sorted(runs, key=lambda one: one["p95"])[(len(runs) - 1) // 2]
    result["runs"] = [(one["p50"], one["p95"]) for one in runs]
    if arguments.filters and arguments.data is None:
        result["filtered"] = _ask("filtered", size, arguments, folder)
    if arguments.bucket:
        result["bucket"] = _ask_bucket(size, arguments, folder)
    if arguments.add:
        result["add"] = _ask_added(size, arguments, folder)
    if arguments.compare and size <= arguments.compare_up_to:
        result |= {side: _ask(side, size, arguments, folder) for side in ("lancedb", "langchain")}
    return corpus.name, result


def _ask_added(size: int, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Add to a copy of the index: its files are links, which a writer replaces and never writes into."""
    copy = folder / "added"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    shutil.copy(folder / "questions.npz", copy)
    shutil.copytree(folder / "kb", copy / "kb", copy_function=os.link)
    try:
        return _ask("added", size, arguments, copy)
    finally:
        shutil.rmtree(copy)


def _ask_bucket(size: int, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Ask the index in a bucket: directly, then with copies on disk, then both with a slower network."""
    from tests.s3_server import network_before

    copies = ["--copies", str(folder / "copies")]
    found: dict[str, Any] = {}
    with _bucket_of(folder, size) as (port, uri):
        shutil.rmtree(folder / "copies", ignore_errors=True)
        at = ["--uri", uri]
        found["direct"] = _ask("index", size, arguments, folder, *at, port=port)
        found["copying"] = _ask("index", size, arguments, folder, *at, *copies, "--await-copy", port=port)
        found["copied"] = _ask("index", size, arguments, folder, *at, *copies, port=port)
        with network_before(port) as network:
            network.seconds = arguments.delay_ms / 1000
            asked_at: list[float] = []
            network.fault = lambda _: asked_at.append(time.time()) or ""  # type: ignore[method-assign, func-returns-value]
            for name, more in (("far", []), ("far_copied", copies)):
                few = [*at, *more, "--few", "50"]
                asked_at.clear()
                one = found[name] = _ask("index", size, arguments, folder, *few, port=network.port)
                one["requests_cold"] = sum(at < one["asked_from"] for at in asked_at)
                warm = sum(one["asked_from"] <= at <= one["asked_until"] for at in asked_at)
                one["requests_per_question"] = warm / one["asked"]
    return found


@contextmanager
def _bucket_of(folder: Path, size: int) -> Iterator[tuple[int, str]]:
    """Serve the index from a bucket on this machine; its port and address."""
    import obstore
    from obstore.store import S3Store

    from tests.s3_server import serving_s3

    place, uploaded = folder / "s3", folder / "s3" / "uploaded"
    if not uploaded.exists():
        shutil.rmtree(place, ignore_errors=True)
    place.mkdir(exist_ok=True)
    files = complete_manifest(open_location(folder / "kb")).files or {}
    gigabytes = sum(seal.size for seal in files.values()) / 2**30
    with serving_s3(place, volumes=20 + int(40 * gigabytes)) as port:
        if not uploaded.exists():
            store = S3Store(
                "wiki",
                endpoint=f"http://127.0.0.1:{port}",
                client_options={"allow_http": True},
                access_key_id="writer",
                secret_access_key="secret",
            )
            for name in (*sorted(files), MANIFEST):
                obstore.put(store, f"scale/kb/{name}", folder / "kb" / name)
            uploaded.touch()
        yield port, "s3://wiki/scale/kb"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000], help="chunks")
    parser.add_argument("--questions", type=int, default=500, help="questions asked of the index")
    parser.add_argument("--runs", type=int, default=1, help="processes that ask, one after another")
    parser.add_argument("--make-only", action="store_true", help="make what --keep keeps, and ask nothing")
    parser.add_argument("--bucket", action="store_true", help="also ask it in a bucket on this machine")
    parser.add_argument("--delay-ms", type=float, default=15, help="what a farther bucket adds to a request")
    parser.add_argument("--filters", action="store_true", help="also ask with conditions")
    parser.add_argument("--add", action="store_true", help="also add a thousand chunks")
    parser.add_argument("--compare", action="store_true", help="also ask LangChain's and LanceDB's hybrid")
    parser.add_argument("--compare-questions", type=int, default=40, help="questions asked of these")
    parser.add_argument("--compare-up-to", type=int, default=100_000, help="largest size they are asked at")
    parser.add_argument("--data", type=Path, help="a folder of data sets to ask instead of a made-up corpus")
    parser.add_argument("--cache", type=Path, help="where `adaptive-rag eval` keeps its indexes")
    parser.add_argument("--keep", type=Path, help="keep what is made here, and use what is here already")
    parser.add_argument(
        "--out", type=Path, help="write all figures to this file, beside those of other sizes"
    )
    hidden = {"help": argparse.SUPPRESS}
    parser.add_argument(
        "--ask", choices=("index", "filtered", "added", "writer", "langchain", "lancedb"), **hidden
    )
    parser.add_argument("--at", type=Path, **hidden)
    parser.add_argument("--uri", **hidden)
    parser.add_argument("--copies", type=Path, **hidden)
    parser.add_argument("--await-copy", action="store_true", **hidden)
    parser.add_argument("--few", type=int, **hidden)
    arguments = parser.parse_args()
    if arguments.data is not None and not any(arguments.data.glob("*/corpus.jsonl")):
        sys.exit(f"No data set lies in {str(arguments.data)!r}; expected folders with corpus.jsonl.")
    if arguments.ask:
        print(json.dumps(_side(arguments)))
    else:
        _run_all(arguments)


def _side(arguments: argparse.Namespace) -> dict[str, Any]:
    folder, questions = arguments.at, arguments.questions
    if arguments.ask == "index":
        return ask_index(
            folder,
            arguments.few or questions,
            arguments.uri,
            DiskCache(arguments.copies, int(COPIES_GB * 2**30)) if arguments.copies else None,
            await_copy=arguments.await_copy,
            more=arguments.uri is None,
        )
    if arguments.ask == "filtered":
        return ask_filtered(folder, min(questions, 100))
    if arguments.ask == "added":
        return ask_while_added(folder)
    if arguments.ask == "writer":
        return add_chunks(folder)
    ask = ask_lancedb if arguments.ask == "lancedb" else ask_langchain
    return ask(_corpus(arguments.sizes[0], arguments), folder, arguments.compare_questions)


def _run_all(arguments: argparse.Namespace) -> None:
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
            name, found = run(size, arguments, arguments.keep or Path(scratch))
        if arguments.make_only:
            continue
        if arguments.out:
            known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
            known[str(size)] = {**known.get(str(size), {}), **found, "corpus": name}
            arguments.out.write_text(json.dumps(known, indent=1))
        _report(name, size, found)


def _corpus(size: int, arguments: argparse.Namespace) -> Corpus:
    if arguments.data is None:
        return made_up(size, arguments.questions)
    return public(arguments.data, size, arguments.cache or default_cache())


def _ask(
    side: str, size: int, arguments: argparse.Namespace, folder: Path, *more: str, port: int | None = None
) -> dict[str, Any]:
    """Ask one side in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--ask", side, "--sizes", str(size)]
    command += ["--at", str(folder.resolve()), "--questions", str(arguments.questions)]
    command += ["--compare-questions", str(arguments.compare_questions), *more]
    for name in ("data", "cache"):
        if (path := getattr(arguments, name)) is not None:
            command += [f"--{name}", str(path.resolve())]
    store = {"AWS_ACCESS_KEY_ID": "writer", "AWS_SECRET_ACCESS_KEY": "secret"}
    store["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
    environment = {**os.environ, **(store if port else {})}
    asked = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    result: dict[str, Any] = json.loads(asked.stdout.splitlines()[-1])
    return result


def _report(name: str, size: int, found: dict[str, Any]) -> None:
    ours = found["index"]
    made = ", ".join(f"{part} {seconds:.0f} s" for part, seconds in found["made"].items())
    load = f", load {os.getloadavg()[0]:.1f} of {os.cpu_count()}" if hasattr(os, "getloadavg") else ""
    print(
        f"{size:,} chunks ({name}), {'made before' if found['kept'] else 'made'}: {made}; "
        f"{sum(found['disk'].values()):.2f} GB on disk{load}"
    )
    _line("one fused search", ours)
    if len(found["runs"]) > 1:
        print("  each run, p50/p95: " + ", ".join(f"{p50:.1f}/{p95:.1f}" for p50, p95 in found["runs"]))
    print(f"  opened in {ours['open_ms']:.0f} ms, first answer after {ours['cold_ms']:.0f} ms")
    print(f"  resident memory {ours['resident_gb']:.2f} GB; recall@10 {ours['recall']:.3f}")
    print(f"  nDCG@10 {np.mean(ours['ndcg']):.3f}; batch of 4: p50 {ours['batch_of_4']:.1f} ms")
    print(f"  recall as `adaptive-rag info` reports it: {ours['info'] or 'searched exactly'}")
    for part in ("vector", "words", "whole"):
        _line({"whole": "a whole question"}.get(part, f"by {part} alone"), ours[part])
    for condition, one in found.get("filtered", {}).get("filters", {}).items():
        _line(f"where {condition} ({one['share']:.0%}), first {one['first_ms']:.0f} ms", one)
        ratios = "p95 {ratio_p95:.2f}, processor {ratio_cpu:.2f}; recall@10 {recall:.3f}".format(**one)
        print(f"    {one['ratio']:.2f} times none, {ratios}")
    for way, one in found.get("bucket", {}).items():
        _line(f"bucket, {way}: first {one['cold_ms']:.0f} ms", one)
        more = {name: one.get(name) for name in ("copied_s", "requests_cold", "requests_per_question")}
        print(f"    {one['resident_gb']:.2f} GB {' '.join(f'{k} {v:.1f}' for k, v in more.items() if v)}")
    if added := found.get("add"):
        print(f"  added {added}")
    for side in ("lancedb", "langchain"):
        if theirs := found.get(side):
            same = len(theirs["ndcg"])
            _line(side, theirs)
            print(
                f"    {theirs['resident_gb']:.2f} GB; nDCG@10 {np.mean(theirs['ndcg']):.3f}, of the index "
                f"{np.mean(ours['ndcg'][:same]):.3f}; {theirs['p50'] / ours['p50']:.1f} times its time"
            )
    sys.stdout.flush()


def _line(what: str, one: dict[str, Any]) -> None:
    cpu = f", processor {one['cpu']:.1f} ms" if "cpu" in one else ""
    print(f"  {what}: p50 {one['p50']:.1f} ms, p95 {one['p95']:.1f} ms{cpu}")


def _disk(folder: Path) -> dict[str, float]:
    """Return the gigabytes of the present state of an index: rows, indexes, and what is beside them."""
    files = complete_manifest(open_location(folder)).files or {}
    found = {"rows": 0.0, "words": 0.0, "vectors": 0.0, "beside": 0.0}
    of_vectors = {name.rpartition("/")[0] for name in files if "auxiliary" in name}
    for name, seal in files.items():
        place = name.rpartition("/")[0]
        part = "vectors" if place in of_vectors else "words" if "_indices" in place else "beside"
        found["rows" if place.endswith("data") else part] += seal.size / 1e9
    return found


def make_row(number: int, text: str, vector: Array, moved: Array) -> TableRow:
    """Return a chunk with its sentences: so many of its words each, with vectors beside its own."""
    start, source = number % PER_SOURCE * 800, f"source-{number // PER_SOURCE}"
    chunk: Chunk = {
        "id": id_of(number),
        "source": source,
        "page": int(_page(number)),
        "section": None,
        "start": start,
        "end": start + len(text),
        "text": text,
        "metadata": {},
    }
    ends = [len(text) * part // SENTENCES for part in range(SENTENCES + 1)]
    spans = np.array([*itertools.pairwise(ends)])
    near = moved[(number * SENTENCES + np.arange(SENTENCES)) % len(moved)]
    packed = pack_sentences(Sentences(spans, vector + 0.5 * near))
    return TableRow(chunk, key_of(source, "made"), vector, None, *packed)


def _page(number: Any) -> Any:
    return number % 100 + 1


def _kept_by(condition: str) -> Any:
    """Return what a condition on the page keeps."""
    _, sign, page = condition.split()
    return (lambda found: found == int(page)) if sign == "=" else (lambda found: found <= int(page))


if __name__ == "__main__":
    main()
