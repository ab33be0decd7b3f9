"""OpenAI's form of the API: models, answers, streams and refusals, without a client's library."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from adaptive_rag.server.roles import Role
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve, add_samples, add_user, work

URL = "/v1/chat/completions"
ASKED = "What is the highest water level ever recorded at Pellhythe?"
DRAFT = "The highest level ever recorded at Pellhythe is 4.83 metres [1]."


def chat(*texts: str, model: str = "samples", **more: Any) -> dict[str, Any]:
    """Return a request whose messages are the user's and the assistant's in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts or [ASKED])]
    return {"model": model, "messages": messages, **more}


def chunks_of(client: TestClient, asked: dict[str, Any]) -> list[Any]:
    lines = client.post(URL, json={**asked, "stream": True}).text.splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert data.pop() == "[DONE]"
    return [json.loads(line) for line in data]


def test_models_are_collections_and_their_routes(client: TestClient, sample_index: Path) -> None:
    listed = client.get("/v1/models").json()["data"]
    names = [model["id"] for model in listed]
    assert names[:2] == ["adaptive", "factual"]
    assert {"samples", "samples:factual", "samples:opinion"} <= set(names)
    for model in listed:
        assert client.get(f"/v1/models/{model['id']}").json() == model
    add_samples(client, sample_index, "factual")
    names = [model["id"] for model in client.get("/v1/models").json()["data"]]
    assert "adaptive" not in names
    assert {"samples", "factual", "factual:factual"} <= set(names)
    add_samples(client, sample_index, "default")
    # A collection's own name goes before that of a route.
    factual = client.get("/v1/models/factual").json()
    assert client.post(URL, json=chat(model="adaptive")).status_code == 200
    assert factual in client.get("/v1/models").json()["data"]


def test_a_model_that_is_not_open_reads_like_one_that_is_not_there(
    fresh: TestClient, sample_index: Path
) -> None:
    for name in ("open", "secret"):
        add_samples(fresh, sample_index, name)
    ada = add_user(fresh, "ada", open=Role.READER)
    named = [model["id"] for model in ada.get("/v1/models").json()["data"]]
    assert named == [
        "adaptive", "factual", "analytical", "opinion", "contextual",
        "open", "open:factual", "open:analytical", "open:opinion", "open:contextual",
    ]  # fmt: skip
    missing = {ada.get("/v1/models/nothing").text, ada.post(URL, json=chat(model="nothing")).text}
    for name in ("secret", "secret:factual", "open:nothing", "open:", "nothing:factual", "adaptive:factual"):
        refused = ada.post(URL, json=chat(model=name))
        assert refused.status_code == 404
        assert {ada.get(f"/v1/models/{name}").text, refused.text} == missing
    assert json.loads(missing.pop())["error"]["code"] == "model_not_found"
    assert ada.post(URL, json=chat(model="adaptive")).status_code == 200


def test_an_answer_marks_its_citations(reading: TestClient) -> None:
    answer = reading.post(URL, json=chat(model="samples:factual", adaptive_rag={"k": 3})).json()
    message = answer["choices"][0]["message"]
    [annotation] = message["annotations"]
    citation = annotation["url_citation"]
    assert message["content"][citation["start_index"] : citation["end_index"]] == "[1]"
    assert citation["title"].endswith("climate_handbook.pdf")
    assert "4.83 metres" in citation["quote"]
    assert citation["url"].startswith("http://localhost/api/v1/collections/samples/")
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert 0.5 < answer["adaptive_rag"].pop("confidence") <= 1
    quality = {"grounding": 1.0, "outcome": "answer", "abstained": False, "unsupported": []}
    assert answer["adaptive_rag"] == {"query_type": "factual", **quality}
    assert answer["usage"]["counted_by"] == "embedded tokenizer"
    assert answer["usage"]["total_tokens"] > answer["usage"]["completion_tokens"] > 10


def test_a_citation_leads_to_its_document(serve: Serve) -> None:
    text = "The sea wall of Saltmere is 2,340 metres long."
    with serve(collection="coast") as client:
        client.post("/api/v1/collections/coast/documents", files={"files": ("walls/saltmere.md", text)})
        work(client)
        asked = chat("How long is the sea wall of Saltmere?", model="coast")
        [annotation] = client.post(URL, json=asked).json()["choices"][0]["message"]["annotations"]
        citation = annotation["url_citation"]
        assert citation["title"] == "walls/saltmere.md"
        assert client.get(citation["url"]).text == text


