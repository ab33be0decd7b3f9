"""The door for agents: a tool that answers from the documents."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, SecretStr

from adaptive_rag import AdaptiveRAG
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.memory import MemoryIndex

LONG, FOUNDED = "How long is the sea wall of Saltmere?", "When was Saltmere founded?"
ABOUT = "Everything about the town of Saltmere."


class CallingModel(GenericFakeChatModel):
    """Says what it was given, and takes tools as a model does that can call them."""

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self


def call(name: str, number: int = 1, **arguments: str) -> ToolCall:
    return ToolCall(name=name, args=arguments, id=f"call-{number}", type="tool_call")


@pytest.fixture
def rag(town: MemoryIndex) -> AdaptiveRAG:
    return AdaptiveRAG(town)


def test_a_chat_model_is_told_a_plain_form(rag: AdaptiveRAG) -> None:
    tool = rag.as_tool(name="town", description=ABOUT)
    bound: Any = ChatOpenAI(api_key=SecretStr("sk-test")).bind_tools([tool])
    [told] = [given["function"] for given in bound.kwargs["tools"]]
    assert (told["name"], told["description"]) == ("town", ABOUT)
    assert told["parameters"]["required"] == ["question"]
    kinds = {name: field["type"] for name, field in told["parameters"]["properties"].items()}
    assert kinds == {"question": "string", "user_context": "string"}


@pytest.mark.parametrize("waits", [False, True])
def test_it_returns_the_answer_with_its_sources_and_keeps_the_citations(
    rag: AdaptiveRAG, waits: bool
) -> None:
    tool, asked = rag.as_tool(), call("search_documents", question=LONG)
    message = asyncio.run(tool.ainvoke(asked)) if waits else tool.invoke(asked)
    output = rag.invoke(LONG)
    assert message.content == f"{output['answer']}\n\nSources:\n[1] town.txt"
    assert message.artifact == output["citations"]
    assert tool.invoke({"question": LONG}) == message.content
    assert (asyncio.run(tool.ainvoke(LONG)) if waits else tool.invoke(LONG)) == message.content


def test_a_refusal_names_no_sources(rag: AdaptiveRAG) -> None:
    message = rag.as_tool().invoke(call("x", question="What is the boiling point of tungsten?"))
    assert (message.artifact, "Sources:" in message.content) == ([], False)


def test_who_asks_reaches_the_answer(rag: AdaptiveRAG) -> None:
    rag = AdaptiveRAG(rag.context.index, route="contextual", k=2)
    asked = {"question": "How should I prepare for a flood?", "user_context": "I use a wheelchair."}
    said = rag.as_tool().invoke(asked)
    assert said.startswith(rag.invoke(asked)["answer"])
    assert said != rag.as_tool().invoke({**asked, "user_context": ""})


def test_a_question_that_cannot_be_read_is_told_to_the_agent(rag: AdaptiveRAG) -> None:
    message = rag.as_tool().invoke(call("x", question="  "))
    assert (message.status, "The question is empty" in message.content) == ("error", True)


def test_a_form_of_ones_own_takes_the_place_of_ours(rag: AdaptiveRAG) -> None:
    class Asked(BaseModel):
        question: str

    for tool in (rag.as_tool(Asked), rag.as_tool(arg_types={"question": str})):
        assert list(tool.args) == ["question"]
        assert "2,340 metres" in tool.invoke({"question": LONG})


def test_a_form_with_a_field_that_no_question_has_is_refused(rag: AdaptiveRAG) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot take 'town': expected some of .*'question'"):
        rag.as_tool(arg_types={"question": str, "town": str})


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("saver", [None, InMemorySaver()])
def test_an_agent_calls_it_twice_at_once(
    rag: AdaptiveRAG, saver: BaseCheckpointSaver[Any] | None, waits: bool
) -> None:
    calls = [call("search_documents", n, question=asked) for n, asked in enumerate((LONG, FOUNDED), start=1)]
    model = CallingModel(messages=iter([AIMessage("", tool_calls=calls), AIMessage("Done.")]))
    agent: Any = create_agent(model, [rag.as_tool()], checkpointer=saver)
    config, asked = {"configurable": {"thread_id": f"one-{waits}"}}, {"messages": [("user", "Tell me.")]}
    output = asyncio.run(agent.ainvoke(asked, config)) if waits else agent.invoke(asked, config)
    said = [message for message in output["messages"] if isinstance(message, ToolMessage)]
    assert ["2,340 metres" in said[0].text, "1142" in said[1].text] == [True, True]
    assert [message.artifact[0]["source"] for message in said] == ["town.txt", "town.txt"]
    assert output["messages"][-1].text == "Done."
