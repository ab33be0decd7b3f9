"""The LangChain retriever: the passages that the graph finds, without an answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from adaptive_rag.context import make_context
from adaptive_rag.context.groups import redacted_args
from adaptive_rag.graph.builder import build_retrieval_graph, check_names
from adaptive_rag.ingest import to_document


@cache
def _graph() -> Any:
    return build_retrieval_graph().compile(name="adaptive_retriever")


class AdaptiveRetriever(BaseRetriever):
    """Retrieve by the strategy that suits the question.

    Takes every setting of `Context` by name, in the constructor or for one call. Without `k` it returns as
    many chunks as the answer would read: many short ones, or few long ones.

    Raises:
        ConfigurationError: a setting is unknown or out of bounds.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    user_context: str = ""

    def __init__(self, **settings: Any) -> None:
        # A validator would wrap the error in pydantic's own, so the settings are checked here.
        context_settings = {
            name: value for name, value in settings.items() if name not in type(self).model_fields
        }
        check_names(make_context(context_settings))
        super().__init__(**settings)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        return redacted_args(super().__repr_args__())

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **settings: Any
    ) -> list[Document]:
        output = _graph().invoke(**self._graph_arguments(query, run_manager, settings))
        return [to_document(candidate) for candidate in output["documents"]]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **settings: Any
    ) -> list[Document]:
        output = await _graph().ainvoke(**self._graph_arguments(query, run_manager, settings))
        return [to_document(candidate) for candidate in output["documents"]]

    def _graph_arguments(self, query: str, run_manager: Any, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the graph for one query."""
        user_context = settings.pop("user_context", self.user_context)
        context = make_context(self.model_extra or {}, settings)
        check_names(context)
        return {
            "input": {"question": query, "user_context": user_context},
            "config": {"callbacks": run_manager.get_child()},
            "context": context,
        }
