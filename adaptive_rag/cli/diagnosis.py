"""Looks at everything that a question needs, without asking one: what `adaptive-rag doctor` prints."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel

from adaptive_rag.context import Context, make_context
from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.llm.faults import fault_of
from adaptive_rag.llm.structured import METHODS, Method, bind_schema, known_method
from adaptive_rag.models.chat import limit_length, load_chat_model

# Seconds that a check of a model may take.
PATIENCE = 30
# The smallest form: a model that can fill it can fill ours.
FORM = {
    "title": "Colour",
    "description": "A colour of the sky.",
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: Literal["ok", "note", "fault"]
    found: str
    mend: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the finding as plain data."""
        return asdict(self)


def diagnose(knobs: dict[str, Any], *, offline: bool = False) -> list[Finding]:
    """Look at settings, index, embeddings and chat models, in this order; nothing is changed.

    Args:
        knobs: settings as for `make_context`.
        offline: leave out what would call a chat model or a remote embedding model.
    """
    try:
        context = make_context(**knobs)
    except ConfigurationError as error:
        return [Finding("settings", "fault", str(error), "Correct the setting, the variable or the file.")]
    findings = [Finding("settings", "ok", "usable")]
    findings += _look("index", _index(context, offline=offline))
    findings += _look("chat model", _chat(context, offline=offline))
    findings += _look("files", _files(context))
    return findings


def _look(what: str, check: Iterator[Finding]) -> list[Finding]:
    """Collect what a check finds; an error of ours is a finding too, and its text says how to mend it."""
    found: list[Finding] = []
    try:
        found.extend(check)
    except AdaptiveRAGError as error:
        found.append(Finding(what, "fault", str(error)))
    return found


def _index(context: Context, *, offline: bool) -> Iterator[Finding]:
    from adaptive_rag.index import Index
    from adaptive_rag.models.embeddings import load_embeddings

    if context.retriever is not None or not isinstance(context.index, str):
        yield Finding("index", "note", "a live object was passed; it is not looked at")
        return
    facts = Index.open(context.index, embeddings=context.embeddings).info()
    if not facts["chunks"]:
        yield Finding("index", "fault", f"{context.index} holds nothing", "adaptive-rag index PATH")
        return
    holds = f"{facts['chunks']:,} chunks of {facts['sources']:,} sources"
    yield Finding("index", "ok", f"{context.index}: {holds}")
    if not facts["sentence_vectors"]:
        yield Finding("index", "note", "has no sentence vectors: questions embed the best passages anew")
    name, dimension = facts["embeddings"], facts["dimension"]
    if offline and not str(name).startswith(("local:", "onnx:")):
        yield Finding("embeddings", "note", f"{name}; not called (--offline)")
        return
    got = len(load_embeddings(context.embeddings or name).embed_query("one"))
    if got == dimension:
        yield Finding("embeddings", "ok", f"{name}, {dimension} dimensions")
    else:
        found = f"{name} gives {got} dimensions; the index was made with {dimension}"
        yield Finding("embeddings", "fault", found, "adaptive-rag index PATH (makes the index anew)")


def _chat(context: Context, *, offline: bool) -> Iterator[Finding]:
    specs = {"chat model": context.model, "fast model": context.fast_model}
    if not any(specs.values()):
        yield Finding(
            "chat model",
            "note",
            "none: the local stand-ins do every step, and answers quote the documents",
            "Set ADAPTIVE_RAG_MODEL or pass --model, such as openai:gpt-4.1-mini, to have answers written.",
        )
        return
    for what, spec in specs.items():
        if spec is None:
            continue
        model = load_chat_model(spec, base_url=context.base_url, timeout=PATIENCE)
        name = spec if isinstance(spec, str) else type(spec).__name__
        if offline:
            yield Finding(what, "note", f"{name} can be opened; not called (--offline)")
            continue
        yield from _call(what, name, limit_length(model, context.max_tokens))


def _call(what: str, name: str, model: BaseChatModel) -> Iterator[Finding]:
    """Let a model say a word and fill a form."""
    started = time.perf_counter()
    try:
        reply = model.invoke("Reply with the word: ready")
    except Exception as error:  # every provider raises its own
        fault = fault_of(error, model)
        mend = {
            "key": "Set the provider's key variable, such as OPENAI_API_KEY.",
            "unknown model": f"Check the model's name and base_url.{_served(model)}",
            "connection": "Start the server, or check base_url (OPENAI_BASE_URL).",
        }.get(fault.kind, "")
        yield Finding(what, "fault", f"{name}: {fault.text}", mend)
        return
    seconds = time.perf_counter() - started
    counted = "" if reply.usage_metadata else "; it does not report its tokens"
    yield Finding(what, "ok", f"{name} answers in {seconds:.1f} s{counted}")
    for method in METHODS[METHODS.index(known_method(model)) :]:
        if trouble := _fill(model, method):
            yield Finding(f"{what}, forms", "note", f"{method}: {trouble}")
        else:
            yield Finding(f"{what}, forms", "ok", f"filled by {method.replace('_', ' ')}")
            return


def _fill(model: BaseChatModel, method: Method) -> str:
    """Return what went wrong when a model was asked to fill the form."""
    from adaptive_rag.llm.replies import json_values, without_thoughts

    asked = 'Which colour is a clear sky? Reply with JSON only: {"colour": "blue"} or {"colour": "green"}'
    try:
        reply = bind_schema(model, FORM, method).invoke(asked)
    except Exception as error:  # every provider raises its own
        return fault_of(error, model).text
    message = reply["raw"] if isinstance(reply, dict) else reply
    values = [call["args"] for call in message.tool_calls] or list(
        json_values(without_thoughts(message.text))
    )
    right = any(isinstance(value, dict) and value.get("colour") in ("blue", "green") for value in values)
    return "" if right else f"the reply does not fit the form: {message.text[:60]!r}"


def _served(model: BaseChatModel) -> str:
    client = getattr(model, "root_client", None)
    if client is None:
        return ""
    try:
        names = [entry.id for entry in client.models.list().data][:8]
    except Exception:  # the list is a courtesy; not every server has one
        return ""
    return f" The server has: {', '.join(names)}." if names else ""


def _files(context: Context) -> Iterator[Finding]:
    if context.prompts is not None:
        from adaptive_rag.llm.messages import load_prompt

        load_prompt("enhance", context.prompts)
        yield Finding("prompts", "ok", f"{context.prompts}")
    if context.prices is not None:
        from adaptive_rag.models.prices import load_prices

        yield Finding("prices", "ok", f"{context.prices}: {len(load_prices(context.prices))} models")
