"""The door for Python and LangChain."""

import asyncio
import json
import pickle
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from adaptive_rag import AdaptiveRAG, Context, Index
from adaptive_rag.compare import BY_ITSELF
from adaptive_rag.errors import AdaptiveRAGWarning, ConfigurationError, IndexingError
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.testing import ScriptedChatModel
from tests.conftest import TOWN

LONG = "How long is the sea wall of Saltmere?"
KEYS = [
    "question", "query_type", "analysis", "documents", "trace", "answer", "parts", "citations",
    "grounding", "confidence", "outcome", "abstained", "messages",
]  # fmt: skip
# What one question's run shares with no other: times, and the ids of messages.
STEADY = [key for key in KEYS if key not in ("trace", "messages")]


@pytest.fixture
def rag(town: MemoryIndex) -> AdaptiveRAG:
    return AdaptiveRAG(town)


@pytest.fixture
def two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sea").mkdir()
    (tmp_path / "bread").mkdir()
    (tmp_path / "sea" / "wall.txt").write_text("The sea wall of Saltmere is 2,340 metres long.\n")
    (tmp_path / "sea" / "storm.txt").write_text("The storm of 1978 flooded 214 houses in Quay Street.\n")
    (tmp_path / "bread" / "rye.txt").write_text("Rye bread is baked for 75 minutes at 220 degrees.\n")
    return tmp_path


