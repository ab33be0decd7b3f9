"""Chat completions: answers the last question of a conversation from a collection."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_message import Annotation, AnnotationURLCitation
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.context.caller import newest_turns
from adaptive_rag.errors import InputError
from adaptive_rag.ingest.web import is_address
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.server.answering import MOST_BYTES, Inquiry, Question
from adaptive_rag.server.api.ask import Chunks, cancel_on_disconnect
from adaptive_rag.server.calls import AnyCall, Call, count
from adaptive_rag.server.folders import SearchTarget
from adaptive_rag.server.problems import problem_details
from adaptive_rag.server.services import Services
from adaptive_rag.server.shown import quality_of
from adaptive_rag.server.tables import Document, new_id
from adaptive_rag.server.v1.errors import openai_error
from adaptive_rag.server.v1.forms import MOST_TURNS, CallerOptions, ChatRequest
from adaptive_rag.server.v1.models import RequestedModel, find_model

router = APIRouter()
_EXAMPLE_STREAM = (
    'data: {"id": "chatcmpl-5f1c", "object": "chat.completion.chunk", "created": 1788220800, "model": '
    '"handbook", "choices": [{"index": 0, "delta": {"content": "In "}, "finish_reason": null}]}'
    "\n\ndata: [DONE]\n\n"
)
# Fields of a citation beyond OpenAI's.
_CITATION_FIELDS = ("marker", "source", "page", "place", "start", "end", "quote")
_WORD = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True)
class Task:
    """A question in progress, with what its response needs."""

    request: ChatRequest
    question: Question
    model: RequestedModel
    chunks: Chunks
    call: Call


def _find_target(request: ChatRequest, call: AnyCall) -> tuple[RequestedModel, SearchTarget]:
    """Return the requested model and what it searches; release the database connection."""
    model = find_model(call.db, call.caller, request.model)
    call.db.close()
    return model, call.services.search_target(model.collection)


async def _start_task(
    request: ChatRequest,
    found_model: Annotated[tuple[RequestedModel, SearchTarget], Depends(_find_target)],
    call: AnyCall,
) -> AsyncIterator[Task]:
    model, target = found_model
    question = _build_question(request, model, call.services)
    async with call.services.answering.stream(Inquiry(question, target, call.caller)) as chunks:
        yield Task(request, question, model, chunks, call)


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    response_model_exclude_unset=True,
    responses={200: {"content": {"text/event-stream": {"example": _EXAMPLE_STREAM}}}},
    max_body_size=MOST_BYTES,
    dependencies=[count("question")],
)
async def complete(task: Annotated[Task, Depends(_start_task)]) -> ChatCompletion | StreamingResponse:
    """Answer the last question of a conversation, with citations as annotations.

    A stream has what a chat model writes, before it is checked, as `reasoning_content`; then the checked
    answer as `content`, its annotations in one piece, the end, and the usage if `stream_options` asks for it.
    If the caller disconnects, the work ends.
    """
    if task.request.stream:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(_stream_completion(task), media_type="text/event-stream", headers=headers)
    return await cancel_on_disconnect(task.call.request, _answer(task))


def _build_question(request: ChatRequest, model: RequestedModel, services: Services) -> Question:
    options = request.adaptive_rag or CallerOptions()
    settings = {name: value for name, value in (options.model_extra or {}).items() if value is not None}
    if model.route is not None and settings.setdefault("route", model.route) != model.route:
        raise InputError(
            f"The model names the route {model.route!r}, and adaptive_rag.route another. Name one."
        )
    history = newest_turns(request.history, services.operator.serving)[-MOST_TURNS:]
    context = options.user_context or ""
    return Question.model_validate(
        {"question": request.question, "user_context": context, "history": history, "settings": settings}
    )


async def _answer(task: Task) -> ChatCompletion:
    output = [chunk async for chunk in task.chunks][-1]
    return await run_in_threadpool(_build_completion, task, output)


async def _stream_completion(task: Task) -> AsyncIterator[str]:
    """Yield the lines of a streamed completion."""
    frame = {
        "id": f"chatcmpl-{new_id()}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": task.request.model,
    }
    wants_usage = bool(task.request.stream_options and task.request.stream_options.include_usage)

    def line(delta: dict[str, Any], finish: str | None = None, **extra: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if wants_usage else {}
        return _format_event({**frame, "choices": [choice], **usage, **extra})

    yield line({"role": "assistant", "content": ""})
    try:
        async for chunk in task.chunks:
            if "draft" in chunk:
                # An empty draft means that the model starts again.
                yield line({"reasoning_content": chunk["draft"] or "\n\n"})
            elif "answer" not in chunk:
                yield ": working\n\n"
        answer = (await run_in_threadpool(_build_completion, task, chunk)).to_dict()
    except Exception as error:
        yield _format_event(openai_error(problem_details(error)))
        return
    message: Any = answer["choices"][0]["message"]  # type: ignore[index]
    for word in _WORD.findall(message["content"]):
        yield line({"content": word})
    if message["annotations"]:
        yield line({"annotations": message["annotations"]})
    yield line({}, "stop", adaptive_rag=answer["adaptive_rag"])
    if wants_usage:
        yield _format_event({**frame, "choices": [], "usage": answer["usage"]})
    yield "data: [DONE]\n\n"


def _format_event(value: Any) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _build_completion(task: Task, output: dict[str, Any]) -> ChatCompletion:
    """Return the graph's output as a completion."""
    message = ChatCompletionMessage(
        role="assistant", content=output["answer"], refusal=None, annotations=_build_annotations(task, output)
    )
    return ChatCompletion(
        id=f"chatcmpl-{new_id()}",
        object="chat.completion",
        created=int(time.time()),
        model=task.request.model,
        choices=[Choice(index=0, message=message, logprobs=None, finish_reason="stop")],
        usage=_count_usage(task.question, output),
        adaptive_rag={
            "query_type": output["query_type"],
            **quality_of(output),
            "unsupported": _unsupported_sentences(output),
        },
    )


