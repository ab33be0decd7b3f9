"""A key and a password that must not be seen: whatever the server repeats, and by whatever door it comes."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adaptive_rag.context import Context, make_context
from adaptive_rag.conversation import Threads
from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.llm import exchange, structured
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.text import redaction
from tests.cli.conftest import Run
from tests.conftest import EVERY_STEP
from tests.echo_server import KEY, PASSWORD, EchoServer, echoing, forms_of

SECRETS = (*forms_of(KEY), *forms_of(PASSWORD), KEY[:-3], PASSWORD[:-2])
QUESTION = "How long is the sea wall of Saltmere?"
# What the server does with what it was sent: every way in which an echo can come back.
ECHOES = (
    "401",
    "header",
    "split reply",
    *(pytest.param(e, marks=pytest.mark.nightly) for e in ("500", "not json")),
)


@pytest.fixture(scope="module")
def server() -> Iterator[EchoServer]:
    with echoing() as server:
        yield server


@pytest.fixture
def address(server: EchoServer) -> str:
    return server.address


@pytest.fixture(params=ECHOES)
def echo(request: pytest.FixtureRequest, server: EchoServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(server, "fault", request.param)
    monkeypatch.setattr(exchange, "BACKOFF", 0.001)
    monkeypatch.setattr(structured, "_refused", {})
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return str(request.param)


def assert_hidden(what: str, *shown: object) -> None:
    for one in shown:
        text = one if isinstance(one, str) else repr(one)
        found = [secret for secret in SECRETS if secret in text]
        assert not found, f"{what} shows {found}: ...{text[max(0, text.index(found[0]) - 200) :][:400]}"


def assert_files_hidden(folder: Path) -> None:
    written = [file for file in folder.rglob("*") if file.is_file()]
    assert written
    for file in written:
        content = file.read_bytes()
        assert not [secret for secret in SECRETS if secret.encode() in content], file


def shown_of(error: BaseException) -> list[str]:
    return [str(error), repr(error), "".join(traceback.format_exception(error))]


@pytest.mark.few(2)
def test_no_door_of_the_program_shows_a_secret(
    echo: str, address: str, town: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "adaptive_rag")
    with Threads.open(tmp_path / "threads.sqlite") as threads:
        settings = {"models.base_url": address, **EVERY_STEP}
        rag = AdaptiveRAG(
            town, model="openai:m", checkpointer=threads.saver, cache=tmp_path / "cache.sqlite", **settings
        )
        assert_hidden("repr", repr(rag), str(rag.context), repr(rag.context), repr(rag.context.models))
        config = {"configurable": {"thread_id": "a", "models.base_url": address}}
        modes = ["updates", "custom"]
        doors = {
            "invoke": lambda: rag.invoke(QUESTION, config),
            "ainvoke": lambda: asyncio.run(_without_threads(rag).ainvoke(QUESTION)),
            "stream": lambda: list(rag.stream(QUESTION, config)),
            "updates": lambda: list(rag.stream(QUESTION, config, stream_mode=modes, subgraphs=True)),
        }
        ended = {}
        for name, door in doors.items():
            try:
                ended[name] = door()
            except AdaptiveRAGError as error:
                ended[name] = error
                assert_hidden(name, *shown_of(error))
            assert_hidden(name, ended[name])
        assert isinstance(ended["invoke"], AdaptiveRAGError) == (echo == "401")
        assert_hidden("history", list(rag.graph.get_state_history(config)))
    assert_hidden("log", *(f"{record.getMessage()} {record.args!r}" for record in caplog.records))
    assert any(record.name.startswith("adaptive_rag.") for record in caplog.records)
    assert_files_hidden(tmp_path)


def _without_threads(rag: AdaptiveRAG) -> AdaptiveRAG:
    """Return the same without its SQLite connections, which belong to one thread."""
    return AdaptiveRAG(**{**rag._settings})


@pytest.mark.few(2)
def test_the_shell_shows_no_secret(
    echo: str, address: str, run: Run, town_index: str, tmp_path: Path
) -> None:
    chosen = ("--set", f"models.base_url={address}", "--model", "openai:m", "--index", town_index)
    said = [
        run("ask", QUESTION, *chosen, "--trace", "-vv"),
        run("ask", QUESTION, *chosen, "--json"),
        run("doctor", *chosen),
        run("doctor", *chosen, "--json"),
        run("compare", QUESTION, *chosen, "--routes", "factual,opinion"),
        run("settings"),
        run("info", "--index", town_index),
    ]
    for result in said:
        assert_hidden("the shell", result.stdout, result.stderr)
    if echo not in ("not json", "header"):
        assert any("[redacted]" in result.stdout + result.stderr for result in said)


@pytest.mark.parametrize("echo", ["500"], indirect=True)
def test_an_evaluation_writes_no_secret(echo: str, address: str, run: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    texts = [{"_id": f"d{n}", "text": f"The sea wall of Saltmere has {n} gates."} for n in range(6)]
    (data / "corpus.jsonl").write_text("".join(f"{json.dumps(text)}\n" for text in texts))
    query = {"_id": "q", "text": QUESTION, "metadata": {"type": "factual"}}
    (data / "queries.jsonl").write_text(f"{json.dumps(query)}\n")
    (data / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\n")
    chosen = ("--model", "openai:m", "--set", f"models.base_url={address}", "--arms", "standard,adaptive")
    places = ("--out", tmp_path / "out", "--cache", tmp_path / "cache", "--markdown", tmp_path / "results.md")
    result = run("eval", data, *chosen, *places, "--answers")
    assert result.exit_code == 0, result.stderr
    assert_hidden("the shell", result.stdout, result.stderr)
    assert "[redacted]@127.0.0.1" in (tmp_path / "out" / "run.json").read_text()
    assert_files_hidden(tmp_path / "out")
    assert_hidden("the page", (tmp_path / "results.md").read_text())


@pytest.mark.parametrize(
    "wrong",
    [
        {"models": {"base_url": "ADDRESS", "unheard_of": 1}},
        {"models": {"base_urls": "ADDRESS"}},
        {"models": "ADDRESS"},
        {"route": ["ADDRESS"]},
        {"model": "nobody:m", "models": {"base_url": "ADDRESS"}},
        {"model": "openai:m", "models": {"base_url": "ftp ADDRESS"}},
    ],
    ids=["beside", "misspelt", "a-group", "a-list", "another-provider", "another-scheme"],
)
def test_a_wrong_setting_is_named_without_its_password(
    wrong: dict[str, Any], address: str, town: Any
) -> None:
    given = json.loads(json.dumps(wrong).replace("ADDRESS", address))
    with pytest.raises(AdaptiveRAGError) as told:
        AdaptiveRAG(town, **given).invoke(QUESTION)
    assert_hidden("the error", *shown_of(told.value))
    try:
        Context(**given)
    except (ValidationError, AdaptiveRAGError) as error:
        assert_hidden("the error", *shown_of(error))


def test_a_live_model_has_its_key_redacted_too(
    server: EchoServer, town: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_openai import ChatOpenAI

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(server, "fault", "500")
    monkeypatch.setattr(exchange, "BACKOFF", 0.001)
    redaction._remembered.clear()
    model = ChatOpenAI(model="m", api_key=KEY, base_url=server.address, max_retries=0)
    output = AdaptiveRAG(town, model=model).invoke(QUESTION)
    assert_hidden("the trace", output)
    assert "[redacted]" in str(output["trace"])


def test_what_embeds_may_fail_without_telling_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_core.embeddings import DeterministicFakeEmbedding

    from adaptive_rag.models.embeddings import embed_queries, encode

    class Failing(DeterministicFakeEmbedding):
        def embed_query(self, text: str) -> list[float]:
            raise RuntimeError(f"401: key {KEY} is refused")

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise RuntimeError(f"401: key {KEY} is refused")

    monkeypatch.setenv("COHERE_API_KEY", KEY)
    for embed in (encode, embed_queries):
        with pytest.raises(AdaptiveRAGError, match=r"key \[redacted\] is refused") as told:
            embed(Failing(size=4), ["one"])
        assert_hidden("the error", *shown_of(told.value))


def test_the_canaries_would_be_seen(address: str) -> None:
    """Guards the tests above: what they look for is found where nothing is redacted."""
    with pytest.raises(AssertionError, match="shows"):
        assert_hidden("an address", address)
    assert make_context({"models.base_url": address}).models.base_url == address
    assert os.environ.get("OPENAI_API_KEY") != KEY