def sources(output: Any) -> set[str]:
    return {Path(document["source"]).name for document in output["documents"]}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "question",
    [
        LONG,
        {"question": LONG},
        {"question": LONG, "user_context": None, "history": None, "messages": None},
        MappingProxyType({"messages": [HumanMessage(LONG)]}),
        {"messages": [("user", LONG)]},
        HumanMessage(LONG),
        [HumanMessage(LONG)],
        [HumanMessage("Hello"), AIMessage("Hello, what may it be?"), HumanMessage(LONG)],
        [("user", LONG)],
        [{"role": "user", "content": LONG}],
        ChatPromptTemplate.from_messages([("user", "{q}")]).invoke({"q": LONG}),
    ],
    ids=lambda question: type(question).__name__,
)
def test_a_question_is_read_in_every_form(rag: AdaptiveRAG, question: Any) -> None:
    output = rag.invoke(question)
    assert list(output) == KEYS
    assert output["question"] == LONG
    assert "2,340 metres" in output["answer"]


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ({}, "empty"),
        ([], "empty"),
        ([AIMessage("I said something.")], "empty"),
        ({"question": None}, "expected a text"),
        ({"question": 7}, "expected a text"),
        ({"query": LONG}, r"unknown keys \['query'\]"),
        ({"question": LONG, "k": 3}, r"context="),
        ({"question": LONG, "user_context": 7}, "user_context = 7 is not usable: expected a text"),
        (7, "Got 7"),
        (b"bytes", "Got b'bytes'"),
        (None, "Got None"),
        ([1, 2], "not one of messages"),
        ("why? " * 20_000, "100,000|99,999"),
        ({"question": LONG, "history": [{"role": "robot", "text": "x"}]}, "robot"),
    ],
)
def test_what_is_no_question_is_refused_with_what_was_expected(
    rag: AdaptiveRAG, question: Any, complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        rag.invoke(question)


async def test_every_way_to_call_gives_the_same_output(rag: AdaptiveRAG) -> None:
    expected = rag.invoke(LONG)
    outputs = [
        await rag.ainvoke(LONG),
        *rag.batch([LONG, {"question": LONG}]),
        *await rag.abatch([LONG, [HumanMessage(LONG)]]),
    ]
    for output in outputs:
        assert {key: output[key] for key in STEADY} == {key: expected[key] for key in STEADY}


WRITTEN = "The sea wall of Saltmere is 2,340 metres long [1]."


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "said",
    [
        WRITTEN,
        f"{WRITTEN[:-5]} [77].",
        "Bananas grow in Iceland [1].",
        "Error: rate limit",
        "[[[[1]]]]",
        "{}",
    ],
)
async def test_what_is_streamed_as_the_answer_was_checked(
    town: MemoryIndex, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rag = AdaptiveRAG(town, model=ScriptedChatModel(script={"generate": said}))
    expected = rag.invoke(LONG)
    assert "2,340 metres" in expected["answer"]
    for chunk in rag.stream(LONG):
        print(chunk.get("answer", ""))
    assert capsys.readouterr().out == expected["answer"] + "\n"
    chunks = [chunk async for chunk in rag.astream(LONG)]
    assert [{key: chunk[key] for key in STEADY} for chunk in chunks] == [
        {key: expected[key] for key in STEADY}
    ]


async def test_a_draft_can_be_watched_while_it_is_written(town: MemoryIndex) -> None:
    rag = AdaptiveRAG(town, model=ScriptedChatModel(script={"generate": WRITTEN}))
    expected = rag.invoke(LONG)
    for chunks in (list(rag.stream(LONG, drafts=True)), [c async for c in rag.astream(LONG, drafts=True)]):
        assert all(list(chunk) == ["draft"] for chunk in chunks[:-1])
        assert len(chunks) > 4
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole = whole + chunk
        assert whole.pop("draft") == WRITTEN
        assert sorted(whole) == sorted(KEYS)
        assert {key: whole[key] for key in STEADY} == {key: expected[key] for key in STEADY}


async def test_an_empty_piece_says_that_the_draft_begins_anew(
    town: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWN_API_KEY", f"{WRITTEN[-3:]}-canary-1234567")  # the end is shown nevertheless
    script = {"generate": ["Error: down", WRITTEN]}
    first, second = (AdaptiveRAG(town, model=ScriptedChatModel(script=script)) for _ in range(2))
    for chunks in (
        list(first.stream(LONG, drafts=True)),
        [c async for c in second.astream(LONG, drafts=True)],
    ):
        pieces = [chunk["draft"] for chunk in chunks[:-1]]
        assert pieces.count("") == 1
        again = pieces.index("")
        assert ("".join(pieces[:again]), "".join(pieces[again:])) == ("Error: down", WRITTEN)
        assert chunks[-1]["answer"] == WRITTEN


async def test_drafts_and_a_stream_of_the_graph_are_not_asked_for_at_once(rag: AdaptiveRAG) -> None:
    with pytest.raises(ConfigurationError, match="Use one of them"):
        list(rag.stream(LONG, drafts=True, stream_mode="updates"))
    with pytest.raises(ConfigurationError, match="Use one of them"):
        [chunk async for chunk in rag.astream(LONG, drafts=True, stream_mode="updates")]


async def test_a_thread_is_resumed_where_its_last_question_stopped(town: MemoryIndex) -> None:
    rag = AdaptiveRAG(town, checkpointer=InMemorySaver())
    threads: Any = [{"configurable": {"thread_id": str(number)}} for number in range(3)]
    for thread in threads:
        assert rag.invoke(LONG, thread, interrupt_before=["generate"])["answer"] == ""
    outputs = [
        rag.invoke(None, threads[0]),
        await rag.ainvoke(None, threads[1]),
        *rag.stream(None, threads[2]),
    ]
    assert all("2,340 metres" in output["answer"] for output in outputs) and len(outputs) == 3


@pytest.mark.parametrize("given", [{"k": 3}, {"colour": "red"}])
async def test_an_argument_that_a_call_does_not_have_is_refused(rag: AdaptiveRAG, given: Any) -> None:
    refused = pytest.raises(ConfigurationError, match=rf"no argument '{next(iter(given))}'.*context=")
    with refused:
        rag.invoke(LONG, **given)
    with refused:
        rag.bind(**given).batch([LONG])
    with refused:
        [chunk async for chunk in rag.astream(LONG, stream_mode="updates", **given)]


def test_a_model_is_turned_off_though_the_environment_names_one(
    town: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_MODEL", "openai:any")
    assert AdaptiveRAG(town).context.model == "openai:any"
    assert AdaptiveRAG(town, model=None).context.model is None


@pytest.mark.parametrize("saver", [None, InMemorySaver()])
def test_a_node_of_another_graph_streams_the_same(rag: AdaptiveRAG, saver: InMemorySaver | None) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        chunks.extend(rag.stream(state["messages"], drafts=True, steps=True))
        return {"messages": [("ai", chunks[-1]["answer"])]}

    chunks: list[Any] = []
    builder = StateGraph(MessagesState, context_schema=dict)
    graph = builder.add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=saver)
    asked: Any = {"messages": [("user", LONG)]}
    output = graph.invoke(asked, {"configurable": {"thread_id": "one"}}, context={"tenant": "a"})
    assert "2,340 metres" in output["messages"][-1].text
    alone = list(rag.stream(LONG, drafts=True, steps=True))
    names = [[chunk["step"]["strategy"] for chunk in of if "step" in chunk] for of in (chunks, alone)]
    assert names[0] == names[1]


def test_the_settings_of_another_graph_are_not_taken_for_ours(rag: AdaptiveRAG) -> None:
    builder = StateGraph(MessagesState, context_schema=dict)
    graph = builder.add_node("ask", rag.graph).add_edge(START, "ask").compile()
    with pytest.raises(ConfigurationError, match=r"context is a dict.*use AdaptiveRAG\(\.\.\.\) as a node"):
        graph.invoke({"messages": [("user", LONG)]}, context={"tenant": "a"})


def test_the_state_of_another_graph_may_hold_more_than_the_question(rag: AdaptiveRAG) -> None:
    class Ticket(MessagesState, total=False):
        priority: int
        answer: str

    graph = StateGraph(Ticket).add_node("ask", rag).add_edge(START, "ask").compile(InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    for question in (LONG, "And who pays for its repairs?"):
        output = graph.invoke({"messages": [("user", question)], "priority": 1}, thread)
        assert output["messages"][-1].text == output["answer"] != ""


def test_the_graphs_own_stream_is_passed_on_when_asked_for(rag: AdaptiveRAG) -> None:
    steps = [next(iter(update)) for update in rag.stream(LONG, stream_mode="updates")]
    assert steps == ["classify", "factual", "generate"]


@pytest.mark.usefixtures("unsure")
@pytest.mark.parametrize("steps", [False, True])
async def test_events_are_streamed_and_leave_the_same_state(town: MemoryIndex, steps: bool) -> None:
    rag = AdaptiveRAG(town, checkpointer=InMemorySaver())
    threads: list[RunnableConfig] = [{"configurable": {"thread_id": name}} for name in ("events", "invoked")]
    events = rag.astream_events(LONG, threads[0], steps=steps)
    chunks = [event["data"]["chunk"] async for event in events if event["event"] == "on_chain_stream"]
    output = await rag.ainvoke(LONG, threads[1])
    assert chunks[-1]["answer"] == output["answer"]
    streamed, invoked = [(await rag.graph.aget_state(thread)).values for thread in threads]
    assert streamed.keys() == invoked.keys()


async def test_it_stands_in_a_chain(rag: AdaptiveRAG) -> None:
    assert "2,340" in (rag | itemgetter("answer")).invoke(LONG)
    prompt = ChatPromptTemplate.from_messages([("user", "How long is the {thing} of Saltmere?")])
    chain = RunnablePassthrough.assign(answer=prompt | rag | itemgetter("answer"))
    assert "2,340" in chain.invoke({"thing": "sea wall"})["answer"]
    counted = (
        RunnableLambda(lambda text: {"question": text}) | rag | (lambda output: len(output["documents"]))
    )
    assert counted.invoke(LONG) == len(rag.invoke(LONG)["documents"]) > 1
    answers = await asyncio.gather(*((rag | itemgetter("answer")).ainvoke(LONG) for _ in range(3)))
    assert all("2,340" in answer for answer in answers)


def test_settings_are_given_once_for_one_call_or_by_a_chain(town: MemoryIndex) -> None:
    def read(output: Any) -> int:
        return len(output["documents"])

    rag = AdaptiveRAG(town, k=2)
    assert read(rag.invoke(LONG)) == 2
    assert read(rag.invoke(LONG, context={"k": 3})) == 3
    assert read(rag.invoke(LONG, context=Context(index=town, k=5))) == 5
    assert read(rag.invoke(LONG, {"configurable": {"k": 1, "somebody_elses": 9}})) == 1
    assert read(rag.with_config(configurable={"k": 3}).invoke(LONG)) == 3
    assert read((rag | RunnablePassthrough()).invoke(LONG, {"configurable": {"k": 6}})) == 6
    inside = RunnableLambda(lambda question: rag.invoke(question))
    assert read(inside.invoke(LONG, {"configurable": {"k": 6}})) == 6
    nearer = RunnableLambda(lambda question: rag.invoke(question, {"configurable": {"k": 1}}))
    assert read(nearer.invoke(LONG, {"configurable": {"k": 6, "route": "factual"}})) == 1
    # nearer to the call wins
    assert read(rag.invoke(LONG, {"configurable": {"k": 1}}, context={"k": 3})) == 3


@pytest.mark.parametrize(
    ("knobs", "complaint"),
    [
        ({"kk": 4}, "'kk' is not a setting.*'k'.*adaptive-rag settings"),
        ({"retriever": "elastic"}, "retriever = 'elastic'"),
        ({"index": 7}, "index = 7"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_runs(
    town: MemoryIndex, knobs: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        AdaptiveRAG(**knobs)
    with pytest.raises(ConfigurationError, match=complaint):
        AdaptiveRAG(town).invoke(LONG, context=knobs)
    with pytest.raises(ConfigurationError, match="expected a dict of settings"):
        AdaptiveRAG(town).invoke(LONG, context="I am a nurse")


def test_a_user_without_a_store_is_warned_about(town: MemoryIndex) -> None:
    with pytest.warns(AdaptiveRAGWarning, match="user_id = 'ada' has no effect"):
        AdaptiveRAG(town, user_id="ada")


def test_its_schemas_show_the_fields(rag: AdaptiveRAG) -> None:
    fields = rag.get_input_jsonschema()["$defs"]["InputState"]["properties"]
    assert fields["user_context"]["description"] == "Who asks, or in what situation."
    assert list(rag.get_output_jsonschema()["properties"]) == KEYS


def test_it_survives_pickling_with_its_settings(tmp_path: Path) -> None:
    Index.build(
        [Document(text, metadata={"source": f"{n}.txt"}) for n, text in enumerate(TOWN)], tmp_path / "kb"
    )
    copy = pickle.loads(pickle.dumps(AdaptiveRAG(tmp_path / "kb", k=2)))
    output = copy.invoke(LONG)
    assert len(output["documents"]) == 2 and "2,340" in output["answer"]


def test_one_of_some_documents_survives_pickling_whatever_else_its_index_holds(two_folders: Path) -> None:
    AdaptiveRAG.from_documents("bread")
    copy = pickle.loads(pickle.dumps(AdaptiveRAG("sea", k=4)))
    assert sources(copy.invoke("How long is bread baked?")) <= {"wall.txt", "storm.txt"}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "place", ["sea/wall.txt", "sea", Path("sea"), ["sea/wall.txt", "sea/storm.txt"], "s*/*.txt"]
)
@pytest.mark.parametrize("begin", [AdaptiveRAG, AdaptiveRAG.from_documents])
def test_documents_given_first_are_indexed_and_answered_from_alone(
    two_folders: Path, begin: Any, place: Any
) -> None:
    AdaptiveRAG.from_documents("bread")
    rag = begin(place, k=4)
    output = rag.invoke(LONG)
    assert "2,340 metres" in output["answer"] and output["citations"][0]["source"] == "sea/wall.txt"
    assert sources(rag.invoke("How long is bread baked?")) <= {"wall.txt", "storm.txt"}
    assert "rye.txt" in sources(AdaptiveRAG().invoke("How long is bread baked?"))
    with pytest.raises(ConfigurationError, match="k = 0"):
        begin(place, k=0)


@pytest.mark.parametrize("begin", [AdaptiveRAG, AdaptiveRAG.from_documents])
def test_documents_go_into_the_index_that_is_named_with_its_settings(two_folders: Path, begin: Any) -> None:
    (two_folders / "sea" / "long.txt").write_text("\n\n".join(TOWN))
    begin("sea/long.txt", index="kb", chunk_size=200, chunk_overlap=0)
    assert Index.open("kb").info()["chunk_size"] == 200 and len(Index.open("kb")) > 4
    assert not (two_folders / ".adaptive-rag").exists()


def test_an_index_given_first_stays_an_index(two_folders: Path) -> None:
    Index.build("sea", "kb")
    (two_folders / "kb" / "readme.txt").write_text("The sea wall of Saltmere is nine metres long.\n")
    assert AdaptiveRAG("kb").context.index == "kb"
    assert AdaptiveRAG(index="new").context.index == "new"
    with pytest.raises(ConfigurationError, match="'new' does not exist: neither an index nor documents"):
        AdaptiveRAG("new")
    assert AdaptiveRAG("s3://bucket/kb.txt").context.index == "s3://bucket/kb.txt"
    (two_folders / "photos").mkdir()
    (two_folders / "photos" / "cat.mp4").write_bytes(b"cat")
    assert AdaptiveRAG("photos").context.index == "photos"
    assert not (two_folders / ".adaptive-rag").exists()
    assert "2,340" in AdaptiveRAG("kb").invoke(LONG)["answer"]


@pytest.mark.parametrize(
    ("place", "settings", "complaint"),
    [
        ("handbok.pdf", {}, "'handbok.pdf' does not exist"),
        ("film.mp4", {}, "'film.mp4' is not of a kind that is read"),
        ([], {}, "No path was given"),
        ("sea", {"k": 0}, "k = 0 is not usable"),
        ("sea", {"route": "sideways"}, "route = 'sideways'"),
        ("s3://kb", {"index": "other"}, "Got two indexes, 's3://kb' and 'other'"),
        (None, {"index": "sea/wall.txt"}, "'sea/wall.txt' is a file"),
    ],
)
def test_a_wrong_place_is_refused_and_nothing_is_indexed(
    two_folders: Path, place: Any, settings: dict[str, Any], complaint: str
) -> None:
    (two_folders / "film.mp4").write_bytes(b"cat")
    with pytest.raises(ConfigurationError, match=complaint):
        AdaptiveRAG(place, **settings).invoke(LONG)
    assert not (two_folders / ".adaptive-rag").exists()


async def test_a_query_gives_the_answer_and_the_texts_that_it_was_made_from(two_folders: Path) -> None:
    rag = AdaptiveRAG("sea", k=3)
    answer, contexts = rag.query(LONG)
    assert "2,340 metres" in answer
    assert contexts == [document["text"] for document in rag.invoke(LONG)["documents"]]
    assert await rag.aquery(LONG) == (answer, contexts)


def test_a_recipe_is_queried_from_a_document_as_it_was_published(two_folders: Path) -> None:
    model = ScriptedChatModel(script={"generate": "It is 2,340 metres long [1]."})
    rag = AdaptiveRAG.from_documents("sea/wall.txt", k=3, recipe="schema-routing", model=model)
    answer, contexts = rag.query(LONG, user_context=None)
    assert answer == "It is 2,340 metres long [1]."
    assert contexts == ["The sea wall of Saltmere is 2,340 metres long."]
    assert model.skills[-1] == "generate"


async def test_a_query_takes_the_users_context_and_a_thread(town: MemoryIndex) -> None:
    rag = AdaptiveRAG(town, route="contextual", checkpointer=InMemorySaver())
    ask = "How should I prepare for a flood?"
    thread: Any = {"configurable": {"thread_id": "one"}}
    with_context, _ = rag.query(ask, "I use a wheelchair", thread)
    other: Any = {"configurable": {"thread_id": "two"}}
    without, _ = await rag.aquery(ask, None, other)
    assert "wheelchair" in with_context and with_context != without
    with pytest.raises(ConfigurationError, match="empty"):
        rag.query(" ", None, thread)


def test_a_question_is_compared_on_two_routes(rag: AdaptiveRAG) -> None:
    found = rag.compare("How long is the sea wall of Saltmere?", routes=["factual", "opinion"])
    assert [column.name for column in found.columns] == ["factual", "opinion"]
    assert [column.route for column in found.columns] == [["factual"], ["opinion"]]
    outputs = {
        column.name: rag.invoke(found.question, context={"route": column.name}) for column in found.columns
    }
    read = {name: {d["id"] for d in output["documents"]} for name, output in outputs.items()}
    assert set(found.passages.in_all) == read["factual"] & read["opinion"]
    assert set(found.passages.only["factual"]) == read["factual"] - read["opinion"]
    assert set(found.passages.only["opinion"]) == read["opinion"] - read["factual"]
    for column in found.columns:
        assert column.output["answer"] == outputs[column.name]["answer"]
        assert (column.calls, column.ms > 0) == (0, True)
        assert set(read[column.name]) <= set(found.places)
    said = {name: set(found.sentences.only[name]) for name in read}
    assert said["opinion"] and not said["opinion"] & said["factual"]
    assert not any("[" in sentence for sentence in (*found.sentences.in_all, *said["opinion"]))
    json.dumps(asdict(found))


def test_without_names_the_way_by_itself_stands_beside_the_second_likeliest(rag: AdaptiveRAG) -> None:
    found = rag.compare("How high is the sea wall?")
    first, second = found.columns
    assert first.name == BY_ITSELF and first.settings == {}
    probabilities = first.output["analysis"]["probabilities"]
    assert second.name == sorted(probabilities, key=lambda name: -probabilities[name])[1]
    assert second.settings == {"route": second.name}


def test_recipes_stand_beside_routes_and_one_alone_beside_the_way_by_itself(town: MemoryIndex) -> None:
    model = ScriptedChatModel(script={"generate": "It is 4.1 metres high [1]."})
    rag = AdaptiveRAG(town, model=model)
    found = rag.compare("How high is the sea wall?", routes=["factual"], recipes=["vector-bm25-fusion"])
    assert [column.name for column in found.columns] == ["factual", "vector-bm25-fusion"]
    assert found.columns[1].calls == 1
    assert len(found.columns[1].output["documents"]) == 5
    assert found.sentences.in_all == ["It is 4.1 metres high."]
    assert [c.name for c in rag.compare(LONG, recipes=["vector-bm25-fusion"]).columns] == [
        BY_ITSELF,
        "vector-bm25-fusion",
    ]


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        ({"routes": ["factual", "sideways"]}, "route = 'sideways'.*factual"),
        ({"recipes": ["soup"]}, "recipe = 'soup' is not usable: expected one of adaptive-retrieval"),
        ({"question": " "}, "empty"),
    ],
)
def test_a_comparison_with_a_wrong_name_asks_nothing(
    town: MemoryIndex, named: dict[str, Any], complaint: str
) -> None:
    model = ScriptedChatModel()
    with pytest.raises(ConfigurationError, match=complaint):
        AdaptiveRAG(town, model=model).compare(**{"question": LONG, **named})
    assert model.asked == []


def test_a_comparison_leaves_conversations_alone(town: MemoryIndex) -> None:
    saver = InMemorySaver()
    rag = AdaptiveRAG(town, checkpointer=saver)
    assert len(rag.compare(LONG, routes=["factual", "opinion"]).columns) == 2
    assert list(saver.list(None)) == []


def test_documents_of_langchain_are_indexed_with_their_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    documents = [Document(TOWN[1], metadata={"source": "wall", "page": 3}), Document(TOWN[2])]
    for given in (documents, iter(documents), documents[0]):  # `lazy_load` of a loader is an iterator
        output = AdaptiveRAG(given, index=tmp_path / "kb").invoke(LONG)
        # LangChain counts pages from 0, a citation from 1
        assert (output["citations"][0]["source"], output["citations"][0]["page"]) == ("wall", 4)


def test_documents_that_cannot_be_read_are_no_ground_for_an_answer(two_folders: Path) -> None:
    AdaptiveRAG.from_documents("bread")
    (two_folders / "bad.pdf").write_bytes(b"no PDF at all")
    with pytest.raises(IndexingError, match=r"bad\.pdf"):
        AdaptiveRAG.from_documents("bad.pdf")


def test_a_live_index_and_live_embeddings_are_taken(two_folders: Path) -> None:
    embeddings = DeterministicFakeEmbedding(size=16)
    Index.build("sea", "kb", embeddings=embeddings)
    assert sources(AdaptiveRAG("kb", embeddings=embeddings).invoke(LONG)) == {"wall.txt", "storm.txt"}
    index = Index.open("kb", embeddings=embeddings)
    assert "2,340" in AdaptiveRAG(index).invoke(LONG)["answer"]
    narrowed = AdaptiveRAG.from_documents("sea/storm.txt", index="kb", embeddings=embeddings)
    assert sources(narrowed.invoke(LONG)) == {"storm.txt"}


class _TownRetriever(BaseRetriever):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(text, metadata={"source": "town", "start_index": 0}) for text in TOWN[:6]]


@pytest.mark.parametrize(
    "retriever", [_TownRetriever(), InMemoryVectorStore.from_texts(TOWN, DeterministicFakeEmbedding(size=16))]
)
async def test_an_apps_own_retriever_or_store_is_searched_instead_of_an_index(retriever: Any) -> None:
    rag = AdaptiveRAG(retriever=retriever, k=18)
    for output in (rag.invoke(LONG), await rag.ainvoke(LONG)):
        assert output["citations"][0]["quote"] in TOWN[1] and "2,340" in output["answer"]


@pytest.mark.parametrize("route", [None, "contextual"])
def test_half_a_character_is_read_as_a_question_mark(town: MemoryIndex, route: str | None) -> None:
    asked = {
        "question": "How long is the sea wall of \ud800Saltmere?",
        "user_context": "I rent \udfff a flat.",
        "history": [{"role": "user", "text": "\ud800 walls"}, {"role": "agent", "text": "Which one \udfff?"}],
    }
    output = AdaptiveRAG(town).invoke(asked, context={"route": route})
    assert output["question"] == "How long is the sea wall of ?Saltmere?"
    assert output["citations"]
    json.dumps(output["answer"], ensure_ascii=False).encode()
