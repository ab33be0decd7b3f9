"""Converts what a client returns as a reply into a message of limited size, with plain text and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from adaptive_rag.text.redaction import redact_known_all

# A token has about four characters. At most twice as many are read of a reply, whatever the server sends.
MAX_CHARACTERS_A_TOKEN = 8
# Maximum characters of a form without a model's thoughts; the longest, 50 sub-questions, has half of them.
MAX_FORM = 20_000
# Maximum levels of nested brackets; no form asks for more than two.
MAX_DEPTH = 8
# The metadata in which providers say why a reply ended, and their words for "it reached the maximum length".
_FINISH_KEYS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_LENGTH_REASONS = {"length", "max_tokens", "max_output_tokens", "model_length"}
# A larger number of tokens is an error of the server.
_MAX_TOKENS = 10**9

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S | re.I)
# Some servers put the opening tag into the prompt, so that the reply has only the closing tag.
_UNOPENED_THOUGHT = re.compile(r"\A.*^[ \t]*+</think(?:ing)?>", re.S | re.M | re.I)
# Marks of a chat template, which a server without that template does not remove
_TEMPLATE_START = re.compile(r"\A\s*+<\|(?:im_start|start_header_id)\|>assistant(?:<\|end_header_id\|>)?")
_TEMPLATE_END = re.compile(r"(?<!\|>)(?<!\|>\s)(?<!</s>)(?<!</s>\s)(?:(?:<\|\w++\|>|</s>)\s?)++\Z")
# A fence around the complete answer; a fence inside an answer is around code and stays.
_FENCED_ANSWER = re.compile(r"\A```(?:markdown|md|text)[ \t]*+\n((?:(?!```).)*)(?:\n```)?\Z", re.S | re.I)
# The end of a sentence, with its markers. A full stop in "3.5", after a "3" at which a text was cut off, and
# after the number of a list item is not one.
_SENTENCE_END = re.compile(r"(?:[!?…。！？\n]|\.(?<!\n\d\.)(?!\w|(?<=\d\.)\Z))(?:\s?\[\d++\])*+")
_FENCE = re.compile(r"^[ \t]*+```[a-zA-Z0-9_-]*+[ \t\r]*+$", re.M)


class Draft:
    """Collects the chunks of a streamed answer."""

    def __init__(self, max_tokens: int) -> None:
        self._chunks: list[BaseMessage] = []
        self._room = max_tokens * MAX_CHARACTERS_A_TOKEN

    def add(self, chunk: BaseMessage) -> bool:
        """Add a chunk; return True if the answer now exceeds its limit."""
        self._chunks.append(chunk)
        # An empty chunk counts too, so that a stream of empty chunks ends.
        self._room -= max(1, len(chunk.text))
        return self._room < 0

    def message(self) -> AIMessage:
        """Return the chunks as one message."""
        for chunk in self._chunks:
            if not isinstance(chunk, AIMessage):
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
    """Convert a reply into a message of limited size, without the model's thoughts.

    A text is cut after `MAX_CHARACTERS_A_TOKEN` characters for each of `max_tokens`, and a form after
    `MAX_FORM` characters. Tool calls are left out if their arguments are longer than that, or nested deeper
    than `MAX_DEPTH`. "cut" in the metadata describes what is missing, also if the model stopped at
    `max_tokens`.
    """
    if isinstance(reply, Draft):
        reply = reply.message()
    if not isinstance(reply, AIMessage):
        raise ValueError(f"the client gave a {type(reply).__name__} instead of the model's message")
    finish_reasons = {str(reply.response_metadata.get(name)).lower() for name in _FINISH_KEYS}
    # OpenAI's Responses API has {"incomplete_details": {"reason": "max_output_tokens"}}.
    if isinstance(details := reply.response_metadata.get("incomplete_details"), Mapping):
        finish_reasons.add(str(details.get("reason")))
    metadata: dict[str, Any] = {"finish_reason": "length"} if finish_reasons & _LENGTH_REASONS else {}
    # OpenAI's protocol always says why a reply ended, unless a proxy hides that the connection broke off.
    is_openai = reply.response_metadata.get("model_provider") == "openai"
    broke_off = is_openai and {"finish_reason", "status"}.isdisjoint(reply.response_metadata)
    max_characters = max_tokens * MAX_CHARACTERS_A_TOKEN
    text = without_thoughts(reply.text[:max_characters])
    if form:
        # Arguments of a tool call that are no valid JSON may still be repaired, as a text is.
        arguments = (call["args"] for call in reply.invalid_tool_calls)
        text = "\n".join(filter(None, (text, *arguments)))
    else:
        text = _FENCED_ANSWER.sub(r"\1", text).strip()
    if len(reply.text) > max_characters or (form and len(text) > MAX_FORM):
        text = text[:MAX_FORM] if form else _whole_sentences(text, alone=text)
        metadata["cut"] = f"the reply was too long: {len(text):,} characters of it were read"
    elif (metadata or broke_off) and text and not form:
        # What a broken connection left of a first sentence may miss the words that count.
        text = _whole_sentences(text, alone="" if broke_off else text)
        metadata["cut"] = f"the reply {'broke off' if broke_off else 'was cut off at budget.max_tokens'}"
    calls = [call for call in reply.tool_calls if is_shallow(call["args"])]
    if len(calls) < len(reply.tool_calls):
        metadata["cut"] = "the arguments of a tool call were too long, or nested too deeply, to be read"
    refusal = reply.additional_kwargs.get("refusal")
    # A server may repeat the key that it received.
    text = redact_known_all(plain_text(text))
    return AIMessage(
        text,
        # If the text differs from the one that was streamed, it is another message, without that id.
        id=reply.id if text == reply.text.strip() else None,
        tool_calls=redact_known_all(calls),
        usage_metadata=_usage(reply.usage_metadata),
        response_metadata=metadata,
        additional_kwargs={"refusal": redact_known_all(plain_text(refusal[:500]))}
        if isinstance(refusal, str)
        else {},
    )


def _whole_sentences(text: str, *, alone: str) -> str:
    """Drop the incomplete sentence at the end of a cut text; return `alone` if it is the only one."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if ends else alone


