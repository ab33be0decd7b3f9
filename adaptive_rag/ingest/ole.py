"""OLE files, the containers of older Office documents: the errors of their loaders and their properties."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import olefile  # type: ignore[import-untyped]
from olefile.olefile import OleFileError  # type: ignore[import-untyped]

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.text import code_page


@contextmanager
def open_ole(
    path: Path, builder: TextBuilder, streams: tuple[str, ...], *, kind: str, newer: str
) -> Iterator[Any]:
    """Open an older Office document, and note its properties after it was read.

    Every such document has these streams. `kind` begins with the program's name, "Word document", and `newer`
    is the suffix of the program's newer format.

    Raises:
        IndexingError: it is not such a document, or it is damaged.
    """
    program = kind.partition(" ")[0]
    try:
        with olefile.OleFileIO(path) as file:
            if not all(map(file.exists, streams)):
                raise IndexError("there is no document in it")
            yield file
            metadata = file.get_metadata()
    except (OleFileError, struct.error, IndexError) as error:
        problem = f"is not a {kind} or is damaged"
        raise IndexingError(
            f"{problem}. Open it in {program} or LibreOffice and save it as {newer}"
        ) from error
    title, author = (_decode(value, metadata.codepage) for value in (metadata.title, metadata.author))
    note_properties(builder, title=title, author=author, date=metadata.create_time)


def _decode(value: bytes | str | None, page: int | None) -> str:
    """Decode a property with the code page that the file names."""
    if isinstance(value, bytes):
        value = value.decode(code_page((page or 0) & 0xFFFF) or "cp1252", "replace")
    return str(value or "").strip("\0 ")