def _unsupported_sentences(output: dict[str, Any]) -> list[str]:
    """Return the sentences of the answer that no passage supports."""
    # Quotes or a refusal may have replaced a draft; then the decisions are about the draft's sentences.
    if output["abstained"] or output["grounding"] == 1:
        return []
    decisions = (decision for record in output["trace"] for decision in record.get("decisions", ()))
    return [decision["chosen"] for decision in decisions if decision["what"] == "unsupported"]


def _build_annotations(task: Task, output: dict[str, Any]) -> list[Annotation]:
    """Return a citation for each marker in the answer."""
    addresses = _source_addresses(task, {citation["source"] for citation in output["citations"]})
    annotations, end = list[Annotation](), 0
    for part in output["parts"]:
        start, end = end, end + len(part["text"])
        if "citation" in part:
            citation = output["citations"][part["citation"]]
            fields = {name: citation[name] for name in _CITATION_FIELDS}
            fields |= {"start_index": start, "end_index": end, "title": citation["source"]}
            cited = AnnotationURLCitation(url=addresses[citation["source"]], **fields)
            annotations.append(Annotation(type="url_citation", url_citation=cited))
    return annotations


def _source_addresses(task: Task, sources: set[str]) -> dict[str, str]:
    """Return the URL of each source: a web page's own, a document's file, or else the list of documents."""
    collection = task.model.collection
    # The address under which the caller reached this server.
    base = str(task.call.request.base_url).rstrip("/")
    documents = f"{base}/api/v1/collections/{collection.name}/documents"
    documents_query = select(Document.name, Document.id).where(Document.collection_id == collection.id)
    with Session(task.call.services.engine) as db:
        rows = db.execute(documents_query.where(Document.name.in_(sources)))
        files = {name: f"{documents}/{id_}/file" for name, id_ in rows}
    return {source: source if is_address(source) else files.get(source, documents) for source in sources}


def _count_usage(question: Question, output: dict[str, Any]) -> CompletionUsage:
    """Return the tokens that the chat model reported; if it reported none, count what was read and written.

    Turns beyond the operator's limits are not counted: megabytes would take seconds.
    """
    tokens: Counter[str] = Counter()
    for record in output["trace"]:
        tokens.update(record.get("tokens", {}))
    read, written = tokens["input"], tokens["output"]
    if not tokens:
        count = load_minilm().count_tokens
        read = sum(map(count, (question.question, *(turn.text for turn in question.history))))
        written = count(output["answer"])
    return CompletionUsage(
        prompt_tokens=read,
        completion_tokens=written,
        total_tokens=read + written,
        counted_by="chat model" if tokens else "embedded tokenizer",
    )
