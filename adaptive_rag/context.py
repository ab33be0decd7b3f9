"""The settings of one run: what the caller passes, then the environment, the config file, the default."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import time
import tomllib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.source import ChunkSource

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

Profile = Literal["conservative", "balanced", "aggressive"]
Selection = Literal["local", "model"]
Fusion = Literal["weighted", "reciprocal-rank", "dense", "sparse"]
Diversity = Literal["coverage", "mmr", "facility-location", "none"]
# Parts that can be left out, to see what each is worth. The evaluation has an arm without each of them.
Mechanism = Literal[
    "abstain",
    "analysis",
    "balance",
    "context",
    "diversify",
    "enhance",
    "extractive-fallback",
    "fan-out",
    "fusion",
    "hedge",
    "join",
    "rerank",
    "window",
]
MECHANISMS: dict[Mechanism, str] = {
    "fusion": "BM25: dense retrieval in every strategy",
    "rerank": "scoring candidates again",
    "window": "dropping chunks far below the others",
    "analysis": "analysis: one route and one alpha for every question",
    "context": "the user's context and history",
    "fan-out": "sub-questions and viewpoints",
    "enhance": "enhancing factual questions",
    "diversify": "diversifying analytical sets",
    "balance": "balancing viewpoints",
    "hedge": "hedging between two strategies",
    "join": "joining chunks that overlap",
    "abstain": "saying that the documents do not hold the answer",
    "extractive-fallback": "replacing a model's draft that no passage supports",
}
# Those that change the answer alone, whatever was found.
OF_ANSWERS: frozenset[Mechanism] = frozenset({"join", "abstain", "extractive-fallback"})

CONFIG_FILE = "adaptive-rag.toml"
ENV_PREFIX = "ADAPTIVE_RAG_"


class _Group(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(_Group):
    """How chat models are reached and what they are told."""

    fast_model: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = Field(
        None, description="Chat model for every step but the answer. By default the same as `model`."
    )
    base_url: str | None = Field(
        None, description="Address of an OpenAI-compatible server for 'openai:...'. Else OPENAI_BASE_URL."
    )
    prompts: str | None = Field(None, description="Folder whose .md files replace the built-in prompts.")
    prices: str | None = Field(
        None, description="TOML file of model prices. It corrects or extends the built-in prices."
    )


class BudgetSettings(_Group):
    """What one question may cost."""

    max_llm_calls: int = Field(6, ge=0, le=100, description="Chat calls that one question may make, at most.")
    max_tokens: int = Field(
        1024, ge=16, description="Tokens that one reply of a chat model may have, at most."
    )
    deadline_s: float = Field(
        60.0,
        gt=0,
        description="Seconds after which no chat model is waited for; local steps finish the answer.",
    )
    context_tokens: int = Field(
        6000, ge=100, description="Tokens that all passages behind one answer may have together, at most."
    )


class RetrievalSettings(_Group):
    """How passages are searched, scored and selected."""

    fusion: Fusion = Field("weighted", description="How scores by vector and by words are joined.")
    alpha: float | None = Field(
        None, ge=0, le=1, description="Weight of the vector score. By default each question's words decide."
    )
    qa_views: bool = Field(
        False,
        description="Compare a query also with the question alone and the answer alone of a "
        "question-answer pair, weighted by intent.",
    )
    reranker: str = Field(
        "auto",
        description="What scores the candidates again. `auto` asks the chat model, in one call; "
        "without one it is `fused`.",
    )
    reranker_model: str = Field(
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        description="Cross-encoder to load: a Hugging Face id or a local folder.",
    )
    sub_questions: int = Field(3, ge=1, le=8, description="Sub-questions of an analytical question.")
    viewpoints: int = Field(
        3, ge=2, le=8, description="Viewpoints that a chat model names; at most `k` are heard."
    )
    diversity: Diversity = Field(
        "mmr", description="How a diverse set is selected for an analytical question."
    )
    selection: Selection = Field(
        "local", description="What selects the final set of an analytical or opinion question."
    )


def _listed(value: Any) -> Any:
    """Read "hedge,window" as the shell and the environment give it."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


