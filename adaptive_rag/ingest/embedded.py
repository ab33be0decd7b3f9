"""The files embedded in an Office document: each is read by its own loader, or named in a note."""

from __future__ import annotations

import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path, PurePosixPath

import olefile  # type: ignore[import-untyped]

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.attachments import add_attachment
from adaptive_rag.ingest.contents import kind_by_content
from adaptive_rag.ingest.documents import TextBuilder, attachment_name
from adaptive_rag.ingest.file import reporting_errors
from adaptive_rag.ingest.loaders import LOADERS, find_loader

# The largest embedded file in bytes, and the most files per document; a note names those beyond the limits.
_LARGEST, _MOST = 50_000_000, 50
_OLE_PACKAGE = "\x01Ole10Native"
# Streams that hold a whole file: an Office document, or a file of another program such as a PDF reader.
_FILE_STREAMS = ("Package", "CONTENTS", "EmbeddedOdf")


class EmbeddedFiles:
    """Collects a document's embedded files while it is read, and writes each once, below its text."""

    def __init__(self, archive: zipfile.ZipFile, builder: TextBuilder) -> None:
        self._archive = archive
        self._builder = builder
        self._programs: dict[str, str] = {}  # by part: the name of the program that wrote it
        self._left_out: Counter[str] = Counter()

    def add(self, part: str, program: str = "") -> None:
        """Note a file that the document shows here, and the program that wrote it."""
        self._programs.setdefault(part, program)

    def write(self) -> None:
        """Write the files as attachments, and note which files are not read."""
        parts = set(self._archive.namelist())
        for index, (part, program) in enumerate(self._programs.items()):
            name = attachment_name(part)
            if part not in parts:
                self._left_out[f"{program or name} (missing)"] += 1
            elif index >= _MOST or self._archive.getinfo(part).file_size > _LARGEST:
                self._left_out[f"{name} (too large or too many)"] += 1
            else:
                self._write_file(part, name, program)
        if self._left_out:
            names = (f"{name} ({count})" if count > 1 else name for name, count in self._left_out.items())
            self._builder.notes.append(f"embedded files were left out: {', '.join(names)}")

    def _write_file(self, part: str, name: str, program: str) -> None:
        """Write one file as an attachment; its kind comes from its name, else from its content."""
        stored_name = ""
        try:
            with reporting_errors(Path(name)):
                data, stored_name = _unwrap(self._archive.read(part))
                name = stored_name or name
                has_loader = find_loader(Path(name)) is not None
                kind = None if has_loader else kind_by_content(BytesIO(data))
        except IndexingError as error:
            self._left_out[f"{name} ({error})"] += 1
            return
        if kind is not None:
            name = f"{PurePosixPath(name).stem}{LOADERS[kind].suffixes[0]}"
        elif not has_loader:
            self._left_out[stored_name or program or name] += 1
            return
        add_attachment(data, name, self._builder, 1, {})


def _unwrap(data: bytes) -> tuple[bytes, str]:
    """Return the file wrapped in an OLE object, and its name; else the data unchanged."""
    if not data.startswith(olefile.MAGIC):
        return data, ""
    try:
        with reporting_errors(Path()), olefile.OleFileIO(BytesIO(data)) as file:
            if file.exists(_OLE_PACKAGE):
                return _unpack(file.openstream(_OLE_PACKAGE).read()) or (data, "")
            stream = next((name for name in _FILE_STREAMS if file.exists(name)), None)
            return (file.openstream(stream).read(), "") if stream else (data, "")
    except IndexingError:  # it is reported under the name that it has in the document
        return data, ""


def _unpack(packed: bytes) -> tuple[bytes, str] | None:
    """Return the file in an Ole10Native stream, and its name; None if the stream has another form.

    Its fields are: its size, two bytes, a name, a path, eight bytes of which the last four are the length of
    the next field, the path of a copy, the file's size, and the file.
    """
    if packed[4:6] != b"\x02\0":
        return None
    label, _, rest = packed[6:].partition(b"\0")
    _, _, rest = rest.partition(b"\0")
    path_length = int.from_bytes(rest[4:8], "little")
    rest = rest[8 + path_length :]
    size = int.from_bytes(rest[:4], "little")
    if not 0 < size <= len(rest) - 4:
        return None
    return rest[4 : 4 + size], attachment_name(label.decode("cp1252", "replace"))
