"""Analytical questions: sub-questions that together cover the aspects of the question."""

from __future__ import annotations

from pydantic import BaseModel, Field

from adaptive_rag.llm.replies import exactly, texts
from adaptive_rag.llm.request import Request


class SubQuestions(BaseModel):
    """Questions that together cover the main one."""

    sub_questions: list[str] = Field(min_length=1, max_length=50, description="The sub-questions.")


def ask_to_decompose(question: str, n: int) -> Request[SubQuestions]:
    """Ask the model for exactly n different sub-questions.

    There is no local way: the question with a salient word of its first hits ("... economy addressing") is
    no question, and finds what the question itself finds.
    """
    return Request(
        "decompose",
        SubQuestions,
        values=lambda: {"question": question, "n": str(n)},
        read=lambda value: {"sub_questions": exactly(n, texts(value, "sub-questions"), "sub-questions")},
        check=lambda result: SubQuestions(sub_questions=exactly(n, result.sub_questions, "sub-questions")),
        bounds={"sub_questions": {"minItems": n, "maxItems": n}},
    )
