"""The third step of indexing: a source's text to chunks that end where sentences and paragraphs end."""

from __future__ import annotations

from collections.abc import Iterator

from adaptive_rag.ingest.source_text import SourceText
from adaptive_rag.state import Chunk

DEFAULT_SIZE = 1000
DEFAULT_OVERLAP = 200


def split(text: SourceText, *, size: int = DEFAULT_SIZE, overlap: int = DEFAULT_OVERLAP) -> Iterator[Chunk]:
    """Cut a source into chunks of at most `size` characters, in order.

    A chunk begins with the last whole sentences of the one before, up to `overlap` characters. Its
    `page` is the one it starts on; `metadata["page_end"]` is there when it ends on another. Ids are
    stable: the same source, span and text give the same id.

    Raises:
        ConfigurationError: `size` or `overlap` is out of bounds.
    """
    raise NotImplementedError


def check_sizes(size: int, overlap: int) -> None:
    """Refuse chunk sizes that cannot work.

    Raises:
        ConfigurationError: `size` is under 50, or `overlap` is negative or more than half of `size`.
    """
    raise NotImplementedError
