"""Chat completions: the question that a conversation ends with, answered over a collection."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from adaptive_rag.context.caller import newest
from adaptive_rag.errors import InputError
from adaptive_rag.server.answering import Question
from adaptive_rag.server.api.ask import index_to_ask, unless_gone
from adaptive_rag.server.database import Db
from adaptive_rag.server.folders import Searched
from adaptive_rag.server.problems import details_of
from adaptive_rag.server.rates import AskingCaller
from adaptive_rag.server.services import Parts, Services
from adaptive_rag.server.tables import new_id
from adaptive_rag.server.v1.answers import Task, completion_of
from adaptive_rag.server.v1.errors import error_of
from adaptive_rag.server.v1.forms import MOST_BYTES, MOST_TURNS, ChatRequest, Completion
from adaptive_rag.server.v1.models import Model, find_model

router = APIRouter()
STREAM = {
    "text/event-stream": {
        "example": 'data: {"id": "chatcmpl-5f1c", "object": "chat.completion.chunk", "created": 1788220800, '
        '"model": "handbook", "choices": [{"index": 0, "delta": {"content": "In "}, "finish_reason": null}]}'
        "\n\ndata: [DONE]\n\n"
    }
}
_WORD = re.compile(r"\S+\s*|\s+")


def _find_index(
    asked: ChatRequest, caller: AskingCaller, db: Db, parts: Parts
) -> tuple[ChatRequest, Model, Searched]:
    """Return what is asked, of which model, and the index to search; free the database meanwhile."""
    model = find_model(db, caller, asked.model)
    return asked, model, index_to_ask(model.collection, db, parts)


async def _begin(
    found: Annotated[tuple[ChatRequest, Model, Searched], Depends(_find_index)],
    caller: AskingCaller,
    parts: Parts,
    request: Request,
) -> AsyncIterator[Task]:
    asked, model, index = found
    question = _question_of(asked, model, parts)
    async with parts.answering.stream(question, index, caller.id) as chunks:
        yield Task(asked, model, chunks, str(request.base_url).rstrip("/"))


@router.post(
    "/chat/completions",
    response_model=Completion,
    responses={200: {"content": STREAM}},
    max_body_size=MOST_BYTES,
)
async def complete(
    task: Annotated[Task, Depends(_begin)], parts: Parts, request: Request
) -> Completion | StreamingResponse:
    """Answer the question that a conversation ends with, with citations as annotations.

    A stream brings what a model writes, before it has been checked, as `reasoning_content`; then the
    checked answer as `content`, its annotations in one piece, the end, and the usage where
    `stream_options` asks for it. Who goes away ends the work on their question.
    """
    if task.asked.stream:
        return StreamingResponse(
            _events(task, parts),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )
    return await unless_gone(request, _answer(task, parts))


def _question_of(asked: ChatRequest, model: Model, parts: Services) -> Question:
    settings = dict(asked.adaptive_rag.model_extra or {})
    if model.route is not None and settings.setdefault("route", model.route) != model.route:
        raise InputError(
            f"The model names the route {model.route!r}, and adaptive_rag.route another. Name one."
        )
    history = newest(asked.history, parts.operator.serving)[-MOST_TURNS:]
    context = asked.adaptive_rag.user_context
    return Question.model_validate(
        {"question": asked.question, "user_context": context, "history": history, "settings": settings}
    )


async def _answer(task: Task, parts: Services) -> Completion:
    output = [chunk async for chunk in task.chunks][-1]
    return await run_in_threadpool(completion_of, task, output, parts)


async def _events(task: Task, parts: Services) -> AsyncIterator[str]:
    """Write the lines of a stream."""
    frame = {
        "id": f"chatcmpl-{new_id()}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": task.asked.model,
    }
    wants_usage = bool(task.asked.stream_options and task.asked.stream_options.include_usage)

    def line(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if wants_usage else {}
        return _data({**frame, "choices": [choice], **usage, **more})

    yield line({"role": "assistant", "content": ""})
    try:
        async for chunk in task.chunks:
            if "draft" in chunk:
                # An empty piece says that the model begins anew.
                yield line({"reasoning_content": chunk["draft"] or "\n\n"})
            elif "answer" not in chunk:
                yield ": working\n\n"
        answer = await run_in_threadpool(completion_of, task, chunk, parts)
    except Exception as error:
        yield _data(error_of(details_of(error)).model_dump())
        return
    message = answer.choices[0].message
    for word in _WORD.findall(message.content):
        yield line({"content": word})
    if message.annotations:
        yield line({"annotations": [annotation.model_dump() for annotation in message.annotations]})
    yield line({}, "stop", adaptive_rag=answer.adaptive_rag.model_dump())
    if wants_usage:
        yield _data({**frame, "choices": [], "usage": answer.usage.model_dump()})
    yield "data: [DONE]\n\n"


def _data(value: Any) -> str:
    return f"data: {json.dumps(value)}\n\n"
