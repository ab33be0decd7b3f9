"""Opens the place that a run searches: an index by name or as an object, or the app's own retriever."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from adaptive_rag.context import Context
from adaptive_rag.index.source import ChunkSource

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
    key = (id(context.retriever) if context.retriever is not None else context.index, embeddings)
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

        return RetrieverSource(context.retriever)
    from adaptive_rag.index import Index

    return Index.open(context.index, embeddings=context.embeddings)
