"""A disk cache of limited size for the files of indexes in buckets.

Each version of an index is a folder. Lance never changes a file that it wrote, and the manifest lists the
files of a version with their sizes and checksums. So a folder that has all of them is that version, even if
the bucket is written later. Files that several versions share are hard links. A folder gets its final name
when it is complete. A reader holds a lock that ends with its process; a locked folder is never removed.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import shutil
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from xxhash import xxh3_64

from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.index.bucket import Bucket
from adaptive_rag.index.location import bytes_in
from adaptive_rag.index.manifest import Manifest, Seal
from adaptive_rag.index.row_reader import Copy, RowReader
from adaptive_rag.private import make_folder

GB = 10**9
FILES_AT_ONCE = 4
POLL_SECONDS = 0.2
SHARES_LOCKS = os.name != "nt"
LOCK, PARTIAL, FILLING = ".lock", ".partial", "filling.lock"

_log = logging.getLogger("adaptive_rag.index")


class NoCopyError(Exception):
    """A version could not be copied; the message says why."""


@dataclass(frozen=True)
class DiskCache:
    """A folder of copies, which several processes may share, and its maximum size in bytes."""

    folder: Path
    most_bytes: int

    def find(self, bucket: Bucket, manifest: Manifest) -> Copy | None:
        """Return the copy of a version and mark it as used; None if there is no complete copy."""
        folder = self._folder_of(bucket, manifest)
        try:
            lock = _lock(folder, exclusive=False) if folder.exists() else None
            if lock is None or not folder.exists():
                return None
            if any((folder / name).stat().st_size != seal.size for name, seal in manifest.files.items()):
                raise FileNotFoundError
            os.utime(lock.fileno())
        except FileNotFoundError:  # a file is missing, so the version will be copied again
            shutil.rmtree(folder, ignore_errors=True)
        except OSError as error:
            _log.warning("The copies in %s cannot be read: %s", self.folder, error.strerror)
        else:
            return Copy(folder, lock)
        return None

    def begin(self, bucket: Bucket, reader: RowReader) -> None:
        """Copy the version of a reader in the background, and then switch the reader to the copy."""
        _copy_pool().submit(self._fill, bucket, reader.manifest, weakref.ref(reader))

    def _fill(self, bucket: Bucket, manifest: Manifest, reader_ref: weakref.ref[RowReader]) -> None:
        """Copy a version while its reader exists; on failure, log a warning and remove the partial copy."""
        partial = self._folder_of(bucket, manifest).with_suffix(PARTIAL)
        try:
            make_folder(partial.parent)
            with self._copy_lock(reader_ref):
                if self.find(bucket, manifest) is None:
                    self._make_room(bucket, manifest, partial)
                    copy = functools.partial(_copy, bucket, partial, reader_ref)
                    with ThreadPoolExecutor(FILES_AT_ONCE, thread_name_prefix="copy") as pool:
                        list(pool.map(copy, manifest.files, manifest.files.values()))
                    partial.rename(partial.with_suffix(""))
                if (reader := reader_ref()) is not None:
                    reader.copy = self.find(bucket, manifest)
        except (NoCopyError, OSError, AdaptiveRAGError) as error:
            if _is_wanted(reader_ref):
                shutil.rmtree(partial, ignore_errors=True)
                reason = (error.strerror if isinstance(error, OSError) else None) or error
                _log.warning("The index %s is read from the bucket at every search: %s", bucket.uri, reason)

    def _make_room(self, bucket: Bucket, manifest: Manifest, partial: Path) -> None:
        """Link the files that other copies of the index have, and remove the least recently used copies."""
        total_bytes = sum(seal.size for seal in manifest.files.values())
        if total_bytes > self.most_bytes:
            raise NoCopyError(
                f"its copy takes {total_bytes / GB:.2f} GB, more than the {self.most_bytes / GB:.2f} GB of "
                "bucket.cache_gb"
            )
        siblings = [path for path in partial.parent.iterdir() if path.is_dir() and path != partial]
        missing_bytes = 0
        for name, seal in manifest.files.items():
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            if not (partial / name).exists() and not _link_from_sibling(partial, name, seal.size, siblings):
                missing_bytes += seal.size
        for leftover in self.folder.glob(f"*/*{PARTIAL}"):
            if leftover != partial:  # left by a process that was killed
                shutil.rmtree(leftover, ignore_errors=True)
        lock_files = sorted(self.folder.glob(f"*/*{LOCK}"), key=lambda file: file.stat().st_mtime)
        while (used_bytes := bytes_in(self.folder)) + missing_bytes > self.most_bytes:
            if not lock_files:
                raise NoCopyError(
                    f"its copy takes another {missing_bytes / GB:.2f} GB, and other copies in use take "
                    f"{used_bytes / GB:.2f} of the {self.most_bytes / GB:.2f} GB of bucket.cache_gb"
                )
            if lock := _lock(lock_files.pop(0).with_suffix(""), exclusive=True):
                folder = Path(lock.name).with_suffix("")
                shutil.rmtree(folder, ignore_errors=True)
                Path(lock.name).unlink()
                lock.close()

    @contextmanager
    def _copy_lock(self, reader_ref: weakref.ref[RowReader]) -> Iterator[None]:
        """Let only one process copy at a time; the others then find its copy."""
        while (lock := _lock((self.folder / FILLING).with_suffix(""), exclusive=True)) is None:
            if not _is_wanted(reader_ref):
                raise NoCopyError("its reader is gone")
            time.sleep(POLL_SECONDS)
        with lock:
            yield

    def _folder_of(self, bucket: Bucket, manifest: Manifest) -> Path:
        state = repr((manifest.table, manifest.version, sorted(manifest.files.items())))
        index, version = (hashlib.sha256(text.encode()).hexdigest()[:16] for text in (bucket.uri, state))
        return self.folder / index / version


@functools.cache
def open_disk_cache(cache: str | None, cache_gb: float) -> DiskCache | None:
    """Return the cache for these settings; None if its size is 0."""
    if not cache_gb:
        return None
    if not SHARES_LOCKS:
        raise ConfigurationError(
            "bucket.cache_gb cannot be used on Windows, because copies need a lock that several processes "
            "can share. Leave it at 0; the bucket is then read at every search."
        )
    from platformdirs import user_cache_path

    folder = (
        Path(cache).expanduser() if cache else user_cache_path("adaptive-rag", appauthor=False) / "buckets"
    )
    return DiskCache(folder.absolute(), int(cache_gb * GB))


@functools.cache
def _copy_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="copies")


def _is_wanted(reader_ref: weakref.ref[RowReader]) -> bool:
    """Return whether the reader still exists and the program is still running."""
    return reader_ref() is not None and threading.main_thread().is_alive()


def _lock(folder: Path, *, exclusive: bool) -> IO[bytes] | None:
    """Lock a folder by a file next to it, until the returned file is closed; None if others hold the lock."""
    import fcntl

    lock_file = folder.with_suffix(LOCK)
    while True:
        file = lock_file.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_NB | (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH))
        except BlockingIOError:
            file.close()
            return None
        with suppress(FileNotFoundError):  # another process may have removed this file to make room
            if os.path.samestat(lock_file.stat(), os.fstat(file.fileno())):
                return file
        file.close()


def _link_from_sibling(partial: Path, name: str, size: int, siblings: list[Path]) -> bool:
    """Link a file that another version has too, and return whether there is one.

    Lance's own version files are not linked, since they may differ under the same name.
    """
    for sibling in siblings if "/_versions/" not in name else ():
        try:
            if (sibling / name).stat().st_size == size:
                os.link(sibling / name, partial / name)
                return True
        except OSError:  # the file is missing, or the disk does not support links
            continue
    return False


def _copy(bucket: Bucket, partial: Path, reader_ref: weakref.ref[RowReader], name: str, seal: Seal) -> None:
    """Copy one file, unless it exists already."""
    file = partial / name
    if file.exists():
        return
    unfinished, checksum = file.with_name(f"{file.name}.part"), xxh3_64()
    with unfinished.open("wb") as output:
        for piece in bucket.pieces(name):
            if not _is_wanted(reader_ref):
                raise NoCopyError("its reader is gone")
            checksum.update(piece)
            output.write(piece)
        output.flush()
        os.fsync(output.fileno())
    if (unfinished.stat().st_size, checksum.hexdigest()) != (seal.size, seal.checksum):
        raise NoCopyError(f"{name} is not as it was written")
    unfinished.rename(file)
