"""Attachments, for the loaders of files that hold others: each is read by its own loader as a part."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError, MissingExtraError
from adaptive_rag.ingest.archives import copy_name, is_archive
from adaptive_rag.ingest.conversions import how_to_convert
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.file import reporting_errors
from adaptive_rag.ingest.loaders import find_loader

# Mail and archives can hold further files without any bound.
_CONTAINER_SUFFIXES = (".eml", ".mbox", ".msg")
# An attached report may itself hold a sheet.
_MAX_DEPTH = 2


def add_attachment(
    data: bytes | None, name: str, builder: TextBuilder, level: int, metadata: Mapping[str, Any]
) -> None:
    """Read an attachment with the loader of its kind; note it if it cannot be read.

    Its heading, of this level, is its name, which has no folders. Its content is None if it is not a file.
    Its chunks carry `metadata` in addition to their own.
    """
    inner = _read(data, name, builder)
    if inner is not None and inner.length:
        builder.add_part(inner, name, level, {**metadata, "attachment": name})
    elif inner is not None:
        builder.notes += [f"{name}: {note}" for note in inner.notes or ("it holds no text",)]


def _read(data: bytes | None, name: str, builder: TextBuilder) -> TextBuilder | None:
    """Return the text of a file inside another one; None if it is not read, which is noted."""
    loader = find_loader(Path(name))
    is_container = Path(name).suffix.lower() in _CONTAINER_SUFFIXES or is_archive(Path(name))
    if loader is None or is_container or data is None:
        hint = how_to_convert(Path(name))
        builder.notes.append(f"the attachment {name} is of no kind that is read{f'. {hint}' if hint else ''}")
        return None
    if builder.depth >= _MAX_DEPTH:
        builder.notes.append(f"the attachment {name} was left out: it lies in a file in a file")
        return None
    inner = TextBuilder()
    inner.depth = builder.depth + 1
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, copy_name(name))
        copy.write_bytes(data)
        try:
            with reporting_errors(copy):
                loader(copy, inner)
        except (IndexingError, MissingExtraError) as error:
            prefix = "was not read. " if isinstance(error, MissingExtraError) else ""
            builder.notes.append(f"the attachment {name} {prefix}{error}")
            return None
    return inner
