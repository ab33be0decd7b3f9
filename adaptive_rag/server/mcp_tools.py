"""The tools for agents: ask, search and read, in the collections that are open to the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol
from urllib.parse import quote

from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from adaptive_rag.errors import InputError
from adaptive_rag.graph.strategies import NAMES
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import SourceRecord, read_manifest
from adaptive_rag.index.sharding.layout import shard_uris
from adaptive_rag.index.sources import read_chunks
from adaptive_rag.ingest.archives import owners_of
from adaptive_rag.server.answering import Answering, Question, QuestionText, Situation
from adaptive_rag.server.api.documents import text_between
from adaptive_rag.server.api.forms import Confidence, Grounding
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.problems import not_found
from adaptive_rag.server.roles import Action
from adaptive_rag.state import Citation
from adaptive_rag.text.places import format_place, place_at

PASSAGES = "adaptive-rag://passages/"
LONGEST_TEXT = 20_000  # characters of one reading, some 5,000 tokens
MOST_LISTED = 200

CollectionName = Annotated[
    str,
    Field(
        max_length=200,
        description="A collection, as list_collections names it. It can be left out where there is only one.",
    ),
]
Asked = Annotated[
    QuestionText, Field(description="The question, complete without the conversation around it.")
]
DocumentName = Annotated[
    str, Field(max_length=2000, description="A document, as citations and list_documents name it.")
]
Offset = Annotated[int, Field(ge=0, le=2**31, description="Entries before the first that is returned.")]


class CollectionListed(BaseModel):
    """Documents that are searched together."""

    name: str
    description: str
    documents: int
    passages: int


class Collections(BaseModel):
    """The collections that are open to you."""

    collections: list[CollectionListed]
    total: int


class DocumentListed(BaseModel):
    """A document of a collection."""

    document: str
    passages: int
    notes: list[str] = Field(description="What could not be read of it, or had to be guessed.")


class Documents(BaseModel):
    """Documents of a collection by name."""

    collection: str
    documents: list[DocumentListed]
    total: int


class Span(BaseModel):
    """A part of a document and its place."""

    document: str
    place: str = Field(description="Where a person finds it: page, sheet, section, lines.")
    start: int = Field(description="Where it begins in the document's text, in characters.")
    end: int
    uri: str = Field(description="The resource that holds it.")


class Cited(Span):
    """A passage that an answer rests on."""

    marker: int = Field(description="The number by which the answer names it, as in [1].")
    quote: str


class Passage(Span):
    """A passage that a search found."""

    text: str
    scores: dict[str, float] = Field(description="By each way of scoring; they are comparable in one search.")


class Answered(BaseModel):
    """An answer with the passages that it rests on."""

    answer: str
    citations: list[Cited]
    route: str = Field(description="The way that the question went: factual, analytical, opinion, ...")
    why: str = Field(description="Why it went that way.")
    confidence: Confidence
    grounding: Grounding
    abstained: bool = Field(description="The documents do not hold an answer.")
    collection: str


class Found(BaseModel):
    """The passages that a search found, the best first."""

    passages: list[Passage]
    route: str
    why: str
    collection: str


class TextPart(BaseModel):
    """A part of a document's text, as it is indexed."""

    document: str
    start: int
    end: int
    length: int = Field(description="Characters of the whole text.")
    text: str
    collection: str


@dataclass(frozen=True)
class Shelf:
    """A collection that is open to the caller: where its documents are read and searched."""

    name: str
    uri: str
    # None for the operator's own index
    searched: Searched | None = None


class Reader(Protocol):
    """The caller whose agent calls, and what is open to them."""

    answering: Answering
    # the id under which their profile is stored
    id: str | None

    def collections(self, limit: int, offset: int) -> Collections:
        """List the collections that are open to them."""

    def open(self, collection: str, action: Action) -> Shelf:
        """Return a collection by name in which they may do something; "" means the only one."""

    def count(self) -> None:
        """Count a question or a search of theirs; refuse (429) if they may not make one now."""


