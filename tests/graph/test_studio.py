"""The real development server, started as a user starts it, without a key and without a network."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client

import adaptive_rag
from adaptive_rag.context import Context, IndexingContext
from adaptive_rag.samples import samples_path

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
QUESTION = "Where is the rest centre?"
SECONDS_TO_START = 120

# Notes and refuses whatever the server would send beyond this machine.
GUARD = """
import os, socket

_connect = socket.socket.connect

def connect(self, address):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost", "0.0.0.0"):
        with open(os.environ["REFUSED"], "a") as file:
            file.write(f"{address}\\n")
        raise ConnectionRefusedError(f"closed in this test: {address}")
    return _connect(self, address)

def connect_ex(self, address):
    try:
        connect(self, address)
    except OSError as error:
        return error.errno or 111
    return 0

socket.socket.connect = connect
socket.socket.connect_ex = connect_ex
"""


class Server:
    """A running `langgraph dev`, with what it wrote and whom it tried to reach."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.index = str(folder / "kb")

    @property
    def log(self) -> str:
        return re.sub(r"\x1b\[[0-9;]*m", "", (self.folder / "log.txt").read_text(errors="replace"))

    @property
    def refused(self) -> str:
        file = self.folder / "refused.txt"
        return file.read_text() if file.exists() else ""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studio")
    app, guard = folder / "app", folder / "guard"
    app.mkdir()
    guard.mkdir()
    shutil.copy(ROOT / "langgraph.json", app)
    (guard / "sitecustomize.py").write_text(GUARD)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LANG", "ADAPTIVE_RAG", "OPENAI", "PYTEST"))
    }
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(guard), str(Path(adaptive_rag.__file__).parents[1])]),
        "REFUSED": str(folder / "refused.txt"),
        "LANG": "C.UTF-8",
        # The tool itself counts its users and asks for newer versions; all else is to be silent.
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "1",
    }
    command = [Path(sys.executable).with_name("langgraph"), "dev", "--no-browser", "--no-reload"]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)], cwd=app, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    running = Server(f"http://127.0.0.1:{port}", folder)
    try:
        _wait_until_it_answers(running, process)
        yield running
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(server: Server, process: subprocess.Popen[bytes]) -> None:
    for _ in range(SECONDS_TO_START * 2):
        if process.poll() is not None:
            pytest.fail(f"langgraph dev ended with {process.returncode}:\n{server.log}")
        try:
            if httpx.get(f"{server.url}/ok").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail(f"langgraph dev did not answer:\n{server.log}")


@pytest.fixture
def client(server: Server) -> Any:
    return get_client(url=server.url)


@pytest.fixture(scope="module")
def indexed(server: Server) -> dict[str, Any]:
    """What the indexing graph returned for one of the sample documents."""
    paths = [str(samples_path() / "guidance_households.md")]
    answer = httpx.post(
        f"{server.url}/runs/wait",
        json={"assistant_id": "indexing", "input": {"paths": paths}, "context": {"index": server.index}},
        timeout=120,
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
    assert names >= {
        "classify",
        "factual:enhance",
        "factual:retrieve",
        "factual:rerank",
        "analytical:decompose",
        "analytical:retrieve",
        "analytical:diversify",
        "opinion:viewpoints",
        "opinion:retrieve",
        "opinion:balance",
        "contextual:contextualize",
        "contextual:retrieve",
        "contextual:rerank",
        "hedge:fuse",
        "generate",
    }


async def test_the_form_of_the_settings_shows_every_field_with_its_description(client: Any) -> None:
    form = (await schemas_of(client, "adaptive_rag"))["context_schema"]["properties"]
    assert form.keys() == Context.model_fields.keys() - {"retriever"}
    for name, field in form.items():
        assert field["description"] == Context.model_fields[name].description
    assert form["k"]["default"] is None
    assert form["k"]["anyOf"] == [{"type": "integer", "minimum": 1, "maximum": 1000}, {"type": "null"}]
    assert form["route"]["anyOf"][0]["enum"] == ["factual", "analytical", "opinion", "contextual"]


async def test_the_form_of_the_input_shows_every_field_with_its_description(client: Any) -> None:
    form = (await schemas_of(client, "adaptive_rag"))["input_schema"]["properties"]
    assert list(form) == ["question", "user_context", "history", "messages"]
    assert all(field["description"] for field in form.values())


async def test_the_forms_of_indexing_show_their_fields(client: Any) -> None:
    schemas = await schemas_of(client, "indexing")
    assert "pattern" in schemas["input_schema"]["properties"]["paths"]["description"]
    assert schemas["context_schema"]["properties"].keys() == IndexingContext.model_fields.keys()
    assert all(field["description"] for field in schemas["context_schema"]["properties"].values())


def test_the_indexing_graph_reports_what_it_did(indexed: dict[str, Any]) -> None:
    assert [Path(name).name for name in indexed["report"]["sources"]] == ["guidance_households.md"]
    assert indexed["report"]["added"] == 1
    assert indexed["report"]["chunks"] == indexed["report"]["total_chunks"] > 5


async def test_a_question_is_answered_from_the_index_named_in_the_context(
    client: Any, server: Server, indexed: dict[str, Any]
) -> None:
    output = await client.runs.wait(
        None, "adaptive_rag", input={"question": QUESTION}, context={"index": server.index, "k": 2}
    )
    # k counts chunks; those that overlap are one passage.
    assert sum(len(document.get("parts", [document])) for document in output["documents"]) == 2
    assert not output["abstained"] and "[" in output["answer"]
    assert output["citations"][0]["source"].endswith("guidance_households.md")


async def test_a_chat_keeps_its_messages_over_two_turns(
    client: Any, server: Server, indexed: dict[str, Any]
) -> None:
    thread = await client.threads.create()
    for question in (QUESTION, "Does it have cots for babies?"):
        output = await client.runs.wait(
            thread["thread_id"],
            "adaptive_rag",
            input={"messages": [{"role": "user", "content": question}]},
            context={"index": server.index},
        )
    assert [message["type"] for message in output["messages"]] == ["human", "ai", "human", "ai"]
    assert output["messages"][-1]["content"] == output["answer"]
    assert output["question"] == "Does it have cots for babies?"


async def test_the_steps_and_the_answer_are_streamed(
    client: Any, server: Server, indexed: dict[str, Any]
) -> None:
    steps, answers = [], []
    async for part in client.runs.stream(
        None,
        "adaptive_rag",
        input={"question": QUESTION},
        context={"index": server.index, "route": "factual"},
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


@pytest.mark.parametrize(
    ("question", "context", "complaint"),
    [
        (QUESTION, {"index": "nowhere"}, "There is no index at"),
        ("  ", {}, "The question is empty"),
        (QUESTION, {"k": 0}, "greater than or equal to 1"),
        (QUESTION, {"route": "sideways"}, "'factual', 'analytical'"),
    ],
)
async def test_what_is_wrong_reaches_the_user_in_words(
    client: Any, server: Server, question: str, context: dict[str, Any], complaint: str
) -> None:
    answer = await client.runs.wait(
        None,
        "adaptive_rag",
        input={"question": question},
        context={"index": server.index, **context},
        raise_error=False,
    )
    assert complaint in json.dumps(answer, ensure_ascii=False)


def test_nothing_blocked_the_event_loop_and_nothing_left_the_machine(
    server: Server, indexed: dict[str, Any]
) -> None:
    # Read last: the log by now tells of all the runs above.
    assert "BlockingError" not in server.log and "Blocking call" not in server.log
    assert server.refused == ""
