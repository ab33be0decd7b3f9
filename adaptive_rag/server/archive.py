"""The file of a backup: a tar archive with a signed manifest. Nothing of it is believed before it is checked.

`manifest.jsonl` has a line about the backup, then one for each other member with its size and SHA-256;
`signature` is the HMAC-SHA256 of the manifest with the key of the server. Whatever an archive holds, reading
it takes bounded memory.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.private import FILE_MODE, make_file, make_folder
from adaptive_rag.text.visible import ESCAPED_NUL

FORMAT = 2
MANIFEST, SIGNATURE = "manifest.jsonl", "signature"
PROFILES = "profiles.jsonl"
# All that a backup holds lies in these folders, or is one of these files.
_FOLDERS = ("data/collections/", "tables/", "conversations/")
_FILES = {"data/router.json", PROFILES, MANIFEST, SIGNATURE}
MOST_FILES = 2_000_000
# A job with a problem for each of many files has the longest row; a name has 1,000 characters.
LONGEST_LINE = 2**25
_LONGEST_NAME = 65_536
_KEY_BYTES = 32
_BLOCK = 2**20
# What reading a manifest, rows or conversations of another form raises.
ODD = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, NotImplementedError)


class BackupError(AdaptiveRAGError):
    """A backup cannot be written, or it cannot be restored."""


class Member(NamedTuple):
    """Where the content of a member begins in the archive, its size, and the SHA-256 that it should have."""

    start: int
    size: int
    digest: str = ""


def make_key(file: Path) -> None:
    """Make a key where there is none, in one step, for its owner alone."""
    if file.exists():
        return
    partial = file.with_name(f"{file.name}.partial")
    partial.unlink(missing_ok=True)
    make_file(partial)
    with partial.open("w", encoding="ascii") as target:
        target.write(secrets.token_hex(_KEY_BYTES) + "\n")
        target.flush()
        os.fsync(target.fileno())
    partial.replace(file)


def read_key(file: Path) -> bytes:
    """Return the key of a file.

    Raises:
        ConfigurationError: it cannot be read, or holds something else.
    """
    try:
        with file.open("rb") as source:
            key = bytes.fromhex(source.read(10 * _KEY_BYTES).decode("ascii"))
    except OSError as error:
        raise ConfigurationError(
            f"The key of the backups cannot be read: {error}. Name its file with --key FILE or "
            "server.backup_key; by default it is backup.key in the data folder."
        ) from error
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ConfigurationError(
            f"The file {str(file)!r} is no key of backups: expected {2 * _KEY_BYTES} hexadecimal digits, as "
            "`openssl rand -hex 32` writes them."
        )
    return key


def pack(stage: Path, archive: Path, about: dict[str, Any], key: bytes) -> None:
    """Write the files below a folder into an archive, with its manifest and the signature of that.

    Raises:
        BackupError: there are more files than one archive may have.
    """
    make_file(archive)
    files = sorted(path for path in stage.rglob("*") if path.is_file())
    if len(files) > MOST_FILES:
        raise BackupError(f"There are {len(files):,} files; a backup may have {MOST_FILES:,}. There is none.")
    manifest, signature = stage / MANIFEST, stage / SIGNATURE
    with archive.open("wb") as target:
        # This form has no headers whose length is not bounded.
        form: dict[str, Any] = {"format": tarfile.GNU_FORMAT, "encoding": "utf-8", "dereference": True}
        with tarfile.open(fileobj=target, mode="w", **form) as tar:
            with manifest.open("w", encoding="utf-8") as lines:
                lines.write(json.dumps({"format": FORMAT} | about) + "\n")
                for path in files:
                    name, size = path.relative_to(stage).as_posix(), path.stat().st_size
                    lines.write(json.dumps({"name": name, "size": size, "sha256": _digest(path)}) + "\n")
                    tar.add(path, name)
            with manifest.open("rb") as content:
                signature.write_text(_sign(_blocks(content, Member(0, manifest.stat().st_size)), key))
            tar.add(manifest, MANIFEST)
            tar.add(signature, SIGNATURE)
        target.flush()
        os.fsync(target.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sign(manifest: Iterable[bytes], key: bytes) -> str:
    signature = hmac.new(key, digestmod=hashlib.sha256)
    for block in manifest:
        signature.update(block)
    return signature.hexdigest()


class Archive:
    """An archive whose manifest names its members, and is signed where a key was given."""

    def __init__(self, path: Path, file: BinaryIO, about: dict[str, Any], members: dict[str, Member]) -> None:
        self.about = about
        self.members = members
        self._path = path
        self._file = file

    @classmethod
    @contextmanager
    def open(cls, path: Path, key: bytes | None) -> Iterator[Self]:
        """Open an archive, and check its signature (unless no key is given) and every digest.

        Raises:
            BackupError: it is no backup, damaged, or not signed with the key; the message names what failed.
        """
        try:
            with path.open("rb") as file:
                try:
                    found = _scan(file)
                    if MANIFEST not in found:
                        raise BackupError(f"The file {path} is not a whole backup: it has no {MANIFEST}.")
                    manifest, signature = found.pop(MANIFEST), found.pop(SIGNATURE, None)
                    if key is not None:
                        _check_signature(path, file, manifest, signature, key)
                    about, members = _read_manifest(path, file, manifest, found)
                except (tarfile.TarError, EOFError, *ODD) as error:
                    raise BackupError(f"The file {path} is not a whole backup: {error}.") from error
                archive = cls(path, file, about, members)
                archive._check_digests()
                yield archive
        except FileNotFoundError as error:
            if error.filename != str(path):
                raise
            raise BackupError(f"The backup {path} is missing.") from error

    def _check_digests(self) -> None:
        wrong = []
        for name, member in self.members.items():
            digest = hashlib.sha256()
            for block in _blocks(self._file, member):
                digest.update(block)
            if digest.hexdigest() != member.digest:
                wrong.append(name)
        if wrong:
            raise _damaged(self._path, wrong)

    def unpack(self, folder: Path, *, without: str | None = None) -> None:
        """Write the members below a new folder, but those whose names begin as named.

        Raises:
            BackupError: the archive was changed since it was checked.
            OSError: a member cannot be written.
        """
        for name, member in self.members.items():
            if without is not None and name.startswith(without):
                continue
            place = folder / name
            make_folder(place.parent)
            digest = hashlib.sha256()
            with open(place, "xb", opener=_private) as file:
                for block in _blocks(self._file, member):
                    digest.update(block)
                    file.write(block)
            if digest.hexdigest() != member.digest:
                raise _damaged(self._path, [name])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


def _damaged(path: Path, names: list[str]) -> BackupError:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    shown = ", ".join(name[:200] for name in names[:5])
    return BackupError(f"The backup {path} is damaged at {shown}{more}. Nothing was restored.")


class _Header(tarfile.TarInfo):
    """A header as a backup has it. By itself, tarfile reads some others into memory whatever their size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        is_name = header.type == tarfile.GNUTYPE_LONGNAME and header.size <= _LONGEST_NAME
        if header.size < 0 or not (is_name or header.type == tarfile.REGTYPE):
            raise tarfile.ReadError(f"it holds {header.name[:200]!r}, which no backup does")
        return header


