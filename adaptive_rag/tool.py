"""The tool for agents: takes a question, and returns the answer with its sources as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field, create_model

from adaptive_rag.errors import ConfigurationError, DeadlineError, InputError
from adaptive_rag.state import Citation, InputState, OutputState
from adaptive_rag.text.markers import respell_markers, write_marker
from adaptive_rag.text.ocr import format_confidence
from adaptive_rag.text.places import format_other_names, format_place, group_by_place

NAME = "search_documents"
DESCRIPTION = "Answer a question from the documents, with citations, or say that they do not answer it."


class ToolInput(BaseModel):
    """What an agent passes."""

    question: str = Field(description="The question, understandable without the conversation.")
    user_context: str = Field("", description="Who asks, or in what situation; empty if it does not matter.")


def make_tool(
    rag: Runnable[Any, OutputState],
    args_schema: type[BaseModel] | None,
    name: str | None,
    description: str | None,
    arg_types: dict[str, type] | None,
) -> BaseTool:
    """Return a tool that answers as `rag` does; input errors and deadlines are reported to the agent."""
    if arg_types is not None:
        fields: dict[str, Any] = {argument: (type_, ...) for argument, type_ in arg_types.items()}
        args_schema = create_model(name or NAME, **fields)
    form = ToolInput if args_schema is None else args_schema
    if unknown := sorted(form.model_fields.keys() - InputState.__annotations__.keys()):
        raise ConfigurationError(
            f"A tool cannot take {unknown[0]!r}: expected some of {sorted(InputState.__annotations__)}."
        )

    # LangChain passes the tool's own run in `config`, so a trace shows the graph's runs below it. It passes
    # the text of `tool.invoke("...")` by position, and the fields of a dict by name.
    def answer(*question: str, config: RunnableConfig, **inputs: Any) -> tuple[str, list[Citation]]:
        try:
            output = rag.invoke(question[0] if question else inputs, config)
        except (DeadlineError, InputError) as error:
            raise ToolException(str(error)) from error
        return format_answer(output["answer"], output["citations"]), output["citations"]

    async def aanswer(*question: str, config: RunnableConfig, **inputs: Any) -> tuple[str, list[Citation]]:
        try:
            output = await rag.ainvoke(question[0] if question else inputs, config)
        except (DeadlineError, InputError) as error:
            raise ToolException(str(error)) from error
        return format_answer(output["answer"], output["citations"]), output["citations"]

    return StructuredTool.from_function(
        answer,
        coroutine=aanswer,
        name=name or NAME,
        description=description or DESCRIPTION,
        args_schema=form,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def format_answer(answer: str, citations: Sequence[Citation]) -> str:
    """Return an answer and its sources as text: the document, place and OCR confidence of each marker."""
    if not citations:
        return answer
    lines = [answer, "", "Sources:"]
    for same_place in group_by_place(citations):
        place = format_place(*(citation["place"] for citation in same_place))
        confidence = min((c["ocr_confidence"] for c in same_place if "ocr_confidence" in c), default=None)
        ocr_note = "" if confidence is None else f" ({format_confidence(confidence)})"
        other_names = format_other_names(same_place[0].get("also_as", ()))
        source_line = ", ".join(filter(None, (same_place[0]["source"], place, other_names)))
        lines.append(f"{write_marker(same_place[0]['marker'])} {respell_markers(source_line)}{ocr_note}")
    return "\n".join(lines)
