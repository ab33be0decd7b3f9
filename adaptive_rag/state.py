"""The state that flows through the graph: plain data, in the order in which it is written."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, cast, final, get_args

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import Field

# Studio draws its forms with pydantic, which cannot read typing's own TypedDict before Python 3.12.
from typing_extensions import TypedDict

# The types of question that the router was trained to tell apart, each with a strategy of its name.
# A further strategy in graph/strategies/ is none of them: it is reached with `route=`.
RoutedType = Literal["factual", "analytical", "opinion", "contextual"]
# What a question asks for, whatever its type: "How do I pay?" is procedural and analytical. The keys of
# `retrieval.alpha_table` are among these values; none of them is a strategy.
Intent = Literal["factual", "technical", "procedural", "conceptual", "comparison", "troubleshooting"]
Complexity = Literal["basic", "intermediate", "advanced"]
DecidedBy = Literal["local", "hedge", "model", "caller"]
# What the steps decide, as the trace calls it. Stored conversations hold these names, so that none may go.
DecisionKind = Literal[
    "answer", "branch", "closest", "compared", "completed", "cut", "draw", "evidence", "fusion", "hedge",
    "left out", "links removed", "markers added", "markers dropped", "overview", "passages", "reading",
    "repeated", "scores", "selection", "shortened", "sides", "situation", "spelling", "subject added",
    "type", "unsupported", "versions", "window", "worked out",
]  # fmt: skip

ROUTED_TYPES: tuple[RoutedType, ...] = get_args(RoutedType)


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
    # the reasons in English
    reason: str
    # the same as phrases
    reasons: list[Phrase]
    alternatives: list[str]
    # whether it is in the first person, so that its answer may depend on who asks
    is_personal: bool


class Query(TypedDict):
    """One text sent to the index; queries without a label form one search, with their scores summed."""

    text: str
    # the sub-question or viewpoint that is searched in its own branch
    label: NotRequired[str]
    # the viewpoint's side on what the question proposes: for, against, other
    side: NotRequired[str]
    # whether it is one of several questions in one text: candidates are scored for each separately
    part: NotRequired[bool]
    # weights of its vector scores and word scores in the sum; 1 if not given
    dense: NotRequired[float]
    sparse: NotRequired[float]


class SearchPlan(TypedDict):
    """A strategy's plan for its search, if the question's words alone do not decide it."""

    alpha: float
    # whether only the chunks with the best vector scores may become candidates
    dense_only: bool
    why: str
    # what the user says about themselves, without what repeats the conversation
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
    """A chunk before it was joined with others into one passage."""

    id: str
    # its rank among the chunks, from 1
    rank: int
    section: str | None
    start: int
    end: int
    scores: dict[str, float]
    labels: list[str]


class Candidate(Chunk):
    """A chunk with all its scores, and the labels of the queries that found it."""

    scores: dict[str, float]
    labels: list[str]
    # written by generate if it joined chunks into this passage: each of them, in the order of the source
    parts: NotRequired[list[Part]]
    # the strategy that selected it; distinguishes two rankings if two strategies ran
    route: NotRequired[str]


def to_candidate(chunk: Chunk, scores: dict[str, float]) -> Candidate:
    """Return a copy of a chunk with its scores, so that later steps do not change the source's chunk."""
    metadata = dict(chunk["metadata"])
    return cast(Candidate, {**chunk, "metadata": metadata, "scores": scores, "labels": []})


class Place(TypedDict, total=False):
    """Where a person finds a span in its document; only the fields that its kind of file has."""

    # of a mail: its subject, and the name of the attachment that contains the span
    mail: str
    attachment: str
    page: int
    slide: int
    sheet: str
    # the sheet's row number; in CSV and JSON the number among the rows with text below the header, from 1
    row: int
    # the cells of a sheet that contain the span: "A7", "C7"
    cells: list[str]
    # of a notebook: the number of the cell, from 1
    cell: int
    # when a subtitle is shown: "0:01:05"
    time: str
    # the headings above it, outermost first: "4 Storms > Warning levels"
    section: str
    # of plain text, Markdown and code: the first and the last line, from 1
    lines: list[int]


@final
class Citation(TypedDict):
    """A passage as the answer cites it; `quote` is the source's text from `start` to `end`."""

    marker: int
    source: str
    page: int | None
    place: Place
    start: int
    end: int
    quote: str
    # OCR confidence of the quote, from 0 to 1, if it was read from an image
    ocr_confidence: NotRequired[float]
    # other documents with the same content, which is stored once
    also_as: NotRequired[list[str]]


@final
class Phrase(TypedDict):
    """A sentence of the program itself; text/en.toml has the words of each code."""

    code: str
    # texts, numbers, phrases, places, and lists of these, by their placeholders in the words
    values: dict[str, Any]
    # the English words
    text: str
    # whether it is a heading of an answer
    heading: NotRequired[bool]


class AnswerPart(TypedDict):
    """A piece of an answer; the answer is the texts of its parts."""

    text: str
    # of the program's own words, not those of a document or a model: the phrase
    code: NotRequired[str]
    values: NotRequired[dict[str, Any]]
    # whether these words are a heading, between "**" and "**"
    heading: NotRequired[bool]
    # of a marker: the index of its citation in `citations`
    citation: NotRequired[int]


# A piece of an answer that is being written: a text, a phrase of the program, or the marker of a citation.
Piece: TypeAlias = str | Phrase | Citation


class Decision(TypedDict):
    """Something a step chose, and why."""

    what: DecisionKind
    chosen: Any
    # the reasons in English
    why: str
    # the same as phrases, where the step gives them
    reasons: NotRequired[list[Phrase]]
    # of a weighted fusion: the share of the scores by vector, 0-1; the rest is that of the scores by words
    alpha: NotRequired[float]


