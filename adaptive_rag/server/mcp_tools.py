"""The tools for agents: they ask, search and read the collections that are open to the caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol
from urllib.parse import quote

from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from adaptive_rag.errors import InputError
from adaptive_rag.index.index import open_own_store
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import SourceRecord, read_manifest
from adaptive_rag.index.sharding.layout import shard_uris
from adaptive_rag.index.sources import ListedSource, list_sources, read_chunks
from adaptive_rag.ingest.archives import owners_of
from adaptive_rag.server.answering import SETTINGS, Answering, Inquiry, Question, QuestionText, Situation
from adaptive_rag.server.calls import CollectionCall
from adaptive_rag.server.folders import SearchTarget
from adaptive_rag.server.problems import not_found
from adaptive_rag.server.roles import Action
from adaptive_rag.server.shown import TEXT_READS, Quality, cut_text, quality_of
from adaptive_rag.state import Citation
from adaptive_rag.text.places import format_place, place_at

PASSAGE_URI = "adaptive-rag://passages/"
LONGEST_TEXT = 20_000  # characters that one call reads, about 5,000 tokens
MOST_LISTED = 200

CollectionName = Annotated[
    str,
    Field(
        max_length=200,
        description="A collection, by its name in list_collections. It can be left out if there is only one.",
    ),
]
QuestionArgument = Annotated[
    QuestionText, Field(description="The question, understandable without the conversation around it.")
]
DocumentName = Annotated[
    str, Field(max_length=2000, description="A document, by its name in citations and list_documents.")
]
Offset = Annotated[int, Field(ge=0, le=2**31, description="Number of entries to skip.")]


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
    notes: list[str] = Field(description="What could not be read, or had to be guessed.")


class Documents(BaseModel):
    """Documents of a collection by name."""

    collection: str
    documents: list[DocumentListed]
    total: int


class Span(BaseModel):
    """A part of a document and its place."""

    document: str
    place: str = Field(description="Where to find it: page, sheet, section, lines.")
    start: int = Field(description="Where it begins in the document's text, in characters.")
    end: int
    uri: str = Field(description="The resource with its text.")


class Cited(Span):
    """A passage that supports an answer."""

    marker: int = Field(description="Its number in the answer, as in [1].")
    quote: str


class Passage(Span):
    """A passage that a search found."""

    text: str
    scores: dict[str, float] = Field(description="By scoring method; comparable within one search.")


class Answered(Quality):
    """An answer with the passages that support it."""

    answer: str
    citations: list[Cited]
    route: str = Field(description="The route of the question: factual, analytical, opinion, ...")
    why: str = Field(description="The reason for this route.")
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
class OpenedCollection:
    """A collection in which the caller may do the action of a tool, with its place in storage."""

    name: str
    uri: str
    # the call as a route of the REST API gets it; None for the operator's own index
    call: CollectionCall | None = None

    @property
    def target(self) -> SearchTarget | None:
        """What a question searches; None for the operator's own index."""
        return self.call.services.search_target(self.call.collection) if self.call else None

    def inquiry(self, question: Question) -> Inquiry:
        """Return a question of the caller to the collection."""
        return Inquiry(question, self.target, self.call.caller if self.call else None)


class ToolCaller(Protocol):
    """The user for whom an agent calls the tools, with the collections that are open to them."""

    @property
    def answering(self) -> Answering:
        """What answers the user's questions."""

    def collections(self, limit: int, offset: int, action: Action) -> Collections:
        """List the collections in which the user may do an action."""

    def open(self, collection: str, action: Action) -> OpenedCollection:
        """Return a collection in which the user may do an action; "" means the only one."""

    def count(self, action: str) -> None:
        """Count an action against its rate limit of the user; refuse (429) one over the limit."""


