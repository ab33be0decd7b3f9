"""The door for LangChain retrieval."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.load.dump import dumpd
from langchain_core.runnables import RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests

from adaptive_rag import AdaptiveRAG, AdaptiveRetriever, Index
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.memory import MemoryIndex
from tests.conftest import TOWN
from tests.ingest.made_pdf import Text, make_pdf

LONG = "How long is the sea wall of Saltmere?"
PREPARE = "How should I prepare for a flood?"


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own suite."""

    @pytest.fixture(autouse=True)
    def _town(self, town: MemoryIndex) -> None:
        self.town = town

    @property
    def retriever_constructor(self) -> type[AdaptiveRetriever]:
        return AdaptiveRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.town}

    @property
    def retriever_query_example(self) -> str:
        return LONG


@pytest.fixture
def retriever(town: MemoryIndex) -> AdaptiveRetriever:
    return AdaptiveRetriever(index=town)


def test_documents_carry_source_span_and_scores(retriever: AdaptiveRetriever) -> None:
    best = retriever.invoke(LONG)[0]
    assert best.page_content == TOWN[1]
    assert best.metadata["source"] == "town.txt"
    assert best.metadata["start_index"] == len(TOWN[0]) + 1


async def test_sync_and_async_find_the_same(retriever: AdaptiveRetriever) -> None:
    for question in (LONG, PREPARE, "What are the different views on raising the sea wall?"):
        assert await retriever.ainvoke(question) == retriever.invoke(question)


def test_it_finds_what_the_answer_is_made_from(town: MemoryIndex, retriever: AdaptiveRetriever) -> None:
    read = AdaptiveRAG(town).invoke(LONG)["documents"]
    assert [document.page_content for document in retriever.invoke(LONG)] == [d["text"] for d in read]


def test_every_setting_is_taken_once_or_for_one_call(town: MemoryIndex) -> None:
    retriever = AdaptiveRetriever(index=town, k=2, route="opinion")
    assert len(retriever.invoke(LONG)) == 2
    assert len(retriever.invoke(LONG, k=5)) == 5


def test_the_users_context_is_taken_once_or_for_one_call(town: MemoryIndex) -> None:
    renter = "I rent a flat on the ground floor."
    plain = AdaptiveRetriever(index=town).invoke(PREPARE)
    fixed = AdaptiveRetriever(index=town, user_context=renter).invoke(PREPARE)
    assert fixed == AdaptiveRetriever(index=town).invoke(PREPARE, user_context=renter)
    advice = "Renters on the ground floor should keep papers upstairs"
    assert any(document.page_content.startswith(advice) for document in fixed)
    assert not any(document.page_content.startswith(advice) for document in plain)


@pytest.mark.parametrize("settings", [{"k": 0}, {"kk": 3}, {"route": "sideways"}])
def test_a_wrong_setting_is_refused_at_once(town: MemoryIndex, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        AdaptiveRetriever(index=town, **settings)
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        AdaptiveRetriever(index=town).invoke(LONG, **settings)


@pytest.mark.parametrize("copied", [lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy])
def test_it_can_be_copied_before_and_after_its_first_use(
    retriever: AdaptiveRetriever, copied: Callable[[AdaptiveRetriever], AdaptiveRetriever]
) -> None:
    found = copied(retriever).invoke(LONG)
    assert found == retriever.invoke(LONG)
    assert copied(retriever).invoke(LONG, k=2) == retriever.invoke(LONG, k=2)


def test_a_password_is_shown_neither_in_print_nor_in_a_trace() -> None:
    address = "postgresql://ada:canary-1234567@db.example/kb"
    shown = AdaptiveRetriever(index=address), dumpd(AdaptiveRetriever(index=address))
    assert "db.example" in str(shown) and "canary" not in str(shown)


def test_it_stands_in_a_chain(retriever: AdaptiveRetriever) -> None:
    chain = {"found": retriever, "question": RunnablePassthrough()} | RunnablePassthrough.assign(
        text=lambda state: "\n".join(document.page_content for document in state["found"])
    )
    assert "2,340 metres" in chain.invoke(LONG)["text"]


def test_pages_are_counted_as_our_citations_count_them(tmp_path: Path) -> None:
    make_pdf(tmp_path / "town.pdf", [[Text(text)] for text in TOWN[:3]])
    Index.build(tmp_path / "town.pdf", tmp_path / "kb", chunk_size=100, chunk_overlap=0)
    [cited] = AdaptiveRAG(tmp_path / "kb").invoke(LONG)["citations"]
    found = AdaptiveRetriever(index=str(tmp_path / "kb")).invoke(LONG)
    assert (found[0].metadata["page"], found[0].metadata["page_label"]) == (cited["page"], "2")
