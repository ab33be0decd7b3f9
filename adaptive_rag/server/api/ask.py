"""Ask a collection a question."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from adaptive_rag.server.access import ReadableCollection
from adaptive_rag.server.answering import Question
from adaptive_rag.server.rates import AskingCaller
from adaptive_rag.server.services import Parts
from adaptive_rag.state import OutputState

router = APIRouter(prefix="/collections/{collection}", tags=["questions"])


class Answer(BaseModel):
    """An answer, and how it came about."""

    answer: str
    citations: list[dict[str, Any]]
    query_type: str
    analysis: dict[str, Any]
    grounding: float
    abstained: bool
    documents: list[dict[str, Any]]
    trace: list[dict[str, Any]]


@router.post("/ask")
async def ask(asked: Question, found: ReadableCollection, caller: AskingCaller, parts: Parts) -> Answer:
    """Answer a question from the documents of a collection."""
    return answer_of(await parts.answering.answer(asked, parts.index_of(found), caller.id))


def answer_of(output: OutputState) -> Answer:
    """Return the graph's output as it is sent."""
    return Answer.model_validate({name: output[name] for name in Answer.model_fields})  # type: ignore[literal-required]
