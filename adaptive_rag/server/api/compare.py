"""Compare two routes: one question answered by each, side by side."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from adaptive_rag.compare import Overlap
from adaptive_rag.server.answering import BareQuestion
from adaptive_rag.server.api.ask import Answer, IndexToAsk, answer_of, unless_gone
from adaptive_rag.server.rates import AskingCaller
from adaptive_rag.server.services import Parts
from adaptive_rag.state import QueryType

router = APIRouter(prefix="/collections/{collection}", tags=["questions"])


class ComparedQuestion(BareQuestion):
    """A question for two routes."""

    routes: Annotated[list[QueryType], Field(max_length=2)] = Field(
        [],
        description="One route stands beside the way that the question takes by itself; without any, "
        "that way stands beside the second likeliest route.",
        examples=[["factual", "opinion"]],
    )


class ColumnShown(BaseModel):
    """One way to answer the question."""

    name: str
    route: list[str] = Field(description="The strategies that ran: two where the router was unsure.")
    answer: Answer
    calls: int = Field(description="Calls of chat models.")
    ms: float


class ComparisonShown(BaseModel):
    """A question with its answers side by side."""

    question: str
    columns: list[ColumnShown]
    passages: Overlap = Field(description="By the ids of the chunks that were read.")
    sentences: Overlap = Field(description="By the words of the answers, without marks.")
    places: dict[str, dict[str, Any]] = Field(
        description="Where each chunk stands: source, page, start, end."
    )


@router.post("/compare")
async def compare(
    asked: ComparedQuestion, index: IndexToAsk, caller: AskingCaller, parts: Parts, request: Request
) -> ComparisonShown:
    """Answer a question by two routes, and say what their answers and passages share."""
    answering = parts.answering.compare(asked, asked.routes, index, caller.id)
    found = await unless_gone(request, answering)
    return ComparisonShown(
        question=found.question,
        columns=[
            ColumnShown(
                name=column.name,
                route=column.route,
                answer=answer_of(column.output),
                calls=column.calls,
                ms=column.ms,
            )
            for column in found.columns
        ],
        passages=found.passages,
        sentences=found.sentences,
        places=found.places,
    )
