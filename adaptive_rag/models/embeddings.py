"""Opens embedding models, by name or as live objects, and embeds passages and queries."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from cachetools import LRUCache
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.models.onnx import MINILM, OnnxEmbeddings, load_minilm, load_onnx_folder
from adaptive_rag.text.redaction import cause_of, redact, remember_fields
from adaptive_rag.text.tokens import TextLimit, count_bytes
from adaptive_rag.text.vectors import Vectors

# Functions that open a model by its name, by provider; LangChain's `init_embeddings` opens those of all other
# providers. An index can open its model again if the model has a `name` of the form 'PROVIDER:NAME'.
EMBEDDINGS: dict[str, Callable[[str], Embeddings]] = {
    "local": lambda name: _load_local(name),
    "onnx": load_onnx_folder,
}
# Number of tokens that a tokenizer adds around a text.
SPECIAL_TOKENS = 2
MAX_CACHED_QUERIES = 1024
DOCUMENTS_PER_CALL = 256


def load_embeddings(spec: str | Embeddings | None = None) -> Embeddings:
    """Load an embedding model from 'local:all-MiniLM-L6-v2', 'onnx:PATH' or 'provider:name'.

    A live object is returned as it is; without a name, the embedded model is loaded.

    Raises:
        ConfigurationError: there is no such model.
        MissingExtraError: the provider's package is not installed.
    """
    if spec is None or isinstance(spec, Embeddings):
        return load_minilm() if spec is None else spec
    provider, separator, name = spec.strip().partition(":") if isinstance(spec, str) else ("", "", "")
    if not separator or not provider or not name:
        raise ConfigurationError(
            f"embeddings = {spec!r} is not a model: expected 'provider:name', such as {MINILM!r}, "
            "'onnx:PATH' or 'openai:text-embedding-3-small'."
        )
    if provider in EMBEDDINGS:
        return EMBEDDINGS[provider](name)
    return _load_by_langchain(spec, provider, name)


def embedding_name(embeddings: Embeddings) -> str:
    """Return the name under which an index records its model; it is the same in every process."""
    name = getattr(embeddings, "name", None)
    if isinstance(name, str) and (isinstance(embeddings, OnnxEmbeddings) or name.split(":")[0] in EMBEDDINGS):
        return name
    class_ = type(embeddings)
    # The attributes in which LangChain's embedding classes store the name of their model.
    values = (getattr(embeddings, key, None) for key in ("model", "model_name", "model_id", "deployment"))
    model = next((value for value in values if isinstance(value, str)), "")
    package = class_.__module__.partition(".")[0]
    if package.startswith("langchain_") and package != "langchain_core" and model:
        return f"{package.removeprefix('langchain_')}:{model}"
    name = f"{class_.__module__}.{class_.__qualname__}"
    return f"{name}:{model}" if model else name


def limit_of(embeddings: Embeddings, chunk_size: int) -> TextLimit:
    """Return how much of a text a model reads; most models silently ignore the rest.

    If a model's tokens cannot be counted here, the limit is one and a half bytes for each character of
    `chunk_size`. English has one byte per character. For a chunk size of 1,000, the limit is 500 Chinese
    characters, which is close to the 512 tokens that many models read.
    """
    if isinstance(embeddings, OnnxEmbeddings):
        return TextLimit(embeddings.max_tokens - SPECIAL_TOKENS, embeddings.count_tokens)
    return TextLimit(chunk_size * 3 // 2, count_bytes)


def encode(embeddings: Embeddings, texts: Sequence[str]) -> Vectors:
    """Embed passages into float32 vectors of unit length, shape (len(texts), dimension).

    Raises:
        IndexingError: the model failed, or returned something other than one finite vector for each text.
    """
    if isinstance(embeddings, OnnxEmbeddings):
        return embeddings.encode(texts)
    rows: list[list[float]] = []
    for start in range(0, len(texts), DOCUMENTS_PER_CALL):
        # Several providers refuse an empty text.
        batch = [text if text.strip() else "." for text in texts[start : start + DOCUMENTS_PER_CALL]]
        with _explained_errors(embeddings):
            rows += embeddings.embed_documents(batch)
    return _unit_vectors(embeddings, rows, len(texts))


# The most recent queries, so that the steps of one question share one call. The model is stored with the
# vector, so that no other object can get its id.
_query_cache: LRUCache[tuple[int, str], tuple[Embeddings, Vectors]] = LRUCache(MAX_CACHED_QUERIES)
_lock = threading.Lock()


def embed_queries(embeddings: Embeddings, texts: Sequence[str]) -> Vectors:
    """Embed queries into unit vectors, shape (len(texts), dimension); recent queries are cached."""
    if isinstance(embeddings, OnnxEmbeddings):
        return embeddings.encode(texts)
    with _lock:
        vector_of = {text: entry[1] for text in texts if (entry := _query_cache.get((id(embeddings), text)))}
    if missing := [text for text in dict.fromkeys(texts) if text not in vector_of]:
        queries = [text if text.strip() else "." for text in missing]
        with ThreadPoolExecutor(8, thread_name_prefix="embed") as pool:
            map_ = pool.map if len(queries) > 1 else map
            # Not `embed_documents`, since some models embed queries and documents differently.
            with _explained_errors(embeddings):
                rows = list(map_(embeddings.embed_query, queries))
            vectors = _unit_vectors(embeddings, rows, len(queries))
        vector_of.update(zip(missing, vectors, strict=True))
        with _lock:
            _query_cache.update(((id(embeddings), text), (embeddings, vector_of[text])) for text in missing)
    return np.stack([vector_of[text] for text in texts])


@contextmanager
def _explained_errors(embeddings: Embeddings) -> Iterator[None]:
    """Turn an error of a provider into one that names the model; secrets in its text are redacted."""
    remember_fields(getattr(embeddings, "__dict__", {}))
    try:
        yield
    except AdaptiveRAGError:
        raise
    except Exception as error:  # every provider raises its own errors
        text = redact(" ".join(str(error).split())) or type(error).__name__
        raise IndexingError(
            f"The embedding model {embedding_name(embeddings)!r} failed: {text}"
        ) from cause_of(error)


def _unit_vectors(embeddings: Embeddings, rows: list[list[float]], count: int) -> Vectors:
    """Check the vectors that a model returned for `count` texts, and scale them to unit length."""
    if not count:
        return np.zeros((0, 0), dtype=np.float32)
    try:
        vectors = np.asarray(rows, dtype=np.float32)
        is_usable = vectors.ndim == 2 and len(vectors) == count and bool(np.isfinite(vectors).all())
    except ValueError:  # vectors of different lengths
        is_usable = False
    if not is_usable:
        raise IndexingError(
            f"{embedding_name(embeddings)!r} returned {len(rows)} vectors for {count} texts; expected one "
            "for each, all of one length and finite."
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


def _load_local(name: str) -> OnnxEmbeddings:
    if f"local:{name}" == MINILM:
        return load_minilm()
    raise ConfigurationError(
        f"embeddings = 'local:{name}' is not known: the embedded model is {MINILM!r}. "
        "Open another one with 'onnx:PATH' or 'provider:name'."
    )


def _load_by_langchain(spec: str, provider: str, name: str) -> Embeddings:
    from langchain.embeddings import init_embeddings
    from openai import OpenAIError

    options = {}
    if provider == "openai" and any(map(os.environ.get, ("OPENAI_BASE_URL", "OPENAI_API_BASE"))):
        # LangChain would download OpenAI's tokenizer and send its tokens, which other models misread.
        options["check_embedding_ctx_length"] = False
    try:
        return init_embeddings(name, provider=provider, **options)
    except ImportError as error:
        package = (error.name or f"langchain_{provider}").partition(".")[0].replace("_", "-")
        if not package.startswith("langchain"):
            package = f"langchain-{provider.replace('_', '-')} {package}"
        raise MissingExtraError(
            f"embeddings = {spec!r} needs a package that is not installed. "
            f"Install it with: pip install {package}"
        ) from error
    except (ValueError, OpenAIError) as error:
        if isinstance(error, OpenAIError) and not os.environ.get("OPENAI_API_KEY"):
            raise ConfigurationError(
                f"The embedding model {spec!r} needs a key: set OPENAI_API_KEY. For your own server with "
                "OpenAI's protocol, set OPENAI_BASE_URL to its address, and OPENAI_API_KEY to any text."
            ) from cause_of(error)
        raise ConfigurationError(
            f"embeddings = {spec!r} cannot be loaded: {redact(str(error))}"
        ) from cause_of(error)
