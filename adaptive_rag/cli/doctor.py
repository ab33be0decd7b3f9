"""`adaptive-rag doctor`: check everything that a question needs, and name each fault with its remedy."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.doctor_server import Finding, check_server
from adaptive_rag.cli.output import format_count, print_fact, print_json, print_line
from adaptive_rag.cli.route import format_routing
from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.text.redaction import redact

if TYPE_CHECKING:
    from adaptive_rag.context import Context

# State of a finding -> the sign before it.
SIGNS = {"ok": ("  ✓ ", "green"), "note": ("  · ", "dim"), "fault": ("  ✗ ", "bold red")}
# Kind of a model's fault -> what to do.
ADVICE = {
    "key": "Set the provider's key variable, such as OPENAI_API_KEY.",
    "unknown model": "Check the model's name and models.base_url.",
    "connection": "Start the server, or check models.base_url (OPENAI_BASE_URL).",
}
TIMEOUT = 30  # seconds for the check of a model
# The smallest form: a model that can fill it in can fill in ours.
FORM = {
    "title": "Colour", "description": "A colour of the sky.", "type": "object", "additionalProperties": False,
    "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}}, "required": ["colour"],
}  # fmt: skip


def doctor(
    index: options.Index = None,
    model: options.Model = None,
    assignments: options.Assignments = None,
    offline: Annotated[bool, Option("--offline", help="Make no call to a model.")] = False,
    server: Annotated[bool, Option("--server", help="Check the web server instead of an index.")] = False,
    data: options.Data = None,
    as_json: options.Json = False,
) -> None:
    """Check settings, index, embeddings and chat models; exit 1 if something is wrong."""
    settings = options.collect_settings(assignments, index=index, model=model)
    findings = list(_diagnose(settings, offline, server or data is not None, data))
    faults = sum(finding.state == "fault" for finding in findings)
    if as_json:
        print_json({"healthy": not faults, "findings": [finding._asdict() for finding in findings]})
    else:
        width = max(len(finding.what) for finding in findings)
        for finding in findings:
            print_fact([SIGNS[finding.state], (f"{finding.what:<{width}}  ", "bold")], finding.found)
            if finding.mend:
                print_fact([" " * (width + 6)], finding.mend, style="yellow")
        print_line(f"\n  {format_count(faults, 'fault') if faults else 'All is well'}.", style="bold")
    if faults:
        raise Exit(1)


def _diagnose(settings: dict[str, Any], offline: bool, server: bool, data: Path | None) -> Iterator[Finding]:
    """Check settings, the index or the server, chat models and prompts; `offline` calls no remote model."""
    from adaptive_rag.context import make_context

    try:
        context = make_context(settings)
    except ConfigurationError as error:
        yield Finding("settings", "fault", str(error), "Correct the setting, the variable or the file.")
        return
    yield Finding("settings", "ok", "usable")
    checks = {
        **({"server": check_server(data)} if server else {"index": _check_index(context, offline)}),
        "chat model": _check_chat_models(context, offline),
        "router": _check_router(),
        "prompts": _check_prompts(context),
    }
    for what, check in checks.items():
        try:
            yield from check
        except AdaptiveRAGError as error:
            yield Finding(what, "fault", str(error))


def _check_index(context: Context, offline: bool) -> Iterator[Finding]:
    from adaptive_rag.index.index import Index, open_source
    from adaptive_rag.index.manifest import quoted
    from adaptive_rag.index.postgres.source import PostgresIndex
    from adaptive_rag.index.sharding.source import ShardedIndex
    from adaptive_rag.models.embeddings import load_embeddings

    index, address = open_source(str(context.index), context.embeddings), redact(str(context.index))
    if not isinstance(index, Index | PostgresIndex | ShardedIndex):
        yield Finding("index", "ok", f"{address} can be searched; what it holds is not known")
        return
    facts = index.info()
    address = redact(facts["index"])
    command = f"adaptive-rag index PATH --index {quoted(address)}"
    if not facts["chunks"]:
        yield Finding("index", "fault", f"{address} holds nothing", f"Index documents: {command}")
        return
    content = f"{format_count(facts['chunks'], 'chunk')} of {format_count(facts['sources'], 'source')}"
    yield Finding("index", "ok", f"{address}: {content}")
    if isinstance(index, Index):
        check = Index.check(index.uri)
        for part, found in check.damages:
            yield Finding("index", "fault", f"{part}: {found}", f"Mend it: {redact(check.mend)}")
    if not facts["sentence_vectors"]:
        yield Finding(
            "index", "note", "has no sentence vectors: each question embeds its best passages again"
        )
    name, dimension = facts["embeddings"], facts["dimension"]
    if offline and not str(name).startswith(("local:", "onnx:")):
        yield Finding("embeddings", "note", f"{name}; not called (--offline)")
        return
    model = load_embeddings(context.embeddings or name)
    try:
        actual = len(model.embed_query("one"))
    except Exception as error:  # every provider raises its own errors
        yield Finding("embeddings", "fault", f"{name}: {redact(str(error))}")
        return
    if actual == dimension:
        yield Finding("embeddings", "ok", f"{name}, {dimension} dimensions")
    else:
        fault = f"{name} gives {actual} dimensions; the index was made with {dimension}"
        yield Finding("embeddings", "fault", fault, f"Make the index anew: {command} --rebuild")


def _check_chat_models(context: Context, offline: bool) -> Iterator[Finding]:
    from adaptive_rag.models.chat import limit_length, load_chat_model

    specs = {"chat model": context.model, "fast model": context.models.fast_model}
    configured = {role: spec for role, spec in specs.items() if spec}
    if not configured:
        effect = "none: every step is done locally, and answers quote the documents"
        mend = "Set ADAPTIVE_RAG_MODEL or pass --model, such as openai:gpt-4.1-mini, to have answers written."
        yield Finding("chat model", "note", effect, mend)
    for role, spec in configured.items():
        model = load_chat_model(spec, base_url=context.models.base_url, timeout=TIMEOUT)
        if offline:
            yield Finding(role, "note", f"{spec} can be opened; not called (--offline)")
        else:
            yield from _call_model(role, str(spec), limit_length(model, context.budget.max_tokens))


def _call_model(role: str, name: str, model: Any) -> Iterator[Finding]:
    """Ask a model for one word, then to fill in a form by the first method that works."""
    from adaptive_rag.llm.faults import fault_of
    from adaptive_rag.llm.structured import METHODS, strictest_method

    started = time.perf_counter()
    try:
        reply = model.invoke("Reply with the word: ready")
    except Exception as error:  # every provider raises its own errors
        fault = fault_of(error, model)
        mend = ADVICE.get(fault.kind, "")
        if fault.kind == "unknown model":
            # Not every provider's client can list models, and not every server returns a list.
            with suppress(Exception):
                names = [entry.id for entry in model.root_client.models.list().data][:8]
                mend += f" The server has: {', '.join(names)}." if names else ""
        yield Finding(role, "fault", f"{name}: {fault.text}", mend)
        return
    tokens = "" if reply.usage_metadata else "; it does not report its tokens"
    yield Finding(role, "ok", f"{name} answers in {time.perf_counter() - started:.1f} s{tokens}")
    for method in METHODS[METHODS.index(strictest_method(model)) :]:
        if problem := _try_form(model, method):
            yield Finding(f"{role}, forms", "note", f"{method}: {problem}")
        else:
            yield Finding(f"{role}, forms", "ok", f"filled by {method.replace('_', ' ')}")
            return


def _try_form(model: Any, method: Any) -> str:
    """Ask a model to fill in the form; return what went wrong, "" if nothing did."""
    from adaptive_rag.llm.faults import fault_of
    from adaptive_rag.llm.receive import form_text
    from adaptive_rag.llm.replies import json_values
    from adaptive_rag.llm.structured import bind_schema

    request = 'Which colour is a clear sky? Reply with JSON only: {"colour": "blue"} or {"colour": "green"}'
    try:
        message = bind_schema(model, FORM, method).invoke(request)
    except Exception as error:  # every provider raises its own errors
        return fault_of(error, model).text
    values = [call["args"] for call in message.tool_calls] or json_values(form_text(message.text))
    fits = any(isinstance(value, dict) and value.get("colour") in ("blue", "green") for value in values)
    return "" if fits else f"the reply does not fit the form: {message.text[:60]!r}"


def _check_router() -> Iterator[Finding]:
    yield Finding("router", "ok", format_routing())


def _check_prompts(context: Context) -> Iterator[Finding]:
    from adaptive_rag.graph.builder import check_names
    from adaptive_rag.llm.messages import load_prompt

    if context.models.prompts is not None:
        check_names(context)
        load_prompt("enhance", context.models.prompts)
        yield Finding("prompts", "ok", os.path.abspath(context.models.prompts))
