"""Builds or updates an index from documents: takes the lock, plans a run and executes it, shard by shard."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index.cluster import Cluster, open_cluster, run_each
from adaptive_rag.index.files import refuse_damage
from adaptive_rag.index.location import Files, Location, open_location
from adaptive_rag.index.lock import refuse_foreign_folder, remove_failed_start, write_lock
from adaptive_rag.index.manifest import (
    HOLDER,
    MANIFEST,
    Chunking,
    Manifest,
    Settings,
    build_hint,
    has_current_copy,
    last_manifest,
    next_table,
    read_manifest,
    rebuild_hint,
)
from adaptive_rag.index.plan import Documents, is_single, plan_run
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.progress import Progress
from adaptive_rag.index.report import IndexReport, NothingReadError, join_reports
from adaptive_rag.index.run import IndexingRun, Rescue
from adaptive_rag.index.sharding.layout import MOST_SHARDS, SHARDS, Share, shard_uris, whole_of
from adaptive_rag.index.store_errors import explain_write_errors
from adaptive_rag.ingest import Note, Patterns
from adaptive_rag.ingest.chunking import check_sizes
from adaptive_rag.ingest.discovery import Confined
from adaptive_rag.models.embeddings import embedding_name, encode, load_embeddings
from adaptive_rag.models.onnx import MINILM, OnnxEmbeddings
from adaptive_rag.private import make_folder

LOCK_WAIT_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Chunking):
    """Options for building an index."""

    embeddings: str | Embeddings | None = None
    """The embedding model; by default that of the index, and of a new one the embedded model."""
    progress: Callable[[Progress], None] | None = None
    include: Sequence[str] = ()
    """If given, only these files of the folders are read. Files that `exclude`, a `.gitignore` or the
    built-in list names are never read. Patterns are written as in `.gitignore`."""
    exclude: Sequence[str] = ()
    prune: bool = True
    """Whether documents that vanished from the given folders are removed from the index."""
    rebuild: bool = False
    """Build the index again, with other settings if needed; the old one serves until the new one is complete.
    Shards are replaced one by one, so a new index is needed for other settings."""
    ray: str | None = None
    """Address of a Ray cluster whose workers read and embed: "HOST:PORT", "auto" for one on this machine, or
    "local" to start one on this machine for this run."""
    shards: int | None = None
    """Build a new index of this many shards, each an index of its share of the documents. With Ray, one
    worker builds a whole shard, with its word index and vector index."""
    wait_seconds: float = LOCK_WAIT_SECONDS
    on_wait: Callable[[str], None] | None = None


def build_index(documents: Documents, uri: str | Path, **options: Any) -> IndexReport:
    """Bring an index up to date with files, folders, web addresses, source texts or LangChain documents.

    The options are the fields of `BuildOptions`. A `Site` sets how many links are followed from a web
    address; a plain address means that page only.

    Unchanged documents are skipped, changed ones are replaced, and files that are gone from a given folder
    are removed. Files with the same content are stored once, under all their names, and a file that was moved
    or renamed keeps its chunks. An interrupted run leaves the last complete state; the next run continues
    from there.

    Raises:
        IndexDamagedError: files of the index are missing or were changed.
        IndexMismatchError: the index was made with other settings, or the folder is not an index.
        IndexingError: nothing could be read, the location cannot be written, or another process
            holds the lock for longer than `wait_seconds`, or has written to the index meanwhile.
        IndexUnreachableError: a bucket or a database does not answer, or denies access.
        ConfigurationError: a path, a pattern or a setting is wrong, or no cluster is at the address `ray`.
        MissingExtraError: `ray` is given, and Ray is not installed.
    """
    if not (isinstance(documents, Iterable | Confined) or is_single(documents)):
        raise ConfigurationError(
            f"documents = {documents!r} is not usable: expected paths, web addresses, source texts or "
            "LangChain documents."
        )
    return _build_index(documents, uri, BuildOptions(**options))


def _build_index(documents: Documents | Share, uri: str | Path, options: BuildOptions) -> IndexReport:
    check_sizes(options.chunk_size, options.chunk_overlap)
    location = open_location(uri)
    if not isinstance(documents, Share):
        if options.shards is not None or shard_uris(location):
            return build_shards(documents, location, options)
        if (whole := whole_of(location.uri)) != location.uri:
            raise ConfigurationError(
                f"{location.uri} is a shard of the index {whole}, which gives each shard its share of the "
                f"documents. Run: {build_hint(whole)}"
            )
    refuse_foreign_folder(location)
    read_state = last_manifest if options.rebuild else read_manifest
    stamp, manifest = location.stamp(MANIFEST), read_state(location)
    if manifest is not None and options.embeddings is None and not options.rebuild:
        options = replace(options, embeddings=manifest.settings.embeddings)
    model, model_name, dimension = _identify_model(manifest, options.embeddings)
    settings = Settings(embeddings=model_name, dimension=dimension, **options.chunking())
    if location.path is not None:
        with explain_write_errors(location.uri):
            make_folder(location.path)
    is_locked = False
    try:
        with write_lock(location, wait_seconds=options.wait_seconds, on_wait=options.on_wait):
            is_locked = True
            if stamp is None or stamp != location.stamp(MANIFEST):  # another process may have written it
                manifest = read_state(location)
            before = _starting_state(location, manifest, settings, rebuild=options.rebuild)
            return _update_index(documents, location, before, model, options)
    except BaseException:
        if is_locked:  # otherwise the files belong to the process that holds the lock
            remove_failed_start(location)
        raise


def _update_index(
    documents: Documents | Share,
    location: Location,
    before: Manifest,
    model: str | Embeddings,
    options: BuildOptions,
) -> IndexReport:
    """Plan a run and execute it; the caller holds the write lock."""
    started = time.perf_counter()
    refuse_damage(location, before)
    is_shard, folder = isinstance(documents, Share), location.path
    if is_shard and folder is not None:
        folder = folder.parent  # the folder of the whole index, whose files are no documents
    patterns = Patterns(options.include, options.exclude)
    plan = plan_run(
        documents, before, folder, patterns=patterns, prune=options.prune, progress=options.progress
    )
    report = IndexReport(unchanged=plan.unchanged, failed=plan.failed, unknown=sorted(set(plan.unknown)))
    run = IndexingRun(location, model, before, report, options.progress, publish_at_end=options.rebuild)
    run.remove_replaced()
    # a shard may have no readable document, so its run must not fail because of that
    rescue: Rescue | None = (lambda _: {}) if is_shard else None
    if plan.work or plan.removed or options.rebuild or (is_shard and before.version is None):
        # Ray is started only if there is something to read; its workers load the model by its name
        worker_model = model.name if isinstance(model, OnnxEmbeddings) else options.embeddings or model
        uses_ray = options.ray and plan.work
        with open_cluster(str(options.ray), plan.work) if uses_ray else nullcontext() as ray:
            run.apply(plan, rescue, Cluster(ray, worker_model) if ray else None)
    elif plan.failed and not before.sources and not is_shard:
        raise NothingReadError(plan.failed)
    elif plan.restamped or (before.version and not has_current_copy(location, run.manifest)):
        with explain_write_errors(location.uri):
            replace(run.manifest, sources={**before.sources, **plan.restamped}).publish(location)
    report.seconds = time.perf_counter() - started
    report.total_chunks = run.manifest.chunks
    failed, records = {failure.source for failure in report.failed}, run.manifest.sources
    report.sources = sorted(plan.seen & records.keys() - failed)
    report.notes = [Note(source, text) for source in report.sources for text in records[source].notes]
    report.notes += plan.notes
    return report


def build_shards(documents: Documents, location: Location, options: BuildOptions) -> IndexReport:
    """Bring each shard up to date with its share of the documents; with Ray, each in a worker of its own.

    An interrupted run leaves the last complete state of each shard. A first run that fails before it wrote
    anything leaves nothing, so that another number of shards can be chosen.
    """
    if isinstance(location, Database):
        raise ConfigurationError(
            f"{location.uri} is a database, which cannot have shards: expected a folder or a bucket."
        )
    is_new, uris = not shard_uris(location), _write_layout(location, options.shards)
    try:
        return _build_each(documents, uris, options)
    except BaseException:
        names = (set(location.names(f"shard-{number}")) for number in range(len(uris)))
        if is_new and not any(each - {HOLDER} for each in names):
            location.remove(SHARDS)
            remove_failed_start(location)
        raise


def _build_each(documents: Documents, uris: Sequence[str], options: BuildOptions) -> IndexReport:
    if isinstance(documents, Iterable) and not is_single(documents):
        documents = list[Any](documents)  # each shard reads them
    shares = {uri: Share(documents, number, len(uris)) for number, uri in enumerate(uris)}
    started, reports = time.perf_counter(), list[IndexReport]()
    shard_options = replace(options, ray=None, shards=None, progress=None)
    if options.embeddings is None and not options.rebuild:  # a run may have ended before the last shard
        begun = [manifest for uri in uris if (manifest := read_manifest(open_location(uri))) is not None]
        shard_options = replace(shard_options, embeddings=begun[0].settings.embeddings if begun else None)
    if options.ray:
        shard_options, folder = replace(shard_options, on_wait=None), os.getcwd()
        calls = {uri: (share, uri, folder, shard_options) for uri, share in shares.items()}
        finished = run_each(options.ray, build_in_worker, calls)
    else:
        finished = (_build_index(share, uri, shard_options) for uri, share in shares.items())
    for report in finished:
        reports.append(report)
        if options.progress is not None:
            options.progress(_shard_progress(reports, uris, time.perf_counter() - started))
    joined = join_reports(reports, time.perf_counter() - started)
    if joined.failed and not joined.total_chunks:
        raise NothingReadError(joined.failed)
    return joined


def _shard_progress(reports: Sequence[IndexReport], uris: Sequence[str], seconds: float) -> Progress:
    """Return the progress after some shards, whose mean size is the estimate for those that remain."""
    done = sum(report.chunks for report in reports)
    factor = len(uris) / len(reports)
    rate = done / max(seconds, 1e-9)
    return Progress(done, round(done * factor), rate, seconds * (factor - 1), uris[len(reports) - 1])


def build_in_worker(share: Share, uri: str, folder: str, options: BuildOptions) -> IndexReport:
    """Build one shard in a worker; relative paths start at `folder`, the caller's working directory."""
    with contextlib.chdir(folder):
        return _build_index(share, uri, options)


