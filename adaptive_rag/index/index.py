"""The index: a folder of chunks that can be built, opened and searched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index.build import (
    IndexReport,
    Progress,
    build_index,
    refuse_foreign_folder,
    remove_failed_start,
)
from adaptive_rag.index.location import Location, open_location
from adaptive_rag.index.lock import write_lock
from adaptive_rag.index.manifest import MANIFEST, Manifest, Settings, read_manifest, rebuild_hint
from adaptive_rag.index.neighbours import EXACT_UP_TO
from adaptive_rag.index.table import storing
from adaptive_rag.models.embeddings import embed_queries, embedding_name, encode, load_embeddings
from adaptive_rag.models.onnx import MINILM, OnnxEmbeddings, Vectors
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.vectors import cosines

if TYPE_CHECKING:
    from adaptive_rag.index.narrowed import NarrowedIndex
    from adaptive_rag.index.plan import Documents
    from adaptive_rag.index.reader import TableReader

DEFAULT_CHUNK_SIZE = 1000
DEFAULT_CHUNK_OVERLAP = 200
LOCK_WAIT_SECONDS = 600.0


class Index:
    """An index that is open for searching.

    It follows what other processes write: each search sees the state last completed; in a bucket, the
    state at opening. Its methods may be called from several threads at once.
    """

    def __init__(self, location: Location, manifest: Manifest, embeddings: Embeddings) -> None:
        self.uri = location.uri
        self.embeddings = embeddings
        self._location = location
        self._lock = threading.Lock()
        self._stamp = location.stamp(MANIFEST)
        self._reader = _open_reader(location, manifest)

    @classmethod
    def open(cls, uri: str | Path, *, embeddings: str | Embeddings | None = None) -> Index:
        """Open an index; the embedding model is the one it was made with, unless one is passed.

        Raises:
            IndexMismatchError: there is no index, or none of ours, or another model was passed.
            ConfigurationError: the model has to be passed and was not.
        """
        location = open_location(uri)
        manifest = _complete_manifest(location)
        name = manifest.settings.embeddings
        if embeddings is None:
            embeddings = _load_recorded(location, name)
        elif isinstance(embeddings, str):
            embeddings = load_embeddings(embeddings)
        if (passed := embedding_name(embeddings)) != name:
            raise IndexMismatchError(
                f"The index {location.uri} was made with {name!r}; asked for was {passed!r}. Leave the model "
                f"out to use the index's own, or make it anew: {rebuild_hint(location.uri)} "
                f"--embeddings {passed}"
            )
        return cls(location, manifest, embeddings)

    @classmethod
    def build(
        cls,
        documents: Documents,
        uri: str | Path,
        *,
        embeddings: str | Embeddings | None = None,
        chunk_size: int = DEFAULT_CHUNK_SIZE,
        chunk_overlap: int = DEFAULT_CHUNK_OVERLAP,
        sentence_vectors: bool = True,
        progress: Callable[[Progress], None] | None = None,
        prune: bool = True,
        rebuild: bool = False,
        wait_seconds: float = LOCK_WAIT_SECONDS,
        on_wait: Callable[[str], None] | None = None,
    ) -> IndexReport:
        """Bring an index up to date with files, folders, source texts or LangChain documents.

        What is unchanged costs nothing, what changed is replaced, and with `prune` what vanished from
        the folders named is removed. A run that breaks off leaves the last complete state; the next
        run goes on from there. `rebuild` makes the index anew, with other settings if need be; the
        old one serves until the new one is complete.

        Raises:
            IndexMismatchError: the index was made with other settings, or the folder is not an index.
            IndexingError: nothing could be read, the place cannot be written, or another process
                holds the index for longer than `wait_seconds`.
            ConfigurationError: a path or a setting is wrong.
        """
        from adaptive_rag.ingest.chunking import check_sizes

        check_sizes(chunk_size, chunk_overlap)
        location = open_location(uri)
        refuse_foreign_folder(location)
        embeddings, name, dimension = _model_of(location, embeddings)
        settings = Settings(name, dimension, chunk_size, chunk_overlap, sentence_vectors)
        if location.path is not None:
            with storing(location.uri):
                location.path.mkdir(parents=True, exist_ok=True)
        try:
            with write_lock(location.path, wait_seconds=wait_seconds, on_wait=on_wait):
                return build_index(
                    documents,
                    location,
                    embeddings,
                    settings,
                    progress=progress,
                    prune=prune,
                    rebuild=rebuild,
                )
        except BaseException:
            remove_failed_start(location)
            raise

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        `scores` holds "dense" (cosine) and "sparse" (BM25, 0.0 where no word matches); chunks that are
        question-answer pairs also have "dense_question" and "dense_answer".
        """
        if not queries:
            return []
        reader = self._current()
        vectors = embed_queries(self.embeddings, queries)
        if vectors.shape[1] != (stored := reader.manifest.settings.dimension):
            raise IndexMismatchError(
                f"The index {self.uri} holds vectors of {stored} dimensions; "
                f"{embedding_name(self.embeddings)!r} made one of {vectors.shape[1]}. "
                "Open it with the model it was made with."
            )
        return reader.search(queries, vectors, limit)

    def prepare(self, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
        """Begin, in other threads, what a search for these texts will need, and return at once.

        Texts that are compared with chunks later, but not searched, are embedded beside them.
        """
        reader = self._current()
        reader.begin(partial(reader.look_up_words, texts))
        if isinstance(self.embeddings, OnnxEmbeddings):
            # A model that is called over a network would be paid for texts that may never be asked for.
            reader.begin(partial(_embed_and_compare, reader, self.embeddings, texts, also_compared))

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length.

        Raises:
            KeyError: a chunk is not in the index.
        """
        return self._current().vectors(ids)

    def similarities(self, texts: Sequence[str], ids: Sequence[str]) -> Vectors:
        """Return the cosine of each text with each chunk, shape (len(texts), len(ids)).

        Raises:
            KeyError: a chunk is not in the index.
        """
        return cosines(embed_queries(self.embeddings, texts), self.vectors(ids))

    @property
    def stores_sentences(self) -> bool:
        """Tell whether the index was made with sentence vectors."""
        return self._current().manifest.settings.sentence_vectors

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors.

        An index made without sentence vectors embeds the sentences when they are first asked for, which
        takes some milliseconds each.

        Raises:
            KeyError: a chunk is not in the index.
        """
        reader = self._current()
        if reader.manifest.settings.sentence_vectors:
            return reader.sentences(ids)
        return reader.embedded_sentences(ids)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id.

        Raises:
            KeyError: a chunk is not in the index.
        """
        return self._current().get(ids)

    def chunks(self) -> Iterator[Chunk]:
        """Go through all chunks."""
        return self._current().chunks()

    def only(self, sources: Collection[str]) -> NarrowedIndex:
        """Return a view that searches these sources alone."""
        from adaptive_rag.index.narrowed import NarrowedIndex

        return NarrowedIndex(self, sources)

    def sources(self) -> dict[str, int]:
        """Return the indexed sources and how many chunks each has."""
        return {name: record.chunks for name, record in self._current().manifest.sources.items()}

    def __len__(self) -> int:
        return self._current().manifest.chunks

    @property
    def version(self) -> str:
        """Name the state of the index; what was found under another name may not be found now."""
        return str(self._current().manifest.committed)

    def info(self) -> dict[str, Any]:
        """Return what the index holds and how it was made."""
        return _describe(self._location, self._current().manifest)

    def _current(self) -> TableReader:
        """Return the reader of the last complete state, opening it if another process moved on."""
        stamp = self._location.stamp(MANIFEST) if self._location.path else self._stamp
        if stamp == self._stamp:
            return self._reader
        with self._lock:
            if stamp != self._stamp:
                manifest = _complete_manifest(self._location)
                known = self._reader.manifest
                if manifest.settings.embeddings != known.settings.embeddings:
                    raise IndexMismatchError(
                        f"The index {self.uri} was made anew with {manifest.settings.embeddings!r} since it "
                        f"was opened with {known.settings.embeddings!r}. Open it again."
                    )
                if (manifest.table, manifest.version) != (known.table, known.version):
                    self._reader = _open_reader(self._location, manifest)
                self._stamp = stamp
            return self._reader


def describe(uri: str | Path) -> dict[str, Any]:
    """Return what an index holds and how it was made, without its embedding model.

    Raises:
        IndexMismatchError: there is no index, or none of ours.
    """
    location = open_location(uri)
    return _describe(location, _complete_manifest(location))


def _describe(location: Location, manifest: Manifest) -> dict[str, Any]:
    return {
        "index": location.uri,
        "embeddings": manifest.settings.embeddings,
        "dimension": manifest.settings.dimension,
        "chunk_size": manifest.settings.chunk_size,
        "chunk_overlap": manifest.settings.chunk_overlap,
        "sentence_vectors": manifest.settings.sentence_vectors,
        "sources": len(manifest.sources),
        "chunks": manifest.chunks,
        "bytes": _folder_size(location.path),
        "vector_search": "exact" if manifest.chunks <= EXACT_UP_TO else "approximate",
        "recall": manifest.recall,
        "updated": manifest.committed,
        "notes": [
            {"source": source, "note": text}
            for source, record in manifest.sources.items()
            for text in record.notes
        ],
    }


def _embed_and_compare(
    reader: TableReader, embeddings: OnnxEmbeddings, texts: Sequence[str], others: Sequence[str]
) -> None:
    vectors = embeddings.encode([*texts, *others])[: len(texts)]
    # A model of other dimensions is refused by the search itself.
    if vectors.shape[1] == reader.manifest.settings.dimension:
        reader.compare(vectors)


def _open_reader(location: Location, manifest: Manifest) -> TableReader:
    from adaptive_rag.index.reader import TableReader

    return TableReader(location.uri, manifest)


def _complete_manifest(location: Location) -> Manifest:
    manifest = read_manifest(location)
    command = f"adaptive-rag index PATH --index {location.uri}"
    if manifest is None:
        if location.is_empty():
            raise IndexMismatchError(f"There is no index at {location.uri}. Make one with: {command}")
        raise IndexMismatchError(
            f"{location.uri} is not an index of ours: it has no {MANIFEST}. Name the folder of an index, or "
            "make a new one with: adaptive-rag index PATH --index FOLDER"
        )
    if manifest.version is None:
        raise IndexMismatchError(
            f"The index {location.uri} holds nothing yet: its first run did not finish. Run: {command}"
        )
    return manifest


def _model_of(location: Location, embeddings: str | Embeddings | None) -> tuple[str | Embeddings, str, int]:
    """Return the model to index with, its name and its dimension; what is known is not loaded."""
    embeddings = MINILM if embeddings is None else embeddings
    manifest = read_manifest(location)
    if manifest and embeddings == manifest.settings.embeddings:
        return embeddings, manifest.settings.embeddings, manifest.settings.dimension
    embeddings = load_embeddings(embeddings)
    return embeddings, embedding_name(embeddings), _dimension(embeddings)


def _load_recorded(location: Location, name: str) -> Embeddings:
    try:
        return load_embeddings(name)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"The index {location.uri} was made with {name!r}, which cannot be loaded by name. "
            "Pass the same embeddings object: Index.open(uri, embeddings=...)."
        ) from error


def _dimension(embeddings: Embeddings) -> int:
    if isinstance(embeddings, OnnxEmbeddings):
        return embeddings.dimension
    return int(encode(embeddings, ["dimension"]).shape[1])


def _folder_size(folder: Path | None) -> int | None:
    if folder is None:
        return None
    return int(np.sum([file.stat().st_size for file in folder.rglob("*") if file.is_file()], dtype=np.int64))
