"""The door for Python and LangChain: the graph with its settings, as one Runnable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.utils import AddableDict
from langgraph.cache.base import BaseCache
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from adaptive_rag.context import Context, by_group, is_setting, make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.graph.builder import build_graph, check_names
from adaptive_rag.graph.caching import open_cache
from adaptive_rag.index import Index
from adaptive_rag.index.filtered import narrow_to
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import InputState, OutputState

Question: TypeAlias = str | InputState | dict[str, Any] | BaseMessage | Sequence[BaseMessage] | PromptValue

# Settings of the index rather than of a question; `from_documents` passes them on.
INDEX_SETTINGS = ("chunk_size", "chunk_overlap", "sentence_vectors")


class AdaptiveRAG(Runnable[Question, OutputState]):
    """Answer questions over an index, each by the strategy that suits it.

    Takes a string, a dict with `question` (and `user_context`, `history`), or messages. Every setting
    of `Context` can be given here, and again for one call as `context={...}` or, inside a chain,
    under `config["configurable"]`.

    Raises:
        ConfigurationError: a setting is unknown or out of bounds.
    """

    def __init__(
        self,
        index: str | Path | ChunkSource | None = None,
        *,
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
        return f"AdaptiveRAG({', '.join(f'{name}={value!r}' for name, value in self._settings.items())})"

    @property
    def InputType(self) -> Any:
        """A question or a dict; messages are read as well, but no form can be drawn for them."""
        return str | InputState

    def get_output_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return the output's keys."""
        return self.graph.get_output_schema(config)

    @classmethod
    def from_documents(
        cls, documents: str | Path | Sequence[Any], *, index: str | Path | None = None, **settings: Any
    ) -> Self:
        """Index files, folders or LangChain Documents where they are new, then answer from them alone.

        `chunk_size`, `chunk_overlap` and `sentence_vectors` are settings of the index, the others those
        of `Context`. What else the index holds stays there and is not searched.

        Raises:
            IndexingError: no document could be read; the message names each one.
        """
        of_index = {name: settings.pop(name) for name in INDEX_SETTINGS if name in settings}
        if index is not None:
            settings["index"] = str(index)
        context = make_context(settings)
        if not isinstance(context.index, str):
            raise ConfigurationError(
                f"index = {context.index!r} is not usable here: expected a folder or URI."
            )
        report = Index.build(documents, context.index, embeddings=context.embeddings, **of_index)
        settings["index"] = narrow_to(report, context.index, context.embeddings)
        return cls(**settings)

    def invoke(self, input: Question, config: RunnableConfig | None = None, **kwargs: Any) -> OutputState:
        """Answer one question."""
        return cast(OutputState, self.graph.invoke(**self._call(input, config, kwargs)))

    async def ainvoke(
        self, input: Question, config: RunnableConfig | None = None, **kwargs: Any
    ) -> OutputState:
        """Answer one question; while a model works, no thread waits for it."""
        return cast(OutputState, await self.graph.ainvoke(**self._call(input, config, kwargs)))

    def stream(self, input: Question, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the answer's tokens as `{"answer": ...}`, then all other keys of the output.

        The chunks add up to what `invoke` returns; where checking a model's draft changed it, the answer that
        holds comes at the end as `revised_answer`. With `stream_mode=` the graph's own stream is passed on.
        """
        call, answer = self._stream_call(input, config, kwargs)
        for part in self.graph.stream(**call):
            yield from answer.feed(*part) if answer else (part,)
        if answer:
            yield answer.rest()

    async def astream(
        self, input: Question, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield as `stream` does, asynchronously."""
        call, answer = self._stream_call(input, config, kwargs)
        async for part in self.graph.astream(**call):
            for chunk in answer.feed(*part) if answer else (part,):
                yield chunk
        if answer:
            yield answer.rest()

    def _call(
        self, input: Question, config: RunnableConfig | None, options: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments with which the graph is called."""
        context = self._context_for(config, options)
        return {"input": _as_state(input), "config": config, "context": context, **options}

    def _stream_call(
        self, input: Question, config: RunnableConfig | None, options: dict[str, Any]
    ) -> tuple[dict[str, Any], _AnswerStream | None]:
        """Return the arguments, and what reads the answer from the stream unless it is passed on as it is."""
        call = self._call(input, config, options)
        if "stream_mode" in call:
            return call, None
        return {**call, "stream_mode": ["messages", "values"]}, _AnswerStream(self.graph.output_channels)

    def _context_for(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> Context:
        given = kwargs.pop("context", None)
        if isinstance(given, Context):
            return given
        if given is not None and not isinstance(given, Mapping):
            raise ConfigurationError(
                f"context = {given!r} is not usable: expected a dict of settings or a Context."
            )
        configurable = (config or {}).get("configurable", {})
        # Other parts of a chain keep their own keys there, so unknown ones are not ours to refuse.
        own = {name: value for name, value in configurable.items() if is_setting(name)}
        if not (own or given):
            return self.context
        context = make_context(self._settings, own, given or {})
        check_names(context)
        return context


class _AnswerStream:
    """Turns the graph's stream into chunks of the output that add up to it."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._streamed = ""
        self._held_back = ""
        self._output: dict[str, Any] = {}

    def feed(self, mode: str, part: Any) -> Iterator[AddableDict]:
        if mode == "values":
            self._output = {key: part[key] for key in self._keys if key in part}
            return
        message, metadata = part
        if not isinstance(message, AIMessageChunk) or metadata.get("langgraph_node") != "generate":
            return
        # Blanks around the answer are not part of it: one at the end is sent when more follows.
        said = self._held_back + message.text
        said = said if self._streamed else said.lstrip()
        text = said.rstrip()
        self._held_back = said[len(text) :]
        if text:
            self._streamed += text
            yield AddableDict(answer=text)

    def rest(self) -> AddableDict:
        rest = AddableDict(self._output)
        if self._streamed and self._streamed == rest.get("answer"):
            del rest["answer"]
        elif self._streamed:
            # What was streamed cannot be taken back.
            rest["revised_answer"] = rest.pop("answer")
        return rest


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
