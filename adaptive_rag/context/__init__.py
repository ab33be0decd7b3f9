"""The settings of one run: passed values take precedence over the environment, config file and defaults."""

from __future__ import annotations

import hashlib
import json
import tomllib
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from adaptive_rag.context.groups import (
    GROUPS,
    MECHANISMS,
    AnswerSettings,
    BucketSettings,
    BudgetSettings,
    CallerMaySet,
    Group,
    Mechanism,
    ModelSettings,
    Profile,
    RetrievalSettings,
    RoutingSettings,
    ScoringSettings,
    ServingSettings,
    WebSettings,
    redacted_args,
    split_list,
)
from adaptive_rag.context.trusted import TrustedConfigFile
from adaptive_rag.context.unknown import ENV_PREFIX as ENV_PREFIX
from adaptive_rag.context.unknown import nearest_names, warn_of_unknown_variables
from adaptive_rag.errors import ConfigurationError, InputError
from adaptive_rag.recipes import recipe_settings
from adaptive_rag.source import ChunkSource
from adaptive_rag.text.reading import Reader
from adaptive_rag.text.redaction import cause_of, redact, remember_address
from adaptive_rag.where import join_conditions, read_where

if TYPE_CHECKING:
    from langgraph.runtime import RunControl, Runtime

CONFIG_FILE = "adaptive-rag.toml"
# The config file's table for the web server, which is not read here.
SERVER_TABLE = "server"
# Maximum number of characters of a wrong value in an error message.
MAX_VALUE_LENGTH = 200


def _check_condition(text: object) -> object:
    """Check a condition; a program passes None where its user has set none."""
    if not isinstance(text, str):
        return "" if text is None else text
    try:
        return read_where(text).text if text.strip() else ""
    except InputError as error:
        raise PydanticCustomError("condition", "a condition. {why}", {"why": str(error)}) from error


@dataclass(frozen=True)
class ModelAccess:
    """How to reach the chat model that the admin of a server has set."""

    # If empty, the environment's key is used, which is sent only to the provider or the operator's address.
    key: str = field(default="", repr=False)
    # Returns whether a connection may be made, by the scheme and the IP address; None allows all.
    may_connect: Callable[[str, str], bool] | None = None


@dataclass(frozen=True)
class Served:
    """What a server adds to the settings of a caller's question."""

    # The file with the weights that the server's router has learned; None is the user's own file.
    learned: Path | None = None
    # How to reach the chat model; None is as the environment and the settings say.
    access: ModelAccess | None = None
    # Plain data for the answer's `response_metadata["kept"]`, which the server stores with the conversation.
    kept: Mapping[str, Any] = field(default_factory=dict)