class StandIn(TypedDict):
    """A step that did its work without the chat model, and why."""

    skill: str
    reason: str
    # the same as phrases, if no model was asked
    reasons: NotRequired[list[Phrase]]


class TraceRecord(TypedDict, total=False):
    """What one step did, in plain data."""

    step: str
    ms: float
    calls: int
    rounds: int
    tokens: dict[str, int]
    # US dollars, if the model's price is known
    cost: float
    # steps for which a chat model was asked, and those for which it did not respond
    asked: list[str]
    unreachable: list[str]
    queries: list[str]
    candidates: list[dict[str, Any]]
    decisions: list[Decision]
    stand_ins: list[StandIn]


class QuestionFields(TypedDict, total=False):
    """A question with its context."""

    question: Annotated[str, Field(description="What is asked.")]
    # used in the query and the scoring of contextual questions
    user_context: Annotated[str, Field(description="Who asks, or in what situation.")]
    # if absent, read from `messages`
    history: Annotated[list[Turn], Field(description="Earlier turns of the conversation.")]


class InputState(QuestionFields, total=False):
    """What a caller passes: a question, or a conversation that ends with one."""

    messages: Annotated[
        list[AnyMessage],
        Field(description="A chat that ends with the question, instead of `question`."),
        add_messages,
    ]


class ProgressFields(TypedDict, total=False):
    """The fields that are written by the steps before the answer."""

    # written by classify, read by the router and by every strategy
    query_type: str
    analysis: QueryAnalysis
    # written by classify, read by every search and comparison: the question with misspelt words replaced by
    # the index's spelling, and what it refers to in the previous exchange
    spelt_question: str
    subject: str
    started_at: float
    # the version of the index that every step reads, even if the index changes meanwhile
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
    # every step adds its record; classify resets it
    trace: list[TraceRecord]


# What a question gets: an answer, passages that may not be one, or the word that the documents hold none.
Outcome = Literal["answer", "closest", "refusal"]


class AnswerFields(TypedDict):
    """The fields that generate writes."""

    answer: str
    # the answer in parts, with the codes of the program's own words and the citations of the markers
    parts: list[AnswerPart]
    citations: list[Citation]
    # the share of the answer's claims that the documents support, 0-1; 1 for quotes
    grounding: float
    # the probability that what is quoted answers, 0-1; for a chat model's answer, that the passages do; None
    # if nothing judged them
    confidence: float | None
    outcome: Outcome
    # whether the outcome is a refusal
    abstained: bool


# Before there is an answer.
NO_ANSWER = AnswerFields(
    answer="", parts=[], citations=[], grounding=0.0, confidence=None, outcome="answer", abstained=False
)


class State(InputState, ProgressFields, AnswerFields, total=False):
    """The whole state of one question."""

    # written by classify, part of the keys of the node cache: the settings and the state of the index
    fingerprint: str
    # written by classify, read by the classify of the thread's next question
    question_read: str
    # written by classify, read by generate: the reply to a text that asks nothing about the documents
    reply: list[Piece]
    # written by classify: the user's profile from the store, a part of user_context until generate removes it
    profile: str


class RetrievalState(TypedDict):
    """The output of a retrieval without an answer."""

    question: str
    query_type: str
    analysis: QueryAnalysis
    documents: list[Candidate]
    trace: list[TraceRecord]


class OutputState(RetrievalState, AnswerFields):
    """What a caller gets."""

    messages: Annotated[list[AnyMessage], add_messages]


class Hit(TypedDict):
    """The hits of one branch of a fan-out, and its record."""

    order: int
    # the sub-question or viewpoint; None for the question itself
    label: str | None
    candidates: list[Candidate]
    record: TraceRecord


class Branch(TypedDict):
    """The input of one branch of a fan-out."""

    order: int
    label: str | None
    queries: list[Query]
    plan: SearchPlan | None
    analysis: QueryAnalysis
    index_version: str | None
    started_at: float | None


class StrategyState(QuestionFields, ProgressFields, total=False):
    """The state inside a strategy; without the messages, whose reducer would run twice."""

    # private to the subgraph: candidates that a model scored while the query was still being prepared
    early_scored: list[Candidate]
    # private to the subgraph: the branches of a fan-out add to it, the next step joins them
    hits: Annotated[list[Hit], operator.add]


class StrategyOutput(TypedDict, total=False):
    """The output of a strategy."""

    implied_context: str
    documents: list[Candidate]
    trace: list[TraceRecord]


def join_traces(left: list[TraceRecord], right: list[TraceRecord]) -> list[TraceRecord]:
    """Return `left`, and then the records of `right` that follow their common beginning."""
    common = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), len(left))
    return [*left, *right[common:]]


def take_inferred(left: str, right: str) -> str:
    """Return the inferred context of two strategies, of which at most one infers one."""
    return right or left


class HedgeState(StrategyState, total=False):
    """The state of two strategies that run side by side."""

    implied_context: Annotated[str, take_inferred]
    documents: Annotated[list[Candidate], operator.add]
    trace: Annotated[list[TraceRecord], join_traces]


class IndexingInput(TypedDict):
    """What a caller of the indexing graph passes."""

    paths: Annotated[list[str], Field(description="Files, folders or patterns such as 'docs/*.pdf'.")]


class IndexingOutput(TypedDict):
    """What a caller of the indexing graph gets."""

    # written by store: what was added, updated, removed, unchanged, or could not be read
    report: dict[str, Any]


class IndexingState(IndexingInput, IndexingOutput):
    """The whole state of one indexing run."""
