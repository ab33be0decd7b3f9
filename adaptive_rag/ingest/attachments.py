"""Used by the loaders of what files are attached to: each one to a part of the text, by its own loader."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError, MissingExtraError
from adaptive_rag.ingest.archives import is_archive
from adaptive_rag.ingest.conversions import how_to_convert
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.file import in_plain_words
from adaptive_rag.ingest.loaders import find_loader

# Mails and archives hold further files, which would be bounded by nothing.
_CONTAINERS = (".eml", ".mbox", ".msg")
# a report that is attached to a mail may hold a sheet
_DEEPEST = 2


def add_attachment(
    data: bytes | None, name: str, builder: TextBuilder, level: int, known: Mapping[str, Any]
) -> None:
    """Read an attachment with the loader of its kind; what cannot be read is noted.

    Args:
        data: what it holds; None where it is no file.
        name: without folders.
        builder: of the file that it is attached to.
        level: of its heading, which is its name.
        known: the metadata that its chunks carry beside their own.
    """
    inner = _read(data, name, builder)
    if inner is not None and inner.length:
        builder.add_part(inner, name, level, {**known, "attachment": name})
    elif inner is not None:
        builder.notes += [f"{name}: {note}" for note in inner.notes or ("it holds no text",)]


def insert_part(data: bytes, name: str, builder: TextBuilder) -> None:
    """Read a document that stands in a place of another one, there; what cannot be read is noted."""
    inner = _read(data, name, builder)
    if inner is not None:
        builder.insert(inner)


def _read(data: bytes | None, name: str, builder: TextBuilder) -> TextBuilder | None:
    """Return what a file in another one holds; None where it is not read, which is noted."""
    loader = find_loader(Path(name))
    container = Path(name).suffix.lower() in _CONTAINERS or is_archive(Path(name))
    if loader is None or container or data is None:
        way = how_to_convert(Path(name))
        builder.notes.append(f"the attachment {name} is of no kind that is read{f'. {way}' if way else ''}")
        return None
    if builder.depth >= _DEEPEST:
        builder.notes.append(f"the attachment {name} was left out: it lies in a file in a file")
        return None
    inner = TextBuilder()
    inner.depth = builder.depth + 1
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, f"attachment{Path(name).suffix}")
        copy.write_bytes(data)
        try:
            with in_plain_words(copy):
                loader(copy, inner)
        except (IndexingError, MissingExtraError) as error:
            missing = "was not read. " if isinstance(error, MissingExtraError) else ""
            builder.notes.append(f"the attachment {name} {missing}{error}")
            return None
    return inner
