"""The files that hold a version of the table, and whether they are as they were written.

LanceDB never changes a file that it wrote: a version is a list of files, and a later one shares most of
them. Its Python API does not give that list, so it is read from Lance's own file of the version, which is
a protobuf message (https://lance.org/format/table/, `table.proto`).
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from xxhash import xxh3_64

from adaptive_rag.errors import IndexDamagedError
from adaptive_rag.index.location import Location
from adaptive_rag.index.manifest import Manifest, Seal, repair_hint
from adaptive_rag.index.memory_table import IN_MEMORY_UP_TO

NAMED = 3  # files that an error names at most
# Numbers of fields in `table.proto`.
FRAGMENTS, INDEXES_AT = 2, 6
FRAGMENT_ID, FRAGMENT_FILES, FRAGMENT_DELETION, FRAGMENT_ROWS = 1, 2, 3, 4
DELETION_KIND, DELETION_READ_VERSION, DELETION_ID = 1, 2, 3
# A deletion file lists its rows as an Arrow array, or as a bitmap.
DELETION_SUFFIXES = ("arrow", "bin")


class Fragment(NamedTuple):
    """Rows that were written together: their number, with those deleted since, and the files they are in."""

    number: int
    rows: int
    files: list[str]

    @property
    def row_ids(self) -> range:
        """Return the ids of the rows, which need not all be there still."""
        return range(self.number << 32, (self.number << 32) + self.rows)


class TableVersion(NamedTuple):
    """What a version of the table consists of."""

    file: str
    fragments: list[Fragment]
    indexes: list[str]
    """Folders."""


def read_version(location: Location, table: str, version: int) -> TableVersion:
    """Return what a version of a table consists of, by paths from the folder of the index.

    Raises:
        IndexDamagedError: Lance's file of the version is missing or cannot be read.
    """
    from google.protobuf import message

    folder = f"{table}.lance"
    file = f"{folder}/_versions/{2**64 - 1 - version}.manifest"
    try:
        content = location.read(file)
        if content is None:
            raise ValueError("it is missing")
        # the file ends with where the message begins, the version of the format, and four letters
        fields = _message_at(content, struct.unpack("<QHH4s", content[-16:])[0])
        fragments = [_fragment(folder, part) for part in fields.get(FRAGMENTS, [])]
        indexes = _message_at(content, fields[INDEXES_AT][0]).get(1, []) if INDEXES_AT in fields else []
        ids = [_fields(_fields(index)[1][0])[1][0] for index in indexes]
        folders = [f"{folder}/_indices/{uuid.UUID(bytes=each)}" for each in ids]
    except (struct.error, LookupError, ValueError, TypeError, message.DecodeError) as error:
        raise damaged(location.uri, {file: f"cannot be read ({error})"}) from error
    return TableVersion(file, fragments, folders)


def seal_files(
    location: Location, table: str, version: int, known: Mapping[str, Seal] | None
) -> dict[str, Seal]:
    """Return the sizes and checksums of the files of a version; files known from before are not read again.

    Raises:
        IndexDamagedError: one of them is missing.
    """
    parts = read_version(location, table, version)
    files = [parts.file, *(file for fragment in parts.fragments for file in fragment.files)]
    files += [f"{folder}/{name}" for folder in parts.indexes for name in location.names(folder)]
    known = known or {}
    sizes = location.sizes(file for file in files if file not in known)
    if missing := [file for file in files if file not in known and file not in sizes]:
        raise damaged(location.uri, dict.fromkeys(missing, "is missing"))
    return {
        file: known[file] if file in known else Seal(sizes[file], _checksum(location, file)) for file in files
    }


def changed_files(location: Location, files: Mapping[str, Seal], *, contents: bool) -> dict[str, str]:
    """Return the files that are not as they were written, each with what became of it.

    Without their contents only sizes are compared.
    """
    sizes, found = location.sizes(files), {}
    for file, seal in files.items():
        if file not in sizes:
            found[file] = "is missing"
        elif sizes[file] != seal.size:
            found[file] = f"has {sizes[file]:,} bytes instead of {seal.size:,}"
        elif contents and _checksum(location, file) != seal.checksum:
            found[file] = "has changed since it was written"
    return found


def refuse_damage(location: Location, manifest: Manifest, known: Mapping[str, Seal] | None = None) -> None:
    """Refuse an index whose files are not as they were written, but for those known to be.

    The contents of a table are compared where it is small enough to be read into memory, which reads them
    anyway. Of a larger one, and in a bucket, only sizes are.

    Raises:
        IndexDamagedError: a file is missing or was changed.
    """
    files = {file: seal for file, seal in (manifest.files or {}).items() if file not in (known or {})}
    contents = manifest.chunks <= IN_MEMORY_UP_TO and location.path is not None
    if found := changed_files(location, files, contents=contents):
        raise damaged(location.uri, found)


def damaged(uri: str, found: Mapping[str, str]) -> IndexDamagedError:
    """Return the error that names damaged files and the command that mends them."""
    named = "; ".join(f"{file} {what}" for file, what in list(found.items())[:NAMED])
    more = f", and {len(found) - NAMED} more files" if len(found) > NAMED else ""
    return IndexDamagedError(f"The index {uri} is damaged: {named}{more}. Mend it with: {repair_hint(uri)}")


def _checksum(location: Location, file: str) -> str:
    found = xxh3_64()
    for piece in location.pieces(file):
        found.update(piece)
    return found.hexdigest()


def _fragment(folder: str, message: bytes) -> Fragment:
    fields = _fields(message)
    number = _number(fields, FRAGMENT_ID)
    files = [f"{folder}/data/{_fields(file)[1][0].decode()}" for file in fields[FRAGMENT_FILES]]
    for each in map(_fields, fields.get(FRAGMENT_DELETION, [])):
        name = f"{number}-{_number(each, DELETION_READ_VERSION)}-{_number(each, DELETION_ID)}"
        files.append(f"{folder}/_deletions/{name}.{DELETION_SUFFIXES[_number(each, DELETION_KIND)]}")
    return Fragment(number, _number(fields, FRAGMENT_ROWS), files)


def _message_at(content: bytes, place: int) -> dict[int, list[Any]]:
    """Return the fields of a message that stands in a file after its length."""
    (length,) = struct.unpack_from("<I", content, place)
    return _fields(content[place + 4 : place + 4 + length])


def _fields(message: bytes) -> dict[int, list[Any]]:
    """Return the values of a protobuf message by the numbers of their fields."""
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.unknown_fields import UnknownFieldSet

    found: dict[int, list[Any]] = {}
    for field in UnknownFieldSet(Empty.FromString(message)):
        found.setdefault(field.field_number, []).append(field.data)
    return found


def _number(fields: Mapping[int, list[Any]], field: int) -> int:
    """Return a number; a 0 is left out of the message."""
    return int(fields.get(field, [0])[0])