class Tools:
    """The tools for agents, which choose among them by their docstrings."""

    def __init__(self, reader_of: Callable[[], Reader]) -> None:
        self._reader_of = reader_of

    async def ask(
        self,
        question: Asked,
        collection: CollectionName = "",
        user_context: Annotated[
            Situation, Field(description="Who asks, or in what situation, where that matters.")
        ] = "",
        settings: Annotated[
            dict[str, Any] | None,
            Field(
                description=f"Any of route ({', '.join(NAMES)}), k (passages that reach the answer), "
                "profile (conservative, balanced, aggressive), where (a condition such as "
                "'kind = pdf and page < 10'), retrieval.alpha (0 by words, 1 by meaning), "
                "budget.deadline_s, and recipe where the operator allows it."
            ),
        ] = None,
    ) -> Answered:
        """Answer a question from the documents, with citations.

        Use this where the user wants an answer. It says so where the documents do not hold one.
        """
        reader, shelf = await self._open(collection, Action.ASK, counted=True)
        asked = Question(question=question, user_context=user_context, settings=settings or {})
        output = await reader.answering.answer(asked, shelf.searched, reader.id)
        return Answered(
            answer=output["answer"],
            citations=[_cited(shelf, citation) for citation in output["citations"]],
            route=output["query_type"],
            why=output["analysis"]["reason"],
            confidence=output["confidence"],
            grounding=output["grounding"],
            abstained=output["abstained"],
            collection=shelf.name,
        )

    async def search(
        self,
        query: Asked,
        collection: CollectionName = "",
        limit: Annotated[int, Field(ge=1, le=100, description="Passages to find, at most.")] = 8,
        where: Annotated[
            str,
            Field(
                max_length=2000,
                description="A condition that passages must fulfil, such as 'kind = pdf and page < 10'.",
            ),
        ] = "",
    ) -> Found:
        """Find the passages of the documents that bear on a question, with their scores, without an answer.

        Use this to read the sources yourself, or to compare what several documents say.
        """
        reader, shelf = await self._open(collection, counted=True)
        settings = {"k": min(limit, reader.answering.max_k), "where": where or None}
        asked = Question(question=query, settings=settings)
        found = await reader.answering.search(asked, shelf.searched, reader.id)
        passages = [
            Passage(
                **_span(shelf, each["source"], each["start"], each["end"]),
                place=format_place(place_at(each, each["start"], each["end"])),
                text=each["text"],
                scores=each["scores"],
            )
            for each in found["documents"]
        ]
        return Found(
            passages=passages,
            route=found["query_type"],
            why=found["analysis"]["reason"],
            collection=shelf.name,
        )

    async def read_document(
        self,
        document: DocumentName,
        collection: CollectionName = "",
        start: Annotated[int, Field(ge=0, le=2**31, description="Where to begin, in characters.")] = 0,
        end: Annotated[
            int | None,
            Field(ge=0, le=2**31, description="Where to end; by default as far as one reading goes."),
        ] = None,
    ) -> TextPart:
        """Read the text of a document as it is indexed, at most 20,000 characters at once.

        Use this to see what stands around a passage: its start and end count in the same text. Where the
        returned end is less than the length, there is more to read.
        """
        _, shelf = await self._open(collection)
        return await run_in_threadpool(_read, shelf, document, start, end)

    async def list_documents(
        self,
        collection: CollectionName = "",
        part: Annotated[
            str, Field(max_length=200, description="Only documents whose name contains this.")
        ] = "",
        offset: Offset = 0,
    ) -> Documents:
        """List the documents of a collection by name, 200 at once."""
        _, shelf = await self._open(collection)
        return await run_in_threadpool(_list, shelf, part, offset)

    async def list_collections(self, offset: Offset = 0) -> Collections:
        """List the collections of documents that can be asked, 200 at once, with what each is about."""
        return await run_in_threadpool(self._reader_of().collections, MOST_LISTED, offset)

    async def passage(self, collection: str, document: str, start: str = "0", end: str = "") -> str:
        """Return a part of a document's text."""
        if not (start.isdecimal() and (end or "0").isdecimal()):
            raise InputError("start and end count characters: expected whole numbers.")
        _, shelf = await self._open(collection)
        return (await run_in_threadpool(_read, shelf, document, int(start), int(end) if end else None)).text

    async def _open(
        self, collection: str, action: Action = Action.READ, *, counted: bool = False
    ) -> tuple[Reader, Shelf]:
        reader = self._reader_of()
        if counted:
            reader.count()
        shelf = await run_in_threadpool(reader.open, collection, action)
        return reader, shelf


def only_one(names: Sequence[str]) -> str:
    """Return the name of the only collection."""
    if len(names) != 1:
        raise InputError("Name a collection; list_collections says which there are.")
    return names[0]


def _sources(shelf: Shelf) -> Mapping[str, SourceRecord]:
    location, known = open_location(shelf.uri), dict[str, SourceRecord]()
    for uri in shard_uris(location) or [shelf.uri]:
        if manifest := read_manifest(open_location(uri)):
            known |= manifest.sources
    hidden = shelf.searched.hidden if shelf.searched else frozenset()
    ours = sorted(known.items())
    return {name: record for name, record in ours if hidden.isdisjoint(owners_of(name, record.start))}


def _read(shelf: Shelf, document: str, start: int, end: int | None) -> TextPart:
    # Looked up by its full name: part of a name, or the path of a file, would reveal what else there is.
    if document not in _sources(shelf):
        raise not_found("document")
    _, chunks = read_chunks(shelf.uri, document)
    end = start + LONGEST_TEXT if end is None else min(end, start + LONGEST_TEXT)
    start, end, length, text = text_between(chunks, start, end)
    return TextPart(document=document, start=start, end=end, length=length, text=text, collection=shelf.name)


def _list(shelf: Shelf, part: str, offset: int) -> Documents:
    named = [
        DocumentListed(document=source, passages=record.chunks, notes=list(record.notes))
        for source, record in _sources(shelf).items()
        if part.casefold() in source.casefold()
    ]
    return Documents(collection=shelf.name, documents=named[offset : offset + MOST_LISTED], total=len(named))


def _cited(shelf: Shelf, citation: Citation) -> Cited:
    return Cited(
        **_span(shelf, citation["source"], citation["start"], citation["end"]),
        place=format_place(citation["place"]),
        marker=citation["marker"],
        quote=citation["quote"],
    )


def _span(shelf: Shelf, source: str, start: int, end: int) -> dict[str, Any]:
    place = "/".join(quote(name, safe="") for name in (shelf.name, source))
    uri = f"{PASSAGES}{place}?start={start}&end={end}"
    return {"document": source, "start": start, "end": end, "uri": uri}
