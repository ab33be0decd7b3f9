"""Every knob of one run: what the caller passes, else the environment and config file, else the default."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import Field, InstanceOf, ValidationError
from pydantic.json_schema import SkipJsonSchema
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import QueryType

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

Profile = Literal["conservative", "balanced", "aggressive"]
Selection = Literal["local", "model"]
Fusion = Literal["weighted", "reciprocal-rank", "dense", "sparse"]
Diversity = Literal["coverage", "mmr", "facility-location", "none"]
Reranker = Literal["auto", "none", "fused", "cross-encoder", "listwise", "pointwise"]

CONFIG_FILE = "adaptive-rag.toml"


class Context(BaseSettings):
    """The settings of one run. Environment variables carry the prefix ADAPTIVE_RAG_."""

    model_config = SettingsConfigDict(
        env_prefix="ADAPTIVE_RAG_",
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        toml_file=CONFIG_FILE,
        validate_default=False,
        use_attribute_docstrings=False,
    )

    index: str | SkipJsonSchema[InstanceOf[ChunkSource]] = Field(
        ".adaptive-rag", description="Folder or URI of the index to search."
    )
    retriever: SkipJsonSchema[InstanceOf[BaseRetriever] | InstanceOf[VectorStore] | None] = Field(
        None,
        description="A LangChain retriever or vector store to search instead of the index.",
        exclude=True,
    )
    embeddings: str | SkipJsonSchema[InstanceOf[Embeddings]] | None = Field(
        None, description="Embedding model as 'provider:name'; by default the one the index was made with."
    )
    model: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = Field(
        None, description="Chat model as 'provider:name'; without one the local stand-ins do every step."
    )
    fast_model: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = Field(
        None, description="Chat model for routing and reranking; by default the same as `model`."
    )
    base_url: str | None = Field(
        None, description="Address of an OpenAI-compatible server for 'openai:...'; else OPENAI_BASE_URL."
    )
    route: QueryType | None = Field(
        None, description="Send every question this way instead of letting the classifier decide."
    )
    k: int = Field(4, ge=1, le=1000, description="Chunks that reach the answer.")
    sub_questions: int = Field(3, ge=1, le=8, description="Sub-questions of an analytical question.")
    viewpoints: int = Field(3, ge=2, le=8, description="Viewpoints that a model names for an opinion.")
    profile: Profile | None = Field(
        None, description="Let the question's complexity set how many chunks are read, from this base."
    )
    fusion: Fusion = Field("weighted", description="How dense and sparse scores are joined.")
    alpha: float | None = Field(
        None, ge=0, le=1, description="Weight of the dense score; by default the analysis decides."
    )
    reranker: Reranker = Field(
        "auto",
        description="What scores the candidates for relevance; auto: the chat model, all in one call, where "
        "there is one, else the fused scores.",
    )
    reranker_model: str = Field(
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        description="Cross-encoder to load: a Hugging Face id or a local folder.",
    )
    qa_views: bool = Field(
        False,
        description="Compare a query with the question and the answer of a question-answer pair too, "
        "weighted by intent, not only with both in one text.",
    )
    ontology: str | None = Field(None, description="YAML file of domain terms: category -> terms.")
    hedge: bool = Field(
        True, description="Run the two likeliest strategies and fuse them when the classifier is unsure."
    )
    enhance: bool = Field(True, description="Enhance factual questions before retrieval.")
    fan_out: bool = Field(True, description="Ask sub-questions and viewpoints separately.")
    rerank: bool = Field(True, description="Score candidates again after retrieval.")
    diversify: bool = Field(True, description="Prefer a diverse set for analytical questions.")
    diversity: Diversity = Field("mmr", description="How a diverse set is selected.")
    balance: bool = Field(True, description="Draw opinion chunks of all sides, none said twice.")
    contextualize: bool = Field(True, description="Add the user's context and history to contextual queries.")
    selection: Selection = Field(
        "local", description="What picks the diverse set of an analytical question, or the balanced one."
    )
    window: bool = Field(True, description="Drop chunks that score far below the others.")
    join: bool = Field(True, description="Read chunks that overlap as one passage.")
    context_tokens: int = Field(
        6000, ge=100, description="Tokens that the texts an answer is made from may have together, at most."
    )
    max_llm_calls: int = Field(6, ge=0, le=100, description="Chat calls one question may make, at most.")
    max_tokens: int = Field(1024, ge=16, description="Tokens one answer may have, at most.")
    deadline_s: float = Field(60.0, gt=0, description="Seconds after which local stand-ins take over.")
    prompts: str | None = Field(None, description="Folder whose .md files replace the built-in prompts.")
    prices: str | None = Field(
        None, description="TOML file of model prices that corrects or extends the built-in table."
    )
    abstain: bool = Field(True, description="Say so when the documents do not hold the answer.")
    extractive_fallback: bool = Field(
        True, description="Replace a model's answer that no passage supports by an extractive one."
    )
    user_id: str | None = Field(None, description="Whose stored profile is added to the context.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read what is passed first, then the environment, then the config file."""
        toml = TomlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, toml


def make_context(**knobs: Any) -> Context:
    """Build a Context, turning a wrong value into one readable error.

    Raises:
        ConfigurationError: a knob is unknown or out of bounds, and the message names each one; or the
            config file cannot be read.
    """
    try:
        return Context(**knobs)
    except ValidationError as error:
        raise ConfigurationError(_explain(error)) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"The config file {CONFIG_FILE} cannot be read: {error}.") from error


def _explain(error: ValidationError) -> str:
    unknown: list[str] = []
    expected: dict[str, list[str]] = {}
    for problem in error.errors():
        knob = str(problem["loc"][0]) if problem["loc"] else "?"
        if problem["type"] == "extra_forbidden":
            unknown.append(knob)
        else:
            message = problem["msg"].removeprefix("Input ").removeprefix("should be ")
            expected.setdefault(f"{knob} = {problem['input']!r}", []).append(message)
    lines = [
        f"{given} is not usable: expected {' or '.join(dict.fromkeys(messages))}."
        for given, messages in expected.items()
    ]
    if unknown:
        known = ", ".join(sorted(Context.model_fields))
        lines += [f"{knob!r} is not a setting." for knob in unknown]
        lines.append(f"The settings are: {known}.")
    return " ".join(lines)


def context_of(runtime: Runtime[Context]) -> Context:
    """Return the run's context, or the defaults where the caller passed none."""
    return runtime.context if runtime.context is not None else make_context()
