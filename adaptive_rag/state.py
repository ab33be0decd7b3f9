"""What flows through the graph: plain data, in the order in which it is written."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, NotRequired, cast, get_args

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import Field

# Studio draws its forms with pydantic, which cannot read typing's own TypedDict before Python 3.12.
from typing_extensions import TypedDict

# What the router can choose. A strategy beyond these is reached with `route=`.
QueryType = Literal["factual", "analytical", "opinion", "contextual"]
Intent = Literal["factual", "technical", "procedural", "conceptual", "comparison", "troubleshooting"]
Complexity = Literal["basic", "intermediate", "advanced"]
DecidedBy = Literal["local", "hedge", "model", "caller"]

QUERY_TYPES: tuple[QueryType, ...] = get_args(QueryType)


class Turn(TypedDict):
    """One utterance of the conversation so far."""

    role: Literal["user", "agent"]
    text: str


class QueryAnalysis(TypedDict):
    """What the question is, how sure we are, and who decided it."""

    type: str
    probabilities: dict[str, float]
    intent: Intent
    complexity: Complexity
    entities: list[str]
    ontology_terms: dict[str, list[str]]
    domain_relevance: float
    confidence: float
    factors: dict[str, float]
    decided_by: DecidedBy
    reason: str
    alternatives: list[str]


class Query(TypedDict):
    """One text sent to the index; several without a label make up one search, their scores summed."""

    text: str
    # the sub-question or viewpoint that is searched in a branch of its own
    label: NotRequired[str]
    # the side that a viewpoint takes toward what the question proposes: for, against, other
    side: NotRequired[str]
    # whether it is one of several questions in one: candidates are scored for each by itself
    part: NotRequired[bool]
    # weights of its scores by vector and by words in the sum; 1 where they are not given
    dense: NotRequired[float]
    sparse: NotRequired[float]


class SearchPlan(TypedDict):
    """How a strategy wants its search done, where the question's words alone do not decide it."""

    alpha: float
    # whether only the best by vector may become candidates
    dense_only: bool
    why: str
    # what the user says of themselves, without what repeats the conversation
    situation: NotRequired[str]


class Chunk(TypedDict):
    """A stored passage; `start` and `end` count characters of the source's extracted text."""

    id: str
    source: str
    page: int | None
    section: str | None
    start: int
    end: int
    text: str
    metadata: dict[str, Any]


class Part(TypedDict):
    """A chunk in a passage that was joined of several, as it was before."""

    id: str
    # its place among the ranked chunks, from 1
    rank: int
    section: str | None
    start: int
    end: int
    scores: dict[str, float]
    labels: list[str]


class Candidate(Chunk):
    """A chunk with every score it got, and the labels of the queries that found it."""

    scores: dict[str, float]
    labels: list[str]
    # written by generate where it joined chunks to this passage: each of them, as they stand in the source
    parts: NotRequired[list[Part]]
    # the strategy that selected it; tells two rankings apart where two strategies ran
    route: NotRequired[str]


def to_candidate(chunk: Chunk, scores: dict[str, float]) -> Candidate:
    """Return a copy of a chunk with its scores; what later steps write into it does not reach the source."""
    metadata = dict(chunk["metadata"])
    return cast(Candidate, {**chunk, "metadata": metadata, "scores": scores, "labels": []})


class Place(TypedDict, total=False):
    """Where a person finds a span in its document: as much of this as its kind of file has."""

    # of a mail its subject, and the name of the attachment that holds the span
    mail: str
    attachment: str
    page: int
    slide: int
    sheet: str
    # as the sheet counts it; in CSV and JSON the rows with text below the names of the columns, from 1
    row: int
    # the cells of a sheet that hold the span: "A7", "C7"
    cells: list[str]
    # of a notebook the number of the cell, from 1
    cell: int
    # when a subtitle is shown: "0:01:05"
    time: str
    # the headings above it, outermost first: "4 Storms > Warning levels"
    section: str
    # of plain text, Markdown and code: its first and its last line, from 1
    lines: list[int]


class Citation(TypedDict):
    """A passage as the answer names it; `quote` stands in the source at `start:end`."""

    marker: int
    source: str
    page: int | None
    place: Place
    start: int
    end: int
    quote: str
    # how sure the reading of the quote is, from 0 to 1, where it was read from a picture
    ocr_confidence: NotRequired[float]
    # other documents of the same content, which is stored once
    also_as: NotRequired[list[str]]


class Decision(TypedDict):
    """Something a step chose, and why."""

    what: str
    chosen: Any
    why: str


class StandIn(TypedDict):
    """A step that went its local way, and why."""

    skill: str
    reason: str


class TraceRecord(TypedDict, total=False):
    """What one step did, in plain data."""

    step: str
    ms: float
    calls: int
    rounds: int
    tokens: dict[str, int]
    # US dollars, where the model's price is known
    cost: float
    # requests that a chat model was asked, and those for which it did not respond
    asked: list[str]
    unreachable: list[str]
    queries: list[str]
    candidates: list[dict[str, Any]]
    decisions: list[Decision]
    stand_ins: list[StandIn]


