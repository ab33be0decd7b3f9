"""What is larger than a request may be is refused before it is read, whoever sends it."""

import json
from collections.abc import Iterator

import httpx
import psutil
import pytest
from fastapi.testclient import TestClient

from adaptive_rag.conversation import MAX_PROFILE
from adaptive_rag.server.app import build_app
from adaptive_rag.server.bounds import body_limits, check_json
from adaptive_rag.server.connections import connection_class
from adaptive_rag.server.machine import Refused
from adaptive_rag.server.settings import read_server_settings
from tests.server.processes import listening


def fields(count: int) -> bytes:
    return json.dumps({f"field{number}": 1 for number in range(count)}).encode()


def same_fields(count: int) -> bytes:
    return b"{" + b",".join([b'"field":1'] * count) + b"}"


def test_an_upload_has_a_bound_of_its_own(fresh: TestClient) -> None:
    fresh.post("/api/v1/collections", json={"name": "samples"})
    taken = fresh.post(
        "/api/v1/collections/samples/documents", files=[("files", ("large.txt", b"word " * 1_000_000))]
    )
    assert taken.status_code == 202, taken.text


JSON = {"Content-Type": "application/json"}
ROWS = {
    "a question of 5 MB": ("/api/v1/collections/c/ask", b" " * 5_000_000, 413),
    "a session of 17 KB": ("/api/v1/session", b'{"name": "' + b"a" * 17_000 + b'", "password": ""}', 413),
    "a session of 360,000 fields": ("/api/v1/session", same_fields(360_000), 413),
    "a session of 150 fields": ("/api/v1/session", fields(150), 413),
    "a member of 70 KB": ("/api/v1/collections/c/members", b" " * 70_000, 413),
    "a question of 100,000 fields": ("/api/v1/collections/c/ask", same_fields(100_000), 413),
    "a question of 100,000 items": ("/api/v1/collections/c/ask", b"[" + b"1," * 100_000 + b"1]", 413),
    "a question 1,000 deep": ("/api/v1/collections/c/ask", b"[" * 1000 + b"]" * 1000, 413),
    "a conversation of 100,000 messages": ("/v1/chat/completions", b"[" + b"{}," * 100_000 + b"{}]", 413),
    "an agent's call 1,000 deep": ("/mcp", b'{"a":' * 1000 + b"1" + b"}" * 1000, 413),
    "an agent's call of 2 MB": ("/mcp", b" " * 2_000_000, 413),
    "UTF-16, whose structure is not checked": ("/api/v1/collections", '{"name": "c"}'.encode("utf-16"), 422),
    "a string that never ends": ("/api/v1/session", b'{"name": "' + b'\\"' * 8000, 422),
    "brackets within a string": ("/api/v1/session", b'{"name": "' + b"[" * 8000 + b'"}', 422),
    "4 MB of brackets": ("/v1/chat/completions", b"[]" * 2_000_000, 413),
    "4 MB of quotation marks": ("/v1/chat/completions", b'"' * 4_000_000, 413),
    "4 MB of strings": ("/v1/chat/completions", b'"\\\\"' * 1_000_000, 413),
    "51 parameters": ("/api/v1/session?" + "&".join(["a=1"] * 51), b"{}", 414),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve by real connections to a client that has not signed in."""
    settings = read_server_settings(data=tmp_path_factory.mktemp("bounds"), workers=0, rate="1000000/minute")
    with (
        listening(build_app(settings, {}), http=connection_class(settings)) as address,
        httpx.Client(base_url=address.replace("127.0.0.1", "localhost"), timeout=30) as client,
    ):
        assert client.get("/api/v1/session").status_code == 200
        yield client


@pytest.mark.few(4)
@pytest.mark.parametrize("row", ROWS)
def test_what_no_route_could_use_is_refused_before_it_is_parsed(server: httpx.Client, row: str) -> None:
    path, body, status = ROWS[row]
    process = psutil.Process()
    worked, held = process.cpu_times().user, process.memory_info().rss
    answer = server.post(path, content=body, headers=JSON)
    assert answer.status_code == status, answer.text[:300]
    assert len(answer.content) < 3000
    assert process.cpu_times().user - worked < 1 and process.memory_info().rss - held < 30_000_000


def test_of_many_wrong_fields_ten_are_listed(server: httpx.Client) -> None:
    answer = server.post("/api/v1/session", content=fields(40), headers=JSON)
    errors = answer.json()["errors"]
    assert answer.status_code == 422 and len(errors) == 11
    assert errors[-1]["problem"] == "and 32 more"  # name and password are missing besides


def test_a_profile_of_the_longest_text_is_taken_in_whatever_letters(server: httpx.Client) -> None:
    answer = server.put("/api/v1/me/profile", content=json.dumps({"text": "🌊" * MAX_PROFILE}), headers=JSON)
    assert answer.status_code == 200


def test_headers_beyond_the_bound_are_refused(server: httpx.Client) -> None:
    headers = {f"X-Header-{number}": "a" * 1000 for number in range(40)}
    assert server.get("/api/v1/session", headers=headers).status_code == 431


def test_the_character_that_postgresql_takes_in_no_text_is_refused_everywhere() -> None:
    bound = body_limits("/api/v1/me/profile")
    assert bound is not None
    for body in (rb'{"text": "a\u0000b"}', rb'{"text": "\\\u0000"}'):
        with pytest.raises(Refused, match=r"U\+0000"):
            check_json(body, bound)
    check_json(rb'{"text": "the six characters \\u0000"}', bound)
