"""Answers in that form: their citations as annotations, and the tokens that they took."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.ingest.web import is_address
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.server.api.ask import Chunks
from adaptive_rag.server.services import Services
from adaptive_rag.server.tables import Document, new_id
from adaptive_rag.server.v1.forms import (
    Annotation,
    AnswerMessage,
    ChatRequest,
    Choice,
    Completion,
    Details,
    URLCitation,
    Usage,
)
from adaptive_rag.server.v1.models import Model
from adaptive_rag.text.markers import iter_markers, number_of


@dataclass(frozen=True)
class Task:
    """A question under way, and what its answer needs beside it."""

    asked: ChatRequest
    model: Model
    chunks: Chunks
    # the address of this server, as its caller knows it
    base: str


def completion_of(task: Task, output: dict[str, Any], parts: Services) -> Completion:
    """Return the graph's output as a completion."""
    message = AnswerMessage(content=output["answer"], annotations=_annotations_of(task, output, parts))
    return Completion(
        id=f"chatcmpl-{new_id()}",
        created=int(time.time()),
        model=task.asked.model,
        choices=[Choice(message=message)],
        usage=_usage_of(task.asked, output),
        adaptive_rag=Details(**{name: output[name] for name in Details.model_fields}),
    )


def _annotations_of(task: Task, output: dict[str, Any], parts: Services) -> list[Annotation]:
    """Return a citation for each mark in the answer."""
    citations = {citation["marker"]: citation for citation in output["citations"]}
    addresses = _addresses_of(task, {citation["source"] for citation in citations.values()}, parts)
    return [
        Annotation(
            url_citation=URLCitation(
                start_index=mark.start(),
                end_index=mark.end(),
                title=citation["source"],
                url=addresses[citation["source"]],
                **{name: citation[name] for name in URLCitation.model_fields.keys() & citation},
            )
        )
        for mark in iter_markers(output["answer"])
        if (citation := citations.get(number_of(mark[0])))
    ]


def _addresses_of(task: Task, sources: set[str], parts: Services) -> dict[str, str]:
    """Return where each source can be read; where it is no file of its own, the list of documents."""
    found = task.model.collection
    documents = f"{task.base}/api/v1/collections/{found.name}/documents"
    query = select(Document.name, Document.id).where(
        Document.collection_id == found.id, Document.name.in_(sources)
    )
    with Session(parts.engine) as db:
        files = {name: f"{documents}/{id_}/file" for name, id_ in db.execute(query)}
    return {source: source if is_address(source) else files.get(source, documents) for source in sources}


def _usage_of(asked: ChatRequest, output: dict[str, Any]) -> Usage:
    tokens: Counter[str] = Counter()
    for record in output["trace"]:
        tokens.update(record.get("tokens", {}))
    read, written = tokens["input"], tokens["output"]
    if not tokens:
        count = load_minilm().count_tokens
        read = sum(count(message.content) for message in asked.messages)
        written = count(output["answer"])
    return Usage(
        prompt_tokens=read,
        completion_tokens=written,
        total_tokens=read + written,
        counted_by="chat model" if tokens else "embedded tokenizer",
    )
