"""Fakes for tests of graphs that use Adaptive RAG: a scripted chat model, and a way to run one node."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from pydantic import Field, PrivateAttr, field_validator

from adaptive_rag.context import Context
from adaptive_rag.context.groups import StepName
from adaptive_rag.llm.request import asking_step
from adaptive_rag.state import State, StrategyState
from adaptive_rag.text.markers import write_marker

# A reply of a scripted model: a text, an object that is sent as JSON, or an error that is raised.
Reply: TypeAlias = str | Mapping[str, Any] | Sequence[Any] | BaseException | None

# A usable reply for each step. Lists are cut or extended to the number of items that the prompt asks for.
DEFAULT_REPLIES: dict[str, Reply] = {
    "classify": {"type": "factual", "reason": "asks for one piece of information"},
    "decompose": {"sub_questions": ["What is it?", "How does it work?", "What does it lead to?"]},
    "viewpoints": {
        "viewpoints": ["it helps those concerned", "it harms those concerned", "it costs too much"],
        "sides": ["for", "against", "against"],
    },
    "generate": f"This is what the first passage says {write_marker(1)}.",
}


class ScriptedChatModel(BaseChatModel):
    """A chat model that answers each step from a script, and remembers its requests.

    The script maps a step's name to its reply, or to a list of replies: each is used once, and the last one
    from then on. It may also be a function of the step's name and the messages. Steps without a reply in
    the script get a default one. An exception as a reply is raised. The reply to "" is for calls that no
    step makes.
    """

    script: Any = Field(default_factory=dict)
    seconds: float = 0.0
    """Time that each call takes; a stream spreads it over its words."""

    _asked: list[tuple[str, list[BaseMessage]]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @field_validator("script")
    @classmethod
    def _check_steps(cls, script: Any) -> Any:
        steps = ("", *get_args(StepName))
        if not callable(script) and (unknown := script.keys() - set(steps)):
            raise ValueError(f"no step has the name {sorted(unknown)[0]!r}; expected some of {steps}")
        return script

    @property
    def asked(self) -> list[tuple[str, list[BaseMessage]]]:
        """The step and the messages of every call so far, in order."""
        return self._asked

    @property
    def skills(self) -> list[str]:
        """The steps of the calls so far, in order."""
        return [step for step, _ in self._asked]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        step = asking_step.get()
        with self._lock:
            self._asked.append((step, messages))
            earlier_calls = self.skills.count(step) - 1
        reply = self.script(step, messages) if callable(self.script) else self._scripted(step, earlier_calls)
        if reply is None and (callable(self.script) or step not in self.script):
            reply = _default_reply(step, messages)
        if isinstance(reply, BaseException):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        input_words, output_words = sum(len(m.text.split()) for m in messages), len(text.split())
        usage = UsageMetadata(
            input_tokens=input_words, output_tokens=output_words, total_tokens=input_words + output_words
        )
        return AIMessage(text, usage_metadata=usage, response_metadata={"finish_reason": "stop"})

    def _scripted(self, step: str, earlier_calls: int) -> Reply:
        reply: Any = self.script.get(step)
        if isinstance(reply, list) and reply and not all(isinstance(item, int | float) for item in reply):
            reply = reply[min(earlier_calls, len(reply) - 1)]
        return cast(Reply, reply)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        result = ChatResult(generations=[ChatGeneration(message=self._reply(messages))])
        time.sleep(self.seconds)
        return result

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        result = ChatResult(generations=[ChatGeneration(message=self._reply(messages))])
        await asyncio.sleep(self.seconds)
        return result

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        chunks = _chunks(self._reply(messages))
        for chunk in chunks:
            time.sleep(self.seconds / len(chunks))
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        chunks = _chunks(self._reply(messages))
        for chunk in chunks:
            await asyncio.sleep(self.seconds / len(chunks))
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


class _NodeState(State, StrategyState):
    """The state for any node: that of the whole graph and that of a strategy."""


def run_node(
    node: Runnable[Any, Any], state: Mapping[str, Any], context: Context | None = None, **options: Any
) -> dict[str, Any]:
    """Run one node as the graph would, and return the keys that it changed.

    `state` is what earlier nodes wrote; `options` are passed to the graph's `compile`, such as `store=`.
    """
    return _update(_build_graph(node, options).stream(state, context=context, stream_mode="updates"))


async def arun_node(
    node: Runnable[Any, Any], state: Mapping[str, Any], context: Context | None = None, **options: Any
) -> dict[str, Any]:
    """Run one node asynchronously, and return the keys that it changed."""
    stream = _build_graph(node, options).astream(state, context=context, stream_mode="updates")
    return _update([part async for part in stream])


def _build_graph(node: Runnable[Any, Any], options: dict[str, Any]) -> Any:
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(_NodeState, context_schema=Context)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(**options)


def _update(chunks: Any) -> dict[str, Any]:
    return {
        key: value for chunk in chunks for update in chunk.values() for key, value in (update or {}).items()
    }


def _default_reply(step: str, messages: list[BaseMessage]) -> Reply:
    prompt = "\n".join(message.text for message in messages)
    question = re.search(r"^Question: (.+)$", prompt, re.M)
    question_text = question[1] if question else "the question"
    if step == "enhance":
        return {"query": question_text}
    if step == "infer":
        return {"context": "someone who wants to know"}
    if step == "contextualize":
        return {"context": "someone who wants to know", "query": question_text}
    if step == "score":
        number = re.search(r"exactly (\d+) whole", prompt)
        return {"scores": [max(0, 9 - i) for i in range(int(number[1]) if number else 1)]}
    if step == "select":
        numbers = re.search(r"Choose (\d+) of the (\d+)", prompt)
        return {"passages": list(range(1, (min(int(numbers[1]), int(numbers[2])) if numbers else 1) + 1))}
    reply = DEFAULT_REPLIES.get(step, "I don't know.")
    if isinstance(reply, dict) and (number := re.search(r"exactly (\d+)", prompt)):
        count = int(number[1])
        padding = {"sides": ["other"] * count}
        extra_questions = [f"what is said of its part {i}" for i in range(4, count + 1)]
        return {name: [*value, *padding.get(name, extra_questions)][:count] for name, value in reply.items()}
    return reply


def _chunks(message: AIMessage) -> list[ChatGenerationChunk]:
    words = re.findall(r"\s*\S+\s*$|\s*\S+", message.text) or [""]
    chunks = [ChatGenerationChunk(message=AIMessageChunk(content=word)) for word in words]
    metadata = {"usage_metadata": message.usage_metadata, "response_metadata": message.response_metadata}
    last = AIMessageChunk(content="", chunk_position="last", **metadata)
    return [*chunks, ChatGenerationChunk(message=last)]
