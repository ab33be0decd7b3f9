"""Requests at /v1, in the format of OpenAI's chat completions. Responses use the types of `openai`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from adaptive_rag.query.history import MAX_QUESTION
from adaptive_rag.server.answering import MOST_BYTES, SETTINGS, Situation
from adaptive_rag.state import Turn

# Only the last turns of a conversation are read.
MOST_TURNS = 100
EXAMPLE: dict[str, Any] = {
    "model": "handbook",
    "messages": [{"role": "user", "content": "What is the highest water level ever recorded?"}],
    "stream": False,
    "adaptive_rag": {"k": 5},
}


def _join_text_parts(content: Any) -> Any:
    """Join the text parts of a message; pydantic checks a value that is not a list."""
    if not isinstance(content, list):
        return content or ""
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind != "text" or not isinstance(part.get("text"), str):
            raise ValueError(f"only parts of text are read; this one is {str(kind)[:40]!r}")
    return "\n".join(part["text"] for part in content)


class TextPart(BaseModel):
    """A part of a message."""

    type: Literal["text"]
    text: str


Content = Annotated[
    str, BeforeValidator(_join_text_parts, json_schema_input_type=str | list[TextPart] | None)
]


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Content = Field("", max_length=MOST_BYTES)


def _check_last_message(messages: list[ChatMessage]) -> list[ChatMessage]:
    last = messages[-1]
    if last.role != "user" or not last.content.strip():
        raise ValueError("the last message must be the user's, with the question as its text")
    if len(last.content) > MAX_QUESTION:
        raise ValueError(f"the question has {len(last.content):,} characters; {MAX_QUESTION:,} are read")
    return messages


def _accept_only(*values: Any) -> AfterValidator:
    """Return a validator that refuses a parameter, except for values that do not change an answer."""

    def check(value: Any) -> Any:
        if value is not None and value not in values:
            accepted = f"; it may be {' or '.join(map(repr, values))}" if values else ""
            raise ValueError(f"this server does not support it{accepted}")
        return value

    return AfterValidator(check)


class StreamOptions(BaseModel):
    """What a stream contains besides the answer."""

    include_usage: bool | None = False


class CallerOptions(BaseModel):
    """What a caller may set beyond OpenAI's parameters: the settings of /api/v1, and `user_context`."""

    model_config = ConfigDict(extra="allow")

    user_context: Situation | None = Field("", description="Who asks, or in what situation.")


class ChatRequest(BaseModel):
    """A conversation that ends with a question.

    Parameters that are not listed here, such as temperature, top_p, max_tokens, seed and user, have no
    effect: the operator's settings decide. Parameters that would change the meaning of the answer are
    refused.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    model: str = Field(
        max_length=300, description="A collection, a route, or both, as /v1/models lists them."
    )
    messages: Annotated[list[ChatMessage], AfterValidator(_check_last_message)] = Field(
        min_length=1,
        description="Messages of the user and the assistant are read. System messages have no effect: the "
        "operator's prompts are used.",
    )
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    adaptive_rag: CallerOptions | None = Field(
        default_factory=CallerOptions,
        description=SETTINGS,
    )
    n: Annotated[int | None, _accept_only(1)] = None
    stop: Annotated[Any, _accept_only([])] = None
    tools: Annotated[Any, _accept_only([])] = None
    tool_choice: Annotated[Any, _accept_only("none", "auto")] = None
    functions: Annotated[Any, _accept_only([])] = None
    function_call: Annotated[Any, _accept_only("none", "auto")] = None
    response_format: Annotated[Any, _accept_only({"type": "text"})] = None
    logprobs: Annotated[Any, _accept_only(False)] = None
    modalities: Annotated[Any, _accept_only(["text"])] = None
    audio: Annotated[Any, _accept_only()] = None
    web_search_options: Annotated[Any, _accept_only()] = None

    @property
    def question(self) -> str:
        """The question: the text of the last message."""
        return self.messages[-1].content

    @property
    def history(self) -> list[Turn]:
        """The turns before the question, oldest first."""
        return [
            Turn(role="user" if message.role == "user" else "agent", text=message.content)
            for message in self.messages[:-1]
            if message.role in ("user", "assistant") and message.content
        ]
