"""The groups of settings, and the mechanisms that can be turned off."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema
from pydantic_settings import NoDecode

from adaptive_rag.recipes import RecipeName
from adaptive_rag.state import Intent, RoutedType
from adaptive_rag.text.redaction import redact

Profile = Literal["conservative", "balanced", "aggressive"]
Selection = Literal["local", "model"]
Fusion = Literal["weighted", "reciprocal-rank", "dense", "sparse"]
# The steps for which a chat model may be asked. Without a model, a step is done locally or left out.
ModelStep = Literal[
    "classify", "enhance", "decompose", "viewpoints", "infer", "contextualize", "score", "generate"
]
# A request of these steps to a chat model; whether one selects passages is a setting of its own.
StepName = Literal[ModelStep, "select"]
# Mechanisms that can be turned off to measure their effect. The evaluation has an arm without each of them.
Mechanism = Literal[
    "abstain", "analysis", "balance", "context", "diversify", "enhance", "extractive-fallback", "fan-out",
    "fusion", "hedge", "join", "names", "parts", "reader", "rerank", "speakers", "spelling", "tables",
    "versions", "window",
]  # fmt: skip
MECHANISMS: dict[Mechanism, str] = {
    "fusion": "BM25: dense retrieval in every strategy",
    "rerank": "scoring candidates again",
    "reader": "the reader, which reads a question and a passage together",
    "window": "dropping chunks far below the others",
    "analysis": "analysis: one route and one alpha for every question",
    "context": "the user's context and history",
    "fan-out": "sub-questions and viewpoints",
    "spelling": "reading misspelt words as the index spells them",
    "enhance": "enhancing factual questions",
    "diversify": "diversifying analytical sets",
    "balance": "balancing viewpoints",
    "hedge": "hedging between two strategies",
    "join": "joining chunks that overlap",
    "parts": "answering several questions in one each for itself",
    "names": "telling a thing that the question names from others of its kind",
    "versions": "preferring the valid version of a text",
    "speakers": "telling who speaks",
    "tables": "calculating over the rows of a table",
    "abstain": "saying that the documents do not hold the answer",
    "extractive-fallback": "replacing a model's draft that no passage supports",
}
# The mechanisms that change only the answer and not what is retrieved.
ANSWER_MECHANISMS: frozenset[Mechanism] = frozenset(
    {"join", "names", "versions", "speakers", "tables", "abstain", "extractive-fallback"}
)


@dataclass(frozen=True)
class CallerMaySet:
    """Marks a setting that callers of a server may set. They may set no setting without this mark."""

    # the operator's setting that is its highest value; "" if only the field's own bounds apply
    ceiling: str = ""


class Group(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        return redacted_args(super().__repr_args__())


class _Unquoted(str):
    """A text whose repr has no quotes."""

    def __repr__(self) -> str:
        return str(self)


def redacted_args(args: Iterable[tuple[str | None, Any]]) -> Iterator[tuple[str | None, Any]]:
    """Yield the arguments of a repr, with passwords and keys redacted."""
    return ((name, _Unquoted(redact(repr(value)))) for name, value in args)


def split_list(value: Any) -> Any:
    """Split a value such as "hedge,window" from the shell or the environment."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def parse_pairs(value: Any) -> Any:
    """Parse a value such as "classify=0,generate=0.2", or JSON, from the shell or the environment."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return json.loads(value)
    return dict(pair.split("=", 1) if "=" in pair else (pair, "") for pair in split_list(value))


def parse_digits(value: Any) -> Any:
    """Parse a whole number such as "1" from the shell or the environment."""
    return int(value) if isinstance(value, str) and value.strip().isdecimal() else value


class RoutingSettings(Group):
    """How the type of a question is decided."""

    classify: Literal["unsure", "router", "model"] = Field(
        "unsure", description="When a chat model classifies: if the router is unsure, never, or always."
    )
    threshold: float = Field(
        0.6, ge=0, le=1, description="Probability of the most likely type below which the router is unsure."
    )
    low_confidence: float = Field(
        0.0, ge=0, le=1, description="Confidence below which the router is unsure, and a profile reads more."
    )
    fallback: RoutedType | None = Field(
        None,
        description="Type for a model's reply that names none; if it names several, the first counts. By "
        "default the model is asked again, and then the router decides.",
    )


class ModelSettings(Group):
    """How chat models are reached and what they are told."""

    fast_model: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = Field(
        None, description="Chat model for every step but the answer. By default the same as `model`."
    )
    base_url: str | None = Field(
        None, description="Address of an OpenAI-compatible server for 'openai:...'. Else OPENAI_BASE_URL."
    )
    prompts: str | None = Field(None, description="Folder whose .md files replace the built-in prompts.")
    steps: Annotated[frozenset[ModelStep], NoDecode, BeforeValidator(split_list)] = Field(
        frozenset({"classify", "viewpoints", "contextualize", "score", "generate"}),
        description="Steps that ask a chat model; the others run locally. By default the steps that are "
        "worth a call (docs/calls.md).",
    )
    temperatures: Annotated[dict[StepName, float], NoDecode, BeforeValidator(parse_pairs)] = Field(
        default_factory=dict,
        description="Temperature of a step, as in generate=0.2. By default 0 for an 'openai:NAME' that takes "
        "one, and any other model's own.",
    )
    no_context: str = Field(
        "", max_length=500, description="What a model is told about a user of whom nothing is known."
    )


class BudgetSettings(Group):
    """What one question may cost."""

    max_llm_calls: int = Field(
        3,
        ge=0,
        le=100,
        description="Maximum chat calls of a question, retries included; the last is kept for the answer.",
    )
    planned_calls: int = Field(
        3, ge=1, le=100, description="Chat calls planned for a question; further calls are for retries."
    )
    max_tokens: int = Field(1024, ge=16, description="Maximum tokens of one reply of a chat model.")
    deadline_s: Annotated[float, CallerMaySet(ceiling="budget.deadline_s")] = Field(
        60.0,
        gt=0,
        description="Seconds after which no chat model is waited for; local steps finish the answer within "
        "10 s, or it fails.",
    )


# The keys of the table of alphas: the intent of a question, or whether it is in the domain.
AlphaKey = Literal[Intent, "in-domain", "off-domain"]


class RetrievalSettings(Group):
    """How passages are searched, scored and selected."""

    fusion: Fusion = Field("weighted", description="How scores by vector and by words are combined.")
    alpha: Annotated[float | None, CallerMaySet()] = Field(
        None,
        ge=0,
        le=1,
        description="Weight of the vector score, from 0 (by words) to 1 (by meaning). By default each "
        "question's words decide.",
    )
    alpha_by: Literal["words", "intent"] = Field(
        "words",
        description="What decides alpha: how well the question's words tell passages apart, or the "
        "question's intent and domain, by `alpha_table`.",
    )
    alpha_table: Annotated[dict[AlphaKey, float], NoDecode, BeforeValidator(parse_pairs)] = Field(
        default_factory=dict,
        description="Alpha for an intent, in the domain or outside it, in place of the built-in table.",
    )
    lexical: Literal["index", "okapi"] = Field(
        "index", description="Word scores: the index's BM25, or BM25Okapi over all chunks in memory."
    )
    tfidf: float = Field(
        0.0, ge=0, le=1, description="Share of the TF-IDF cosine in the word score; the rest is BM25."
    )
    pool: int | None = Field(
        None,
        ge=1,
        le=1000,
        description="Candidates by vector, and as many by words, for each of the `k` passages (24 where "
        "`k` is not set). By default 50 of each, or 3k where that is more.",
    )
    qa_views: bool = Field(
        False,
        description="Also compare a query with the question alone and the answer alone of a question-answer "
        "pair, weighted by intent.",
    )
    reranker: str = Field(
        "auto",
        description="What scores the candidates again. `auto` asks the chat model, in one call; without a "
        "chat model it is `fused`.",
    )
    reranker_model: str = Field(
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        description="Cross-encoder to load: a Hugging Face id or a local folder.",
    )
    sub_questions: Annotated[int, Field(ge=1, le=50)] | Literal["k"] = Field(
        3, description="Number of sub-questions of an analytical question, or `k`; a chat model writes them."
    )
    viewpoints: Annotated[int, Field(ge=2, le=50)] | Literal["k"] = Field(
        3, description="Number of viewpoints that a chat model names, or `k`."
    )
    branch_candidates: int | None = Field(
        None,
        ge=1,
        le=1000,
        description="Maximum candidates of each sub-question or viewpoint. By default all.",
    )
    draw: Literal["fused", "in-turn"] = Field(
        "fused",
        description="How passages are taken from the branches: by their joined scores, or in turn, in the "
        "order of each branch.",
    )
    rewrites: Literal["follow-ups", "always", "alone"] = Field(
        "follow-ups",
        description="Which contextual questions a chat model rewrites so that they stand alone. The original "
        "question is searched too, except with `alone`.",
    )
    diversity: Literal["coverage", "none"] = Field(
        "none",
        description="How a diverse set is selected for an analytical question; by default the most relevant "
        "passages are read.",
    )
    selection: Selection = Field(
        "local", description="What selects the final set of an analytical or opinion question."
    )
    selection_characters: Annotated[dict[str, int], NoDecode, BeforeValidator(parse_pairs)] = Field(
        default_factory=dict,
        description="Characters of each passage that the selecting model reads, by type, as in opinion=100. "
        "By default a share of a common budget.",
    )
    ray: str | None = Field(
        None,
        description="Ray cluster whose actors each hold one shard of an index of shards: HOST:PORT, 'auto' "
        "for the one on this machine, 'local' to start one.",
    )


class ScoringSettings(Group):
    """How a chat model scores candidates, and how its scores are used."""

    weight: float = Field(
        0.6, ge=0, le=1, description="Weight of the model's score; the rest is the local score's."
    )
    against: Literal["question", "query"] = Field(
        "question",
        description="What candidates are scored against: the question, or the query that found them.",
    )
    # A literal is compared as it stands, so a text must be parsed first.
    lowest: Annotated[Literal[0, 1], BeforeValidator(parse_digits)] = Field(
        0, description="Lowest score of the scale; the highest is 10."
    )
    missing: float | None = Field(
        None,
        ge=0,
        le=10,
        description="Score for a reply without a number. By default the model is asked again, and then none "
        "of its scores counts.",
    )
    characters: int | None = Field(
        None,
        ge=1,
        description="Characters of each candidate that the model reads. By default a share of one budget.",
    )


class AnswerSettings(Group):
    """What an answer is written from."""

    context_tokens: int = Field(
        6000, ge=100, description="Tokens that all passages behind one answer may have together, at most."
    )


class WebSettings(Group):
    """Limits of `adaptive-rag index https://...`; callers of a server can set none of them."""

    max_pages: int = Field(100, ge=1, le=10_000, description="Maximum pages read from one address.")
    max_megabytes: int = Field(200, ge=1, description="Maximum size of these pages together.")
    private_networks: bool = Field(
        False,
        description="Also read pages of this machine and of private networks, such as an intranet. "
        "Link-local addresses stay closed.",
    )


class BucketSettings(Group):
    """How an index in a bucket is read; callers of a server can set none of it."""

    cache_gb: float = Field(
        0.0,
        ge=0,
        description="Gigabytes of this disk for copies of the files of all indexes in buckets. By default no "
        "copies are made, and each search reads the bucket.",
    )
    cache: str | None = Field(
        None, description="Folder of these copies. By default in the user's cache folder."
    )


class ServingSettings(Group):
    """What callers of a server may do. It has no effect in a notebook or in the shell."""

    users: Annotated[
        dict[
            Annotated[str, Field(min_length=1, max_length=200)],
            Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")],
        ],
        NoDecode,
        BeforeValidator(parse_pairs),
    ] = Field(
        default_factory=dict,
        description="Users by name, each with the SHA-256 of their token. Without users, a server answers "
        "only this machine.",
    )
    origins: Annotated[frozenset[str], NoDecode, BeforeValidator(split_list)] = Field(
        frozenset({"https://smith.langchain.com"}),
        description="Web pages of other machines that may call the served graphs if there are no users.",
    )
    roots: Annotated[frozenset[str], NoDecode, BeforeValidator(split_list)] = Field(
        frozenset(), description="Folders that callers may index, with their subfolders. By default none."
    )
    recipes: Annotated[frozenset[RecipeName], NoDecode, BeforeValidator(split_list)] = Field(
        frozenset(), description="Recipes that callers may name; most need more model calls. By default none."
    )
    max_documents: int = Field(1000, ge=1, description="Maximum files that one call may index.")
    max_k: int = Field(50, ge=1, le=1000, description="Highest `k` that a caller may set.")
    max_question: int = Field(
        20_000, ge=1, le=20_000, description="Maximum characters of a caller's question."
    )
    max_user_context: int = Field(
        20_000, ge=0, description="Maximum characters of what callers say about themselves."
    )
    max_turns: int = Field(
        100, ge=1, description="Maximum turns or messages of a call, or read from a thread."
    )
    max_characters: int = Field(100_000, ge=1, description="Maximum characters of these turns together.")


GROUPS: dict[str, type[Group]] = {
    "routing": RoutingSettings,
    "models": ModelSettings,
    "budget": BudgetSettings,
    "retrieval": RetrievalSettings,
    "scoring": ScoringSettings,
    "answers": AnswerSettings,
    "web": WebSettings,
    "bucket": BucketSettings,
    "serving": ServingSettings,
}
