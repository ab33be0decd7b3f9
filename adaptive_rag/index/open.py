"""Opens the place that a run searches: an index by name or as an object, or the app's own retriever."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from adaptive_rag.context import Context
from adaptive_rag.errors import IndexingError
from adaptive_rag.source import ChunkSource

if TYPE_CHECKING:
    from adaptive_rag.index import IndexReport

_MAX_OPEN = 16
_open: OrderedDict[Hashable, ChunkSource] = OrderedDict()
_lock = threading.Lock()


def source_of(context: Context) -> ChunkSource:
    """Return the chunks that this run searches; an index is opened once and kept.

    Raises:
        IndexMismatchError: the folder is no index of ours, or was made with another embedding model.
    """
    if context.retriever is None and not isinstance(context.index, str):
        return context.index
    # A live object keeps its identity while we hold it, which the cached source does.
    embeddings = context.embeddings if isinstance(context.embeddings, str) else id(context.embeddings)
    place = id(context.retriever) if context.retriever is not None else _whole(str(context.index))
    key = (place, embeddings)
    with _lock:
        if key not in _open:
            _open[key] = _open_source(context)
            if len(_open) > _MAX_OPEN:
                _open.popitem(last=False)
        _open.move_to_end(key)
        return _open[key]


def _open_source(context: Context) -> ChunkSource:
    if context.retriever is not None:
        from adaptive_rag.index.langchain import RetrieverSource

        return RetrieverSource(context.retriever, context.embeddings)
    from adaptive_rag.index import Index

    return Index.open(str(context.index), embeddings=context.embeddings)


def _whole(uri: str) -> str:
    """Name a relative folder in full: what is open must not follow a program that changes its folder."""
    return uri if "://" in uri else os.path.abspath(os.path.expanduser(uri))


def narrow_to(report: IndexReport, uri: str, embeddings: str | Embeddings | None) -> str | ChunkSource:
    """Return the place that holds the documents of an indexing run alone: an index gathers many runs.

    Raises:
        IndexingError: none of the documents could be read.
    """
    from adaptive_rag.index import Index

    named = set(report.sources)
    if not named:
        reasons = "; ".join(str(failure) for failure in report.failed[:5])
        raise IndexingError(f"No document could be read: {reasons or 'none was named'}.")
    index = Index.open(uri, embeddings=embeddings)
    # The name instead of the open index, where it makes no difference, keeps settings plain data.
    return uri if named >= index.sources().keys() and embeddings is None else index.only(named)
