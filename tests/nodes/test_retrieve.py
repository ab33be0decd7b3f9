"""A branch of a fan-out that cannot be searched, in one's own process and on a server."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime

from adaptive_rag.context import CallerSettings, make_context
from adaptive_rag.errors import IndexMismatchError, ServedError
from adaptive_rag.nodes.retrieve import retrieve_branch


@pytest.fixture
def branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("ADAPTIVE_RAG_INDEX", str(tmp_path / "nowhere"))
    return {"order": 1, "label": "a side", "queries": [{"text": "wall"}], "plan": None, "analysis": {}}


def why(branch: dict[str, Any], context: Any) -> str:
    [hit] = retrieve_branch(branch, Runtime(context=context))["hits"]  # type: ignore[arg-type]
    return hit["record"]["decisions"][0]["why"]


def test_ones_own_trace_says_which_index_is_missing_and_a_callers_does_not(branch: dict[str, Any]) -> None:
    assert "There is no index at" in why(branch, make_context()) and "nowhere" in why(branch, make_context())
    told = why(branch, CallerSettings())
    assert "no index that can be searched" in told and "nowhere" not in told


def test_without_the_questions_own_search_the_question_fails(branch: dict[str, Any]) -> None:
    branch["label"] = None
    for context, kind in ((make_context(), IndexMismatchError), (CallerSettings(), ServedError)):
        with pytest.raises(kind, match="no index"):
            why(branch, context)


def test_a_store_with_errors_of_its_own_fails_only_the_branch(branch: dict[str, Any]) -> None:
    class Store(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            raise Exception("the store is busy")

    assert why(branch, make_context(retriever=Store())) == "Exception: the store is busy"
