"""Checkpoints that somebody else wrote call nothing, wherever they are read."""

import asyncio
import pickle
import time
from pathlib import Path
from typing import Any

import httpx
import ormsgpack
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from adaptive_rag.conversation import Threads
from adaptive_rag.index import Index
from adaptive_rag.server.conversations import open_conversations
from adaptive_rag.server.database import open_database
from adaptive_rag.server.settings import read_server_settings
from tests.served import served

PLACE: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class Hostile(JsonPlusSerializer):
    """Writes a call of a function of `os` where a checkpoint belongs."""

    def __init__(self, code: int, folder: Path, function: str = "mkdir") -> None:
        super().__init__()
        given: Any = str(folder) if code == 0 else [str(folder)] if code == 1 else {"path": str(folder)}
        self.call = ormsgpack.Ext(code, ormsgpack.packb(("os", function, given)))

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "msgpack", ormsgpack.packb({**empty_checkpoint(), "channel_values": {"x": self.call}})


# LangGraph's codes for a call with one argument, with positions, with names; for models of pydantic 1 and 2.
CODES = (0, 1, 2, 4, 5)


def test_a_hostile_checkpoint_of_the_servers_calls_nothing(tmp_path: Path) -> None:
    settings = read_server_settings(data=tmp_path / "data")

    async def read() -> None:
        async with open_conversations(settings, open_database(settings)) as conversations:
            saver, strict = conversations.saver, conversations.saver.serde
            for code in CODES:
                saver.serde = Hostile(code, tmp_path / "made")
                await saver.aput(PLACE, empty_checkpoint(), {}, {})
                saver.serde = strict
                assert await saver.aget_tuple(PLACE) is not None
                assert not (tmp_path / "made").exists(), code

    asyncio.run(read())


def test_a_hostile_checkpoint_of_the_shells_calls_nothing(tmp_path: Path) -> None:
    with Threads.open(tmp_path / "conversations.sqlite") as threads:
        strict = threads.saver.serde
        for code in CODES:
            threads.saver.serde = Hostile(code, tmp_path / "made")
            threads.saver.put(PLACE, empty_checkpoint(), {}, {})
            threads.saver.serde = strict
            assert threads.saver.get_tuple(PLACE) is not None
            assert not (tmp_path / "made").exists(), code


@pytest.mark.nightly
@pytest.mark.slow
def test_a_hostile_checkpoint_of_the_development_server_calls_nothing(tmp_path: Path) -> None:
    made, documents = tmp_path / "made", tmp_path / "documents"
    documents.mkdir()
    (documents / "saltmere.md").write_text("# Saltmere\n\nThe sea wall of Saltmere is 2,340 metres long.\n")
    Index.build(str(documents), tmp_path / "kb")
    settings = {"ADAPTIVE_RAG_INDEX": str(tmp_path / "kb")}
    ask = {"assistant_id": "adaptive_rag", "input": {"question": "How long is the sea wall of Saltmere?"}}
    kept = tmp_path / "app" / ".langgraph_api"
    with served(tmp_path, settings) as server:
        thread = httpx.post(f"{server.url}/threads", json={}).json()["thread_id"]
        runs = f"/threads/{thread}/runs/wait"
        assert "2,340" in httpx.post(server.url + runs, json=ask, timeout=60).text
        # It writes what it keeps every ten seconds.
        files: list[Path] = []
        for _ in range(60):
            files = [file for file in kept.glob(".langgraph_checkpoint.*") if thread in str(_load(file))]
            if len(files) == 3 and not list(kept.glob("*.tmp")):
                break
            time.sleep(0.5)
    changed = 0
    for file in files:
        content = _load(file)
        for place in content:
            if "messages" in place:  # by thread, namespace, channel and version: what the channel held
                # LangGraph's server refuses calls that wait for the disk, such as `mkdir`, but not this one.
                call = Hostile(1, made, "mkfifo").call
                content[place] = (
                    "msgpack",
                    ormsgpack.packb({"role": "user", "content": "Hello.", "id": call}),
                )
                changed += 1
        file.write_bytes(pickle.dumps(content))
    assert changed
    with served(tmp_path, settings) as server:
        httpx.post(server.url + runs, json=ask, timeout=60)
    assert not made.exists()


def _load(file: Path) -> Any:
    return pickle.loads(file.read_bytes())
