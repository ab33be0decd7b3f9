"""Plans an indexing run: which sources are new, changed or removed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from langchain_core.documents import Document

from adaptive_rag.errors import ConfigurationError, IndexingError
from adaptive_rag.index.manifest import Manifest, SourceRecord, chunk_key
from adaptive_rag.index.names import name_files
from adaptive_rag.index.progress import Progress
from adaptive_rag.index.sharding.layout import Share
from adaptive_rag.ingest import (
    Confined,
    Failure,
    Note,
    Patterns,
    Site,
    SourceFile,
    SourceText,
    discover,
    from_langchain,
    hash_file,
    read_source,
)
from adaptive_rag.ingest.archives import is_archive, on_disk
from adaptive_rag.ingest.loaders import LOADERS, find_loader
from adaptive_rag.ingest.read import list_archive
from adaptive_rag.ingest.web import Fetching, crawl, is_address

AnyDocument = str | Path | SourceFile | Site | SourceText | Document
Documents = Confined | AnyDocument | Iterable[AnyDocument]

# The worst resolution of file times is 2 seconds. A file that was written less than that before the check may
# change again and keep its time.
SETTLED_NS = 2_000_000_000


class Stamp(NamedTuple):
    """Path, size and time of a file, for a cheap test of whether it has changed.

    A file in an archive has the size and the time of the archive.
    """

    path: str
    size: int
    mtime_ns: int | None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A source to read and embed: a file, or a text in memory."""

    source: str
    size: int
    file: SourceFile | None = None
    text: SourceText | None = None
    stamp: Stamp | None = None
    replaces: SourceRecord | None = None
    web: dict[str, Any] | None = None

    def read(self, stop: threading.Event) -> SourceText | Failure:
        """Return the source's text, or the failure to read it; setting `stop` cancels the reading."""
        if self.text is not None:
            return self.text
        assert self.file is not None
        return read_source(self.file, stop)

    def record(self, text: SourceText) -> SourceRecord:
        """Return the record of the source for the manifest, before its chunks are counted."""
        stamp = self.stamp._asdict() if self.stamp else {}
        key, now = chunk_key(text.source, text.content_hash), time.time()
        return SourceRecord(text.content_hash, key, 0, notes=text.notes, web=self.web, indexed=now, **stamp)


@dataclass(slots=True)
class Plan:
    """The work of one run, and the sources that need no work."""

    work: list[Work] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    successors: dict[str, tuple[str, SourceRecord]] = field(default_factory=dict)
    """For a removed or changed source, another source with its old content, and the record of that one."""
    moved: int = 0
    """How many removed sources were only moved or renamed."""
    unchanged: int = 0
    seen: set[str] = field(default_factory=set)
    """All sources that were found in this run, new or not."""
    restamped: dict[str, SourceRecord] = field(default_factory=dict)
    """New records of sources whose path or time stamp changed but whose content did not."""
    failed: list[Failure] = field(default_factory=list)
    """Archives that could not be read completely, and web pages that could not be fetched."""
    notes: list[Note] = field(default_factory=list)
    """Notes for the user on archives with odd file names, and on web pages that are gone or were left out."""
    unknown: list[str] = field(default_factory=list)
    """Files in the folders that no loader can read."""

    def add_text(
        self, text: SourceText, record: SourceRecord | None, web: dict[str, Any] | None = None
    ) -> None:
        """Add a text, which needs work if it is new or has changed; `web` is the stamp of a page."""
        self.seen.add(text.source)
        if record is None or record.hash != text.content_hash:
            self.work.append(Work(text.source, len(text.text), text=text, replaces=record, web=web))
            return
        self.unchanged += 1
        if web is not None and record.web != web:
            self.restamped[text.source] = replace(record, web=web)


