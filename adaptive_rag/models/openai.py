"""The client of OpenAI's protocol, for any server: what it was not asked for, it does not read."""

from __future__ import annotations

from typing import Any

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI


class OpenAIModel(ChatOpenAI):
    """A `ChatOpenAI` that leaves tool calls out of a stream.

    We stream free text alone and offer no tools with it. LangChain reads the arguments of a streamed call
    anew with every piece, in a time that grows with the square of their length.
    """

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            for name in ("tool_calls", "function_call"):
                delta.pop(name, None)
        return super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
