"""The file of a backup: a tar archive with a signed manifest. All contents are checked before they are used.

`signature` is the HMAC-SHA256 of `manifest.jsonl` with the server's key. The first line of the manifest
describes the backup; the others give the name, size and SHA-256 of each other member. Reading takes bounded
memory, whatever an archive contains.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import secrets
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.private import FILE_MODE, make_file, make_folder, replace_text

FORMAT = 3
MANIFEST, SIGNATURE = "manifest.jsonl", "signature"
PROFILES = "profiles.jsonl"
# Every member of a backup is in one of these folders, or is one of these files.
_MEMBER_FOLDERS = ("data/collections/", "tables/", "conversations/")
_MEMBER_FILES = {"data/router.json", PROFILES, MANIFEST, SIGNATURE}
MOST_FILES = 2_000_000
# In bytes. The longest row is that of a job with 1,000 problems; each has a name of up to 1,000 characters.
LONGEST_LINE = 2**25
_LONGEST_NAME = 65_536
_KEY_BYTES = 32
_BLOCK = 2**20
# Errors that are raised by reading a malformed manifest, row or conversation.
FORMAT_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError,
                 NotImplementedError, tarfile.TarError, EOFError)  # fmt: skip
_KEY_REMEDY = (
    "Name its file with --key FILE or server.backup_key; by default it is backup.key in the data folder."
)
HOW_TO_RESTORE = (
    "Name the key of the server that wrote it with --key FILE (backup.key in its data folder, unless "
    "server.backup_key names another). A backup of an unknown server is restored by --foreign, without its "
    "conversations. Nothing was restored."
)


class BackupError(AdaptiveRAGError):
    """A backup cannot be written, or it cannot be restored."""


def make_key(file: Path) -> None:
    """Create the key file if it is missing, atomically and for its owner alone."""
    if not file.exists():
        replace_text(file, secrets.token_hex(_KEY_BYTES) + "\n")


def read_key(file: Path, kind: str = "of backups", remedy: str = _KEY_REMEDY) -> bytes:
    """Read a key from a file; errors name the kind of the key and the remedy.

    Raises:
        ConfigurationError: the file cannot be read, or does not hold a key.
    """
    try:
        with file.open("rb") as source:
            key = bytes.fromhex(source.read(10 * _KEY_BYTES).decode("ascii"))
    except OSError as error:
        raise ConfigurationError(
            f"The key {kind}, {str(file)!r}, cannot be read: {error.strerror or error}. {remedy}"
        ) from error
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ConfigurationError(
            f"The file {str(file)!r} is no key {kind}: expected {2 * _KEY_BYTES} hexadecimal digits, as "
            "`openssl rand -hex 32` writes them."
        )
    return key


def write_archive(stage: Path, archive: Path, about: dict[str, Any], key: bytes) -> None:
    """Write the files below a folder into an archive, with a manifest and the manifest's signature."""
    make_file(archive)
    files = sorted(path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file())
    if len(files) > MOST_FILES:
        raise BackupError(
            f"There are {len(files):,} files; a backup may have {MOST_FILES:,}. There is no backup."
        )
    with (stage / MANIFEST).open("w", encoding="utf-8") as lines:
        lines.write(json.dumps({"format": FORMAT} | about) + "\n")
        for name in files:
            size = (stage / name).stat().st_size
            lines.write(json.dumps({"name": name, "size": size, "sha256": _digest(stage / name)}) + "\n")
    with (stage / MANIFEST).open("rb") as manifest:
        (stage / SIGNATURE).write_text(_sign(manifest, key))
    with archive.open("wb") as target:
        # Unlike the default format (PAX), GNU's has no headers of unbounded length.
        tar_options: dict[str, Any] = {"format": tarfile.GNU_FORMAT, "encoding": "utf-8", "dereference": True}
        with tarfile.open(fileobj=target, mode="w", **tar_options) as tar:
            for name in (SIGNATURE, MANIFEST, *files):
                tar.add(stage / name, name)
        target.flush()
        os.fsync(target.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sign(manifest: IO[bytes], key: bytes) -> str:
    signature = hmac.new(key, digestmod=hashlib.sha256)
    while block := manifest.read(_BLOCK):
        signature.update(block)
    return signature.hexdigest()


class Archive:
    """An archive whose manifest lists its members; its signature is checked if a key is given."""

    def __init__(self, path: Path, file: BinaryIO, key: bytes | None) -> None:
        self._path, self._file = path, file
        self.about, self.members = self._read_manifest(key)

    @classmethod
    @contextmanager
    def open(cls, path: Path, key: bytes | None) -> Iterator[Self]:
        """Open an archive, and check all digests, and the signature if a key is given.

        Raises:
            BackupError: the file is not a backup, is damaged, or is not signed with the key.
        """
        if not path.is_file():
            raise BackupError(f"The backup {path} is missing.")
        with path.open("rb") as file:
            try:
                archive = cls(path, file, key)
                for _, blocks in archive._checked_members():
                    for _ in blocks:
                        pass
            except FORMAT_ERRORS as error:
                raise BackupError(f"The file {path} is not a whole backup: {error}.") from error
            yield archive

    def unpack(self, folder: Path, *, without: str | None = None) -> None:
        """Write the members into a new folder, except those whose names begin with `without`.

        Raises:
            BackupError: the archive has changed since it was checked.
            OSError: a member cannot be written.
        """
        for name, blocks in self._checked_members():
            if without is None or not name.startswith(without):
                make_folder((folder / name).parent)
                with open(folder / name, "xb", opener=partial(os.open, mode=FILE_MODE)) as file:
                    file.writelines(blocks)

    def _checked_members(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the members with their content, which is checked against the manifest while it is read."""
        missing = dict(self.members)
        for name, content in self._scan_members():
            if name not in (SIGNATURE, MANIFEST):
                yield name, self._checked_blocks(name, content, missing.pop(name, None))
        if missing:
            raise self._damaged(next(iter(missing)))

    def _checked_blocks(
        self, name: str, content: IO[bytes], expected: tuple[int, str] | None
    ) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        while block := content.read(_BLOCK):
            digest.update(block)
            size += len(block)
            yield block
        if expected != (size, digest.hexdigest()):
            raise self._damaged(name)

    def _damaged(self, name: str) -> BackupError:
        return BackupError(f"The backup {self._path} is damaged at {name[:200]}. Nothing was restored.")

    def _read_manifest(self, key: bytes | None) -> tuple[dict[str, Any], dict[str, tuple[int, str]]]:
        members, signature = self._scan_members(), b""
        no_member: tuple[str, IO[bytes]] = "", io.BytesIO()
        name, content = next(members, no_member)
        if name == SIGNATURE:
            signature = content.read(100)
            name, content = next(members, no_member)
        if name != MANIFEST:
            raise ValueError(f"it begins without its {MANIFEST}")
        if key is not None:
            if not hmac.compare_digest(signature, _sign(content, key).encode()):
                problem = "another signature than that of the key" if signature else "no signature"
                raise BackupError(f"The backup {self._path} has {problem}. {HOW_TO_RESTORE}")
            content.seek(0)
        lines = read_lines(content)
        about = next(lines, {})
        if (version := about["format"]) != FORMAT:
            raise BackupError(
                f"The backup {self._path} is of form {version!r:.40}; this version reads {FORMAT}."
            )
        if not isinstance(about["revision"], str):
            raise ValueError(f"its {MANIFEST} is of another form")
        members_by_name: dict[str, tuple[int, str]] = {}
        for line in lines:
            if members_by_name.setdefault(line["name"], fact := (line["size"], line["sha256"])) is not fact:
                raise self._damaged(str(line["name"]))
        return about, members_by_name

    def _scan_members(self) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield the members; raise TarError for a member that no backup has, and for a repeated name."""
        seen = set[str]()
        self._file.seek(0)
        with tarfile.open(fileobj=self._file, mode="r:", tarinfo=_Header, encoding="utf-8") as tar:
            while (header := tar.next()) is not None:
                tar.members.clear()  # type: ignore[attr-defined]  # otherwise tarfile keeps every header
                name = header.name
                is_allowed = name in _MEMBER_FILES or name.startswith(_MEMBER_FOLDERS)
                if not is_allowed or any(part in ("", ".", "..") for part in name.split("/")):
                    raise tarfile.ReadError(f"it holds {name[:200]!r}, which no backup does")
                if name in seen:
                    raise tarfile.ReadError(f"it holds {name[:200]!r} twice")
                if len(seen) >= MOST_FILES + 2:
                    raise tarfile.ReadError(f"it holds more than {MOST_FILES:,} files")
                seen.add(name)
                content = tar.extractfile(header)
                assert content is not None, "a file has content"
                yield name, content


class _Header(tarfile.TarInfo):
    """A header of the kinds that a backup has. tarfile would read other kinds into memory at any size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        is_name = header.type == tarfile.GNUTYPE_LONGNAME and header.size <= _LONGEST_NAME
        if header.size < 0 or not (is_name or header.type == tarfile.REGTYPE):
            raise tarfile.ReadError(f"it holds {header.name[:200]!r}, which no backup does")
        return header


def read_lines(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file, one per line.

    Raises:
        ValueError: a line is not an object, or is too long.
    """
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"it has a line of more than {LONGEST_LINE:,} bytes")
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ValueError(f"it has a line {line[:40]!r} where an object belongs")
        yield row