def plan_run(
    documents: Documents | Share,
    manifest: Manifest,
    folder: Path | None,
    *,
    patterns: Patterns,
    prune: bool,
    progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """Compare documents with the manifest and return the plan.

    `progress` is called while web pages are fetched.
    """
    share = documents if isinstance(documents, Share) else None
    documents = documents.documents if isinstance(documents, Share) else documents
    if isinstance(documents, Confined):
        return _plan_files(documents, manifest, folder, patterns, share, prune=prune)
    items: list[Any] = [documents] if is_single(documents) else list(cast(Iterable[Any], documents))
    items = [Site(item) if is_address(item) else item for item in items]
    sites = [item for item in items if isinstance(item, Site)]
    paths = [item for item in items if isinstance(item, str | Path | SourceFile)]
    if len(paths) + len(sites) == len(items):
        if sites and share is not None:
            raise ConfigurationError(
                f"An index of shards cannot contain web pages: leave {sites[0].address} out."
            )
        plan = Plan()
        if paths or not sites:
            plan = _plan_files(paths, manifest, folder, patterns, share, prune=prune)
        for site in sites:
            _add_site(site, plan, manifest, progress, prune=prune)
        return plan
    if paths or sites:
        problem = "Paths and documents cannot be mixed in one run"
        raise ConfigurationError(f"{problem}: index them one after the other.")
    are_texts = all(isinstance(item, SourceText) for item in items)
    return _plan_texts(items if are_texts else from_langchain(items), manifest, share)


def is_single(documents: Documents) -> bool:
    """Return whether `documents` is one document rather than several; some kinds can be iterated too."""
    types = str | Path | SourceFile | Site | SourceText
    return isinstance(documents, types) or hasattr(documents, "page_content")


def _plan_texts(texts: Iterable[SourceText], manifest: Manifest, share: Share | None) -> Plan:
    plan = Plan()
    for text in texts:
        if share is not None and not share.contains(text.source):
            continue
        if text.source in plan.seen:
            raise ConfigurationError(
                f"Two documents have the name {text.source!r}; pass each source as one document."
            )
        plan.add_text(text, manifest.sources.get(text.source))
    return plan


def _add_site(
    site: Site, plan: Plan, manifest: Manifest, progress: Callable[[Progress], None] | None, *, prune: bool
) -> None:
    """Fetch the pages of a site, and add the new, changed and vanished ones to a plan."""
    known_stamps = {source: record.web for source, record in manifest.sources.items() if record.web}

    def show_progress(fetching: Fetching) -> None:
        if progress is not None:
            progress(Progress(0, 0, 0.0, None, fetching.address, fetching))

    crawled = crawl(site, known_stamps, show_progress)
    plan.failed += crawled.failed
    plan.notes += crawled.notes
    plan.unchanged += len(set(crawled.unchanged) - plan.seen)
    plan.seen.update(crawled.unchanged)
    for text, stamp in crawled.pages:
        if text.source not in plan.seen:
            plan.add_text(text, manifest.sources.get(text.source), asdict(stamp))
    consequence = "It was removed from the index" if prune else "Its last version is kept"
    for source, reason in crawled.gone.items():
        note = Note(source, f"gone: {reason}. {consequence}.")
        if source in plan.seen or note in plan.notes:  # another site has found it, or has missed it too
            continue
        plan.notes.append(note)
        if prune and source not in plan.removed:
            plan.removed.append(source)


def _plan_files(
    paths: Sequence[str | Path | SourceFile] | Confined,
    manifest: Manifest,
    folder: Path | None,
    patterns: Patterns,
    share: Share | None,
    *,
    prune: bool,
) -> Plan:
    plan = Plan()
    files, unlisted = _expand_archives(
        discover(paths, index=folder, patterns=patterns, unknown=plan.unknown), patterns, plan
    )
    if isinstance(paths, Confined):
        paths.check_number(len(files))
    are_named = not isinstance(paths, Confined) and any(isinstance(path, SourceFile) for path in paths)
    included = [file for file in files if share is None or share.contains(file.source)]
    named, failed, notes = name_files(
        included, manifest, folder, are_named=are_named, are_shared=share is not None
    )
    plan.failed += failed
    plan.notes += notes
    checked_at, folders = time.time_ns(), _folders_of(paths)
    for file, real_path in named:
        source, found_at = file.source, os.path.abspath(file.path)
        plan.seen.add(source)
        is_linked = found_at != real_path and not _is_below(real_path, folders)
        stamp = _stamp(real_path, checked_at, found_at if is_linked else None)
        record = manifest.sources.get(source)
        if record and stamp and _is_unchanged(file, record, stamp):
            plan.unchanged += 1
            if (record.path, record.size, record.mtime_ns, record.link) != stamp:
                plan.restamped[source] = replace(record, **stamp._asdict())
            continue
        # on a missing mount, a folder is not recognised as one: it may be any path without a loader
        if os.path.isdir(real_path) or find_loader(file.path) is None:
            unlisted.append(real_path)
        plan.work.append(Work(source, stamp.size if stamp else 0, file, None, stamp, record))
    if prune:
        plan.removed = _find_removed(folders, unlisted, plan, manifest)
    _find_moved(plan, manifest)
    changed = [item.source for item in plan.work if item.replaces]
    plan.successors = {**find_successors(plan.removed, changed, manifest), **plan.successors}
    return plan


def _is_unchanged(file: SourceFile, record: SourceRecord, stamp: Stamp) -> bool:
    """Return whether a file still has the indexed content; it is read only if its time proves nothing."""
    if record.size != stamp.size:
        if on_disk(file.path) == file.path:
            return False
    elif stamp.mtime_ns is not None and record.mtime_ns == stamp.mtime_ns:
        return True
    try:
        return hash_file(file.path) == record.hash
    except (OSError, IndexingError):
        return False


def _folders_of(paths: Sequence[str | Path | SourceFile] | Confined) -> list[str]:
    """Return the given folders and archives, each as an absolute path and with its links resolved."""
    given = paths.paths if isinstance(paths, Confined) else paths
    roots = [path.path if isinstance(path, SourceFile) else os.path.expanduser(path) for path in given]
    folders = [root for root in roots if os.path.isdir(root) or is_archive(Path(root))]
    return [resolve(folder) for folder in folders for resolve in (os.path.abspath, os.path.realpath)]


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(map(Path(path).is_relative_to, folders))


def _find_removed(
    folders: Sequence[str], unlisted: Sequence[str], plan: Plan, manifest: Manifest
) -> list[str]:
    """Return the sources that are missing from the given folders and archives, but not below `unlisted`."""
    return [
        source
        for source, record in manifest.sources.items()
        if source not in plan.seen
        and record.path
        and (_is_below(record.path, folders) or (record.link and _is_below(record.link, folders)))
        and not _is_below(record.path, unlisted)
        and not (record.link and _leads_nowhere(record.link))
    ]


def _leads_nowhere(link: str) -> bool:
    """Return whether a path leads through a broken link, such as one to a missing mount."""
    return any(
        os.path.islink(path) and not os.path.exists(path) for path in (Path(link), *Path(link).parents)
    )


def _find_moved(plan: Plan, manifest: Manifest) -> None:
    """Match new files with removed ones that have the same content: they were moved and need no reading."""
    removed = {source: manifest.sources[source] for source in plan.removed}
    removed = {source: record for source, record in removed.items() if record.copy_of is None}
    sizes = {record.size for record in removed.values()}
    by_content = {content_key(record.path, record.hash): source for source, record in removed.items()}
    remaining_work = []
    for item in plan.work:
        source = None
        if item.replaces is None and item.file and item.stamp and item.stamp.size in sizes:
            with suppress(OSError, IndexingError):  # reading the file will report the error
                content = content_key(item.stamp.path, hash_file(item.file.path))
                source = by_content.pop(content, None)
        if source is None or item.stamp is None:
            remaining_work.append(item)
            continue
        record = replace(
            removed[source], doc=chunk_key(item.source, removed[source].hash), **item.stamp._asdict()
        )
        plan.successors[source] = item.source, record
        plan.moved += 1
    plan.work = remaining_work


def find_successors(
    removed: Collection[str], changed: Collection[str], manifest: Manifest
) -> dict[str, tuple[str, SourceRecord]]:
    """Return, for each source that is removed or changed, a copy that takes over its chunks.

    A copy that has changed too comes last; it needs them if it can no longer be read.
    """
    changed_sources, removed_sources = set(changed), set(removed)
    leaving, successors = changed_sources | removed_sources, dict[str, tuple[str, SourceRecord]]()
    for source, record in sorted(manifest.sources.items(), key=lambda item: item[0] in changed_sources):
        if record.copy_of in leaving and source not in removed_sources:
            record_alone = replace(record, doc=chunk_key(source, record.hash), copy_of=None)
            successors.setdefault(str(record.copy_of), (source, record_alone))
    return successors


def content_key(path: str | None, content_hash: str) -> tuple[str, str] | None:
    """Return a key that is equal for files with the same chunks; None if there is no file.

    It includes the suffix, which decides how a file is read; for source code and settings the file name, with
    which the sections begin.
    """
    if path is None:
        return None
    file = Path(path)
    by_name = find_loader(file) in (LOADERS["source code"], LOADERS["settings"])
    return content_hash, file.name if by_name else file.suffix.lower()


def _expand_archives(
    files: list[SourceFile], patterns: Patterns, plan: Plan
) -> tuple[list[SourceFile], list[str]]:
    """Replace each archive by the files in it.

    Also return the archives that could not be listed, since it is unknown which of their files were removed.
    """
    expanded, unlisted = [], []
    for file in files:
        if not is_archive(file.path):
            expanded.append(file)
            continue
        members, failure = list_archive(file, patterns)
        expanded += members
        names = {member.source: member.path.relative_to(file.path).as_posix() for member in members}
        escaped = [source for source, name in names.items() if source != f"{file.source}/{name}"]
        if escaped:
            rest = f" and {len(escaped) - 1:,} more" if len(escaped) > 1 else ""
            text = f"contains names with invisible characters. They are escaped: {escaped[0]}{rest}"
            plan.notes.append(Note(file.source, text))
        if failure:
            plan.failed.append(failure)
            unlisted += [] if members else [os.path.realpath(file.path)]
    return expanded, unlisted


def plan_reread(source: str, record: SourceRecord) -> Work | None:
    """Return the work to read a source again; None if its file is missing or has changed."""
    if record.path is None or not on_disk(Path(record.path)).is_file():  # to open a pipe would wait for ever
        return None
    stamp = _stamp(record.path, time.time_ns(), record.link)
    try:
        if stamp is None or hash_file(Path(record.path)) != record.hash:
            return None
    except (OSError, IndexingError):
        return None
    return Work(source, stamp.size, SourceFile(Path(record.path), source), None, stamp)


def _stamp(real_path: str, checked_at: int, link: str | None) -> Stamp | None:
    try:
        status = os.stat(real_path)
    except OSError:
        try:
            status = os.stat(on_disk(Path(real_path)))
        except OSError:
            return None
    settled = checked_at - status.st_mtime_ns > SETTLED_NS
    return Stamp(real_path, status.st_size, status.st_mtime_ns if settled else None, link)
