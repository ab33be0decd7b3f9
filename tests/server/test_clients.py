"""Real clients of OpenAI's API over real connections: answers, streams, cancelling, errors."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, OpenAI

from adaptive_rag.server.app import build_app
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import read_server_settings
from benchmarks.chat_server import Behaviour, ChatServer
from tests.server.conftest import add_samples, add_user
from tests.server.conftest import client_of as client_of_app
from tests.server.processes import listening, wait_for

TOKEN = "token-of-ada"
ASKED = "What is the highest water level ever recorded at Pellhythe?"
HANGING = "Why does HANG hang?"
ANSWER = "The highest level ever recorded at Pellhythe is 4.83 metres [1]."


@dataclass
class Place:
    """The running server, and the chat model that it asks."""

    url: str
    model: ChatServer

    def wait_until_free(self) -> None:
        """Wait until the server's one place is free, which a question that was left must give back."""
        wait_for(lambda: "adaptive_rag_questions_inside 0.0" in self.figures(), "the place is free", 10)

    def figures(self) -> str:
        base = self.url.removesuffix("/v1")
        return httpx.get(f"{base}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text


def behave(number: int, body: dict[str, Any]) -> Behaviour:
    return "hang midway" if "HANG" in json.dumps(body) else "answer"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, sample_index: Path) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("clients")
    settings = read_server_settings(data=folder / "data", workers=0, max_running=1, max_waiting=0)
    with client_of_app(build_app(settings, {})) as client:
        add_samples(client, sample_index)
        add_user(client, TOKEN, samples=Role.READER)
    with ChatServer(behave=behave, say=lambda body: ANSWER) as model:
        asked = {"model": "openai:scripted", "models": {"base_url": model.url}}
        with listening(build_app(settings, asked)) as url:
            yield Place(f"{url}/v1", model)


def asking(text: str = ASKED, **more: Any) -> dict[str, Any]:
    return {"model": "samples:factual", "messages": [{"role": "user", "content": text}], **more}


def client_of(place: Place, key: str = TOKEN, **options: Any) -> OpenAI:
    return OpenAI(base_url=place.url, api_key=key, **{"max_retries": 0, **options})


def test_openai_reads_models_answers_citations_and_usage(place: Place) -> None:
    with client_of(place) as client:
        assert "samples:factual" in [model.id for model in client.models.list()]
        assert client.models.retrieve("adaptive").owned_by == "adaptive-rag"
        answer = client.chat.completions.create(
            **asking(temperature=0, extra_body={"adaptive_rag": {"k": 3}})
        )
    message = answer.choices[0].message
    assert message.content == ANSWER
    assert message.annotations is not None
    citation = message.annotations[0].url_citation
    assert ANSWER[citation.start_index : citation.end_index] == "[1]"
    assert citation.title.endswith("climate_handbook.pdf")
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


def test_openai_streams(place: Place) -> None:
    with client_of(place) as client:
        chunks = list(
            client.chat.completions.create(**asking(stream=True, stream_options={"include_usage": True}))
        )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == ANSWER
    extra = [chunk.choices[0].delta.model_extra or {} for chunk in chunks if chunk.choices]
    assert [len(found["annotations"]) for found in extra if "annotations" in found] == [1]
    assert (chunks[-2].choices[0].finish_reason, chunks[-1].choices) == ("stop", [])
    assert chunks[-1].usage.total_tokens > 0


def test_openai_cancels_and_repeats_by_itself_what_had_no_place(place: Place) -> None:
    with client_of(place) as client:
        stream = client.chat.completions.create(**asking(HANGING, stream=True))
        first = next(
            chunk for chunk in stream if "reasoning_content" in (chunk.choices[0].delta.model_extra or {})
        )
        assert first.choices[0].finish_reason is None
        with pytest.raises(openai.RateLimitError) as refused:
            client.chat.completions.create(**asking())
        assert refused.value.response.headers["Retry-After"] == "5"
        assert refused.value.code == "rate_limit_exceeded"

        def leave_the_other(response: Any) -> None:
            if response.status_code == 429:
                stream.close()
                response.headers["Retry-After"] = "0.2"  # as said above, it is 5

        hooks = {"response": [leave_the_other]}
        with client_of(
            place, max_retries=2, http_client=openai.DefaultHttpxClient(event_hooks=hooks)
        ) as patient:
            answer = patient.chat.completions.with_raw_response.create(**asking())
            assert answer.retries_taken == 1
            assert answer.parse().choices[0].message.content == ANSWER
    assert [call.abandoned for call in place.model.calls if "HANG" in json.dumps(call.body)][-1]


async def test_openai_asks_streams_and_cancels_asynchronously(place: Place) -> None:
    async with AsyncOpenAI(base_url=place.url, api_key=TOKEN, max_retries=0) as client:
        answer = await client.chat.completions.create(**asking())
        assert answer.choices[0].message.content == ANSWER
        begun = asyncio.Event()

        async def read() -> None:
            async for _ in await client.chat.completions.create(**asking(HANGING, stream=True)):
                begun.set()

        reading = asyncio.create_task(read())
        await begun.wait()
        reading.cancel()
        await asyncio.wait({reading})
        await asyncio.to_thread(place.wait_until_free)
        texts = [
            chunk.choices[0].delta.content or ""
            async for chunk in await client.chat.completions.create(**asking(stream=True))
        ]
        assert "".join(texts) == ANSWER


@pytest.mark.parametrize(
    ("key", "changes", "kind", "code"),
    [
        ("wrong", {}, openai.AuthenticationError, "invalid_api_key"),
        (TOKEN, {"model": "nothing"}, openai.NotFoundError, "model_not_found"),
        (TOKEN, {"n": 2}, openai.BadRequestError, None),
        (TOKEN, {"extra_body": {"adaptive_rag": {"index": "/etc"}}}, openai.BadRequestError, None),
    ],
)
def test_openai_names_what_was_wrong(
    place: Place,
    key: str,
    changes: dict[str, Any],
    kind: type[openai.APIStatusError],
    code: str | None,
) -> None:
    with client_of(place, key) as client, pytest.raises(kind) as error:
        client.chat.completions.create(**{**asking(stream=True), **changes})
    assert (error.value.code, error.value.type) == (code, "invalid_request_error")


def test_langchain_asks_streams_cancels_and_sees_errors(place: Place) -> None:
    def chat(**options: Any) -> ChatOpenAI:
        given = {"model": "samples:factual", "base_url": place.url, "api_key": TOKEN, "max_retries": 0}
        return ChatOpenAI(**{**given, **options})

    answer = chat(extra_body={"adaptive_rag": {"k": 3}}).invoke(ASKED)
    assert answer.content == ANSWER
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["total_tokens"] > 0
    assert answer.response_metadata["finish_reason"] == "stop"
    chunks = list(chat(stream_usage=True).stream([("system", "Be brief."), ("human", ASKED)]))
    assert "".join(str(chunk.content) for chunk in chunks) == ANSWER
    assert sum(chunk.usage_metadata["total_tokens"] for chunk in chunks if chunk.usage_metadata) > 0
    with closing(chat().stream(HANGING)) as stream:
        next(stream)
    place.wait_until_free()
    with pytest.raises(openai.NotFoundError, match="no such model"):
        chat(model="nothing").invoke(ASKED)
    with pytest.raises(openai.BadRequestError, match="tools"):
        chat().bind_tools([{"type": "function", "function": {"name": "f", "parameters": {}}}]).invoke(ASKED)