def _scan(file: BinaryIO) -> dict[str, Member]:
    """Return where each member lies.

    Raises:
        TarError: it is no tar archive, or holds what no backup does, a name twice or too many members.
    """
    found: dict[str, Member] = {}
    end = os.fstat(file.fileno()).st_size
    with tarfile.open(fileobj=file, mode="r:", tarinfo=_Header, encoding="utf-8") as tar:
        while (header := tar.next()) is not None:
            tar.members.clear()  # type: ignore[attr-defined]  # otherwise it keeps every one
            name = header.name
            is_known = name in _FILES or name.startswith(_FOLDERS)
            if not is_known or any(part in ("", ".", "..") for part in name.split("/")):
                raise tarfile.ReadError(f"it holds {name[:200]!r}, which no backup does")
            if name in found:
                raise tarfile.ReadError(f"it holds {name[:200]!r} twice")
            if len(found) >= MOST_FILES + 2:
                raise tarfile.ReadError(f"it holds more than {MOST_FILES:,} files")
            if header.offset_data + header.size > end:
                raise tarfile.ReadError(f"it ends in the middle of {name[:200]!r}")
            found[name] = Member(header.offset_data, header.size)
    return found


def _check_signature(
    path: Path, file: BinaryIO, manifest: Member, signature: Member | None, key: bytes
) -> None:
    own = _sign(_blocks(file, manifest), key)
    given = b"".join(_blocks(file, signature._replace(size=min(signature.size, 100)))) if signature else b""
    if not hmac.compare_digest(given, own.encode()):
        has = "another signature than that of the key" if signature else "no signature"
        raise BackupError(f"The backup {path} has {has}. {both_ways()}")


def both_ways() -> str:
    """Name the ways to restore a backup whose signature does not fit."""
    return (
        "Name the key of the server that wrote it with --key FILE (backup.key in its data folder, unless "
        "server.backup_key names another). A backup of an unknown server is restored by --foreign, without "
        "its conversations. Nothing was restored."
    )


def _read_manifest(
    path: Path, file: BinaryIO, manifest: Member, found: dict[str, Member]
) -> tuple[dict[str, Any], dict[str, Member]]:
    file.seek(manifest.start)
    lines = read_lines(file, manifest.size)
    about = next(lines, {})
    if (form := about["format"]) != FORMAT:
        raise BackupError(f"The backup {path} is of form {form!r:.40}; this version reads form {FORMAT}.")
    if not isinstance(about["revision"], str):
        raise ValueError(f"its {MANIFEST} is of another form")
    members, wrong = {}, []
    for line in lines:
        name, size, digest = line["name"], line["size"], line["sha256"]
        if (member := found.pop(name, None)) is None or member.size != size:
            raise _damaged(path, [str(name)])
        members[name] = member._replace(digest=str(digest)[:64])
    wrong = sorted(found)
    if wrong:
        raise _damaged(path, wrong)
    return about, members


def _blocks(file: BinaryIO, member: Member) -> Iterator[bytes]:
    file.seek(member.start)
    left = member.size
    while left:
        block = file.read(min(left, _BLOCK))
        if not block:
            raise BackupError(f"The backup {file.name} ends in the middle of a file. Nothing was restored.")
        left -= len(block)
        yield block


def read_lines(file: BinaryIO, size: int, counts: Counter[str] | None = None) -> Iterator[dict[str, Any]]:
    """Read so many bytes as lines of JSON, each an object; U+0000, which older servers took, becomes U+FFFD.

    How often it did is added to `counts`, as `replaced`.

    Raises:
        ValueError: a line is something else, or too long.
    """
    end = file.tell() + size
    while (left := end - file.tell()) > 0:
        line = file.readline(min(left, LONGEST_LINE + 1))
        if not line:
            raise ValueError("it ends in the middle of a file")
        if len(line) > LONGEST_LINE:
            raise ValueError(f"it has a line of more than {LONGEST_LINE:,} bytes")
        line, replaced = ESCAPED_NUL.subn(rb"\1\\ufffd", line)
        if replaced and counts is not None:
            counts["replaced"] += replaced
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ValueError(f"it has a line {line[:40]!r} where an object belongs")
        yield row
