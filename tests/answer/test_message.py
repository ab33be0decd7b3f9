"""The answer as a chat message: what LangChain reads of its citations."""

from typing import Any

from langchain_core.messages import AIMessage, convert_to_openai_messages
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from adaptive_rag import AdaptiveRAG
from adaptive_rag.answer.message import annotate, answer_message
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.query.history import read_history
from adaptive_rag.state import Citation, Place
from adaptive_rag.testing import ScriptedChatModel

LONG, HIGH = "The wall is 2 km long.", "It is 4 m high."
ANSWER = f"{LONG} [1] {HIGH[:-1]} [1][2].\n\nOthers call it low [2]."


def cited(marker: int, quote: str, source: str = "wall.txt", start: int = 0) -> Citation:
    end, place = start + len(quote), Place(page=3)
    return Citation(marker=marker, source=source, page=3, place=place, start=start, end=end, quote=quote)


CITATIONS = [
    cited(1, LONG),
    cited(1, HIGH, start=40),
    cited(2, "Some call the wall low.", "https://example.org/wall"),
]


def places(answer: str, citations: list[Citation]) -> list[tuple[str, str]]:
    """Return what each annotation covers of the answer, and what it quotes."""
    return [
        (answer[found["start_index"] : found["end_index"]], found["cited_text"])
        for found in annotate(answer, citations)
    ]


def test_each_sentence_is_annotated_with_what_it_cites() -> None:
    low = "Some call the wall low."
    assert places(ANSWER, CITATIONS) == [
        (f"{LONG} [1]", LONG),
        ("It is 4 m high [1][2].", HIGH),
        ("It is 4 m high [1][2].", low),
        ("Others call it low [2].", low),
    ]


def test_a_quote_that_no_sentence_is_nearest_to_is_annotated_too() -> None:
    assert places("It is 4 m high and 2 km long [1].", CITATIONS[:2]) == [
        ("It is 4 m high and 2 km long [1].", LONG),
        ("It is 4 m high and 2 km long [1].", HIGH),
    ]


def test_an_annotation_names_the_source_and_the_span_in_it() -> None:
    first, *_, last = annotate(ANSWER, CITATIONS)
    assert (first["type"], first["title"], "url" in first) == ("citation", "wall.txt", False)
    assert first["extras"] == {"marker": 1, "page": 3, "place": {"page": 3}, "start": 0, "end": len(LONG)}
    assert last["url"] == last["title"] == "https://example.org/wall"


def test_the_message_keeps_its_text_for_all_who_read_it() -> None:
    message = answer_message(ANSWER, CITATIONS, "m1")
    assert (message.text, message.id) == (ANSWER, "m1")
    [block] = message.content_blocks
    assert (block["type"], len(block["annotations"])) == ("text", 4)  # type: ignore[typeddict-item]
    assert message.response_metadata["citations"] == CITATIONS
    assert [turn["text"] for turn in read_history([], [message])] == [ANSWER]
    serde = JsonPlusSerializer()
    assert serde.loads_typed(serde.dumps_typed(message)) == message
    assert AIMessage.model_validate(message.model_dump()).content_blocks == message.content_blocks
    assert convert_to_openai_messages(message)["content"] == ANSWER  # type: ignore[call-overload]


def test_without_citations_the_content_is_the_text() -> None:
    message = answer_message("I found nothing.", [])
    assert (message.content, message.response_metadata["citations"]) == ("I found nothing.", [])


def test_every_answer_carries_its_citations_and_the_conversation_goes_on(town: MemoryIndex) -> None:
    written = "The sea wall of Saltmere is 2,340 metres long [1]."
    for model in (None, ScriptedChatModel(script={"generate": written})):
        rag = AdaptiveRAG(town, model=model, checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "one"}}
        output = rag.invoke("How long is the sea wall of Saltmere?", config)
        message: Any = output["messages"][-1]
        assert message.text == output["answer"]
        assert message.response_metadata["citations"] == output["citations"]
        annotations = message.content_blocks[0]["annotations"]
        assert {found["cited_text"] for found in annotations} == {c["quote"] for c in output["citations"]}
        second = rag.invoke("How high is it?", config)
        assert [kept.type for kept in second["messages"]] == ["human", "ai", "human", "ai"]
        assert second["messages"][1].text == output["answer"]
