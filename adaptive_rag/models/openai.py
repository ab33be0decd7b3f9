"""The client for any server with OpenAI's protocol; it ignores tool calls, which are never requested."""

from __future__ import annotations

from typing import Any

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI


class OpenAIModel(ChatOpenAI):
    """A `ChatOpenAI` that leaves tool calls out of a stream.

    Only free text is streamed, and no tools are offered with it. LangChain parses the arguments of a streamed
    tool call again with each piece, which takes quadratic time.
    """

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            for name in ("tool_calls", "function_call"):
                delta.pop(name, None)
        return super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
