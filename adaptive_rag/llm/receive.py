"""Converts what a client returns for a reply to a bounded message of plain text and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from adaptive_rag.text.redaction import redact_known_all

# A token has about four characters; at most twice that is read of a reply, whatever its server sends.
MAX_CHARACTERS_A_TOKEN = 8
# Characters read of a form, without a model's thoughts; 50 sub-questions, the longest form, have half of it.
MAX_FORM = 20_000
# Levels of nested brackets that are read; no form asks for more than two.
DEEPEST = 8
# Where providers say why a reply ended, and what they call its length.
_ENDINGS = ("finish_reason", "stop_reason", "done_reason")
_TOO_SHORT = {"length", "max_tokens", "model_length"}
# A larger number of tokens is not believed.
_MOST_TOKENS = 10**9

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S | re.I)
# Some servers put the opening tag into the prompt, so that a reply has only the closing one.
_UNOPENED = re.compile(r"\A.*^[ \t]*+</think(?:ing)?>", re.S | re.M | re.I)
# An answer that is fenced as a whole; a fence inside an answer is around code, and stays.
_WRAPPED = re.compile(r"\A```(?:markdown|md|text)[ \t]*+\n((?:(?!```).)*)(?:\n```)?\Z", re.S | re.I)
# With its markers. A dot in "3.5", at the end of a cut text after "3", and after a list's number is none.
_SENTENCE_END = re.compile(r"(?:[!?…。！？\n]|\.(?<!\n\d\.)(?!\w|(?<=\d\.)\Z))(?:\s?\[\d++\])*+")
_FENCE = re.compile(r"^[ \t]*+```[a-zA-Z0-9_-]*+[ \t\r]*+$", re.M)


class Draft:
    """Collects the chunks of a streamed answer."""

    def __init__(self, max_tokens: int) -> None:
        self._chunks: list[BaseMessage] = []
        self._room = max_tokens * MAX_CHARACTERS_A_TOKEN

    def add(self, chunk: BaseMessage) -> bool:
        """Add a chunk; return True if the answer has grown beyond its limit."""
        self._chunks.append(chunk)
        # An empty chunk counts too: a stream of nothing else must end.
        self._room -= max(1, len(chunk.text))
        return self._room < 0

    def message(self) -> AIMessage:
        """Return the chunks as one message."""
        for chunk in self._chunks:
            if not isinstance(chunk, AIMessageChunk):
                raise ValueError(f"the client gave a message of type {chunk.type!r} instead of the model's")
        ids = (chunk.id for chunk in self._chunks if chunk.id)
        return AIMessage(
            "".join(chunk.text for chunk in self._chunks),
            id=next(ids, None),
            usage_metadata=_usage(*(getattr(chunk, "usage_metadata", None) for chunk in self._chunks)),
            response_metadata={
                name: value for chunk in self._chunks for name, value in chunk.response_metadata.items()
            },
        )


def receive(reply: object, max_tokens: int, *, form: bool = False) -> AIMessage:
    """Return the part of a reply that is read as a message, without a model's thoughts.

    A text is cut after `MAX_CHARACTERS_A_TOKEN` characters for each of `max_tokens`, and that of a form after
    `MAX_FORM`; "cut" in the metadata then says so, and where the model itself stopped at `max_tokens`.
    Arguments of a tool call that are longer, or nested deeper than `DEEPEST`, are left out.
    """
    if isinstance(reply, Draft):
        reply = reply.message()
    if not isinstance(reply, AIMessage):
        raise ValueError(f"the client gave a {type(reply).__name__} instead of the model's message")
    ended = {str(reply.response_metadata.get(name)).lower() for name in _ENDINGS}
    metadata: dict[str, Any] = {"finish_reason": "length"} if ended & _TOO_SHORT else {}
    whole, text = reply.text, without_thoughts(reply.text[: max_tokens * MAX_CHARACTERS_A_TOKEN])
    if not form:
        text = _WRAPPED.sub(r"\1", text).strip()
    if len(whole) > max_tokens * MAX_CHARACTERS_A_TOKEN or (form and len(text) > MAX_FORM):
        text = text[:MAX_FORM] if form else _whole_sentences(text)
        metadata["cut"] = f"the reply was too long: {len(text):,} characters of it were read"
    elif metadata and text and not form:
        text = _whole_sentences(text)
        metadata["cut"] = "the reply was cut off at budget.max_tokens"
    calls = [call for call in reply.tool_calls if is_shallow(call["args"])]
    if len(calls) < len(reply.tool_calls):
        metadata["cut"] = "the arguments of a tool call were too long, or nested too deeply, to be read"
    refusal = reply.additional_kwargs.get("refusal")
    # A server may repeat the key that it was sent.
    said = redact_known_all(plain_text(text))
    return AIMessage(
        said,
        # A text that differs from the one that was streamed is another message, without its id.
        id=reply.id if said == whole.strip() else None,
        tool_calls=redact_known_all(calls),
        usage_metadata=_usage(reply.usage_metadata),
        response_metadata=metadata,
        additional_kwargs={"refusal": redact_known_all(plain_text(refusal[:500]))}
        if isinstance(refusal, str)
        else {},
    )


def _whole_sentences(text: str) -> str:
    """Drop the incomplete sentence at the end of a cut text, unless it is the only one."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if ends else text


def without_thoughts(text: str) -> str:
    """Drop the thoughts of a reasoning model."""
    return _UNOPENED.sub("", _THOUGHT.sub("", text)).strip()


def form_text(text: str) -> str:
    """Return the text of a form, without thoughts and the fences around it."""
    return _FENCE.sub("", without_thoughts(text)).strip()


def storable(value: Any) -> Any:
    """Return a value of JSON whose texts can all be encoded and stored."""
    if not is_shallow(value):
        raise ValueError(f"expected a short form, got more than {DEEPEST} brackets within each other")
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {plain_text(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return plain_text(value) if isinstance(value, str) else value


def plain_text(text: str) -> str:
    """Return a text that can be encoded and stored: without NUL, and with "?" for lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def is_shallow(value: Any) -> bool:
    """Tell whether a value is nested no deeper than `DEEPEST` and has no more than `MAX_FORM` characters."""
    level, room = [value], MAX_FORM
    for _ in range(DEEPEST + 1):
        room -= sum(len(item) if isinstance(item, str) else 1 for item in level)
        if room < 0:
            return False
        held = [item.items() if isinstance(item, Mapping) else [item] for item in level if _holds(item)]
        if not held:
            return True
        level = [part for parts in held for pair in parts for part in pair]
    return False


def _holds(item: object) -> bool:
    return isinstance(item, Mapping | list | tuple)


def _usage(*reported: object) -> UsageMetadata | None:
    """Add up the token counts that a server reports; None if it reports none that can be right."""
    counts: Counter[str] = Counter()
    for usage in reported:
        for name in ("input_tokens", "output_tokens"):
            count = usage.get(name) if isinstance(usage, Mapping) else None
            if isinstance(count, int) and 0 <= count < _MOST_TOKENS:
                counts[name] += count
    if not counts:
        return None
    read, written = counts["input_tokens"], counts["output_tokens"]
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
