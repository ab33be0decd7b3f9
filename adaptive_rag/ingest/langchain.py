"""Conversion from LangChain documents to sources, and from chunks to LangChain documents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.documents import CHUNK_METADATA, SourceText, TextBuilder, printable
from adaptive_rag.text.places import format_place, place_at
from adaptive_rag.text.visible import without_surrogates

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from adaptive_rag.state import Chunk


def from_langchain(documents: Iterable[Document]) -> Iterator[SourceText]:
    """Turn an app's documents into sources; every chunk carries their metadata.

    The source is `metadata["source"]`, else the document's id, else a name made from its content, so that a
    document of a later run does not take its place. Documents with the same source (such as the pages from a
    PDF loader) become one source, in their order; no chunk crosses from one to the next. The page is
    `metadata["page_label"]` if that is a number, else `metadata["page"]` plus 1, since LangChain's PDF
    loaders count pages from 0.

    Raises:
        ConfigurationError: an item is not a document.
    """
    grouped: dict[str, list[Document]] = {}
    for number, document in enumerate(documents, start=1):
        if not isinstance(getattr(document, "page_content", None), str):
            kind = type(document).__name__
            raise ConfigurationError(f"Item {number} is {kind!r}; a LangChain Document was expected.")
        if source := document.metadata.get("source") or document.id:
            grouped.setdefault(printable(str(source)), []).append(document)
        else:
            grouped[f"document-{_content_hash([document])[:16]}"] = [document]
    return (_source_text(source, group) for source, group in grouped.items())


def to_document(chunk: Chunk) -> Document:
    """Turn a chunk or a candidate into a LangChain document.

    Its metadata follows LangChain's conventions (`source`, `page`, `start_index`), with one exception: `page`
    counts from 1, as viewers and our citations do; `page_label` is the same as text. `place` describes in
    words where the chunk is: "sheet Prices, row 7".
    """
    from langchain_core.documents import Document

    position = {"source": chunk["source"], "start_index": chunk["start"], "end_index": chunk["end"]}
    metadata = {**chunk["metadata"], **position}
    if place := format_place(place_at(chunk, chunk["start"], chunk["end"])):
        metadata.setdefault("place", place)
    # Many vector stores accept only flat metadata.
    for name in ("cells", "ocr_spans", "page_starts", "section_starts"):
        metadata.pop(name, None)
    if chunk["page"] is not None:
        metadata |= {"page": chunk["page"], "page_label": str(chunk["page"])}
    if chunk["section"]:
        metadata["section"] = chunk["section"]
    if scores := chunk.get("scores"):
        metadata["scores"] = scores
    return Document(page_content=chunk["text"], metadata=metadata, id=chunk["id"])


def _source_text(source: str, documents: list[Document]) -> SourceText:
    """Build one source from documents that share a name; each becomes a record."""
    builder = TextBuilder()
    for document in documents:
        metadata = _own_metadata(document)
        builder.add_record(document.page_content, metadata, page=page_of(metadata))
    return builder.build(source, _content_hash(documents))


def _content_hash(documents: list[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        digest.update(json.dumps([document.page_content, _own_metadata(document)], sort_keys=True).encode())
    return digest.hexdigest()


def _own_metadata(document: Document) -> dict[str, Any]:
    return {name: value for name, value in plain_metadata(document).items() if name != "source"}


def plain_metadata(document: Document) -> dict[str, Any]:
    """Return a document's metadata as plain data, without the names whose values only our loaders give."""
    encoded = json.dumps(document.metadata, default=_to_plain, ensure_ascii=False)
    # NaN, which pandas has for an empty cell, is no JSON.
    decoded = json.loads(without_surrogates(encoded), parse_constant=lambda _: None)
    return {name: value for name, value in decoded.items() if name not in CHUNK_METADATA}


def _to_plain(value: Any) -> Any:
    """Return a number of another library, such as NumPy, as one of Python, and anything else as text."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else str(value)


def page_of(metadata: Mapping[str, Any]) -> int | None:
    """Return the page by LangChain's `page_label` if it is a number, else by `page`, which counts from 0."""
    label, page = metadata.get("page_label"), whole_number(metadata.get("page"))
    if isinstance(label, str) and label.isdecimal():
        return int(label)
    return None if page is None else page + 1


def whole_number(value: Any) -> int | None:
    """Return a whole number; some vector stores, such as Pinecone, return it as a float."""
    return int(value) if isinstance(value, int | float) and value % 1 == 0 else None
