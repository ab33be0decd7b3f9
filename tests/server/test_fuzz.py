"""Requests made from the server's own OpenAPI document, right ones and wrong ones: no fault, no secret."""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from httpx2 import Response
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import APIOperation

from adaptive_rag.context.caller import ALLOWED
from tests.server.team import API, Team, open_team

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "1"))  # of each operation; `make fuzz-server` tries more
HOSTILE: tuple[Any, ...] = (
    "../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "http://169.254.169.254/latest", "\x00",
    "\ud800", "${OPENAI_API_KEY}", "{{config}}", "' or '1'='1", "%s%n", "\u202e\u200b", "a" * 100000, "", " ",
    None, True, -1, 2 ** 63, 1e+308, [], {}, [[]], {"$ref": "#"}, {"__proto__": {}}, ["../x"] * 500,
)  # fmt: skip
# Beyond those of the document: what an operator sets, and only they.
FOREIGN = {
    "index": "/etc",
    "model": "openai:gpt",
    "models": {"base_url": "http://127.0.0.1:9"},
    "user_id": "ada",
    "cache": "/",
    "embeddings": "openai:x",
    "prompts": {"answer": "x"},
    "recipe": "/etc/passwd",
    "configurable": {"thread_id": "x"},
}
RIGHT = {
    "question": "When does the ferry leave?", "name": "x", "password": "a long password", "role": "reader",
    "model": "pier", "messages": [{"role": "user", "content": "When does the ferry leave?"}], "title": "x",
    "route": "factual", "current": "x", "new": "a long password", "address": "https://example.org/",
    "text": "x",
}  # fmt: skip
Operation = APIOperation[Any, Any, Any]


@pytest.fixture(autouse=True)
def without_a_log() -> Iterator[None]:
    """Log nothing: there are thousands of requests."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """Serve a team. What asks does so as its admin, to whom every door is open."""
    with open_team(tmp_path_factory.mktemp("fuzz")) as team:
        yield team


@pytest.fixture(scope="module")
def operations(team: Team) -> list[Operation]:
    """Read the OpenAPI document."""
    schema = schemathesis.openapi.from_dict(team.server.get("/api/openapi.json").json())
    return [found.ok() for found in schema.get_all_operations()]


def check(team: Team, operation: Operation, answer: Response) -> None:
    """Hold an answer to what the document says, and to what nobody may read."""
    said = operation.definition.raw["responses"]
    assert answer.status_code < 500 or operation.path == "/readyz", (answer.request.url, answer.text)
    assert {str(answer.status_code), "default"} & said.keys(), (
        operation.label,
        answer.status_code,
        answer.text,
    )
    data = str(team.server.app.state.services.settings.data)
    sent = str(answer.request.url) + answer.request.content.decode("utf-8", "replace")
    for secret in (data, "site-packages", "Traceback", "sqlalchemy", "root:x:0"):
        assert secret not in answer.text or secret in sent, (operation.label, answer.text)


def known(team: Team, operation: Operation) -> dict[str, Any]:
    """Return values for a path under which something is there; what would delete it gets none."""
    if operation.method == "delete":
        return {}
    return {"collection": "pier", "model": "pier", "user": "ada", "number": "1"} | {
        name: team.ids[name] for name in ("thread", "feedback", "token", "note")
    } | {name: team.own[f"own_{name}"] for name in ("document", "job")}  # fmt: skip


def person(team: Team, operation: Operation) -> TestClient:
    """Return who asks: threads are ada's own."""
    return team.people["ada" if "{thread}" in operation.path else "root"]


def test_every_request_has_a_documented_answer(team: Team, operations: list[Operation]) -> None:
    tried = 0

    def run(operation: Operation, case: Any) -> None:
        nonlocal tried
        given_path = known(team, operation).items()
        case.path_parameters |= {name: value for name, value in given_path if name in case.path_parameters}
        parts = case.as_transport_kwargs(base_url="http://localhost")
        headers = {name: str(value) for name, value in dict(parts.pop("headers") or {}).items()}
        parts["headers"] = {
            name: value
            for name, value in headers.items()
            if name.lower() not in ("authorization", "user-agent")
        }
        parts.pop("cookies", None)
        client = person(team, operation)
        tried += 1
        check(team, operation, client.request(parts.pop("method"), parts.pop("url"), **parts))

    bounds = settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for operation in operations:

        def ask(case: Any) -> None:
            run(operation, case)  # noqa: B023  # it is called before the next one

        seed(1)(bounds(given(operation.as_strategy())(ask)))()
    assert tried > 50


def fields_of(operation: Operation, document: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the JSON that an operation takes: its properties by name."""
    body = operation.definition.raw.get("requestBody", {}).get("content", {}).get("application/json")
    if not body:
        return {}
    name = body["schema"].get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = document["components"]["schemas"].get(name, {}).get("properties", {})
    return found


def hostile_bodies(fields: dict[str, Any], path: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield bodies with one wrong value each, and whether it names what is not for callers to set."""
    base = {name: value for name, value in RIGHT.items() if name in fields}
    step = 2 if "/ask" in path else 5
    for name in fields:
        yield from ((base | {name: value}, False) for value in HOSTILE[::step])
    for name in FOREIGN.keys() - fields.keys():
        yield base | {name: FOREIGN[name]}, path.startswith(API)
    for place in {"settings", "adaptive_rag"} & fields.keys():
        yield from ((base | {place: {name: value}}, True) for name, value in FOREIGN.items())
        for name in ALLOWED:
            yield from ((base | {place: {name: value}}, False) for value in HOSTILE[::3])


@pytest.mark.nightly
def test_hostile_values_reach_nothing_at_any_door(team: Team, operations: list[Operation]) -> None:
    document = team.server.get("/api/openapi.json").json()
    tried: Counter[str] = Counter()
    for operation in operations:
        fields = fields_of(operation, document)
        if not fields or operation.path.endswith("/session") or "{user}" in operation.path:
            continue  # attempts to sign in are bounded: tests/server/test_rates.py
        client, path = person(team, operation), operation.path.format(**known(team, operation))
        for body, is_foreign in hostile_bodies(fields, operation.path):
            content, headers = json.dumps(body), {"Content-Type": "application/json"}
            answer = client.request(operation.method, path, content=content, headers=headers)
            check(team, operation, answer)
            assert not (is_foreign and answer.is_success), (operation.label, body, answer.text)
            tried[operation.label] += 1
    assert tried.total() > 500 and len(tried) > 10


@pytest.mark.nightly
def test_hostile_values_in_addresses_and_headers_reach_nothing(
    team: Team, operations: list[Operation]
) -> None:
    texts = [value for value in HOSTILE if isinstance(value, str) and len(value) < 100 and value != "\ud800"]
    tried = 0
    for operation in operations:
        if operation.method == "delete" or "{user}" in operation.path:
            continue
        client, path = person(team, operation), operation.path.format(**known(team, operation))
        for parameter in operation.definition.raw.get("parameters", ()):
            for text in texts:
                if parameter["in"] == "query":
                    answer = client.request(operation.method, path, params={parameter["name"]: text})
                elif parameter["in"] == "header" and text.isprintable():
                    answer = client.request(operation.method, path, headers={parameter["name"]: text})
                else:
                    continue
                check(team, operation, answer)
                tried += 1
    assert tried > 100