def test_unsupported_sentences_are_listed_unless_quotes_replaced_them(serve: Serve) -> None:
    wall, wrong = "The sea wall of Saltmere is 2,340 metres long", "It was built by 900 monks in 1412."
    drafts = {f"{wall} [1]. {wrong}": (0.5, [wrong]), "Bananas ripen faster in a warm kitchen.": (1.0, [])}
    model = ScriptedChatModel(script={"generate": list(drafts)})
    with serve({"model": model}, collection="coast") as client:
        client.post("/api/v1/collections/coast/documents", files={"files": ("coast.md", f"{wall}.")})
        work(client)
        for share, sentences in drafts.values():
            asked = chat("How long is the sea wall of Saltmere?", model="coast:factual")
            shown = client.post(URL, json=asked).json()["adaptive_rag"]
            assert (shown["grounding"], shown["unsupported"]) == (share, sentences)


def test_each_marker_has_the_quote_of_its_own_sentence(serve: Serve) -> None:
    wall, ferry = "The sea wall of Saltmere is 2,340 metres long", "The ferry to Grauholm leaves at 7:45"
    model = ScriptedChatModel(script={"generate": f"{wall} [1]. {ferry} [1]."})
    with serve({"model": model}, collection="coast") as client:
        text = f"# Saltmere\n\n{wall}. {ferry}."
        client.post("/api/v1/collections/coast/documents", files={"files": ("coast.md", text)})
        work(client)
        asked = chat("How long is the sea wall, and when does the ferry leave?", model="coast:factual")
        message = client.post(URL, json=asked).json()["choices"][0]["message"]
    cited = [annotation["url_citation"] for annotation in message["annotations"]]
    assert [each["quote"] for each in cited] == [f"{wall}.", f"{ferry}."]
    assert {message["content"][each["start_index"] : each["end_index"]] for each in cited} == {"[1]"}


def test_what_is_null_is_not_set_and_a_long_turn_is_read(serve_samples: Serve) -> None:
    nulls: dict[str, Any] = {"route": None, "k": None, "retrieval.alpha": None, "user_context": None}
    with serve_samples({"serving.max_characters": 200_000}) as client:
        for own in (None, nulls):
            answer = client.post(URL, json=chat(model="samples:factual", adaptive_rag=own)).json()
            assert answer["adaptive_rag"]["query_type"] == "factual"
        long = chat("What about storms?", "x" * 150_000, ASKED)
        assert client.post(URL, json=long).status_code == 200
        turns = [{"role": "agent", "text": "x" * 250_000}]
        asked = {"question": ASKED, "history": turns}
        refused = client.post("/api/v1/collections/samples/ask", json=asked)
        assert refused.status_code == 422 and "serving.max_characters" in refused.json()["detail"]


def test_a_stream_brings_the_draft_then_the_answer_its_citations_and_its_usage(serve_samples: Serve) -> None:
    model = ScriptedChatModel(script={"generate": DRAFT})
    with serve_samples({"model": model}) as client:
        asked = chat(model="samples:factual")
        whole = client.post(URL, json=asked).json()
        *chunks, last = chunks_of(client, {**asked, "stream_options": {"include_usage": True}})
    message = whole["choices"][0]["message"]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == DRAFT
    assert "".join(delta.get("content", "") for delta in deltas) == message["content"] == DRAFT
    assert [delta["annotations"] for delta in deltas if "annotations" in delta] == [message["annotations"]]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[-2:]] == [None, "stop"]
    assert chunks[-1]["adaptive_rag"] == whole["adaptive_rag"]
    assert (last["choices"], last["usage"]) == ([], whole["usage"])
    assert last["usage"]["counted_by"] == "chat model"
    assert len({chunk["id"] for chunk in [*chunks, last]}) == 1


