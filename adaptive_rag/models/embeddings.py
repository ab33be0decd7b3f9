"""Embedding models by name or as live objects, and the vectors of passages and queries they make."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from adaptive_rag.errors import ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.models.onnx import MINILM, OnnxEmbeddings, Vectors, load_minilm, load_onnx_folder

# What runs on this machine without LangChain's help; everything else goes to `init_embeddings`.
LOCAL: dict[str, Callable[[str], OnnxEmbeddings]] = {
    "local": lambda name: _load_local(name),
    "onnx": load_onnx_folder,
}

QUERIES_KEPT = 1024
DOCUMENTS_PER_CALL = 256
# The attributes under which LangChain's embedding classes keep the name of their model.
NAME_ATTRIBUTES = ("model", "model_name", "model_id", "deployment")


def load_embeddings(spec: str | Embeddings | None = None) -> Embeddings:
    """Load an embedding model from 'local:all-MiniLM-L6-v2', 'onnx:PATH' or 'provider:name'.

    A live object is returned as it is; without a name the embedded model is loaded.

    Raises:
        ConfigurationError: the name is not one of a model.
        MissingExtraError: the provider's package is not installed.
    """
    if spec is None:
        return load_minilm()
    if isinstance(spec, Embeddings):
        return spec
    provider, separator, name = spec.strip().partition(":")
    if not separator or not provider or not name:
        raise ConfigurationError(
            f"embeddings = {spec!r} is not a model: expected 'provider:name', such as {MINILM!r}, "
            "'onnx:PATH' or 'openai:text-embedding-3-small'."
        )
    if provider in LOCAL:
        return LOCAL[provider](name)
    return _load_remote(spec, provider, name)


def embedding_name(embeddings: Embeddings) -> str:
    """Return the name an index remembers its model by, the same in every process."""
    if isinstance(embeddings, OnnxEmbeddings):
        return embeddings.name
    kind = type(embeddings)
    model = next((v for a in NAME_ATTRIBUTES if isinstance(v := getattr(embeddings, a, None), str)), "")
    package = kind.__module__.partition(".")[0]
    if package.startswith("langchain_") and package != "langchain_core" and model:
        return f"{package.removeprefix('langchain_')}:{model}"
    name = f"{kind.__module__}.{kind.__qualname__}"
    return f"{name}:{model}" if model else name


def encode(embeddings: Embeddings, texts: Sequence[str]) -> Vectors:
    """Embed passages into float32 vectors of unit length, shape (len(texts), dimension).

    Raises:
        IndexingError: the model returned something other than one finite vector for each text.
    """
    if isinstance(embeddings, OnnxEmbeddings):
        return embeddings.encode(texts)
    rows: list[list[float]] = []
    for start in range(0, len(texts), DOCUMENTS_PER_CALL):
        # several providers refuse an empty text
        batch = [text if text.strip() else "." for text in texts[start : start + DOCUMENTS_PER_CALL]]
        rows += embeddings.embed_documents(batch)
    return _unit(embeddings, rows, len(texts))


def embed_queries(embeddings: Embeddings, texts: Sequence[str]) -> Vectors:
    """Embed queries into unit vectors, shape (len(texts), dimension); recent ones are remembered."""
    if isinstance(embeddings, OnnxEmbeddings):
        return embeddings.encode(texts)
    known = {text: _queries.get(embeddings, text) for text in texts}
    missing = [text for text, vector in known.items() if vector is None]
    if missing:
        for text, vector in zip(missing, _embed_queries(embeddings, missing), strict=True):
            known[text] = vector
            _queries.put(embeddings, text, vector)
    return np.stack([vector for text in texts if (vector := known[text]) is not None])


class _QueryCache:
    """The vectors of the queries last embedded, so that the steps of one question share one call."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        # The model is kept beside its vector, so that its id cannot pass to another object.
        self._rows: OrderedDict[tuple[int, str], tuple[Embeddings, Vectors]] = OrderedDict()

    def get(self, embeddings: Embeddings, text: str) -> Vectors | None:
        """Return the vector of a query, if it is still held."""
        with self._lock:
            row = self._rows.get((id(embeddings), text))
            if row is None:
                return None
            self._rows.move_to_end((id(embeddings), text))
            return row[1]

    def put(self, embeddings: Embeddings, text: str, vector: Vectors) -> None:
        """Hold the vector of a query, letting go of the one used longest ago."""
        with self._lock:
            self._rows[id(embeddings), text] = (embeddings, vector)
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)


_queries = _QueryCache(QUERIES_KEPT)


def _embed_queries(embeddings: Embeddings, texts: list[str]) -> Vectors:
    # `embed_query` rather than `embed_documents`: some models mark the two differently.
    asked = [text if text.strip() else "." for text in texts]
    if len(asked) == 1:
        return _unit(embeddings, [embeddings.embed_query(asked[0])], 1)
    with ThreadPoolExecutor(min(8, len(asked)), thread_name_prefix="embed") as pool:
        return _unit(embeddings, list(pool.map(embeddings.embed_query, asked)), len(texts))


def _unit(embeddings: Embeddings, rows: list[list[float]], count: int) -> Vectors:
    try:
        vectors: NDArray[np.float32] = np.asarray(rows, dtype=np.float32)
    except ValueError as error:
        raise IndexingError(
            f"{embedding_name(embeddings)!r} returned vectors of different lengths for one batch."
        ) from error
    if count == 0:
        return vectors.reshape(0, 0)
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
        raise IndexingError(
            f"{embedding_name(embeddings)!r} returned an array of shape {vectors.shape} for {count} texts; "
            "expected one finite vector for each."
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


def _load_local(name: str) -> OnnxEmbeddings:
    if f"local:{name}" != MINILM:
        raise ConfigurationError(
            f"embeddings = 'local:{name}' is not known: the embedded model is {MINILM!r}. "
            "Open another one with 'onnx:PATH' or 'provider:name'."
        )
    return load_minilm()


def _load_remote(spec: str, provider: str, name: str) -> Embeddings:
    from langchain.embeddings import init_embeddings
    from openai import OpenAIError

    try:
        embeddings = init_embeddings(name, provider=provider)
    except ImportError as error:
        package = (error.name or f"langchain_{provider}").partition(".")[0].replace("_", "-")
        if not package.startswith("langchain"):
            package = f"langchain-{provider.replace('_', '-')} {package}"
        raise MissingExtraError(
            f"embeddings = {spec!r} needs a package that is not installed. "
            f"Install it with: pip install {package}"
        ) from error
    except (ValueError, OpenAIError) as error:
        raise ConfigurationError(f"embeddings = {spec!r} cannot be loaded: {error}") from error
    return embeddings
