"""What the tools of agents return; the descriptions are part of the schemas that an agent reads."""

from __future__ import annotations

from pydantic import BaseModel, Field


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
    """A part of a document, where it stands."""

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
    confidence: float | None = Field(
        description="How likely the passages that were read answer the question, 0 to 1; null where nothing "
        "judged them."
    )
    grounding: float = Field(
        description="Share of the answer's claims that the passages support; 1 for quotes of the documents."
    )
    abstained: bool = Field(description="The documents do not hold an answer.")
    collection: str


class Found(BaseModel):
    """The passages that a search found, the best first."""

    passages: list[Passage]
    route: str
    why: str
    collection: str


class Text(BaseModel):
    """A part of a document's text, as it is indexed."""

    document: str
    start: int
    end: int
    length: int = Field(description="Characters of the whole text.")
    text: str
    collection: str
