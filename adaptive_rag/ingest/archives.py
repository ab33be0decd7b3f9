"""Archive loading: each file in an archive is a document of its own, as if the archive were a folder.

`letters.zip/2024/may.pdf` is the name of such a file, also for `extract_text`; to index it, give the archive.
The file is unpacked into a temporary folder while it is read; the folders in its name do not decide where.
"""

from __future__ import annotations

import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import LONGEST_NAME, TextBuilder, printable

SUFFIXES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
_MOST_FILES = 10_000
# In bytes: the most for all files together, and for one file.
_LARGEST = 2_000_000_000
_LARGEST_FILE = 200_000_000
# Text compresses up to 20 times, the log of a machine 100 times.
_LARGEST_RATIO = 200
# In bytes: the ratio of a smaller file is not checked.
_UNCHECKED_SIZE = 10_000_000
_MOST_FOLDERS = 20
# In bytes: most file systems take no longer names, but archives from elsewhere may contain them.
_LONGEST_COPY_NAME = 255
_ENCRYPTED, _UTF_8 = 1, 0x800  # bits of an entry's flags
_BAD_ARCHIVE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, ValueError, RuntimeError
)  # fmt: skip


class _Member(NamedTuple):
    name: str
    size: int
    packed: int | None
    """The compressed size in bytes; None for a tar, which does not record it."""
    entry: zipfile.ZipInfo | tarfile.TarInfo


def is_archive(path: Path) -> bool:
    """Return whether a path names an archive, by its suffix."""
    return path.name.lower().endswith(SUFFIXES)


def owners_of(source: str, start: str | None = None) -> list[str]:
    """Return the names that the document of a source can be recorded under.

    They are its own name, the names of the archives that contain it, and `start`: for a page of a website,
    the address at which the crawl began.
    """
    folders = [source[:index] for index, letter in enumerate(source) if letter == "/"]
    archives = [folder for folder in folders if folder.lower().endswith(SUFFIXES)]
    return [source, *archives, *([start] if start else [])]


def split_path(path: Path) -> tuple[Path, str] | None:
    """Split the path of a file in an archive into the archive and the file's name; None for other paths."""
    for parent in path.parents:
        if is_archive(parent) and os.path.isfile(parent):
            return parent, path.relative_to(parent).as_posix()
    return None


def on_disk(path: Path) -> Path:
    """Return the file on disk for a path: the archive if the path leads into one, else the path itself."""
    in_archive = split_path(path)
    return in_archive[0] if in_archive else path


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield a file to read: the path itself, or a temporary copy of the file that it names in an archive.

    Raises:
        IndexingError: the archive is damaged, asks for a password, or holds no such file.
    """
    in_archive = split_path(path)
    if in_archive is None:
        yield path
        return
    archive, name = in_archive
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, copy_name(name))
        with _reused_archive(archive) as opened, opened.open_member(name) as member, copy.open("wb") as file:
            bytes_left = _LARGEST_FILE  # whatever size the archive declares
            while part := member.read(1 << 20):
                bytes_left -= len(part)
                if bytes_left < 0:
                    raise IndexingError(f"unpacks to more than {_LARGEST_FILE // 1_000_000} MB. Split it")
                file.write(part)
        yield copy


def copy_name(path: str) -> str:
    """Return the file's own name, which some loaders show, or a short one if file systems do not take it."""
    name = PurePosixPath(path)
    return name.name if len(os.fsencode(name.name)) <= _LONGEST_COPY_NAME else f"file{name.suffix}"


def load_archive(path: Path, builder: TextBuilder) -> None:
    """Write one record per file in an archive, its name; note which files are left out and why."""
    left_out = list[str]()
    with _translated_errors(), _open(path) as opened:
        for member in _newest_members(opened).values():
            if reason := _reason_to_skip(member):
                left_out.append(f"{printable(member.name)[:100]} {reason}")
            else:
                builder.add_record(printable(member.name), {"member": member.name})
    if not left_out and not builder.length:
        raise IndexingError("holds no file")
    if left_out:
        more = f" and {len(left_out) - 1:,} more" if len(left_out) > 1 else ""
        note = f"holds a file that is not read: {left_out[0]}{more}"
        if not builder.length:
            raise IndexingError(note)
        builder.notes.append(note)


