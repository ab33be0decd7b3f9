"""The interface for Python and LangChain: the graph with its settings, as one Runnable."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.runnables.utils import AddableDict
from langchain_core.tools import BaseTool
from langgraph.cache.base import BaseCache
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from langgraph.types import Overwrite
from pydantic import BaseModel

from adaptive_rag.compare import (
    Column,
    Comparison,
    compare_columns,
    make_column,
    name_columns,
    second_likeliest,
)
from adaptive_rag.context import Context, by_group, is_setting, make_context
from adaptive_rag.errors import AdaptiveRAGWarning, ConfigurationError
from adaptive_rag.graph.builder import build_graph, check_names
from adaptive_rag.graph.caching import open_cache
from adaptive_rag.index import Index
from adaptive_rag.index.index import narrow_to, source_of
from adaptive_rag.index.manifest import MANIFEST
from adaptive_rag.index.sharding.layout import SHARDS
from adaptive_rag.ingest.discovery import holds_documents
from adaptive_rag.ingest.loaders import find_loader
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.query.history import read_question
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import InputState, OutputState
from adaptive_rag.text.redaction import PiecewiseRedactor, redact, redact_known_all
from adaptive_rag.tool import make_tool

Question: TypeAlias = str | InputState | dict[str, Any] | BaseMessage | Sequence[BaseMessage] | PromptValue

# Settings of the index rather than of a question; `from_documents` passes them on.
INDEX_SETTINGS = ("chunk_size", "chunk_overlap", "sentence_vectors")


class AdaptiveRAG(Runnable[Question, OutputState]):
    """Answer questions over an index, each by the strategy that suits it.

    Takes a string, a dict with `question` (and `user_context`, `history`), or messages. Every setting
    of `Context` can be given here, and again for one call as `context={...}` or, inside a chain,
    under `config["configurable"]`.

    Args:
        place: an index (a folder, a URI, an open one), or documents: a file, a pattern such as "docs/*.pdf",
            a folder that holds documents and is not an index, or a list. New documents are indexed, and
            only the given ones are searched, as with `from_documents`.
        index: the index to search, and where documents are indexed. By default `.adaptive-rag`. A path
            given here is never taken for a document.

    Raises:
        ConfigurationError: a setting is unknown or out of bounds, or a document does not exist.
        IndexingError: no document could be read; the message names each one.
    """

    def __init__(
        self,
        place: str | Path | ChunkSource | Sequence[Any] | None = None,
        /,
        *,
        index: str | Path | ChunkSource | None = None,
        model: str | BaseChatModel | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
        cache: BaseCache[Any] | str | Path | None = None,
        **settings: Any,
    ) -> None:
        if index is not None:
            settings["index"] = str(index) if isinstance(index, Path) else index
        if model is not None:
            settings["model"] = model
        if _names_documents(place):
            settings = _index(cast("str | Path | Sequence[Any]", place), settings)
        elif place is not None:
            if index is not None:
                raise ConfigurationError(f"Got two indexes, {str(place)!r} and {str(index)!r}; name one.")
            settings["index"] = str(place) if isinstance(place, Path) else place
        self._settings = by_group(settings)
        self._parts = {"checkpointer": checkpointer, "store": store, "cache": cache}
        self.name = "AdaptiveRAG"
        self.context = make_context(self._settings)
        check_names(self.context)
        self.graph = build_graph().compile(
            checkpointer=checkpointer,
            store=store,
            cache=open_cache(cache) if isinstance(cache, str | Path) else cache,
            name="adaptive_rag",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings; the graph is built again from them."""
        settings: dict[str, Any] = {**self._settings, **self._parts}
        return partial(type(self), **settings), ()

    def __repr__(self) -> str:
        """Show the settings that differ from the defaults."""
        settings = (f"{name}={value!r}" for name, value in self._settings.items())
        return redact(f"AdaptiveRAG({', '.join(settings)})")

    @property
    def InputType(self) -> Any:
        """A question or a dict; messages are read as well, but no form can be drawn for them."""
        return str | InputState

    def get_output_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return the schema of the output."""
        return self.graph.get_output_schema(config)

    @classmethod
    def from_documents(
        cls, documents: str | Path | Sequence[Any], *, index: str | Path | None = None, **settings: Any
    ) -> Self:
        """Index files, folders or LangChain Documents that are new, then answer from the given ones alone.

        `chunk_size`, `chunk_overlap` and `sentence_vectors` are settings of the index, all others are
        settings of `Context`. Other documents in the index stay there and are not searched.

        Raises:
            IndexingError: no document could be read; the message names each one.
        """
        if index is not None:
            settings["index"] = str(index)
        return cls(**_index(documents, settings))

    def query(
        self, question: str, user_context: str | None = None, config: RunnableConfig | None = None
    ) -> tuple[str, list[str]]:
        """Return the answer to a question, and the texts of the passages that it was made from.

        Everything else that `invoke` returns is left out. `config` is LangChain's, as for `invoke`.
        """
        return _as_pair(self.invoke(_asked(question, user_context), config))

    async def aquery(
        self, question: str, user_context: str | None = None, config: RunnableConfig | None = None
    ) -> tuple[str, list[str]]:
        """Return what `query` does, asynchronously."""
        return _as_pair(await self.ainvoke(_asked(question, user_context), config))

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

        With `drafts=True` the pieces of a model's draft come first, as `{"draft": ...}`. An empty piece
        means that the model starts again: discard the draft so far. The answer replaces the draft, and
        may differ from it.

        With `steps=True` the start and the end of every step come first, as `{"step": ...}` with `id`,
        `name`, `strategy` (None outside of one), `state` ("started", "finished") and, once it has ended,
        its `record` of the trace. So do the classification, as `{"route": analysis}`, and the passages
        that a strategy has selected, as `{"passages": documents}`; a later list replaces an earlier one.

        With `stream_mode=` the graph's own stream is passed on.
        """
        _refuse_both(drafts or steps, kwargs)
        if not (drafts or steps or "stream_mode" in kwargs):
            yield AddableDict(self.invoke(input, config, **kwargs))
            return
        call, progress = self._stream_call(input, config, kwargs, drafts, steps)
        for part in self.graph.stream(**call):
            yield from progress.feed(*part) if progress else (part,)
        yield from progress.end() if progress else ()

    async def astream(
        self,
        input: Question,
        config: RunnableConfig | None = None,
        *,
        drafts: bool | None = False,
        steps: bool | None = False,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Yield as `stream` does, asynchronously."""
        _refuse_both(drafts or steps, kwargs)
        if not (drafts or steps or "stream_mode" in kwargs):
            yield AddableDict(await self.ainvoke(input, config, **kwargs))
            return
        call, progress = self._stream_call(input, config, kwargs, drafts, steps)
        async for part in self.graph.astream(**call):
            for chunk in progress.feed(*part) if progress else (part,):
                yield chunk
        for chunk in progress.end() if progress else ():
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
            ConfigurationError: a route or a recipe is unknown; nothing has been asked yet.
        """
        named, rag = self._ways(question, name_columns(routes, recipes), self.context)
        columns = [rag._column(name, question, user_context, named[name]) for name in named]
        if len(columns) == 1:
            second = second_likeliest(columns[0].output["analysis"])
            columns.append(rag._column(second, question, user_context, {"route": second}))
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
        base = context or self.context
        named, rag = await asyncio.to_thread(self._ways, question, name_columns(routes, ()), base)
        columns = [await rag._acolumn(name, question, user_context, named[name], base) for name in named]
        if len(columns) == 1:
            second = second_likeliest(columns[0].output["analysis"])
            columns.append(await rag._acolumn(second, question, user_context, {"route": second}, base))
        return compare_columns(question, user_context, columns)

    def _ways(
        self, question: str, named: dict[str, dict[str, Any]], context: Context
    ) -> tuple[dict[str, dict[str, Any]], Self]:
        """Check the settings of each column; return them with an instance that keeps no conversation."""
        for settings in named.values():
            self._context_for(None, {"context": settings})
        # The first search of an index warms its caches, so it is made before any column is timed.
        source_of(context).search([read_question({"question": question})[0]], limit=1)
        return named, self if self._parts["checkpointer"] is None else self._without_threads()

    def _column(self, name: str, question: str, user_context: str, settings: dict[str, Any]) -> Column:
        # A column must not profit from the embeddings of the one before it.
        load_minilm().forget()
        started = time.perf_counter()
        output = self.invoke(_asked(question, user_context), context=settings)
        return make_column(name, settings, output, (time.perf_counter() - started) * 1000)

    async def _acolumn(
        self, name: str, question: str, user_context: str, settings: dict[str, Any], base: Context
    ) -> Column:
        started = time.perf_counter()
        context = base.model_copy(update=settings)
        output = await self.ainvoke(_asked(question, user_context), context=context)
        return make_column(name, settings, output, (time.perf_counter() - started) * 1000)

    def _without_threads(self) -> Self:
        return type(self)(**{**self._settings, **self._parts, "checkpointer": None})

    def _call(
        self, input: Question, config: RunnableConfig | None, options: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments with which the graph is called."""
        context = self._context_for(config, options)
        configurable = _configurable(config)
        # LangGraph writes `configurable` into each checkpoint, so known secrets are redacted.
        shown = {name: redact_known_all(value) for name, value in configurable.items() if is_setting(name)}
        if shown:
            config = {**(config or {}), "configurable": {**configurable, **shown}}
        return {"input": _as_state(input), "config": config, "context": context, **options}

    def _stream_call(
        self,
        input: Question,
        config: RunnableConfig | None,
        options: dict[str, Any],
        drafts: bool | None,
        steps: bool | None,
    ) -> tuple[dict[str, Any], _Progress | None]:
        """Return the arguments, and the reader of the stream; None if the stream is passed on unchanged."""
        call = self._call(input, config, options)
        if "stream_mode" in call:
            return call, None
        modes = ["values", *(["messages"] if drafts else []), *(["tasks"] if steps else [])]
        # Subgraphs are nodes of this graph too, but they are not steps.
        branches = {path.rpartition("|")[2] for path, _ in self.graph.get_subgraphs(recurse=True)}
        return {**call, "stream_mode": modes, "subgraphs": True}, _Progress(
            self.graph.output_channels, branches
        )

    def _context_for(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> Context:
        given = kwargs.pop("context", None)
        if isinstance(given, Context):
            return given
        if given is not None and not isinstance(given, Mapping):
            raise ConfigurationError(
                f"context = {given!r} is not usable: expected a dict of settings or a Context."
            )
        # Other parts of a chain keep their own keys there, so unknown keys are not refused.
        own = {name: value for name, value in _configurable(config).items() if is_setting(name)}
        if not (own or given):
            return self.context
        context = make_context(self._settings, own, given or {})
        check_names(context)
        return context


def _configurable(config: RunnableConfig | None) -> dict[str, Any]:
    """Return `configurable` as LangGraph takes it, with the settings of the chain that the call is inside."""
    around = (var_child_runnable_config.get() or {}).get("configurable", {})
    given = (config or {}).get("configurable")
    if given is None:
        return around
    return {**{name: value for name, value in around.items() if is_setting(name)}, **given}


def _refuse_both(progress: bool | None, options: Mapping[str, Any]) -> None:
    if progress and "stream_mode" in options:
        raise ConfigurationError(
            "Got stream_mode beside drafts=True or steps=True; name one: a stream_mode passes all on."
        )


class _Progress:
    """Turns the graph's stream into its steps, the pieces of a model's draft, and the output."""

    def __init__(self, keys: Sequence[str], branches: Set[str]) -> None:
        self._keys = keys
        self._branches = branches
        self._attempt: object = None
        self._redactor = PiecewiseRedactor()
        self.output = AddableDict()

    def feed(self, path: tuple[str, ...], mode: str, part: Any) -> Iterator[AddableDict]:
        if mode == "messages":
            yield from self._draft(*part)
        elif mode == "tasks" and part["name"] not in self._branches:
            yield from self._step(path, part)
        elif mode == "values" and not path:
            self.output = AddableDict({key: part[key] for key in self._keys if key in part})

    def end(self) -> Iterator[AddableDict]:
        yield from self._held_back()
        yield self.output

    def _draft(self, message: BaseMessage, metadata: Mapping[str, Any]) -> Iterator[AddableDict]:
        if not isinstance(message, AIMessageChunk) or metadata.get("langgraph_node") != "generate":
            return
        if message.text:
            if self._attempt not in (None, metadata.get("attempt")):
                yield from self._held_back()
                yield AddableDict(draft="")
            self._attempt = metadata.get("attempt")
            if piece := self._redactor.feed(message.text):
                yield AddableDict(draft=piece)

    def _held_back(self) -> Iterator[AddableDict]:
        if piece := self._redactor.rest():
            yield AddableDict(draft=piece)

    def _step(self, path: tuple[str, ...], task: Mapping[str, Any]) -> Iterator[AddableDict]:
        # "hedge:<id>", then "as_factual:<id>"
        strategy = path[-1].partition(":")[0].removeprefix("as_") if path else None
        step = {"id": task["id"], "name": task["name"], "strategy": strategy}
        if "result" not in task:
            yield AddableDict(step={**step, "state": "started"})
            return
        if task["error"]:
            return
        result = task["result"]
        # The branches of a fan-out return their records with their hits.
        trace = result.get("trace") or [hit["record"] for hit in result["hits"]]
        yield AddableDict(step={**step, "state": "finished", "record": trace[-1]})
        if task["name"] == "classify":
            yield AddableDict(route=result["analysis"])
        elif path and (documents := result.get("documents")):
            # The hedge's fused passages replace what both strategies added.
            yield AddableDict(passages=documents.value if isinstance(documents, Overwrite) else documents)


def _names_documents(place: object) -> bool:
    """Tell whether `place` names documents; a URI, an index or a folder without documents does not."""
    if not isinstance(place, str | Path):
        return isinstance(place, list | tuple)
    if "://" in str(place):
        return False
    path = Path(place).expanduser()
    if not path.is_dir():
        # A missing file counts as a document, so that the error names it: "handbok.pdf" is no likely index.
        return path.exists() or find_loader(path) is not None
    is_index = any((path / name).exists() for name in (MANIFEST, SHARDS))
    return not is_index and holds_documents(path)


def _index(documents: str | Path | Sequence[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Index the documents that are new; return settings that search only the given documents."""
    of_index = {name: settings[name] for name in INDEX_SETTINGS if name in settings}
    settings = {name: value for name, value in settings.items() if name not in of_index}
    context = make_context(settings)
    if not isinstance(context.index, str):
        raise ConfigurationError(f"index = {context.index!r} is not usable here: expected a folder or URI.")
    check_names(context)
    report = Index.build(documents, context.index, embeddings=context.embeddings, **of_index)
    if report.failed and report.sources:
        lines = "\n".join(f"{failure}." for failure in report.failed)
        warnings.warn(f"What could not be read is not searched:\n{lines}", AdaptiveRAGWarning, stacklevel=3)
    return {**settings, "index": narrow_to(report, context.index, context.embeddings)}


def _asked(question: str, user_context: str | None) -> InputState:
    return {"question": question, "user_context": user_context or ""}


def _as_pair(output: OutputState) -> tuple[str, list[str]]:
    return output["answer"], [document["text"] for document in output["documents"]]


def _as_state(question: Question) -> InputState:
    if isinstance(question, str):
        return {"question": question}
    if isinstance(question, dict):
        unknown = question.keys() - InputState.__annotations__.keys()
        if unknown:
            raise ConfigurationError(
                f"The input has the unknown keys {sorted(unknown)}; expected some of "
                f"{sorted(InputState.__annotations__)}. Settings are passed as context={{...}}."
            )
        return cast(InputState, question)
    if isinstance(question, PromptValue):
        question = question.to_messages()
    if isinstance(question, BaseMessage):
        question = [question]
    if isinstance(question, list | tuple):
        try:
            return {"messages": convert_to_messages(question)}  # type: ignore[typeddict-item]
        except (ValueError, NotImplementedError) as error:
            raise ConfigurationError(f"The input is a list, and not of messages: {error}") from error
    raise ConfigurationError(f"Got {question!r}; expected a question, a dict with one, or messages.")