class Context(BaseSettings):
    """The settings of one run. Environment variables carry the prefix ADAPTIVE_RAG_."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        frozen=True,
        extra="forbid",
        toml_file=CONFIG_FILE,
        validate_default=False,
        hide_input_in_errors=True,
    )

    recipe: str | None = Field(
        default=None, description="Published system whose settings are used where nothing else is set."
    )
    index: str | SkipJsonSchema[InstanceOf[ChunkSource]] = Field(
        default=".adaptive-rag", description="Folder or URI of the index to search."
    )
    retriever: SkipJsonSchema[InstanceOf[BaseRetriever] | InstanceOf[VectorStore] | None] = Field(
        default=None,
        description="A LangChain retriever or vector store to search instead of the index.",
        exclude=True,
    )
    embeddings: str | SkipJsonSchema[InstanceOf[Embeddings]] | None = Field(
        default=None,
        description="Embedding model as 'provider:name'. By default the one the index was made with.",
    )
    model: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = Field(
        default=None, description="Chat model as 'provider:name'. Without one every step is done locally."
    )
    reader: str | SkipJsonSchema[InstanceOf[Reader]] | None = Field(
        default=None, description="Model that reads passages, as 'onnx:PATH'. By default the shipped one."
    )
    route: Annotated[str | None, CallerMaySet()] = Field(
        default=None, description="Strategy for every question. By default the question is classified."
    )
    k: Annotated[int | None, CallerMaySet(ceiling="serving.max_k")] = Field(
        default=None,
        ge=1,
        le=1000,
        description="Number of passages read. By default the strategy's budget decides.",
    )
    profile: Annotated[Profile | None, CallerMaySet()] = Field(
        default=None,
        description="Read 3, 5 or 8 passages, more or fewer by the question's complexity and domain; `k` "
        "takes precedence.",
    )
    where: Annotated[str, BeforeValidator(_check_condition), CallerMaySet()] = Field(
        default="",
        description="Condition that a passage must meet, such as 'kind = pdf and page < 10'; "
        "`adaptive-rag info` lists the fields.",
    )
    ontology: str | None = Field(default=None, description="YAML file of domain terms: category -> terms.")
    user_id: str | None = Field(
        default=None, description="User whose stored profile is added to the context."
    )
    without: Annotated[frozenset[Mechanism], NoDecode, BeforeValidator(split_list)] = Field(
        default=frozenset(), description="Parts to leave out, to measure their worth."
    )
    strict: bool = Field(
        default=False,
        description="Raise if an optional part such as spelling fails, instead of leaving it out: for tests.",
    )
    routing: RoutingSettings = Field(
        default_factory=RoutingSettings, description="Routing: who classifies, and when the router is unsure."
    )
    models: ModelSettings = Field(
        default_factory=ModelSettings,
        description="Chat models: a fast model, the server's address, prompts and prices.",
    )
    budget: BudgetSettings = Field(
        default_factory=BudgetSettings, description="Limits of one question: chat calls, tokens and seconds."
    )
    retrieval: RetrievalSettings = Field(
        default_factory=RetrievalSettings,
        description="Search: fusion, reranking, sub-questions, viewpoints and selection.",
    )
    scoring: ScoringSettings = Field(
        default_factory=ScoringSettings, description="Scoring of candidates by a chat model."
    )
    answers: AnswerSettings = Field(
        default_factory=AnswerSettings, description="Answers: how much of the passages they are written from."
    )
    web: WebSettings = Field(
        default_factory=WebSettings, description="Web: which pages are read, and how many."
    )
    bucket: BucketSettings = Field(
        default_factory=BucketSettings, description="Buckets: copies of an index's files on this machine."
    )
    serving: ServingSettings = Field(
        default_factory=ServingSettings,
        description="Serving: users, folders that may be indexed, and limits for callers.",
    )

    @model_validator(mode="before")
    @classmethod
    def _move_into_groups(cls, values: Any) -> Any:
        return by_group(values) if isinstance(values, Mapping) else values

    @model_validator(mode="after")
    def _remember_passwords(self) -> Context:
        for address in (self.index, self.models.base_url):
            remember_address(address)
        return self

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        return redacted_args(super().__repr_args__())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in order of precedence: passed values, environment, config file, and recipe."""
        return init_settings, env_settings, _ConfigFile(settings_cls), _Recipe(settings_cls)

    _served: Served | None = PrivateAttr(None)

    def for_caller(self, served: Served) -> Context:
        """Return a copy of the settings for a server's caller, to whom no details of errors are shown."""
        copy = self.model_copy()
        copy._served = served
        return copy

    @property
    def served(self) -> Served:
        """What a server has added to the settings; nothing for the program's own user."""
        return self._served or Served()

    def uses(self, mechanism: Mechanism) -> bool:
        """Return whether a mechanism is on."""
        return mechanism not in self.without

    def has_model(self) -> bool:
        """Return whether there is a chat model for the steps before the answer."""
        return self.model is not None or self.models.fast_model is not None

    def fingerprint(self) -> str:
        """Return a hash of everything except the index that can change an answer.

        That is the settings, the files that they name, and the version of this program.
        """
        names = [
            name
            for name in setting_names()
            if name not in _WITHOUT_EFFECT and not name.startswith(_GROUPS_WITHOUT_EFFECT)
        ]
        settings = {name: _plain(attrgetter(name)(self)) for name in names}
        reader = self.reader.partition(":")[2] if isinstance(self.reader, str) else None
        files = [digest_of_files(path) for path in (self.models.prompts, self.ontology, reader) if path]
        content = [_version("adaptive-rag"), files, settings]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


_version = cache(version)