def _reason_to_skip(member: _Member) -> str | None:
    """Return why a file is left out, as the end of a sentence that begins with its name, or None."""
    if len(printable(member.name[: LONGEST_NAME + 1])) > LONGEST_NAME:
        return f"… has a name of more than {LONGEST_NAME:,} characters"
    parts = PurePosixPath(member.name.replace("\\", "/")).parts
    if ".." in parts or not parts or parts[0] == "/" or ":" in parts[0] or "\0" in member.name:
        return "leads out of the archive"
    if len(parts) > _MOST_FOLDERS:
        return f"lies more than {_MOST_FOLDERS} folders deep"
    if is_archive(Path(member.name)):
        return "is an archive in an archive"
    packed = member.size if member.packed is None else max(1, member.packed)
    is_bomb = member.size > _UNCHECKED_SIZE and member.size > _LARGEST_RATIO * packed
    if is_bomb or member.size > _LARGEST_FILE:
        return "unpacks to more than a file may"
    return None


def _members(opened: zipfile.ZipFile | tarfile.TarFile) -> Iterator[_Member]:
    """Yield the ordinary files of an archive in order, without folders, links and devices."""
    if isinstance(opened, zipfile.ZipFile):
        for entry in opened.infolist():
            if not entry.is_dir() and stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG):
                yield _Member(_read_name(entry), entry.file_size, entry.compress_size, entry)
    else:
        for info in opened:
            if info.isfile():
                yield _Member(info.name, info.size, None, info)


def _read_name(entry: zipfile.ZipInfo) -> str:
    """Return the name of a file in a ZIP archive; macOS writes it in UTF-8 without the flag that says so."""
    if not entry.flag_bits & _UTF_8:
        with suppress(UnicodeError):
            return entry.filename.encode("cp437").decode()
    return entry.filename


def _newest_members(opened: zipfile.ZipFile | tarfile.TarFile) -> dict[str, _Member]:
    """Return the ordinary files of an archive by name.

    Of several with one name it is the last, as `tar -x` leaves it: `tar -r` appends a newer version.
    """
    members, total = dict[str, _Member](), 0
    for number, member in enumerate(_members(opened), start=1):
        total += member.size
        if number > _MOST_FILES or total > _LARGEST:
            limits = f"{_MOST_FILES:,} files and {_LARGEST // 1_000_000:,} MB"
            raise IndexingError(f"holds more than an archive may: {limits}. Unpack it and index the folder")
        members[PurePosixPath(member.name).as_posix()] = member
    return members


class _Archive:
    """An open archive and its files.

    A compressed tar is a stream: it is decompressed once to find its files, and once more if they are read in
    order.
    """

    def __init__(self, path: Path) -> None:
        self.opened = _open(path)

    @cached_property
    def _members(self) -> dict[str, _Member]:
        return _newest_members(self.opened)

    def open_member(self, name: str) -> IO[bytes]:
        """Open one of the archive's files for reading."""
        if name not in self._members:
            raise IndexingError("is no longer in its archive")
        entry = self._members[name].entry
        if isinstance(self.opened, zipfile.ZipFile) and isinstance(entry, zipfile.ZipInfo):
            if entry.flag_bits & _ENCRYPTED:
                raise IndexingError("asks for a password. Unpack it yourself")
            return self.opened.open(entry)
        assert isinstance(self.opened, tarfile.TarFile) and isinstance(entry, tarfile.TarInfo)
        file = self.opened.extractfile(entry)
        assert file is not None  # extractfile returns None only for entries that are not ordinary files
        return file


# The last archive that was read and a key that detects changes; the next file is likely to come from it.
_last: list[tuple[tuple[str | int, ...], _Archive]] = []


@contextmanager
def _reused_archive(path: Path) -> Iterator[_Archive]:
    """Yield an archive, the one left open by the last read if possible; only one reader uses it at a time."""
    status = os.stat(path)
    # The process id is in the key: after a fork, two processes would share one position in the file.
    key = (str(path), status.st_size, status.st_mtime_ns, status.st_ino, os.getpid())
    reused: _Archive | None = None
    is_sound = False
    with suppress(IndexError):
        last_key, last = _last.pop()
        if last_key == key:
            reused = last
        else:
            last.opened.close()
    with _translated_errors():
        archive = reused or _Archive(path)
        try:
            yield archive
            is_sound = True
        except IndexingError:  # raised for one of its files; the archive itself is sound
            is_sound = True
            raise
        finally:
            if is_sound and not _last:
                _last.append((key, archive))
            else:
                archive.opened.close()


def _open(path: Path) -> zipfile.ZipFile | tarfile.TarFile:
    return zipfile.ZipFile(path) if path.name.lower().endswith(".zip") else tarfile.open(path)


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except IndexingError:
        raise  # it is also a RuntimeError
    except _BAD_ARCHIVE as error:
        raise IndexingError("is damaged, or no archive of its kind. Pack it again") from error
