"""What the steps log: a line each at INFO, scores at DEBUG, never a key or a passage's text."""

import asyncio
import logging
import re
from typing import Any

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.testing import ScriptedChatModel
from tests.conftest import TOWN

LONG = "How long is the sea wall of Saltmere?"
KEY = "sk-very-secret-0123456789"


def lines(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[tuple[str, str]]:
    return [(record.name, record.getMessage()) for record in caplog.records if record.levelno == level]


@pytest.mark.parametrize("path", ["sync", "async"])
@pytest.mark.parametrize("route", ["factual", "analytical", "opinion", "contextual"])
def test_every_record_of_the_trace_is_one_line(
    town: MemoryIndex, caplog: pytest.LogCaptureFixture, route: str, path: str
) -> None:
    rag = AdaptiveRAG(town, route=route, model=ScriptedChatModel())
    with caplog.at_level(logging.INFO, "adaptive_rag"):
        output = rag.invoke(LONG) if path == "sync" else asyncio.run(rag.ainvoke(LONG))
    logged = lines(caplog)
    assert sorted(name for name, _ in logged) == sorted(f"adaptive_rag.{r['step']}" for r in output["trace"])
    assert all("\n" not in text and re.match(r"\d+\.\d ms", text) for _, text in logged)
    assert lines(caplog, logging.DEBUG) == []


def test_a_line_says_what_the_step_did(town: MemoryIndex, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "adaptive_rag"):
        AdaptiveRAG(town, model=ScriptedChatModel()).invoke(LONG)
    logged = dict(lines(caplog))
    assert f'question "{LONG}"' in logged["adaptive_rag.classify"]
    assert "type factual" in logged["adaptive_rag.classify"]
    assert f'1 query: "{LONG}"' in logged["adaptive_rag.retrieve"]
    assert f"{len(TOWN)} candidates" in logged["adaptive_rag.retrieve"]
    assert "passages kept" in logged["adaptive_rag.rerank"]
    assert "1 model call" in logged["adaptive_rag.generate"]


def test_what_was_done_locally_and_the_hedge_are_named(
    town: MemoryIndex, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "adaptive_rag"):
        output = AdaptiveRAG(town).invoke("wall")
    logged = dict(lines(caplog))
    assert "done locally: generate" in logged["adaptive_rag.generate"]
    assert output["analysis"]["alternatives"]
    assert f"{len(output['documents'])} passages kept · hedge" in logged["adaptive_rag.fuse"]


def test_scores_are_logged_at_debug_with_the_ids(town: MemoryIndex, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "adaptive_rag"):
        output = AdaptiveRAG(town).invoke(LONG)
    scored = [text for name, text in lines(caplog, logging.DEBUG) if name == "adaptive_rag.retrieve"]
    best = max(output["trace"][2]["candidates"], key=lambda found: found["scores"]["fused"])
    assert any(text.startswith(f"{best['id']}: ") and "dense 0." in text for text in scored)
    assert len(scored) == 10


@pytest.mark.few(3)
@pytest.mark.parametrize("route", ["factual", "analytical", "opinion", "contextual", None])
def test_no_key_and_no_text_of_a_passage_is_ever_logged(
    town: MemoryIndex, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, route: str | None
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def script(step: str, messages: Any) -> Any:
        # A provider's error that quotes the key, and drafts that quote passages and make things up.
        if step in ("enhance", "score", "viewpoints"):
            return ValueError(f"Incorrect API key provided: {KEY}")
        return (
            f"{TOWN[1]} [1] {TOWN[2]} [2] The mayor of Saltmere is a heron. [1]"
            if step == "generate"
            else None
        )

    with caplog.at_level(logging.DEBUG, "adaptive_rag"):
        AdaptiveRAG(town, route=route, model=ScriptedChatModel(script=script)).invoke("wall? " + "long " * 60)
        AdaptiveRAG(town, route=route, model=ScriptedChatModel(script=script)).invoke(LONG)
    logged = "\n".join(text for level in (logging.INFO, logging.DEBUG) for _, text in lines(caplog, level))
    assert "generate" in str(caplog.records) and KEY not in logged and "secret" not in logged
    for sentence in (part for text in TOWN for part in text.split(". ")):
        assert sentence not in logged
    assert "heron" not in logged
    quoted = re.findall(r'"([^"]*)"', logged)
    assert max(map(len, quoted)) == 80, "a long question is cut"


def test_nothing_in_a_line_imitates_another_or_controls_a_terminal(caplog: pytest.LogCaptureFixture) -> None:
    hostile = MemoryIndex.from_texts(TOWN, source="a\nERROR forged\x1b[2J.txt")
    with caplog.at_level(logging.DEBUG, "adaptive_rag"):
        AdaptiveRAG(hostile).invoke("How long is the \x1b[31msea wall\u202e of Saltmere?")
    logged = [text for level in (logging.INFO, logging.DEBUG) for _, text in lines(caplog, level)]
    assert any("sea wall" in text for text in logged) and any("ERROR forged" in text for text in logged)
    assert all(text.isprintable() for text in logged)


def test_the_library_itself_writes_nowhere() -> None:
    [handler] = logging.getLogger("adaptive_rag").handlers
    assert isinstance(handler, logging.NullHandler)
    assert logging.getLogger("adaptive_rag").level == logging.NOTSET