class Asked(TypedDict, total=False):
    """A question and what belongs to it."""

    question: Annotated[str, Field(description="What is asked.")]
    # reaches the query and the scoring of contextual questions
    user_context: Annotated[str, Field(description="Who asks, or in what situation.")]
    # where absent they are read from `messages`
    history: Annotated[list[Turn], Field(description="Earlier turns of the conversation.")]


class InputState(Asked, total=False):
    """What a caller passes: a question, or a conversation that ends with one."""

    messages: Annotated[
        list[AnyMessage],
        Field(description="A chat that ends with the question, instead of `question`."),
        add_messages,
    ]


class Found(TypedDict, total=False):
    """What the steps before the answer write."""

    # written by classify, read by the router and by every strategy
    query_type: str
    analysis: QueryAnalysis
    # written by classify, read by whatever searches or compares: the question with misspelt words as the
    # index spells them, and what it leans on of the exchange before it
    spelt_question: str
    subject: str
    started_at: float
    # the state of the index that every step reads, whatever is written to it meanwhile
    index_version: str | None
    # written by a strategy's first step, read by retrieve
    queries: list[Query]
    plan: SearchPlan | None
    # written by contextualize; the user's context, given or inferred, as scoring and answer use it
    implied_context: str
    # written by retrieve, read by the strategy's last step
    candidates: list[Candidate]
    # written by the strategy's last step, read by generate, which joins chunks that overlap
    documents: list[Candidate]
    # every step adds its record; classify starts it anew
    trace: list[TraceRecord]


class State(InputState, Found, total=False):
    """The whole state of one question on its way."""

    # written by classify, part of the keys of the node cache: the settings and the state of the index
    fingerprint: str
    # written by classify, read by generate: what is said to a text that asks nothing of the documents
    reply: str
    # written by classify: what the store knows of the user; a part of user_context
    profile: str
    # written by generate
    answer: str
    citations: list[Citation]
    # the share of its claims that the documents support, 0-1; quotes are theirs
    grounding: float
    # how likely the passages that were read answer the question, 0-1; None where nothing judged them
    confidence: float | None
    abstained: bool


class RetrievalState(TypedDict):
    """What a caller gets who wants no answer."""

    question: str
    query_type: str
    analysis: QueryAnalysis
    documents: list[Candidate]
    trace: list[TraceRecord]


class OutputState(RetrievalState):
    """What a caller gets."""

    answer: str
    citations: list[Citation]
    # the share of its claims that the documents support, 0-1; quotes are theirs
    grounding: float
    # how likely the passages that were read answer the question, 0-1; None where nothing judged them
    confidence: float | None
    abstained: bool
    messages: Annotated[list[AnyMessage], add_messages]


class Hit(TypedDict):
    """What one branch of a fan-out found, and its record."""

    order: int
    # the sub-question or viewpoint; None for the question itself
    label: str | None
    candidates: list[Candidate]
    record: TraceRecord


class Branch(TypedDict):
    """What one branch of a fan-out is sent."""

    order: int
    label: str | None
    queries: list[Query]
    plan: SearchPlan | None
    analysis: QueryAnalysis
    index_version: str | None
    started_at: float | None


class StrategyState(Asked, Found, total=False):
    """A strategy's own view of the state, without the messages, whose reducer must not run twice."""

    # private to the subgraph: candidates that a model scored while the query was still being prepared
    early_scored: list[Candidate]
    # private to the subgraph: the branches of a fan-out add to it, the next step joins them
    hits: Annotated[list[Hit], operator.add]


class StrategyOutput(TypedDict, total=False):
    """What a strategy hands back."""

    implied_context: str
    documents: list[Candidate]
    trace: list[TraceRecord]


def join_traces(left: list[TraceRecord], right: list[TraceRecord]) -> list[TraceRecord]:
    """Append the records of a trace that starts as the other one does, each record once."""
    same = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), len(left))
    return [*left, *right[same:]]


def keep_given(left: str, right: str) -> str:
    """Keep what was said: of two strategies at most one infers a context."""
    return right or left


class HedgeState(StrategyState, total=False):
    """The state of two strategies that run side by side."""

    implied_context: Annotated[str, keep_given]
    documents: Annotated[list[Candidate], operator.add]
    trace: Annotated[list[TraceRecord], join_traces]


class IndexingInput(TypedDict):
    """What a caller of the indexing graph passes."""

    paths: Annotated[list[str], Field(description="Files, folders or patterns such as 'docs/*.pdf'.")]


class IndexingOutput(TypedDict):
    """What a caller of the indexing graph gets."""

    # written by store; what was added, updated, removed, left as it was, or could not be read
    report: dict[str, Any]


class IndexingState(IndexingInput, IndexingOutput):
    """The whole state of one indexing run."""
