"""Used by the loaders of Office documents: the files that one holds, read by their own loaders or named."""

from __future__ import annotations

import tempfile
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path, PurePosixPath

import olefile  # type: ignore[import-untyped]

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.attachments import add_attachment
from adaptive_rag.ingest.contents import kind_by_content
from adaptive_rag.ingest.documents import TextBuilder, printable
from adaptive_rag.ingest.file import in_plain_words
from adaptive_rag.ingest.loaders import LOADERS, find_loader

# In bytes, and in files of one document: what is beyond them is named.
LARGEST, _MOST = 50_000_000, 50
_PACKAGED = "\x01Ole10Native"
# streams that hold a whole file: one of Office, and one of a program such as a reader of PDF
_WHOLE_FILES = ("Package", "CONTENTS", "EmbeddedOdf")


class EmbeddedFiles:
    """Collects the files of a document while it is read, and writes them below it, each once."""

    def __init__(self, archive: zipfile.ZipFile, builder: TextBuilder) -> None:
        self._archive = archive
        self._builder = builder
        self._found: dict[str, str] = {}  # by part: what its program is called
        self._left_out: Counter[str] = Counter()

    def add(self, part: str, program: str = "") -> None:
        """Note a file that the document shows at this place, and the program that wrote it."""
        self._found.setdefault(part, program)

    def write(self, level: int = 1) -> None:
        """Write the files as attachments, and note those that are not read."""
        known = set(self._archive.namelist())
        for at, (part, program) in enumerate(self._found.items()):
            name = printable(PurePosixPath(part).name)
            if part not in known:
                self._left_out[f"{program or name} (missing)"] += 1
            elif at >= _MOST or self._archive.getinfo(part).file_size > LARGEST:
                self._left_out[f"{name} (too large or too many)"] += 1
            else:
                self._write_file(part, name, program, level)
        if self._left_out:
            names = (f"{name} ({count})" if count > 1 else name for name, count in self._left_out.items())
            self._builder.notes.append(f"embedded files were left out: {', '.join(names)}")

    def _write_file(self, part: str, name: str, program: str, level: int) -> None:
        own = ""
        try:
            with in_plain_words(Path(name)):
                data, own = _unwrap(self._archive.read(part))
                name = own or name
                known = find_loader(Path(name)) is not None
                kind = None if known else _kind(data)
        except IndexingError as error:
            self._left_out[f"{name} ({error})"] += 1
            return
        if not known:
            if kind is None:
                self._left_out[own or program or name] += 1
                return
            name = f"{PurePosixPath(name).stem}{LOADERS[kind].suffixes[0]}"
        add_attachment(data, name, self._builder, level, {})


def _kind(data: bytes) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "file")
        copy.write_bytes(data)
        return kind_by_content(copy)


def _unwrap(data: bytes) -> tuple[bytes, str]:
    """Return the file that an OLE object wraps with its name, or else the object as it is."""
    if not data.startswith(olefile.MAGIC):
        return data, ""
    try:
        with in_plain_words(Path()), olefile.OleFileIO(BytesIO(data)) as file:
            if file.exists(_PACKAGED):
                return _unpack(file.openstream(_PACKAGED).read()) or (data, "")
            held = next((name for name in _WHOLE_FILES if file.exists(name)), None)
            return (file.openstream(held).read(), "") if held else (data, "")
    except IndexingError:  # it is named as what it is called
        return data, ""


def _unpack(packed: bytes) -> tuple[bytes, str] | None:
    """Return the file that was packed into a document, and its name; None where it is packed otherwise.

    Its size, two bytes, its name, its path, eight bytes, the path of a copy, then the size and the file.
    """
    if packed[4:6] != b"\x02\0":
        return None
    label, _, rest = packed[6:].partition(b"\0")
    _, _, rest = rest.partition(b"\0")
    copied = int.from_bytes(rest[4:8], "little")
    rest = rest[8 + copied :]
    size = int.from_bytes(rest[:4], "little")
    if not 0 < size <= len(rest) - 4:
        return None
    name = label.decode("cp1252", "replace").replace("\\", "/")
    return rest[4 : 4 + size], printable(PurePosixPath(name).name)