def _write_layout(location: Files, shards: int | None) -> list[str]:
    """Return the URIs of the shards; for a new index, write their number first."""
    if uris := shard_uris(location):
        if shards not in (None, len(uris)):
            raise ConfigurationError(
                f"shards = {shards}, but the index {location.uri} has {len(uris)}. Leave it out, or make "
                "another index."
            )
        return uris
    if shards is None or not 1 <= shards <= MOST_SHARDS:
        raise ConfigurationError(f"shards = {shards!r} is not usable: expected 1 to {MOST_SHARDS}.")
    if location.stamp(MANIFEST) is not None:
        raise ConfigurationError(
            f"The index {location.uri} has no shards. Make an index of shards under another name."
        )
    refuse_foreign_folder(location)
    with explain_write_errors(location.uri):
        if location.path is not None:
            make_folder(location.path)
        location.write(SHARDS, json.dumps({"shards": shards}).encode())
    return shard_uris(location)


def _identify_model(
    manifest: Manifest | None, embeddings: str | Embeddings | None
) -> tuple[str | Embeddings, str, int]:
    """Return the embedding model, its name and its dimension; load it only if the manifest lacks these."""
    embeddings = MINILM if embeddings is None else embeddings
    if manifest and embeddings == manifest.settings.embeddings:
        return embeddings, manifest.settings.embeddings, manifest.settings.dimension
    model = load_embeddings(embeddings)
    if isinstance(model, OnnxEmbeddings):
        return model, model.name, model.dimension
    return model, embedding_name(model), int(encode(model, ["dimension"]).shape[1])


def _starting_state(
    location: Location, manifest: Manifest | None, settings: Settings, *, rebuild: bool
) -> Manifest:
    """Return the state to start from: that of the index, or an empty one for a new index or a rebuild."""
    if manifest is None or rebuild:
        table, generation = next_table(location, manifest), manifest.generation if manifest else 0
        return Manifest(settings, table=table, generation=generation)
    if manifest.settings != settings:
        raise IndexMismatchError(
            f"The index {location.uri} was made with {manifest.settings}; got {settings}. "
            f"Use the settings that it was made with, or rebuild it: {rebuild_hint(location.uri)}"
        )
    return manifest
