"""The door for Python and LangChain: the graph with its settings, as one Runnable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
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

from adaptive_rag.context import Context, make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.index import Index
from adaptive_rag.index.source import ChunkSource
from adaptive_rag.state import InputState, OutputState

Question: TypeAlias = str | InputState | dict[str, Any] | Sequence[BaseMessage] | PromptValue


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
        cache: BaseCache[Any] | None = None,
        **knobs: Any,
    ) -> None:
        if index is not None:
            knobs["index"] = str(index) if isinstance(index, Path) else index
        if model is not None:
            knobs["model"] = model
        self._knobs = knobs
        self.context = make_context(**knobs)
        self.graph = build_graph().compile(
            checkpointer=checkpointer, store=store, cache=cache, name="adaptive_rag"
        )

    @classmethod
    def from_documents(
        cls, documents: str | Path | Sequence[Any], *, index: str | Path | None = None, **knobs: Any
    ) -> Self:
        """Index files, folders or LangChain Documents where they are new, then answer over them.

        Raises:
            IndexingError: no document could be read; the message names each one.
        """
        uri = str(index) if index is not None else make_context().index
        if not isinstance(uri, str):
            raise ConfigurationError(f"index = {uri!r} is not usable here: expected a folder or URI.")
        Index.build(documents, uri, embeddings=knobs.get("embeddings"))
        return cls(uri, **knobs)

    def invoke(self, input: Question, config: RunnableConfig | None = None, **kwargs: Any) -> OutputState:
        """Answer one question."""
        context = self._context_for(config, kwargs)
        return cast(OutputState, self.graph.invoke(_as_state(input), config, context=context, **kwargs))

    async def ainvoke(
        self, input: Question, config: RunnableConfig | None = None, **kwargs: Any
    ) -> OutputState:
        """Answer one question; while a model works, no thread waits for it."""
        context = self._context_for(config, kwargs)
        result = await self.graph.ainvoke(_as_state(input), config, context=context, **kwargs)
        return cast(OutputState, result)

    def stream(  # type: ignore[override]
        self, input: Question, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Yield the answer's tokens as `{"answer": ...}`, then all other keys of the output.

        The chunks add up to what `invoke` returns. With `stream_mode=` the graph's own stream is passed on.
        """
        context, state = self._context_for(config, kwargs), _as_state(input)
        if "stream_mode" in kwargs:
            yield from self.graph.stream(state, config, context=context, **kwargs)
            return
        chunks = _AnswerStream()
        for mode, part in self.graph.stream(
            state, config, context=context, stream_mode=["messages", "values"], subgraphs=False, **kwargs
        ):
            yield from chunks.feed(mode, part)
        yield chunks.rest()

    async def astream(  # type: ignore[override]
        self, input: Question, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield as `stream` does, asynchronously."""
        context, state = self._context_for(config, kwargs), _as_state(input)
        if "stream_mode" in kwargs:
            async for part in self.graph.astream(state, config, context=context, **kwargs):
                yield part
            return
        chunks = _AnswerStream()
        async for mode, part in self.graph.astream(
            state, config, context=context, stream_mode=["messages", "values"], subgraphs=False, **kwargs
        ):
            for chunk in chunks.feed(mode, part):
                yield chunk
        yield chunks.rest()

    def _context_for(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> Context:
        given = kwargs.pop("context", None)
        if isinstance(given, Context):
            return given
        configurable = (config or {}).get("configurable", {})
        knobs = {name: value for name, value in configurable.items() if name in Context.model_fields}
        knobs |= given or {}
        return make_context(**{**self._knobs, **knobs}) if knobs else self.context


class _AnswerStream:
    """Turns the graph's stream into chunks of the output that add up to it."""

    def __init__(self) -> None:
        self._streamed = ""
        self._output: dict[str, Any] = {}

    def feed(self, mode: str, part: Any) -> Iterator[AddableDict]:
        if mode == "values":
            self._output = part
        elif isinstance(part[0], AIMessageChunk) and part[0].text:
            self._streamed += part[0].text
            yield AddableDict(answer=part[0].text)

    def rest(self) -> AddableDict:
        rest = AddableDict(self._output)
        if self._streamed and self._streamed == rest.get("answer"):
            del rest["answer"]
        elif self._streamed:
            # Checking the draft changed it; what was streamed cannot be taken back.
            rest["revised_answer"] = rest.pop("answer")
        return rest


def _as_state(question: Question) -> InputState:
    if isinstance(question, str):
        return {"question": question}
    if isinstance(question, PromptValue):
        return {"messages": question.to_messages()}
    if isinstance(question, dict):
        unknown = question.keys() - InputState.__annotations__.keys()
        if unknown:
            raise ConfigurationError(
                f"The input has the unknown keys {sorted(unknown)}; expected some of "
                f"{sorted(InputState.__annotations__)}. Settings are passed as context={{...}}."
            )
        return cast(InputState, question)
    if isinstance(question, Sequence):
        return {"messages": convert_to_messages(question)}  # type: ignore[typeddict-item]
    raise ConfigurationError(f"Got {question!r}; expected a question, a dict with one, or messages.")