class Tools:
    """The tools. Agents choose among them by their docstrings."""

    def __init__(self, get_caller: Callable[[], ToolCaller]) -> None:
        self._get_caller = get_caller

    async def ask(
        self,
        question: QuestionArgument,
        collection: CollectionName = "",
        user_context: Annotated[
            Situation, Field(description="Who asks, or in what situation, if that matters.")
        ] = "",
        settings: Annotated[dict[str, Any] | None, Field(description=SETTINGS)] = None,
    ) -> Answered:
        """Answer a question from the documents, with citations.

        Use this if the user wants an answer. If the documents do not hold one, it says so.
        """
        caller, opened = await self._open(collection, Action.ASK)
        request = Question(question=question, user_context=user_context, settings=settings or {})
        output = await caller.answering.answer(opened.inquiry(request))
        return Answered(
            answer=output["answer"],
            citations=[_describe_citation(opened, citation) for citation in output["citations"]],
            route=output["query_type"],
            why=output["analysis"]["reason"],
            **quality_of(output),
            collection=opened.name,
        )

    async def search(
        self,
        query: QuestionArgument,
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
        """Find passages that are relevant to a question, with their scores, without an answer.

        Use this to read the sources yourself, or to compare what several documents say.
        """
        caller, opened = await self._open(collection, Action.READ)
        settings = {"k": min(limit, caller.answering.max_k), "where": where or None}
        request = Question(question=query, settings=settings)
        output = await caller.answering.search(opened.inquiry(request))
        passages = [
            Passage(
                **_span_fields(opened, chunk["source"], chunk["start"], chunk["end"]),
                place=format_place(place_at(chunk, chunk["start"], chunk["end"])),
                text=chunk["text"],
                scores=chunk["scores"],
            )
            for chunk in output["documents"]
        ]
        return Found(
            passages=passages,
            route=output["query_type"],
            why=output["analysis"]["reason"],
            collection=opened.name,
        )

    async def read_document(
        self,
        document: DocumentName,
        collection: CollectionName = "",
        start: Annotated[int, Field(ge=0, le=2**31, description="Where to begin, in characters.")] = 0,
        end: Annotated[
            int | None,
            Field(ge=0, le=2**31, description="Where to end; by default after 20,000 characters."),
        ] = None,
    ) -> TextPart:
        """Read the text of a document as it is indexed, at most 20,000 characters at once.

        Use this to see the text around a passage, whose start and end count in the same text. If the returned
        end is less than the length, there is more to read.
        """
        _, opened = await self._open(collection, Action.READ)
        return await _read_text(opened, document, start, end)

    async def list_documents(
        self,
        collection: CollectionName = "",
        part: Annotated[
            str, Field(max_length=200, description="Only documents whose name contains this.")
        ] = "",
        offset: Offset = 0,
    ) -> Documents:
        """List the documents of a collection by name, at most 200 at once."""
        _, opened = await self._open(collection, Action.READ)
        return await run_in_threadpool(_list_documents, opened, part, offset)

    async def list_collections(self, offset: Offset = 0) -> Collections:
        """List the collections that are open to you, with their descriptions, at most 200 at once."""
        return await run_in_threadpool(self._get_caller().collections, MOST_LISTED, offset, Action.SEE)

    async def passage(self, collection: str, document: str, start: str = "0", end: str = "") -> str:
        """Return a part of a document's text."""
        if not (start.isdecimal() and (end or "0").isdecimal() and max(len(start), len(end)) < 16):
            raise InputError("start and end count characters: expected whole numbers.")
        _, opened = await self._open(collection, Action.READ)
        return (await _read_text(opened, document, int(start), int(end) if end else None)).text

    async def _open(self, collection: str, action: Action) -> tuple[ToolCaller, OpenedCollection]:
        caller = self._get_caller()
        return caller, await run_in_threadpool(caller.open, collection, action)


# The tools, which only read, and the action as which `Rates.count` counts the calls of each. A new tool is a
# method above and a row here.
TOOLS: dict[Callable[..., Awaitable[BaseModel]], str | None] = {
    Tools.ask: "question",
    Tools.search: "question",
    Tools.read_document: None,
    Tools.list_documents: None,
    Tools.list_collections: None,
}


def require_single(names: Sequence[str]) -> str:
    """Return the name of the only collection; raise InputError if there are several or none."""
    if len(names) != 1:
        raise InputError("Name a collection; list_collections says which there are.")
    return names[0]


def _list_sources(opened: OpenedCollection) -> Mapping[str, SourceRecord | ListedSource]:
    if open_own_store(opened.uri) is not None:
        return {listed.source: listed for listed in list_sources(opened.uri)}
    location, records = open_location(opened.uri), dict[str, SourceRecord]()
    for uri in shard_uris(location) or [opened.uri]:
        if manifest := read_manifest(open_location(uri)):
            records |= manifest.sources
    target = opened.target
    hidden = target.hidden if target else frozenset()
    visible = sorted(records.items())
    return {name: record for name, record in visible if hidden.isdisjoint(owners_of(name, record.start))}


async def _read_text(opened: OpenedCollection, document: str, start: int, end: int | None) -> TextPart:
    caller_id = opened.call.caller.id if opened.call else ""
    return await TEXT_READS.run(caller_id, _load_text, opened, document, start, end)


def _load_text(opened: OpenedCollection, document: str, start: int, end: int | None) -> TextPart:
    # Only full names are accepted: a search by a part of the name or by a path would reveal other documents.
    if document not in _list_sources(opened):
        raise not_found("document")
    _, chunks = read_chunks(opened.uri, document)
    end = start + LONGEST_TEXT if end is None else min(end, start + LONGEST_TEXT)
    part = cut_text(chunks, start, end)
    return TextPart(document=document, collection=opened.name, **part._asdict())


def _list_documents(opened: OpenedCollection, part: str, offset: int) -> Documents:
    documents = [
        DocumentListed(document=source, passages=record.chunks, notes=list(record.notes))
        for source, record in _list_sources(opened).items()
        if part.casefold() in source.casefold()
    ]
    return Documents(
        collection=opened.name, documents=documents[offset : offset + MOST_LISTED], total=len(documents)
    )


def _describe_citation(opened: OpenedCollection, citation: Citation) -> Cited:
    return Cited(
        **_span_fields(opened, citation["source"], citation["start"], citation["end"]),
        place=format_place(citation["place"]),
        marker=citation["marker"],
        quote=citation["quote"],
    )


def _span_fields(opened: OpenedCollection, source: str, start: int, end: int) -> dict[str, Any]:
    place = "/".join(quote(name, safe="") for name in (opened.name, source))
    uri = f"{PASSAGE_URI}{place}?start={start}&end={end}"
    return {"document": source, "start": start, "end": end, "uri": uri}
