"""Used by the loaders of what files are attached to: each one to a part of the text, by its own loader."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError, MissingExtraError
from adaptive_rag.ingest.archives import is_archive
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.file import in_plain_words
from adaptive_rag.ingest.loaders import find_loader

# Mails and archives hold further files, which would be bounded by nothing.
_CONTAINERS = (".eml", ".mbox", ".msg")


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
    loader = find_loader(Path(name))
    container = Path(name).suffix.lower() in _CONTAINERS or is_archive(Path(name))
    if loader is None or container or data is None:
        builder.notes.append(f"the attachment {name} is of no kind that is read")
        return
    inner = TextBuilder()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, f"attachment{Path(name).suffix}")
        copy.write_bytes(data)
        try:
            with in_plain_words(copy):
                loader(copy, inner)
        except (IndexingError, MissingExtraError) as error:
            missing = "was not read. " if isinstance(error, MissingExtraError) else ""
            builder.notes.append(f"the attachment {name} {missing}{error}")
            return
    if inner.length:
        builder.add_part(inner, name, level, {**known, "attachment": name})