def without_thoughts(text: str) -> str:
    """Return a text without the thoughts of a reasoning model, and without marks of a chat template."""
    text = _TEMPLATE_END.sub("", _TEMPLATE_START.sub("", text))
    return _UNOPENED_THOUGHT.sub("", _THOUGHT.sub("", text)).strip()


def form_text(text: str) -> str:
    """Return the text of a form without thoughts and fences."""
    return _FENCE.sub("", without_thoughts(text)).strip()


def storable(value: Any) -> Any:
    """Return a value of JSON whose texts can all be encoded and stored."""
    if not is_shallow(value):
        raise ValueError(f"expected a short form, got more than {MAX_DEPTH} nested brackets")
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
    """Return whether a value has at most `MAX_DEPTH` levels and `MAX_FORM` characters."""
    level, remaining = [value], MAX_FORM
    for _ in range(MAX_DEPTH + 1):
        remaining -= sum(len(item) if isinstance(item, str) else 1 for item in level)
        if remaining < 0:
            return False
        containers = [item for item in level if isinstance(item, Mapping | list | tuple)]
        if not containers:
            return True
        level = [
            part
            for item in containers
            for part in (chain.from_iterable(item.items()) if isinstance(item, Mapping) else item)
        ]
    return False


def _usage(*reported: object) -> UsageMetadata | None:
    """Add up the token counts that a server reported; None if it reported none that are plausible."""
    counts: Counter[str] = Counter()
    for usage in reported:
        for name in ("input_tokens", "output_tokens"):
            count = usage.get(name) if isinstance(usage, Mapping) else None
            if isinstance(count, int) and 0 <= count < _MAX_TOKENS:
                counts[name] += count
    if not counts:
        return None
    input_, output = counts["input_tokens"], counts["output_tokens"]
    return UsageMetadata(input_tokens=input_, output_tokens=output, total_tokens=input_ + output)
