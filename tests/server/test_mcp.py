"""Agents' tools: by the protocol's own client, over HTTP and stdio, and what they keep from others."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from adaptive_rag import Index
from adaptive_rag.cli.app import app
from adaptive_rag.cli.mcp import _LocalReader
from adaptive_rag.server.app import build_app
from adaptive_rag.server.mcp_tools import Tools
from adaptive_rag.server.roles import Action, Role
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Collection
from tests.server.conftest import QUICK, Serve, add_samples, add_user, client_of
from tests.server.doors import JSON_RPC
from tests.server.processes import listening

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mcp.md").read_text("utf-8")
SECRET = "The canary of the vault sings at midnight."
QUESTION = "What is the highest water level ever recorded at Pellhythe?"
HIDDEN = "There is no such collection, or it is not open to you."
NO_DOCUMENT = "There is no such document, or it is not open to you."


@dataclass
class Served:
    """A server over real connections: ada may read the samples, and bob alone his vault."""

    url: str
    data: Path
    vault: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sample_index: Path) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "vault").mkdir()
    (folder / "vault" / "secret.md").write_text(f"# Vault\n\n{SECRET}\n")
    with chdir(folder):
        Index.build("vault", folder / "index")
    settings = read_server_settings(data=folder / "data", workers=0)
    with client_of(build_app(settings, QUICK)) as client:
        add_samples(client, sample_index)
        vault = add_samples(client, folder / "index", "vault")
        add_user(client, "ada", samples=Role.READER)
        add_user(client, "bob", vault=Role.READER)
    with listening(build_app(settings, QUICK)) as url:
        yield Served(f"{url}/mcp", folder / "data", vault.id)


@asynccontextmanager
async def agent_of(served: Served, token: str, mode: Any = "auto") -> AsyncIterator[Client]:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    async with http, Client(streamable_http_client(served.url, http_client=http), mode=mode) as client:
        yield client


async def test_an_agent_asks_searches_and_reads_what_is_open_to_it(served: Served) -> None:
    async with agent_of(served, "ada") as agent:
        tools = (await agent.list_tools()).tools
        assert {tool.name for tool in tools} == set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        assert all(tool.output_schema and tool.description for tool in tools)
        listed = (await agent.call_tool("list_collections", {})).structured_content
        assert [each["name"] for each in listed["collections"]] == ["samples"]

        asked = {"question": QUESTION, "settings": {"k": 3}}
        answer = (await agent.call_tool("ask", asked)).structured_content
        assert "[1]" in answer["answer"] and answer["route"] == "factual" and answer["why"]
        cited = answer["citations"][0]
        resource = (await agent.read_resource(cited["uri"])).contents[0]
        assert resource.text == cited["quote"]

        where = {"query": "water level", "limit": 2, "where": "kind = pdf"}
        passages = (await agent.call_tool("search", where)).structured_content["passages"]
        assert len(passages) <= 2 and passages[0]["scores"] and passages[0]["place"].startswith("page")
        span = {"document": passages[0]["document"], "start": passages[0]["start"], "end": passages[0]["end"]}
        part = (await agent.call_tool("read_document", span)).structured_content
        assert part["text"] == passages[0]["text"]
        whole = (await agent.call_tool("read_document", {"document": span["document"]})).structured_content
        assert whole["end"] == 20_000 < whole["length"]


async def test_an_agent_of_the_older_protocol_is_answered(served: Served) -> None:
    async with agent_of(served, "ada", mode="legacy") as agent:
        found = await agent.call_tool("search", {"query": "storm", "limit": 1})
        assert len(found.structured_content["passages"]) == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ask", {"question": "What sings at midnight?"}),
        ("search", {"query": "What sings at midnight?"}),
        ("read_document", {"document": "vault/secret.md"}),
        ("list_documents", {}),
    ],
)
async def test_another_s_collection_reads_like_one_that_is_not_there(
    served: Served, tool: str, arguments: dict[str, Any]
) -> None:
    named = ["vault", "nowhere", served.vault, "../vault", "samples/../vault", "%76ault", "vault' or '1'='1"]
    async with agent_of(served, "ada") as agent:
        for name in named:
            refused = await agent.call_tool(tool, {**arguments, "collection": name})
            assert (refused.is_error, refused.content[0].text) == (True, HIDDEN), name
    async with agent_of(served, "bob") as agent:
        allowed = await agent.call_tool(tool, {**arguments, "collection": "vault"})
        assert not allowed.is_error


async def test_no_resource_leads_to_another_s_text_or_to_a_file(served: Served) -> None:
    index = served.data / "collections" / served.vault / "index"
    hostile = [
        "vault/secret.md", "vault/vault%2Fsecret.md", "samples/vault%2Fsecret.md",
        f"{served.vault}/secret.md", "samples/secret.md",
        "samples/../vault/secret.md", "samples/..%2Fvault%2Fsecret.md", "samples/%2E%2E%2Fsecret.md",
        "samples%2F..%2Fvault/secret.md", "samples/..%5C..%5Csecret.md", "samples/%2Fetc%2Fpasswd",
        "samples/secret.md%00", "samples/%252E%252E%252Fsecret.md", "samples/~%2Fsecret.md",
        f"samples/{str(index).replace('/', '%2F')}", "samples/file%3A%2F%2F%2Fetc%2Fpasswd",
        "samples/x?start=abc", "samples/x?start=-1&end=-5", f"samples/x?end={'9' * 5000}",
        f"samples/x?start={'9' * 5000}",
    ]  # fmt: skip
    async with agent_of(served, "ada") as agent:
        for path in [*(f"adaptive-rag://passages/{path}" for path in hostile), "file:///etc/passwd"]:
            with pytest.raises(MCPError) as refused:
                await agent.read_resource(path)
            said = str(refused.value).replace(path, "")
            assert SECRET not in said and str(served.data) not in said and "Traceback" not in said, path


async def test_wrong_arguments_are_told_in_words(served: Served) -> None:
    async with agent_of(served, "ada") as agent:
        for tool, arguments, said in [
            ("search", {"query": "x", "limit": 5000}, "limit: must be less than or equal to 100"),
            ("ask", {"question": " "}, "question: must not be empty"),
            ("ask", {"question": "x", "way": 1}, "way: "),
            ("read_document", {"document": "nothing.md"}, NO_DOCUMENT),
            ("read_document", {"document": "../../server.sqlite"}, NO_DOCUMENT),
        ]:
            refused = await agent.call_tool(tool, arguments)
            assert refused.is_error and said in refused.content[0].text
            assert "pydantic" not in refused.content[0].text


async def test_callers_at_the_same_time_see_each_their_own(served: Served) -> None:
    async with agent_of(served, "ada") as ada, agent_of(served, "bob") as bob:
        asked = [agent.call_tool("list_collections", {}) for _ in range(10) for agent in (ada, bob)]
        listed = [answer.structured_content["collections"] for answer in await asyncio.gather(*asked)]
    assert [[each["name"] for each in one] for one in listed] == [["samples"], ["vault"]] * 10


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer nobody"}, 401),
        ({"Authorization": "Bearer ada", "Origin": "http://other.example"}, 403),
        ({"Authorization": "Bearer ada", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Authorization": "Bearer ada", "Host": "other.example"}, 400),
        ({"Authorization": "Bearer ada"}, 200),
    ],
)
def test_who_has_no_token_or_comes_from_another_page_sees_nothing(
    served: Served, headers: dict[str, str], status: int
) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answered = httpx2.post(served.url, json=request, headers={**JSON_RPC, **headers})
    assert answered.status_code == status
    assert ("read_document" in answered.text) == (status == 200)


def call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool of a server in this process, and return its result."""
    params = {"name": tool, "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answered = client.post("/mcp", json=request, headers=JSON_RPC)
    result: dict[str, Any] = json.loads(re.findall(r"^data: (.*)$", answered.text, re.M)[-1])["result"]
    return result


def test_the_rate_and_the_gate_hold_for_agents(serve_samples: Serve) -> None:
    with serve_samples(rate="2/minute") as client:
        client.app.state.services.answering.gate.in_progress = 10_000
        assert "as many questions as it can" in call(client, "ask", question=QUESTION)["content"][0]["text"]
        client.app.state.services.answering.gate.in_progress = 0
        assert not call(client, "search", query=QUESTION)["isError"]
        refused = call(client, "search", query=QUESTION)
        assert refused["isError"] and "Too many attempts" in refused["content"][0]["text"]
        assert not call(client, "list_documents")["isError"]


def test_the_only_collection_is_the_only_one_in_which_the_tool_is_allowed(
    serve_samples: Serve, sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Role.WRITER, "actions", frozenset({Action.SEE, Action.READ}))
    with serve_samples() as client:
        add_samples(client, sample_index, "other")
        ada = add_user(client, "ada", samples=Role.READER, other=Role.WRITER)
        assert call(ada, "ask", question=QUESTION)["structuredContent"]["collection"] == "samples"
        assert "Name a collection" in call(ada, "search", query=QUESTION)["content"][0]["text"]
        listed = call(ada, "list_collections")["structuredContent"]["collections"]
        assert [row["name"] for row in listed] == ["other", "samples"]


def test_a_failure_of_the_server_is_told_without_its_reason(
    serve_samples: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("/the/path/of/the/index is broken")

    monkeypatch.setattr("adaptive_rag.server.mcp_tools.read_chunks", fail)
    with serve_samples() as client:
        name = call(client, "list_documents")["structuredContent"]["documents"][0]["document"]
        refused = call(client, "read_document", document=name)
        assert refused["isError"] and "reference" in refused["content"][0]["text"]
        assert "/the/path" not in json.dumps(refused)
        assert "/the/path" in caplog.text


def test_a_deleted_document_is_gone_before_its_index_is(fresh: TestClient, sample_index: Path) -> None:
    row = add_samples(fresh, sample_index)
    (found, *_) = call(fresh, "search", query=QUESTION, limit=1)["structuredContent"]["passages"]
    with Session(fresh.app.state.services.engine) as db:
        db.get_one(Collection, row.id).hidden = [found["document"]]
        db.commit()
    after = call(fresh, "search", query=QUESTION, limit=20)["structuredContent"]["passages"]
    assert after and found["document"] not in {each["document"] for each in after}
    listed = call(fresh, "list_documents")["structuredContent"]["documents"]
    assert listed and found["document"] not in {each["document"] for each in listed}
    assert call(fresh, "read_document", document=found["document"])["content"][0]["text"] == NO_DOCUMENT


def test_a_search_finds_as_many_as_the_operator_allows_at_most(serve_samples: Serve) -> None:
    with serve_samples({"serving.max_k": 2}) as client:
        for limit in ({}, {"limit": 100}):
            found = call(client, "search", query=QUESTION, **limit)["structuredContent"]["passages"]
            assert 1 <= len(found) <= 2


async def test_the_documents_of_an_index_of_shards_are_listed_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {f"{number}.md": f"# Quay {number}\n\nQuay {number} is long.\n" for number in range(4)}
    Path("quays").mkdir()
    for name, text in texts.items():
        Path("quays", name).write_text(text)
    Index.build("quays", "index", shards=2)
    reader = _LocalReader({"index": "index"}, "")
    tools = Tools(lambda: reader)
    listed = await tools.list_documents()
    assert [each.document for each in listed.documents] == [f"quays/{name}" for name in texts]
    for name in texts:
        assert f"Quay {name[0]} is long." in (await tools.read_document(f"quays/{name}")).text


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


@pytest.mark.nightly
async def test_the_page_s_configuration_starts_the_tools_over_stdio(
    sample_index: Path, tmp_path: Path
) -> None:
    host = json.loads(snippets("json")[0])["mcpServers"]["documents"]
    arguments = [argument.replace("/path/to/index", str(sample_index)) for argument in host["args"]]
    assert host["command"] == "adaptive-rag"
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "adaptive_rag", *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
    )
    async with Client(started) as agent:
        (own,) = (await agent.call_tool("list_collections", {})).structured_content["collections"]
        assert own["description"] == "The handbook of our harbour" and own["documents"] > 3
        answer = (await agent.call_tool("ask", {"question": QUESTION})).structured_content
        assert (await agent.read_resource(answer["citations"][0]["uri"])).contents[0].text
        for document in ("/etc/passwd", "../../../etc/passwd"):
            refused = await agent.call_tool("read_document", {"document": document})
            assert (refused.is_error, refused.content[0].text) == (True, NO_DOCUMENT)
        refused = await agent.call_tool("ask", {"question": "x", "settings": {"index": "/etc"}})
        assert refused.is_error and "cannot be set" in refused.content[0].text


def test_without_an_index_the_tools_say_so_where_a_person_reads_it(tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["mcp", "--index", str(tmp_path / "none")])
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "adaptive-rag index" in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_the_tools_while_standard_input_is_open(sample_index: Path) -> None:
    command = [sys.executable, "-m", "adaptive_rag", "mcp", "--index", str(sample_index)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT


def test_the_page_s_address_and_header_reach_a_server(served: Served) -> None:
    host = json.loads(snippets("json")[1])["servers"]["documents"]
    assert (host["type"], httpx2.URL(host["url"]).path) == ("http", "/mcp")
    headers = {name: value.replace("${input:token}", "ada") for name, value in host["headers"].items()}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert httpx2.post(served.url, json=request, headers={**JSON_RPC, **headers}).status_code == 200


def test_the_page_s_program_runs(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = snippets("python")
    program = program.replace("http://127.0.0.1:8080/mcp", served.url).replace("TOKEN", "ada")
    exec(compile(program, "docs/mcp.md", "exec"), {"__name__": "page"})
    assert "metres" in capsys.readouterr().out