class Context(BaseSettings):
    """The settings of one run. Environment variables carry the prefix ADAPTIVE_RAG_."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        frozen=True,
        extra="forbid",
        toml_file=CONFIG_FILE,
        validate_default=False,
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
        None, description="Embedding model as 'provider:name'. By default the one the index was made with."
    )
    model: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = Field(
        None, description="Chat model as 'provider:name'. Without one every step is done locally."
    )
    route: str | None = Field(
        None, description="Strategy for every question. By default the question is classified."
    )
    k: int = Field(4, ge=1, le=1000, description="Passages that reach the answer.")
    profile: Profile | None = Field(
        None, description="Read more or fewer passages by the question's complexity, from this base."
    )
    ontology: str | None = Field(None, description="YAML file of domain terms: category -> terms.")
    user_id: str | None = Field(None, description="User whose stored profile is added to the context.")
    without: Annotated[frozenset[Mechanism], NoDecode, BeforeValidator(_listed)] = Field(
        frozenset(), description="Parts to leave out, to see what they are worth."
    )
    models: ModelSettings = Field(
        default_factory=ModelSettings,
        description="Chat models: a fast model, the server's address, prompts and prices.",
    )
    budget: BudgetSettings = Field(
        default_factory=BudgetSettings,
        description="Limits of one question: chat calls, tokens and seconds.",
    )
    retrieval: RetrievalSettings = Field(
        default_factory=RetrievalSettings,
        description="Search: fusion, reranking, sub-questions, viewpoints and selection.",
    )

    @model_validator(mode="before")
    @classmethod
    def _by_group(cls, values: Any) -> Any:
        return by_group(values) if isinstance(values, Mapping) else values

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
        return init_settings, env_settings, _OldEnvironment(settings_cls), toml

    def uses(self, mechanism: Mechanism) -> bool:
        """Tell whether a mechanism is on."""
        return mechanism not in self.without

    def fingerprint(self) -> str:
        """Return a hash of the settings that change an answer, the index aside."""
        values: dict[str, Any] = {}
        for name, value in self:
            parts = dict(value) if isinstance(value, _Group) else None
            values |= {name: value} if parts is None else {f"{name}.{part}": parts[part] for part in parts}
        values["without"] = sorted(self.without)
        settings = {
            name: value if isinstance(value, str | int | float | bool | list | None) else live_key(value)
            for name, value in values.items()
            if name not in _SAME_ANSWER
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


# Settings that do not change what a good answer is; the index is known by its version.
_SAME_ANSWER = {"budget.deadline_s", "budget.max_llm_calls", "models.prices", "user_id", "index", "retriever"}
# A live object is known by its place in memory, which means something in this process only.
_PROCESS = f"{os.getpid()}-{time.time_ns()}"

GROUPS: dict[str, type[_Group]] = {
    "models": ModelSettings,
    "budget": BudgetSettings,
    "retrieval": RetrievalSettings,
}
# The names of settings before they stood in groups; each is understood for one release.
OLD_NAMES = {
    **{name: f"models.{name}" for name in ("fast_model", "base_url", "prompts", "prices")},
    **{name: f"budget.{name}" for name in ("max_llm_calls", "max_tokens", "deadline_s", "context_tokens")},
    **{name: f"retrieval.{name}" for name in ("fusion", "alpha", "qa_views", "reranker", "reranker_model")},
    **{name: f"retrieval.{name}" for name in ("sub_questions", "viewpoints", "diversity", "selection")},
}
OLD_SWITCHES: dict[str, Mechanism] = {
    "abstain": "abstain",
    "balance": "balance",
    "contextualize": "context",
    "diversify": "diversify",
    "enhance": "enhance",
    "extractive_fallback": "extractive-fallback",
    "fan_out": "fan-out",
    "hedge": "hedge",
    "join": "join",
    "rerank": "rerank",
    "window": "window",
}
_OFF = {"false", "0", "no", "off", "f", "n"}
_ON = {"true", "1", "yes", "on", "t", "y"}


def make_context(*layers: Mapping[str, Any], **settings: Any) -> Context:
    """Build a Context, and turn a wrong value into one readable error.

    Args:
        layers: settings by name, a later layer winning over an earlier one.
        settings: settings by name, which win over all layers. A setting of a group is given as
            `retrieval={"alpha": 0.5}` or, in a layer, as "retrieval.alpha".

    Raises:
        ConfigurationError: a setting is unknown or out of bounds, and the message names each one; or the
            config file cannot be read.
    """
    merged: dict[str, Any] = {}
    switches: dict[str, Any] = {}
    for layer in (*layers, settings):
        _merge(merged, by_group({name: layer[name] for name in layer if name not in OLD_SWITCHES}))
        # What old switches of several layers leave out adds up; `without` of a later layer stands alone.
        switches |= {name: layer[name] for name in layer if name in OLD_SWITCHES}
    merged = by_group({**merged, **switches})
    try:
        return Context(**merged)
    except ValidationError as error:
        raise ConfigurationError(_explain(error)) from error
    except SettingsError as error:
        raise ConfigurationError(f"The environment cannot be read: {error}.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"The config file {CONFIG_FILE} cannot be read: {error}.") from error


def by_group(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with dotted and old names brought under their groups; an old name warns."""
    grouped: dict[str, Any] = {}
    off: set[str] = set()
    for name, value in settings.items():
        if name in OLD_SWITCHES:
            switched_off = {OLD_SWITCHES[name]} if _is_off(name, value) else set()
            _warn(name, f"without={switched_off}" if switched_off else "on unless `without` names it")
            off |= switched_off
            continue
        if name in OLD_NAMES:
            _warn(name, OLD_NAMES[name])
            name = OLD_NAMES[name]
        group, dot, part = name.partition(".")
        if dot and group in GROUPS:
            value, name = {part: value}, group
        _merge(grouped, {name: value})
    if off:
        grouped["without"] = {*_listed(grouped.get("without", ())), *off}
    return grouped