def test_a_conversation_leads_to_its_question(client: TestClient) -> None:
    asked = chat(ASKED, "The highest level is 4.83 metres.", "When was that?")
    asked["messages"].insert(0, {"role": "system", "content": "You are a pirate."})
    asked["messages"][-1]["content"] = [{"type": "text", "text": "When was that?"}]
    harmless = {"temperature": 0.2, "max_tokens": 5, "seed": 1, "user": "ada", "n": 1, "stop": None,
                "tools": [], "response_format": {"type": "text"}}  # fmt: skip
    answer = client.post(URL, json=asked | harmless).json()["choices"][0]["message"]["content"]
    assert "14 January 2015" in answer
    long = [text for turn in range(150) for text in (f"What about {turn}?", "x" * 1000)]
    usage = client.post(URL, json=chat(*long, ASKED)).json()["usage"]
    assert 100 < usage["prompt_tokens"] < 400  # of the newest 100 turns, which are read


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("changes", "param", "said"),
    [
        ({"tools": [{"type": "function"}]}, "tools", "does not support"),
        ({"n": 2}, "n", "may be 1"),
        ({"response_format": {"type": "json_schema"}}, "response_format", "'text'"),
        ({"stop": ["."]}, "stop", "does not support"),
        ({"messages": []}, "messages", "messages: must have at least 1 item."),
        ({"messages": [{"role": "assistant", "content": "Yes."}]}, "messages", "messages: the last message"),
        ({"messages": [{"role": "user", "content": "x" * 20_001}]}, "messages", "20,001"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "messages.0.content", "unicode"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role", "'assistant'"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages.0.content", "'image_url'",
        ),
        ({"adaptive_rag": {"model": "openai:x"}}, None, "'model'"),
        ({"model": "samples:factual", "adaptive_rag": {"route": "opinion"}}, None, "route"),
    ],
)  # fmt: skip
def test_what_would_change_the_answers_meaning_is_refused_in_words(
    client: TestClient, changes: dict[str, Any], param: str | None, said: str
) -> None:
    for stream in (False, True):
        body = json.dumps({**chat(), **changes, "stream": stream})
        refused = client.post(URL, content=body, headers={"Content-Type": "application/json"})
        error = refused.json()["error"]
        assert (refused.status_code, error["type"]) == (400, "invalid_request_error")
        assert (error["param"], said in error["message"]) == (param, True), error


def test_every_refusal_has_the_form_of_that_api(serve: Serve, sample_index: Path) -> None:
    with serve(max_running=1, max_waiting=0, collection="empty") as client:
        add_samples(client, sample_index)
        stranger = add_user(client, "ada", samples=Role.READER)
        del stranger.headers["Authorization"]
        ada = add_user(client, "bob", empty=Role.READER, samples=Role.READER)
        client.app.state.services.answering.gate.in_progress = 1
        answers = {
            401: stranger.post(URL, json=chat()),
            400: ada.post(URL, json=chat(model="empty")),
            404: ada.get("/v1/embeddings"),
            405: ada.put("/v1/models"),
            413: ada.post(URL, json=chat("x" * 4_000_001)),
            429: ada.post(URL, json=chat()),
        }
        codes = {}
        for status, answer in answers.items():
            assert answer.status_code == status
            assert answer.headers["Content-Type"] == "application/json"
            assert set(answer.json()) == {"error"}
            assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
            codes[status] = answer.json()["error"]["code"]
        assert (codes[401], codes[404], codes[429]) == (
            "invalid_api_key",
            "unknown_url",
            "rate_limit_exceeded",
        )
        assert answers[429].headers["Retry-After"] == "5"
        assert answers[401].headers["WWW-Authenticate"] == "Bearer"
        assert client.get("/api/v1/nothing").json()["status"] == 404


def test_what_takes_too_long_is_not_repeated_by_clients(serve_samples: Serve) -> None:
    model = ScriptedChatModel(script={"generate": DRAFT}, seconds=5)
    with serve_samples({"model": model}, max_seconds=0.3) as client:
        late = client.post(URL, json=chat())
        assert (late.status_code, late.headers["X-Should-Retry"]) == (504, "false")
        lines = client.post(URL, json=chat(stream=True)).text.strip().split("\n\n")
        assert json.loads(lines[-1].removeprefix("data: "))["error"]["type"] == "server_error"
