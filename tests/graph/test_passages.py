"""The whole graph over an index whose chunks overlap: what reaches the answer, and what it cites."""

import pytest

from adaptive_rag.answer.passages import as_ranked
from adaptive_rag.context import Context
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.testing import ScriptedChatModel
from tests.nodes import made

GRAPH, RETRIEVAL = build_graph().compile(), build_retrieval_graph().compile()


@pytest.fixture(scope="module")
def source():
    return made.index()


def ids_of(documents):
    return [part["id"] for document in documents for part in document.get("parts", [document])]


@pytest.mark.few(4)
@pytest.mark.parametrize("query_type", made.QUESTIONS)
@pytest.mark.parametrize("k", [2, 6])
def test_all_ranked_chunks_reach_the_answer_in_fewer_passages(source, query_type, k):
    state, context = {"question": made.QUESTIONS[query_type]}, Context(index=source, route=query_type, k=k)
    ranked = RETRIEVAL.invoke(state, context=context)["documents"]
    output = GRAPH.invoke(state, context=context)
    assert sorted(ids_of(output["documents"])) == sorted(document["id"] for document in ranked)
    assert all("parts" not in document for document in ranked)
    assert [document["id"] for document in as_ranked(output["documents"])] == [d["id"] for d in ranked]
    assert [document["scores"] for document in as_ranked(output["documents"])] == [
        d["scores"] for d in ranked
    ]
    if k == 6:
        assert len(output["documents"]) < len(ranked)


@pytest.mark.parametrize("query_type", made.QUESTIONS)
async def test_sync_and_async_read_and_cite_the_same(source, query_type):
    # Whether the report holds an answer to each of them is another matter.
    state = {"question": made.QUESTIONS[query_type]}
    context = Context(index=source, route=query_type, k=5, without={"abstain"})
    sync, not_sync = GRAPH.invoke(state, context=context), await GRAPH.ainvoke(state, context=context)
    for key in ("query_type", "analysis", "documents", "answer", "citations", "grounding", "abstained"):
        assert sync[key] == not_sync[key], key
    assert any("parts" in document for document in sync["documents"])
    assert sync["citations"]
    for citation in sync["citations"]:
        assert made.TEXT[citation["start"] : citation["end"]] == citation["quote"]
        assert citation["page"] == made.page_of(citation["start"])
        document = sync["documents"][citation["marker"] - 1]
        assert document["start"] <= citation["start"] < citation["end"] <= document["end"]


@pytest.mark.parametrize("query_type", made.QUESTIONS)
def test_no_sentence_stands_twice_in_the_prompt(source, query_type):
    model = ScriptedChatModel(script={"generate": "I don't know."})
    context = Context(index=source, route=query_type, k=8, model=model)
    GRAPH.invoke({"question": made.QUESTIONS[query_type]}, context=context)
    [messages] = [messages for step, messages in model.asked if step == "generate"]
    read = " ".join(made.passages_of(messages[-1].text))
    assert max(read.count(sentence) for sentence in made.SENTENCES) == 1


@pytest.mark.usefixtures("unsure")
def test_what_two_strategies_found_is_joined_once(source):
    output = GRAPH.invoke({"question": made.QUESTIONS["opinion"]}, context=Context(index=source, k=6))
    assert "fuse" in [record["step"] for record in output["trace"]]
    assert len(output["documents"]) < 6
    assert len(set(ids_of(output["documents"]))) == len(ids_of(output["documents"])) == 6
    for citation in output["citations"]:
        assert made.TEXT[citation["start"] : citation["end"]] == citation["quote"]


def test_chunks_of_an_apps_own_store_are_joined_where_it_says_where_they_start():
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    def ask(*known):
        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
        store.add_documents(
            [
                Document(c["text"], metadata={"source": "report.txt", **dict.fromkeys(known, c["start"])})
                for c in made.report()
            ]
        )
        context = Context(retriever=store, route="factual", k=9, without={"window"})
        return GRAPH.invoke({"question": made.QUESTIONS["factual"]}, context=context)["documents"]

    assert [document["text"] for document in ask("start_index")] == [made.TEXT]
    assert len(ask()) == len(made.report())
