"""The interface for Python and LangChain: the graph with its settings, as one Runnable."""

from __future__ import annotations

import asyncio
import glob
import inspect
import time
import warnings
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias, cast

from langchain_core.messages import BaseMessage, MessageLikeRepresentation, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.runnables.utils import AddableDict
from langchain_core.tools import BaseTool
from langgraph.cache.base import BaseCache
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from adaptive_rag.compare import (
    Column,
    Comparison,
    compare_columns,
    make_column,
    name_columns,
    plan_columns,
)
from adaptive_rag.context import MAX_VALUE_LENGTH, Context, by_group, is_setting, make_context
from adaptive_rag.errors import AdaptiveRAGWarning, ConfigurationError
from adaptive_rag.graph.builder import build_graph, check_names
from adaptive_rag.graph.caching import open_cache
from adaptive_rag.index import Index
from adaptive_rag.index.index import narrow_to, source_of
from adaptive_rag.index.manifest import MANIFEST, Chunking
from adaptive_rag.index.sharding.layout import SHARDS
from adaptive_rag.ingest.discovery import holds_documents
from adaptive_rag.ingest.loaders import find_loader
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.query.history import read_question
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import InputState, OutputState
from adaptive_rag.streaming import StreamReader
from adaptive_rag.text.redaction import redact, redact_known_all
from adaptive_rag.tool import make_tool

Question: TypeAlias = (
    str | Mapping[str, Any] | BaseMessage | Sequence[MessageLikeRepresentation] | PromptValue | None
)

# Settings of the index rather than of a question; `from_documents` passes them on.
INDEX_SETTINGS = tuple(Chunking().chunking())
# What a call may pass on to the graph; `drafts` and `steps` change only a stream.
_GRAPH_OPTIONS = {*inspect.signature(Pregel.stream).parameters, "drafts", "steps"}
_GRAPH_OPTIONS -= {"self", "input", "config", "context", "kwargs"}