def is_setting(name: str) -> bool:
    """Tell whether a name is that of a setting, of a group, or of a setting before it stood in a group."""
    return name in {*Context.model_fields, *OLD_NAMES, *OLD_SWITCHES, *setting_names()}


def live_key(value: object) -> str:
    """Name a live object for a cache key: the same object in the same process has the same name."""
    return f"{type(value).__name__}-{id(value)}-{_PROCESS}"


class _OldEnvironment(PydanticBaseSettingsSource):
    """Reads environment variables under the names that settings had before they stood in groups."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        old = {*OLD_NAMES, *OLD_SWITCHES}
        given = {
            name: value
            for variable, value in os.environ.items()
            if (name := variable.lower().removeprefix(ENV_PREFIX.lower())) in old
            and variable.upper().startswith(ENV_PREFIX)
        }
        return by_group(given)


def _merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for name, value in layer.items():
        known, value = _given(into.get(name)), _given(value)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        into[name] = {**known, **value} if both else value


def _given(value: Any) -> Any:
    """Return what was set of a group as a mapping; any other value as it is."""
    if isinstance(value, _Group):
        return {name: getattr(value, name) for name in value.model_fields_set}
    return value


def _is_off(name: str, value: Any) -> bool:
    said = str(value).strip().lower()
    if said not in _OFF | _ON:
        raise ConfigurationError(f"{name} = {value!r} is not usable: expected true or false.")
    return said in _OFF


def _warn(old: str, new: str) -> None:
    warnings.warn(f"The setting {old!r} is now {new}.", DeprecationWarning, stacklevel=4)


def setting_names() -> list[str]:
    """Return the name of every setting; one of a group as "group.name"."""
    return [
        name
        for field in Context.model_fields
        for name in (
            [f"{field}.{part}" for part in GROUPS[field].model_fields] if field in GROUPS else [field]
        )
    ]


def _explain(error: ValidationError) -> str:
    unknown: list[str] = []
    expected: dict[str, list[str]] = {}
    for problem in error.errors():
        path = [str(part) for part in problem["loc"]]
        name = ".".join(path[:2]) if path and path[0] in GROUPS else (path[0] if path else "?")
        if problem["type"] == "extra_forbidden":
            unknown.append(name)
        else:
            message = problem["msg"].removeprefix("Input ").removeprefix("should be ")
            expected.setdefault(f"{name} = {problem['input']!r}", []).append(message)
    lines = [
        f"{given} is not usable: expected {' or '.join(dict.fromkeys(messages))}."
        for given, messages in expected.items()
    ]
    lines += [f"{name!r} is not a setting.{_nearest(name)}" for name in unknown]
    if unknown:
        lines.append(f"The settings are: {', '.join(sorted(setting_names()))}.")
    return " ".join(lines)


def _nearest(name: str) -> str:
    names = [*setting_names(), *GROUPS]
    known = {full.rpartition(".")[2]: full for full in names} | {full: full for full in names}
    close = difflib.get_close_matches(name, known, n=1) or difflib.get_close_matches(
        name.rpartition(".")[2], known, n=1
    )
    return f" Did you mean {known[close[0]]!r}?" if close else ""


def context_of(runtime: Runtime[Context]) -> Context:
    """Return the run's context, or the defaults where the caller passed none."""
    return runtime.context if runtime.context is not None else make_context()


class IndexingContext(_Group):
    """The settings of one indexing run."""

    index: str = Field(
        default_factory=lambda: str(make_context().index), description="Folder or URI of the index."
    )
    embeddings: str | None = Field(
        None, description="Embedding model as 'provider:name'. By default the embedded one."
    )
    chunk_size: int = Field(1000, ge=100, le=20_000, description="Characters that a chunk has at most.")
    chunk_overlap: int = Field(200, ge=0, le=10_000, description="Characters that neighbours share at most.")
    sentence_vectors: bool = Field(True, description="Store a vector for every sentence.")
    prune: bool = Field(True, description="Remove what is gone from the folders that were named.")
    rebuild: bool = Field(False, description="Make the index anew, with these settings.")
