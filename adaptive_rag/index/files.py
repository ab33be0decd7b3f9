"""Lists the files of a table version, and checks that they are as they were written.

LanceDB never changes a file that it wrote: a version is a list of files, and a later version shares most of
them. The Python API does not expose that list, so it is read from Lance's own version file, which contains
a protobuf message (https://lance.org/format/table/, `table.proto`).
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from xxhash import xxh3_64

from adaptive_rag.errors import IndexDamagedError, IndexingError
from adaptive_rag.index.location import Files, Location
from adaptive_rag.index.manifest import Manifest, Seal, repair_hint
from adaptive_rag.index.memory_table import IN_MEMORY_UP_TO
from adaptive_rag.index.postgres.database import Database

MOST_NAMED = 3  # in an error
# Field numbers in `table.proto`.
FRAGMENTS, INDEXES_AT = 2, 6
FRAGMENT_ID, FRAGMENT_FILES, FRAGMENT_DELETION, FRAGMENT_ROWS = 1, 2, 3, 4
FILE_PATH, FILE_SIZE = 1, 6
INDEX_ID, INDEX_FILES, INDEX_FILE_SIZE = 1, 10, 2
DELETION_KIND, DELETION_READ_VERSION, DELETION_ID = 1, 2, 3
# A deletion file lists the deleted rows as an Arrow array or as a bitmap.
DELETION_SUFFIXES = ("arrow", "bin")


class Fragment(NamedTuple):
    """Rows that were written together: the fragment number, the row count before deletions, and the files."""

    number: int
    rows: int
    files: dict[str, int]
    """Sizes in bytes, 0 if Lance does not record them."""

    @property
    def row_ids(self) -> range:
        """Return the ids of the rows, of which some may have been deleted."""
        return range(self.number << 32, (self.number << 32) + self.rows)


class TableVersion(NamedTuple):
    """The files of one version of the table."""

    file: str
    fragments: list[Fragment]
    indexes: dict[str, dict[str, int]]
    """For each index folder, the sizes of its files."""


def read_version(location: Files, table: str, version: int) -> TableVersion:
    """Return the files of a table version; paths are relative to the folder of the index."""
    from google.protobuf import message

    folder = f"{table}.lance"
    file = f"{folder}/_versions/{2**64 - 1 - version}.manifest"
    try:
        content = location.read(file)
        if content is None:
            raise ValueError("it is missing")
        # the file ends with the offset of the message, the version of the format, and four letters
        fields = _read_message_at(content, struct.unpack("<QHH4s", content[-16:])[0])
        fragments = [_fragment(folder, part) for part in fields.get(FRAGMENTS, [])]
        indexes = _read_message_at(content, fields[INDEXES_AT][0]).get(1, []) if INDEXES_AT in fields else []
        folders = dict(_index(folder, index) for index in indexes)
    except (OSError, struct.error, LookupError, ValueError, TypeError, message.DecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise damage_error(location.uri, {file: f"cannot be read ({reason})"}) from error
    return TableVersion(file, fragments, folders)


def seal_files(location: Files, table: str, version: int, known_seals: Mapping[str, Seal]) -> dict[str, Seal]:
    """Return the sizes and checksums of the files of a version; `known_seals` are not computed again."""
    table_version = read_version(location, table, version)
    expected_sizes = {table_version.file: 0}
    for fragment in table_version.fragments:
        expected_sizes.update(fragment.files)
    for folder, files in table_version.indexes.items():
        expected_sizes.update({f"{folder}/{name}": files.get(name, 0) for name in location.names(folder)})
        expected_sizes.update({f"{folder}/{name}": size for name, size in files.items()})
    new_files = {file: size for file, size in expected_sizes.items() if file not in known_seals}
    sizes = location.sizes(new_files)
    for file, size in new_files.items():
        # on some disks, LanceDB does not notice that it wrote only a part of a file
        if file not in sizes or size not in (0, sizes[file]):
            amount = f"only {sizes.get(file, 0):,} of {size:,} bytes of" if size else "nothing of"
            raise IndexingError(
                f"The index {location.uri} could not be written: {amount} {file} was written, as happens "
                "on a full disk. Its last complete state is untouched. Run the same command again once this "
                "is fixed."
            )
    seals = {file: Seal(sizes[file], _checksum(location, file)) for file in new_files}
    return {file: known_seals.get(file) or seals[file] for file in expected_sizes}


def changed_files(location: Files, files: Mapping[str, Seal], *, contents: bool) -> dict[str, str]:
    """Return the files that are missing or changed, each with what is wrong.

    Without `contents`, only sizes are compared.
    """
    # the sizes in a bucket take one request
    sizes = location.sizes(files) if location.path is None else None
    problems = {}
    for file, seal in files.items():
        try:
            size = (location.sizes([file]) if sizes is None else sizes).get(file)
            if size is None:
                problems[file] = "is missing"
            elif size != seal.size:
                problems[file] = f"has {size:,} bytes instead of {seal.size:,}"
            elif contents and _checksum(location, file) != seal.checksum:
                problems[file] = "has changed since it was written"
        except OSError as error:
            problems[file] = f"cannot be read ({error.strerror or error})"
    return problems


def refuse_damage(location: Location, manifest: Manifest, checked_files: Collection[str] = ()) -> None:
    """Raise an error if files of an index are missing or changed, except `checked_files`.

    Contents are compared if the table is small enough to be read into memory, since they are read then
    anyway. For a larger table, and in a bucket, only sizes are compared. A database manages its own files.
    """
    if isinstance(location, Database):
        return
    files = {file: seal for file, seal in manifest.files.items() if file not in checked_files}
    contents = manifest.chunks <= IN_MEMORY_UP_TO and location.path is not None
    if problems := changed_files(location, files, contents=contents):
        raise damage_error(location.uri, problems)


def damage_error(uri: str, problems: Mapping[str, str]) -> IndexDamagedError:
    """Return an error that names some damaged files and the command that repairs the index."""
    named = "; ".join(f"{file} {problem}" for file, problem in list(problems.items())[:MOST_NAMED])
    rest = f", and {len(problems) - MOST_NAMED} more files" if len(problems) > MOST_NAMED else ""
    return IndexDamagedError(f"The index {uri} is damaged: {named}{rest}. Repair it with: {repair_hint(uri)}")


def _checksum(location: Files, file: str) -> str:
    checksum = xxh3_64()
    for piece in location.pieces(file):
        checksum.update(piece)
    return checksum.hexdigest()


def _fragment(folder: str, message: bytes) -> Fragment:
    fields = _fields(message)
    number = _number(fields, FRAGMENT_ID)
    files = {}
    for file in map(_fields, fields[FRAGMENT_FILES]):
        files[f"{folder}/data/{file[FILE_PATH][0].decode()}"] = _number(file, FILE_SIZE)
    for deletion in map(_fields, fields.get(FRAGMENT_DELETION, [])):
        version, deletion_id = _number(deletion, DELETION_READ_VERSION), _number(deletion, DELETION_ID)
        suffix = DELETION_SUFFIXES[_number(deletion, DELETION_KIND)]
        files[f"{folder}/_deletions/{number}-{version}-{deletion_id}.{suffix}"] = 0
    return Fragment(number, _number(fields, FRAGMENT_ROWS), files)


def _index(folder: str, message: bytes) -> tuple[str, dict[str, int]]:
    fields = _fields(message)
    (id_bytes,) = _fields(fields[INDEX_ID][0])[1]
    files = {
        file[FILE_PATH][0].decode(): _number(file, INDEX_FILE_SIZE)
        for file in map(_fields, fields.get(INDEX_FILES, []))
    }
    return f"{folder}/_indices/{uuid.UUID(bytes=id_bytes)}", files


def _read_message_at(content: bytes, offset: int) -> dict[int, list[Any]]:
    """Return the fields of the message at an offset, where its length precedes it."""
    (length,) = struct.unpack_from("<I", content, offset)
    return _fields(content[offset + 4 : offset + 4 + length])


def _fields(message: bytes) -> dict[int, list[Any]]:
    """Return the values of a protobuf message by field number."""
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.unknown_fields import UnknownFieldSet

    values: dict[int, list[Any]] = {}
    for field in UnknownFieldSet(Empty.FromString(message)):
        values.setdefault(field.field_number, []).append(field.data)
    return values


def _number(fields: Mapping[int, list[Any]], field: int) -> int:
    """Return the number in a field; 0 if it is absent, because protobuf omits zeros."""
    return int(fields.get(field, [0])[0])