class AdaptiveRAG(Runnable[Question, OutputState]):
    """Answer questions over an index, each by the strategy that suits it.

    Takes a string, a dict with `question` (and `user_context`, `history`), or messages; with a
    checkpointer also None, which resumes what a thread's last question left undone. Every setting of
    `Context` can be given here, and again for one call as `context={...}` or, inside a chain, under
    `config["configurable"]`. A `Context` in place of the dict replaces all settings that are given here, the
    index too. The other arguments of a call are those of the graph, such as `durability=`.

    Args:
        location: an index (a folder, a URI or an open index), or documents: a file, a pattern such as
            "docs/*.pdf", a folder of documents that is not an index, or several of them or of LangChain's.
            New documents are indexed, and only the given ones are searched, as with `from_documents`.
        index: the index to search, and where documents are indexed. By default `.adaptive-rag`. A path
            passed here is never treated as a document.

    Raises:
        ConfigurationError: a setting is unknown or out of bounds, or the location does not exist.
        IndexingError: no document could be read; the message names each one.
    """

    def __init__(
        self,
        location: str | Path | ChunkSource | Iterable[Any] | None = None,
        /,
        *,
        index: str | Path | ChunkSource | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
        cache: BaseCache[Any] | str | Path | None = None,
        **settings: Any,
    ) -> None:
        if index is not None:
            settings["index"] = index
        if _names_documents(location):
            settings = _index_documents(cast("str | Path | Iterable[Any]", location), settings)
        elif location is not None:
            if index is not None:
                raise ConfigurationError(f"Got two indexes, {str(location)!r} and {str(index)!r}; pass one.")
            settings["index"] = location
        self._settings = by_group(settings)
        self._parts = {"checkpointer": checkpointer, "store": store, "cache": cache}
        self.name = "AdaptiveRAG"
        self.context = make_context(self._settings)
        check_names(self.context)
        if store is None and (user_id := self._settings.get("user_id")):
            message = (
                f"user_id = {user_id!r} has no effect without a store, which holds profiles: pass store=, "
                "or use this in a graph that has one."
            )
            warnings.warn(message, AdaptiveRAGWarning, stacklevel=2)
        self.graph = build_graph().compile(
            checkpointer=checkpointer,
            store=store,
            cache=None if cache is None else open_cache(cache),
            name="adaptive_rag",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings; the graph is built again from them."""
        settings: dict[str, Any] = {**self._settings, **self._parts}
        return partial(type(self), **settings), ()

    def __repr__(self) -> str:
        """Show the settings that differ from the defaults."""
        # An index may be restricted to thousands of documents.
        settings = (redact(f"{name}={value!r}")[:MAX_VALUE_LENGTH] for name, value in self._settings.items())
        return f"AdaptiveRAG({', '.join(settings)})"

    @property
    def InputType(self) -> Any:
        """A question or a dict. Messages are accepted too, but no form can be drawn for them."""
        return str | InputState

    def get_output_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return the schema of the output."""
        return self.graph.get_output_schema(config)

    @classmethod
    def from_documents(
        cls, documents: str | Path | Iterable[Any], *, index: str | Path | None = None, **settings: Any
    ) -> Self:
        """Index files, folders or LangChain Documents that are new, then answer from the given ones alone.

        `chunk_size`, `chunk_overlap` and `sentence_vectors` are settings of the index, all others are
        settings of `Context`. Other documents in the index stay there and are not searched.

        Raises:
            IndexingError: no document could be read; the message names each one.
        """
        if index is not None:
            settings["index"] = index
        return cls(**_index_documents(documents, settings))

    def query(
        self, question: str, user_context: str | None = None, config: RunnableConfig | None = None
    ) -> tuple[str, list[str]]:
        """Return the answer to a question, and the texts of the passages behind it.

        `config` is LangChain's, as for `invoke`, which returns more than the answer and its passages.
        """
        return _to_pair(self.invoke(_make_input(question, user_context), config))

    async def aquery(
        self, question: str, user_context: str | None = None, config: RunnableConfig | None = None
    ) -> tuple[str, list[str]]:
        """Do what `query` does, asynchronously."""
        return _to_pair(await self.ainvoke(_make_input(question, user_context), config))

    def invoke(self, input: Question, config: RunnableConfig | None = None, **kwargs: Any) -> OutputState:
        """Answer one question."""
        return cast(OutputState, self.graph.invoke(**self._call(input, config, kwargs)))

    async def ainvoke(
        self, input: Question, config: RunnableConfig | None = None, **kwargs: Any
    ) -> OutputState:
        """Answer one question asynchronously; no thread waits while a model works."""
        return cast(OutputState, await self.graph.ainvoke(**self._call(input, config, kwargs)))

    def stream(
        self,
        input: Question,
        config: RunnableConfig | None = None,
        *,
        drafts: bool | None = False,
        steps: bool | None = False,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Yield the output in one chunk, once the answer has been checked.

        With `drafts=True`, the pieces of a model's draft come first, as `{"draft": ...}`. An empty piece
        means that the model starts again: discard the draft so far. The answer replaces the draft, and
        may differ from it.

        With `steps=True`, the start and the end of every step come first, as `{"step": ...}` with `id`,
        `name`, `strategy` (None outside of one), `state` ("started", "finished") and, once it has finished,
        its trace `record`. The classification comes as `{"route": analysis}`, and the passages that a
        strategy has selected come as `{"passages": documents}`; a later list replaces an earlier one.

        With `stream_mode=` the graph's own stream is passed on.
        """
        _refuse_stream_mode(drafts or steps, kwargs)
        if not (drafts or steps or "stream_mode" in kwargs):
            yield AddableDict(self.invoke(input, config, **kwargs))
            return
        call, reader = self._stream_call(input, config, kwargs, drafts, steps)
        for part in self.graph.stream(**call):
            yield from reader.feed(*part) if reader else (part,)
        yield from reader.end() if reader else ()

    async def astream(
        self,
        input: Question,
        config: RunnableConfig | None = None,
        *,
        drafts: bool | None = False,
        steps: bool | None = False,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Do what `stream` does, asynchronously."""
        _refuse_stream_mode(drafts or steps, kwargs)
        if not (drafts or steps or "stream_mode" in kwargs):
            yield AddableDict(await self.ainvoke(input, config, **kwargs))
            return
        call, reader = self._stream_call(input, config, kwargs, drafts, steps)
        async for part in self.graph.astream(**call):
            for chunk in reader.feed(*part) if reader else (part,):
                yield chunk
        for chunk in reader.end() if reader else ():
            yield chunk

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> BaseTool:
        """Return a tool for an agent: a question (and `user_context`) in, the answer with its sources out.

        The artifact of its message is the list of citations. Say in the description what the documents
        are about: an agent uses it to decide when to call the tool.
        """
        return make_tool(self, args_schema, name, description, arg_types)

    def compare(
        self,
        question: str,
        *,
        routes: Sequence[str] = (),
        recipes: Sequence[str] = (),
        user_context: str = "",
    ) -> Comparison:
        """Answer one question in several ways, one after the other, and return their differences.

        Without `routes` and `recipes`, the router's own choice is compared with the second most likely
        type; if only one is named, with that one. No conversation is read or continued.

        Raises:
            ConfigurationError: a route or a recipe is unknown. No question has been asked yet.
        """
        settings_of = name_columns(routes, recipes)
        rag = self._prepare_comparison(question, settings_of, self.context)
        columns: list[Column] = []
        for name, settings in plan_columns(settings_of, columns):
            columns.append(rag._column(name, question, user_context, settings))
        return compare_columns(question, user_context, columns)

    async def acompare(
        self,
        question: str,
        *,
        routes: Sequence[str] = (),
        user_context: str = "",
        context: Context | None = None,
    ) -> Comparison:
        """Compare routes as `compare` does, asynchronously; `context` holds the other settings."""
        base_context, settings_of = context or self.context, name_columns(routes, ())
        rag = await asyncio.to_thread(self._prepare_comparison, question, settings_of, base_context)
        columns: list[Column] = []
        for name, settings in plan_columns(settings_of, columns):
            columns.append(await rag._acolumn(name, question, user_context, settings, base_context))
        return compare_columns(question, user_context, columns)

    def _prepare_comparison(
        self, question: str, settings_of: Mapping[str, dict[str, Any]], context: Context
    ) -> Self:
        """Check the settings of each column, and return an instance that keeps no conversation."""
        for settings in settings_of.values():
            self._context_for(None, {"context": settings})
        # The first search warms the caches of the index, so it runs before any column is timed.
        source_of(context).search([read_question({"question": question})[0]], limit=1)
        if self._parts["checkpointer"] is None:
            return self
        return type(self)(**{**self._settings, **self._parts, "checkpointer": None})

    def _column(self, name: str, question: str, user_context: str, settings: dict[str, Any]) -> Column:
        # Without this, a column would reuse the cached embeddings of the one before it.
        load_minilm().forget()
        started = time.perf_counter()
        output = self.invoke(_make_input(question, user_context), context=settings)
        return make_column(name, settings, output, (time.perf_counter() - started) * 1000)

    async def _acolumn(
        self, name: str, question: str, user_context: str, settings: dict[str, Any], base_context: Context
    ) -> Column:
        started = time.perf_counter()
        context = base_context.model_copy(update=settings)
        output = await self.ainvoke(_make_input(question, user_context), context=context)
        return make_column(name, settings, output, (time.perf_counter() - started) * 1000)

    def _call(
        self, input: Question, config: RunnableConfig | None, options: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments with which the graph is called."""
        context = self._context_for(config, options)
        if unknown := sorted(options.keys() - _GRAPH_OPTIONS):
            raise ConfigurationError(
                f"A call has no argument {unknown[0]!r}. Settings are passed as context={{...}}; the other "
                f"arguments are {', '.join(sorted(_GRAPH_OPTIONS))}."
            )
        configurable = _merge_configurable(config)
        # LangGraph writes `configurable` into every checkpoint, so known secrets are redacted.
        redacted = {name: redact_known_all(value) for name, value in configurable.items() if is_setting(name)}
        if redacted:
            config = {**(config or {}), "configurable": {**configurable, **redacted}}
        if isinstance(input, Mapping) and "langgraph_node" in ((config or {}).get("metadata") or {}):
            # A graph passes its whole state to a node, and an earlier answer is a part of that state.
            input = {name: value for name, value in input.items() if name in InputState.__annotations__}
        is_resumed = input is None and self.graph.checkpointer
        state = None if is_resumed else _to_state(input)
        return {"input": state, "config": config, "context": context, **options}

    def _stream_call(
        self,
        input: Question,
        config: RunnableConfig | None,
        options: dict[str, Any],
        drafts: bool | None,
        steps: bool | None,
    ) -> tuple[dict[str, Any], StreamReader | None]:
        """Return the arguments of the call, and the reader of its stream; None if `stream_mode` is passed."""
        call = self._call(input, config, options)
        if "stream_mode" in call:
            return call, None
        modes = ["values", *(["messages"] if drafts else []), *(["tasks"] if steps else [])]
        # The stream reports subgraphs as tasks too, but they are not steps.
        subgraphs = {path.rpartition("|")[2] for path, _ in self.graph.get_subgraphs(recurse=True)}
        return {**call, "stream_mode": modes, "subgraphs": True}, StreamReader(
            self.graph.output_channels, subgraphs
        )

    def _context_for(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> Context:
        """Return the settings of one call: its `context`, over `configurable`, over the constructor's."""
        passed = kwargs.pop("context", None)
        if isinstance(passed, Context):
            return passed
        if passed is not None and not isinstance(passed, Mapping):
            raise ConfigurationError(
                f"context = {passed!r} is not usable: expected a dict of settings or a Context."
            )
        # Other parts of a chain keep their own keys in `configurable`, so unknown keys are ignored.
        configured = {name: value for name, value in _merge_configurable(config).items() if is_setting(name)}
        if not (configured or passed):
            return self.context
        context = make_context(self._settings, configured, passed or {})
        check_names(context)
        return context


def _merge_configurable(config: RunnableConfig | None) -> dict[str, Any]:
    """Return the `configurable` of a call, with the settings of the chain that the call is part of."""
    inherited = (var_child_runnable_config.get() or {}).get("configurable", {})
    own = (config or {}).get("configurable")
    if own is None:
        return inherited
    return {**{name: value for name, value in inherited.items() if is_setting(name)}, **own}


def _refuse_stream_mode(progress: bool | None, options: Mapping[str, Any]) -> None:
    if progress and "stream_mode" in options:
        raise ConfigurationError(
            "Got stream_mode together with drafts=True or steps=True. Use one of them: stream_mode passes "
            "on the graph's own stream."
        )


def _names_documents(location: object) -> bool:
    """Return whether a location names documents; a URI, an index or a folder without documents does not.

    Raises:
        ConfigurationError: it is a path at which there is nothing.
    """
    if not isinstance(location, str | Path):
        return isinstance(location, Iterable) and not isinstance(location, ChunkSource)
    if "://" in str(location):
        return False
    path = Path(location).expanduser()
    if not path.is_dir():
        # A missing file counts as a document, so that the error names it: "handbok.pdf" is a typo, no index.
        if path.exists() or find_loader(path) is not None or glob.has_magic(str(path)):
            return True
        raise ConfigurationError(
            f"{str(location)!r} does not exist: neither an index nor documents. Pass documents, or pass an "
            "index that is made later as index=."
        )
    is_index = any((path / name).exists() for name in (MANIFEST, SHARDS))
    return not is_index and holds_documents(path)


def _index_documents(documents: str | Path | Iterable[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Index new documents, and return settings that search only the given ones."""
    index_settings = {name: settings[name] for name in INDEX_SETTINGS if name in settings}
    settings = {name: value for name, value in settings.items() if name not in index_settings}
    context = make_context(settings)
    if not isinstance(context.index, str):
        raise ConfigurationError(f"index = {context.index!r} is not usable here: expected a folder or URI.")
    check_names(context)
    report = Index.build(documents, context.index, embeddings=context.embeddings, **index_settings)
    if report.failed and report.sources:
        lines = "\n".join(f"{failure}." for failure in report.failed)
        message = f"These documents could not be read, and are not searched:\n{lines}"
        warnings.warn(message, AdaptiveRAGWarning, stacklevel=3)
    return {**settings, "index": narrow_to(report, context.index, context.embeddings)}


def _make_input(question: str, user_context: str | None) -> InputState:
    return {"question": question, "user_context": user_context or ""}


def _to_pair(output: OutputState) -> tuple[str, list[str]]:
    return output["answer"], [document["text"] for document in output["documents"]]


def _to_state(question: Question) -> InputState:
    if isinstance(question, str):
        return {"question": question}
    if isinstance(question, Mapping):
        unknown = question.keys() - InputState.__annotations__.keys()
        if unknown:
            raise ConfigurationError(
                f"The input has the unknown keys {sorted(unknown)}; expected some of "
                f"{sorted(InputState.__annotations__)}. Settings are passed as context={{...}}."
            )
        # The reducer of messages refuses None, which models of an app's own API have for what is not given.
        is_null = question.get("messages", ()) is None
        return cast(InputState, {**question, "messages": []} if is_null else dict(question))
    if isinstance(question, PromptValue):
        question = question.to_messages()
    if isinstance(question, BaseMessage):
        question = [question]
    if isinstance(question, list | tuple):
        try:
            return {"messages": convert_to_messages(question)}  # type: ignore[typeddict-item]
        except (ValueError, NotImplementedError) as error:
            raise ConfigurationError(f"The input is a list, but not one of messages: {error}") from error
    raise ConfigurationError(f"Got {question!r}; expected a question, a dict with one, or messages.")
