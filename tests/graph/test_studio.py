"""The real development server, started as a user starts it, without a key and without a network."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client

from adaptive_rag.context import Context
from adaptive_rag.context.caller import ALLOWED
from adaptive_rag.samples import lend_vectors, samples_path
from tests.graph.test_builder import STEPS
from tests.served import Server, served

pytestmark = pytest.mark.slow

QUESTION = "Where is the rest centre?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studio")
    lend_vectors(folder / "kb")
    settings = {"ADAPTIVE_RAG_SERVING__ROOTS": str(samples_path()), "ADAPTIVE_RAG_INDEX": str(folder / "kb")}
    with served(folder, settings) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Any:
    return get_client(url=server.url)


@pytest.fixture(scope="module")
def indexed(server: Server) -> dict[str, Any]:
    """What the indexing graph returned for one of the sample documents."""
    paths = [str(samples_path() / "guidance_households.md")]
    answer = httpx.post(
        f"{server.url}/runs/wait", json={"assistant_id": "indexing", "input": {"paths": paths}}, timeout=120
    )
    return dict(answer.json())


async def schemas_of(client: Any, graph: str) -> Any:
    [assistant] = await client.assistants.search(graph_id=graph)
    return await client.assistants.get_schemas(assistant["assistant_id"])


async def test_both_graphs_are_listed(client: Any) -> None:
    assistants = await client.assistants.search()
    assert {assistant["graph_id"] for assistant in assistants} == {"adaptive_rag", "indexing"}


async def test_the_picture_names_every_step_of_every_strategy(client: Any) -> None:
    graph = await client.assistants.get_graph("adaptive_rag", xray=True)
    names = {str(node["id"]) for node in graph["nodes"]}
    for kind, (first, *own, last) in STEPS.items():
        assert names >= {first, *(f"{kind}:{step}" for step in own), last, "hedge:fuse"}


async def test_the_form_of_the_settings_shows_what_a_caller_may_set_and_nothing_else(client: Any) -> None:
    schema = (await schemas_of(client, "adaptive_rag"))["context_schema"]
    form = schema["properties"]
    named = {
        f"{name}.{part}" if part else name
        for name, field in form.items()
        for part in (schema["$defs"][field["$ref"].split("/")[-1]]["properties"] if "$ref" in field else [""])
    }
    assert named == set(ALLOWED)
    for name, field in form.items():
        assert field["description"] == Context.model_fields[name].description
    assert form["k"]["default"] is None
    assert form["k"]["anyOf"] == [{"type": "integer", "minimum": 1, "maximum": 50}, {"type": "null"}]
    assert form["route"]["anyOf"][0]["enum"] == ["factual", "analytical", "opinion", "contextual"]


async def test_the_form_of_the_input_shows_every_field_with_its_description(client: Any) -> None:
    form = (await schemas_of(client, "adaptive_rag"))["input_schema"]["properties"]
    assert list(form) == ["question", "user_context", "history", "messages"]
    assert all(field["description"] for field in form.values())


async def test_the_form_of_indexing_takes_paths_and_nothing_else(client: Any) -> None:
    schemas = await schemas_of(client, "indexing")
    assert "pattern" in schemas["input_schema"]["properties"]["paths"]["description"]
    assert schemas["context_schema"].get("properties", {}) == {}


def test_the_indexing_graph_reports_what_it_did(indexed: dict[str, Any]) -> None:
    assert [Path(name).name for name in indexed["report"]["sources"]] == ["guidance_households.md"]
    assert indexed["report"]["added"] == 1
    assert indexed["report"]["chunks"] == indexed["report"]["total_chunks"] > 5


async def test_a_question_is_answered_from_the_operators_index_as_the_caller_sets(
    client: Any, indexed: dict[str, Any]
) -> None:
    output = await client.runs.wait(None, "adaptive_rag", input={"question": QUESTION}, context={"k": 2})
    # k counts chunks; those that overlap are one passage.
    assert sum(len(document.get("parts", [document])) for document in output["documents"]) == 2
    assert not output["abstained"] and "[" in output["answer"]
    assert output["citations"][0]["source"].endswith("guidance_households.md")


async def test_a_chat_keeps_its_messages_over_two_turns(client: Any, indexed: dict[str, Any]) -> None:
    thread = await client.threads.create()
    for question in (QUESTION, "Does it have cots for babies?"):
        output = await client.runs.wait(
            thread["thread_id"], "adaptive_rag", input={"messages": [{"role": "user", "content": question}]}
        )
    assert [message["type"] for message in output["messages"]] == ["human", "ai", "human", "ai"]
    [block] = output["messages"][-1]["content"]
    assert block["text"] == output["answer"]
    assert block["annotations"][0]["cited_text"] == output["citations"][0]["quote"]
    assert output["question"] == "Does it have cots for babies?"


async def test_the_steps_and_the_answer_are_streamed(client: Any, indexed: dict[str, Any]) -> None:
    steps, answers = [], []
    async for part in client.runs.stream(
        None,
        "adaptive_rag",
        input={"question": QUESTION},
        context={"route": "factual"},
        stream_mode=["updates", "messages-tuple"],
        stream_subgraphs=True,
    ):
        assert part.event != "error", part.data
        if part.event.startswith("updates"):
            steps += part.data.keys()
        elif part.event.startswith("messages"):
            answers.append(part.data[0])
    assert steps == ["classify", "enhance", "retrieve", "rerank", "factual", "generate"]
    assert any(message["type"].lower().startswith("ai") and message["content"] for message in answers)


async def test_a_question_that_is_none_is_told_in_words(client: Any, indexed: dict[str, Any]) -> None:
    answer = await client.runs.wait(None, "adaptive_rag", input={"question": "  "}, raise_error=False)
    assert "The question is empty" in json.dumps(answer, ensure_ascii=False)


FOREIGN: dict[str, dict[str, str]] = {
    "a page of another site": {"Origin": "https://evil.example"},
    "a page without an origin": {"Origin": "null"},
    "a page whose name begins alike": {"Origin": "https://smith.langchain.com.evil.example"},
    "a name that was bound to this machine": {"Host": "evil.example:2024"},
    "a name that begins alike": {"Host": "localhost.evil.example"},
    "through a proxy": {"X-Forwarded-For": "127.0.0.1"},
    "through a proxy of another kind": {"Forwarded": "for=127.0.0.1"},
    "through a tunnel": {"Cf-Connecting-Ip": "127.0.0.1"},
    "a page with Studio's scheme": {"Origin": "https://evil.example", "x-auth-scheme": "langsmith"},
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", FOREIGN)
def test_without_users_no_page_and_no_other_machine_is_answered(server: Server, name: str) -> None:
    body = {"assistant_id": "adaptive_rag", "input": {"question": QUESTION}}
    for method, path in (("POST", "/runs/wait"), ("OPTIONS", "/runs/wait"), ("GET", "/info"), ("GET", "/ok")):
        answer = httpx.request(method, server.url + path, headers=FOREIGN[name], json=body)
        assert answer.status_code == 403 and "serving." in answer.text


@pytest.mark.parametrize("path", ["/internal/debug/thread/0", "/deploy", "/mcp", "/metrics"])
def test_without_users_the_servers_own_tools_are_closed_too(server: Server, path: str) -> None:
    assert httpx.get(server.url + path).status_code == httpx.post(server.url + path).status_code == 404


@pytest.mark.parametrize("origin", ["https://smith.langchain.com", "http://localhost:3000"])
def test_studio_and_pages_of_this_machine_are_answered(
    server: Server, indexed: dict[str, Any], origin: str
) -> None:
    # Studio asks with a scheme of its own, which would else let it in without any question.
    headers = {"Origin": origin, "x-auth-scheme": "langsmith"}
    before = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert httpx.options(f"{server.url}/runs/wait", headers=headers | before).status_code == 200
    body = {"assistant_id": "adaptive_rag", "input": {"question": QUESTION}}
    answer = httpx.post(f"{server.url}/runs/wait", headers=headers, json=body, timeout=60)
    assert answer.json()["citations"] and answer.headers["access-control-allow-origin"] in ("*", origin)


def test_nothing_blocked_the_event_loop_and_nothing_left_the_machine(
    server: Server, indexed: dict[str, Any]
) -> None:
    # Read last: the log by now tells of all the runs above.
    assert "BlockingError" not in server.log and "Blocking call" not in server.log
    assert server.refused == ""