@cache
def digest_of_files(name: str) -> str:
    """Return the SHA-256 of a file, or of the prompts in a folder; they are read once in a process."""
    path, digest = Path(name).expanduser(), hashlib.sha256()
    for file in sorted(path.glob("*.md")) if path.is_dir() else [path]:
        with suppress(OSError):  # the step that needs the file reports the error
            digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return value if isinstance(value, str | int | float | bool | list | dict | None) else live_key(value)


# Settings that have no effect on an answer. The index is identified by its version instead.
_WITHOUT_EFFECT = {"budget.deadline_s", "user_id", "index", "retrieval.ray", "retriever"}
_GROUPS_WITHOUT_EFFECT = ("serving.", "web.", "bucket.")
# The keys of live objects by their ids, each until its object is gone and another may get the id.
_live_keys: dict[int, str] = {}


def make_context(*layers: Mapping[str, Any], **settings: Any) -> Context:
    """Build a Context, and report all invalid values in one error.

    Args:
        layers: settings by name; a later layer takes precedence over an earlier one.
        settings: settings by name, which take precedence over all layers. A setting of a group is given as
            `retrieval={"alpha": 0.5}` or, in a layer, as "retrieval.alpha".

    Raises:
        ConfigurationError: settings are unknown or out of bounds (the message names each), or the config file
            cannot be read.
    """
    merged: dict[str, Any] = {}
    for layer in (*layers, settings):
        _merge(merged, by_group(layer))
    warn_of_unknown_variables(Context.model_fields, _written_names())
    try:
        return Context(**merged)
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
        place = "" if wrong & merged.keys() else f"In the environment or in {CONFIG_FILE}: "
        raise ConfigurationError(redact(place + explain(error))) from cause_of(error)
    except SettingsError as error:
        raise ConfigurationError(f"The environment cannot be read: {error}.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"The config file {CONFIG_FILE} cannot be read: {error}.") from error
    except RecursionError as error:
        where = f"The environment, or the config file {CONFIG_FILE},"
        raise ConfigurationError(f"{where} cannot be read: a value is nested too deep.") from error


def by_group(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with dotted names moved into their groups."""
    grouped: dict[str, Any] = {}
    for name, value in settings.items():
        group, dot, part = name.partition(".")
        if dot and group in GROUPS:
            value, name = {part: value}, group
        _merge(grouped, {name: value})
    return grouped


def is_setting(name: str) -> bool:
    """Return whether a name is the name of a setting or a group."""
    return name in {*Context.model_fields, *setting_names()}


def live_key(value: object) -> str:
    """Return a cache key for a live object, which no other object gets, in this process or another."""
    if (key := _live_keys.get(id(value))) is None:
        key = f"{type(value).__name__}-{uuid4().hex}"
        with suppress(TypeError):  # an object that cannot be referenced weakly gets a new key each time
            weakref.finalize(value, _live_keys.pop, id(value), None)
            _live_keys[id(value)] = key
    return key


class _ConfigFile(TrustedConfigFile):
    """Reads the config file, except the server's table."""

    def __call__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__call__().items() if name != SERVER_TABLE}


class _Recipe(PydanticBaseSettingsSource):
    """Provides the settings of the recipe that a preceding source names."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        name = self.current_state.get("recipe")
        settings = recipe_settings(name) if name else {}
        # `k` takes precedence over a profile, so the recipe's `k` is dropped where a profile is set.
        has_profile = self.current_state.get("profile") is not None
        return {key: value for key, value in settings.items() if key != "k" or not has_profile}


def _merge(settings: dict[str, Any], layer: Mapping[str, Any]) -> None:
    """Add a layer to settings in place; groups are merged setting by setting."""
    for name, value in layer.items():
        existing, value = _set_values(settings.get(name)), _set_values(value)
        are_groups = isinstance(existing, Mapping) and isinstance(value, Mapping)
        settings[name] = {**existing, **value} if are_groups else value


def _set_values(value: Any) -> Any:
    """Return the values that were set in a group as a mapping, and a path as a text."""
    if isinstance(value, Group):
        value = {name: getattr(value, name) for name in value.model_fields_set}
    if isinstance(value, Mapping):
        return {name: _set_values(part) for name, part in value.items()}
    return str(value) if isinstance(value, Path) else value


def setting_names() -> list[str]:
    """Return the names of all settings; those in a group are written "group.name"."""
    return [
        f"{field}.{part}" if part else field
        for field in Context.model_fields
        for part in (GROUPS[field].model_fields if field in GROUPS else [""])
    ]


def explain(error: ValidationError, allowed: Collection[str] = ()) -> str:
    """Describe in one line what is wrong with settings.

    `allowed` are the settings that a server's caller may set; it is empty for the program's own user.
    """
    unknown: list[str] = []
    expected: dict[str, list[str]] = {}
    for problem in error.errors():
        path = [str(part) for part in problem["loc"]]
        name = ".".join(path[:2]) if path and path[0] in GROUPS else (path[0] if path else "?")
        if problem["type"] == "extra_forbidden":
            unknown.append(name[:MAX_VALUE_LENGTH])
        else:
            message = (
                problem["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("should be ")
            )
            expected.setdefault(f"{name} = {repr(problem['input'])[:MAX_VALUE_LENGTH]}", []).append(message)
    lines = [
        f"{setting} is not usable: expected {' or '.join(dict.fromkeys(messages))}."
        for setting, messages in expected.items()
    ]
    if unknown and allowed:
        lines += [f"{name!r} cannot be set by a caller." for name in unknown]
        lines.append(f"The settings are: {', '.join(sorted(allowed))}.")
    elif unknown:
        for name in unknown:
            first, second, third = map(repr, nearest_names(name, _written_names()))
            lines.append(f"{name!r} is not a setting. Did you mean {first}, {second} or {third}?")
        lines.append("All settings: adaptive-rag settings")
    return " ".join(lines)


def _written_names() -> dict[str, str]:
    """Return the settings and groups by what users may write for them."""
    return {part.replace("-", "_"): f"without={part}" for part in MECHANISMS} | {
        name: name for name in (*setting_names(), *GROUPS)
    }


class CallerSettings(Group):
    """What a caller of a served graph has set; `adaptive_rag.context.caller` defines what that may be."""

    @cached_property
    def context(self) -> Context:
        """The complete settings: the operator's, overridden by what the caller has set.

        If both have a condition `where`, both conditions must hold.
        """
        settings = self.model_dump(exclude_none=True)
        if "where" in settings:
            settings["where"] = join_conditions(make_context().where, settings["where"])
        return make_context(settings)


def context_of(runtime: Runtime[Any]) -> Context:
    """Return the run's context, or the default settings if the caller passed none."""
    context = runtime.context
    if isinstance(context, CallerSettings):
        return context.context
    if context is not None and not isinstance(context, Context):
        raise ConfigurationError(
            f"The run's context is a {type(context).__name__}, which has no settings of Adaptive RAG. In a "
            "graph with a context of its own, use AdaptiveRAG(...) as a node, not its graph."
        )
    if context is None and runtime.control is not None:
        return _settings_of(runtime.control)
    return context or make_context()


@lru_cache(maxsize=64)
def _settings_of(run: RunControl) -> Context:
    """Return the default settings of a run, which its steps read once."""
    return make_context()


def is_served(runtime: Runtime[Any]) -> bool:
    """Return whether the question is from a server's caller rather than from the program's own user."""
    context = runtime.context
    if isinstance(context, Context):
        return context._served is not None
    return isinstance(context, CallerSettings)


class IndexingContext(Group):
    """The settings of one indexing run."""

    index: str = Field(
        default_factory=lambda: str(make_context().index), description="Folder or URI of the index."
    )
    embeddings: str | None = Field(
        None, description="Embedding model as 'provider:name'. By default the embedded one."
    )
    chunk_size: int = Field(
        1000,
        ge=100,
        le=20_000,
        description="Maximum characters of a chunk; fewer if the embedding model reads less.",
    )
    chunk_overlap: int = Field(200, ge=0, le=10_000, description="Maximum characters that neighbours share.")
    sentence_vectors: bool = Field(True, description="Store a vector of each sentence.")
    include: tuple[str, ...] = Field(
        (), description="Read only files of the folders that match one of these patterns, such as '*.md'."
    )
    exclude: tuple[str, ...] = Field(
        (),
        description="Patterns of further files to leave out; '!node_modules/' reads that folder anyway.",
    )
    prune: bool = Field(True, description="Remove documents that are gone from the given folders.")
    rebuild: bool = Field(False, description="Build the index again, with these settings.")
