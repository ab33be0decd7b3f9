"""The settings of one run: the caller's values first, then the environment, config file and defaults."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import time
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import (
    AfterValidator,
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
    Group,
    Mechanism,
    ModelSettings,
    Profile,
    RetrievalSettings,
    RoutingSettings,
    ScoringSettings,
    ServingSettings,
    WebSettings,
    shown_args,
    split_list,
)
from adaptive_rag.context.trusted import TrustedConfigFile
from adaptive_rag.errors import ConfigurationError, InputError
from adaptive_rag.recipes import recipe_settings
from adaptive_rag.source import ChunkSource, SentenceVectors
from adaptive_rag.text.reading import Reader
from adaptive_rag.text.redaction import cause_of, redact, remember_address
from adaptive_rag.where import join_conditions, read_where

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

CONFIG_FILE = "adaptive-rag.toml"
ENV_PREFIX = "ADAPTIVE_RAG_"
# The config file's table for the web server, which is not read here.
SERVER_TABLE = "server"
# Maximum number of characters of a wrong value in an error message.
LONGEST_VALUE = 200


def _readable_condition(text: str) -> str:
    try:
        return read_where(text).text if text.strip() else ""
    except InputError as error:
        raise PydanticCustomError("condition", "a condition. {why}", {"why": str(error)}) from error


@dataclass(frozen=True)
class ModelAccess:
    """How the chat model is reached that the admin of a server has set."""

    # Empty: the key in the environment, which is sent only to the provider or the operator's own address.
    key: str = field(default="", repr=False)
    # Tells of a scheme and an IP address whether a connection may be made; None: any may.
    may_connect: Callable[[str, str], bool] | None = None


@dataclass(frozen=True)
class Served:
    """What a server adds to the settings of a caller's question."""

    # The file with the learned weights of the server's router; None: the user's own file.
    learned: Path | None = None
    # How the chat model is reached; None: by what the environment and the settings say.
    access: ModelAccess | None = None
    # Plain data for the answer's `response_metadata["kept"]`, which the server stores in its conversation.
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
        None, description="Published system whose settings are used where nothing else is set."
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
    reader: str | SkipJsonSchema[InstanceOf[Reader]] | None = Field(
        None, description="Model that reads passages, as 'onnx:PATH'. By default the shipped one."
    )
    route: str | None = Field(
        None, description="Strategy for every question. By default the question is classified."
    )
    k: int | None = Field(
        None, ge=1, le=1000, description="Number of passages read. By default the strategy's budget decides."
    )
    profile: Profile | None = Field(
        None,
        description="Read 3, 5 or 8 passages, more or fewer by the question's complexity and domain; `k` "
        "takes precedence.",
    )
    where: Annotated[str, AfterValidator(_readable_condition)] = Field(
        "",
        description="Condition that a passage must meet, such as 'kind = pdf and page < 10'; "
        "`adaptive-rag info` lists the fields.",
    )
    ontology: str | None = Field(None, description="YAML file of domain terms: category -> terms.")
    user_id: str | None = Field(None, description="User whose stored profile is added to the context.")
    without: Annotated[frozenset[Mechanism], NoDecode, BeforeValidator(split_list)] = Field(
        frozenset(), description="Parts to leave out, to measure their worth."
    )
    strict: bool = Field(
        False,
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
    def _by_group(cls, values: Any) -> Any:
        return by_group(values) if isinstance(values, Mapping) else values

    @model_validator(mode="after")
    def _remember_passwords(self) -> Context:
        for address in (self.index, self.models.base_url):
            remember_address(address)
        return self

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        return shown_args(super().__repr_args__())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: passed values, environment, config file, and the recipe that these name."""
        return init_settings, env_settings, _ConfigFile(settings_cls), _Recipe(settings_cls)

    _served: Served | None = PrivateAttr(None)

    def for_caller(self, served: Served) -> Context:
        """Return a copy of the settings for a server's caller, who is shown no details of errors."""
        copy = self.model_copy()
        copy._served = served
        return copy

    @property
    def served(self) -> Served:
        """What a server has added; nothing for the program's own user."""
        return self._served or Served()

    def uses(self, mechanism: Mechanism) -> bool:
        """Tell whether a mechanism is on."""
        return mechanism not in self.without

    def has_model(self) -> bool:
        """Tell whether there is a chat model for the steps before the answer."""
        return self.model is not None or self.models.fast_model is not None

    def fingerprint(self) -> str:
        """Return a hash of what can change an answer, except the index.

        That is the settings, the files that they name, and the version of this program.
        """
        names = [n for n in setting_names() if n not in _SAME_ANSWER and not n.startswith(_BESIDE_ANSWERS)]
        settings = {name: _plain(attrgetter(name)(self)) for name in names}
        reader = self.reader.partition(":")[2] if isinstance(self.reader, str) else None
        files = [digest_of_files(place) for place in (self.models.prompts, self.ontology, reader) if place]
        held = [_version("adaptive-rag"), files, settings]
        return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()


_version = cache(version)


@cache
def digest_of_files(place: str) -> str:
    """Return the SHA-256 of a file, or of a folder's prompts; it is read once, as what uses it does."""
    path, digest = Path(place).expanduser(), hashlib.sha256()
    for file in sorted(path.glob("*.md")) if path.is_dir() else [path]:
        with suppress(OSError):  # the step that needs the file says what is wrong with it
            digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return value if isinstance(value, str | int | float | bool | list | dict | None) else live_key(value)


# Settings that do not change what a good answer is. The index is identified by its version instead.
_SAME_ANSWER = {
    "budget.deadline_s",
    "models.prices",
    "user_id",
    "index",
    "retrieval.ray",
    "retriever",
}
_BESIDE_ANSWERS = ("serving.", "web.", "bucket.")
# A live object is identified by its id, which is valid only in this process.
_PROCESS = f"{os.getpid()}-{time.time_ns()}"


def make_context(*layers: Mapping[str, Any], **settings: Any) -> Context:
    """Build a Context, and report invalid values in one readable error.

    Args:
        layers: settings by name; a later layer takes precedence over an earlier one.
        settings: settings by name, which take precedence over all layers. A setting of a group is given as
            `retrieval={"alpha": 0.5}` or, in a layer, as "retrieval.alpha".

    Raises:
        ConfigurationError: a setting is unknown or out of bounds (the message names each one), or the config
            file cannot be read.
    """
    merged: dict[str, Any] = {}
    for layer in (*layers, settings):
        _merge(merged, by_group(layer))
    try:
        return Context(**merged)
    except ValidationError as error:
        raise ConfigurationError(redact(explain(error))) from cause_of(error)
    except SettingsError as error:
        raise ConfigurationError(f"The environment cannot be read: {error}.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"The config file {CONFIG_FILE} cannot be read: {error}.") from error


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
    """Tell whether a name is the name of a setting or a group."""
    return name in {*Context.model_fields, *setting_names()}


def live_key(value: object) -> str:
    """Return a cache key for a live object, the same for one object throughout this process."""
    return f"{type(value).__name__}-{id(value)}-{_PROCESS}"


class _ConfigFile(TrustedConfigFile):
    """Reads the config file, except the server's table."""

    def __call__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__call__().items() if name != SERVER_TABLE}


class _Recipe(PydanticBaseSettingsSource):
    """Provides the settings of the recipe that the preceding sources name."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        name = self.current_state.get("recipe")
        settings = recipe_settings(name) if name else {}
        # `k` takes precedence over a profile, so the recipe's `k` is dropped where a profile is set.
        by_profile = self.current_state.get("profile") is not None
        return {key: value for key, value in settings.items() if key != "k" or not by_profile}


def _merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for name, value in layer.items():
        known, value = _given(into.get(name)), _given(value)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        into[name] = {**known, **value} if both else value


def _given(value: Any) -> Any:
    """Return the values that were set in a group as a mapping; return any other value as it is."""
    if isinstance(value, Group):
        return {name: getattr(value, name) for name in value.model_fields_set}
    return value


def setting_names() -> list[str]:
    """Return the names of all settings; those in a group are written "group.name"."""
    return [
        name
        for field in Context.model_fields
        for name in (
            [f"{field}.{part}" for part in GROUPS[field].model_fields] if field in GROUPS else [field]
        )
    ]


def explain(error: ValidationError, allowed: Collection[str] = ()) -> str:
    """Describe in one line what is wrong with settings; `allowed` lists what a server's caller may set."""
    unknown: list[str] = []
    expected: dict[str, list[str]] = {}
    for problem in error.errors():
        path = [str(part) for part in problem["loc"]]
        name = ".".join(path[:2]) if path and path[0] in GROUPS else (path[0] if path else "?")
        if problem["type"] == "extra_forbidden":
            unknown.append(name[:LONGEST_VALUE])
        else:
            message = problem["msg"].removeprefix("Input ").removeprefix("should be ")
            expected.setdefault(f"{name} = {repr(problem['input'])[:LONGEST_VALUE]}", []).append(message)
    lines = [
        f"{given} is not usable: expected {' or '.join(dict.fromkeys(messages))}."
        for given, messages in expected.items()
    ]
    if allowed:
        lines += [f"{name!r} cannot be set by a caller." for name in unknown]
    else:
        lines += [f"{name!r} is not a setting.{_nearest(name)}" for name in unknown]
    if unknown:
        lines.append(f"The settings are: {', '.join(sorted(allowed or setting_names()))}.")
    return " ".join(lines)


def _nearest(name: str) -> str:
    names = [*setting_names(), *GROUPS]
    known = {part.replace("-", "_"): f"without={part}" for part in MECHANISMS}
    known |= {full.rpartition(".")[2]: full for full in names} | {full: full for full in names}
    close = difflib.get_close_matches(name, known, n=1) or difflib.get_close_matches(
        name.rpartition(".")[2], known, n=1
    )
    return f" Did you mean {known[close[0]]!r}?" if close else ""


class CallerSettings(Group):
    """What a caller of a served graph has set; `adaptive_rag.context.caller` says what that may be."""

    @cached_property
    def context(self) -> Context:
        """The complete settings: the operator's, overridden by what the caller has set.

        Of the two conditions `where`, both must hold.
        """
        given = self.model_dump(exclude_none=True)
        if "where" in given:
            given["where"] = join_conditions(make_context().where, given["where"])
        return make_context(given)


def context_of(runtime: Runtime[Any]) -> Context:
    """Return the run's context, or the defaults where the caller passed none."""
    given: Context | CallerSettings | None = runtime.context
    if isinstance(given, CallerSettings):
        return given.context
    return make_context() if given is None else given


def is_served(runtime: Runtime[Any]) -> bool:
    """Tell whether the question comes from a server's caller rather than from the program's own user."""
    given = runtime.context
    return given._served is not None if isinstance(given, Context) else isinstance(given, CallerSettings)


def _named_way(given: Any) -> Any:
    return ("apart" if given else "none") if isinstance(given, bool) else given


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
    sentence_vectors: Annotated[SentenceVectors, BeforeValidator(_named_way)] = Field(
        "apart",
        description="Vectors of sentences: each embedded by itself ('apart', or true), all taken from one "
        "pass over their chunk ('pooled'), or 'none' (false).",
    )
    include: tuple[str, ...] = Field(
        (), description="Read only files of the folders that match one of these patterns, such as '*.md'."
    )
    exclude: tuple[str, ...] = Field(
        (),
        description="Patterns of further files to leave out; '!node_modules/' reads that folder anyway.",
    )
    prune: bool = Field(True, description="Remove documents that are gone from the given folders.")
    rebuild: bool = Field(False, description="Build the index again, with these settings.")
