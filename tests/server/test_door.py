"""Who is let in, to what, and how much they may bring; without a server, on the bare requests."""

import hashlib
from typing import Any

import pytest

from adaptive_rag.context.groups import ServingSettings
from adaptive_rag.server.door import Door, admit, most_bytes
from adaptive_rag.server.machine import THIS_MACHINE, Refused

OPEN = ServingSettings()
USERS = ServingSettings(users={"ada": hashlib.sha256(b"secret").hexdigest(), "bob": "0" * 64})


def request(client: str | None = "127.0.0.1", path: str = "/runs", **headers: str) -> dict[str, Any]:
    named = {"host": "localhost:2024", **headers}
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "client": (client, 50_000) if client else None,
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()],
    }


@pytest.mark.parametrize("client", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("host", ["localhost", "localhost:2024", "127.0.0.1:2024", "[::1]:2024", "LOCALHOST"])
def test_without_users_this_machine_is_answered(client: str, host: str) -> None:
    assert admit(request(client, host=host), OPEN) == THIS_MACHINE


PROXIES = (
    "forwarded via x_forwarded_for x_forwarded_host x_forwarded_proto x_real_ip cf_connecting_ip".split()
)
# What is answered to nobody while there are no users, by what is said of it.
STRANGERS = {
    r"serving\.users": [
        request(client)
        for client in (None, "192.168.1.5", "8.8.8.8", "::ffff:8.8.8.8", "2001:db8::1", "proxy")
    ],
    "only to the name localhost": [
        request(host=host)
        for host in ("", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1")
    ],
    "only its own machine": [request(**{header: "127.0.0.1"}) for header in PROXIES],
    r"serving\.origins": [
        request(origin=origin)
        for origin in ("https://evil.example", "null", "https://smith.langchain.com.evil.example")
    ],
}


@pytest.mark.parametrize("said", STRANGERS)
def test_without_users_no_other_machine_name_proxy_or_page_is_answered(said: str) -> None:
    for asked in STRANGERS[said]:
        with pytest.raises(Refused, match=said) as refused:
            admit(asked, OPEN)
        assert refused.value.status == 403, asked


def test_a_page_that_the_operator_names_may_ask_and_studio_no_longer() -> None:
    named = ServingSettings(origins=frozenset({"https://intranet.example"}))
    assert admit(request(origin="https://intranet.example"), named) == THIS_MACHINE
    for origin in ("https://smith.langchain.com", "http://intranet.example", "null"):
        with pytest.raises(Refused, match=r"serving\.origins"):
            admit(request(origin=origin), named)


def test_with_users_the_token_alone_counts() -> None:
    elsewhere = request("8.8.8.8", host="rag.example", origin="https://app.example", via="proxy")
    elsewhere["headers"].append((b"authorization", b"Bearer secret"))
    assert admit(elsewhere, USERS) == "ada"
    for wrong in ("", "Bearer ", "Bearer Secret", "secret", "Basic secret", "Bearer secret bob"):
        with pytest.raises(Refused, match="Bearer TOKEN") as refused:
            admit(request(authorization=wrong), USERS)
        assert refused.value.status == 401


async def ask(serving: ServingSettings, scope: dict[str, Any], *pieces: bytes) -> tuple[int, bytes]:
    """Send a request through the door to an app that returns what it got."""

    async def echo(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": message["body"]})

    coming = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces, 1)
    ]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return coming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await Door(echo, serving)(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


async def test_a_request_reaches_the_app_whole() -> None:
    assert await ask(OPEN, request(), b"ab", b"", b"cd") == (200, b"abcd")


async def test_a_request_beyond_the_bound_is_not_read_to_its_end() -> None:
    short = ServingSettings(max_question=1, max_user_context=0, max_characters=1)
    most = most_bytes(short)
    assert (await ask(short, request(), b"a" * most))[0] == 200
    # The third piece would never come.
    status, line = await ask(short, request(), b"a" * most, b"a", b"never")
    assert status == 413 and f"{most:,} bytes".encode() in line


@pytest.mark.parametrize(
    "path", ["/mcp", "/deploy", "/internal/truncate", "//runs", "/runsx", "/metrics", "/ui/x"]
)
async def test_what_is_not_served_is_not_there(path: str) -> None:
    assert (await ask(OPEN, request(path=path), b""))[0] == 404


async def test_with_users_a_browser_may_ask_beforehand_and_whoever_runs_it_whether_it_runs() -> None:
    assert (await ask(USERS, request(path="/ok"), b""))[0] == 200
    assert (await ask(USERS, request() | {"method": "OPTIONS"}, b""))[0] == 200
    assert (await ask(USERS, request(), b""))[0] == 401
    assert (await ask(USERS, request(path="/mcp") | {"method": "OPTIONS"}, b""))[0] == 404


async def test_a_socket_ends_at_a_message_beyond_the_bound() -> None:
    short = ServingSettings(max_question=1, max_user_context=0, max_characters=1)
    most = most_bytes(short)
    coming = [
        {"type": "websocket.connect"},
        *({"type": "websocket.receive", "text": "a" * n} for n in (most, most + 1)),
    ]
    got: list[Any] = []

    async def take(scope: Any, receive: Any, send: Any) -> None:
        got.extend([await receive() for _ in range(3)])

    async def receive() -> Any:
        return coming.pop(0)

    async def send(message: Any) -> None:
        got.append(message)

    await Door(take, short)(request() | {"type": "websocket"}, receive, send)
    assert [message["type"] for message in got] == [
        "websocket.connect",
        "websocket.receive",
        "websocket.disconnect",
    ]
    got.clear()
    await Door(take, short)(request(origin="https://evil.example") | {"type": "websocket"}, receive, send)
    assert [(message["type"], message["code"]) for message in got] == [("websocket.close", 1008)]


@pytest.mark.parametrize("headers", [{"host": "["}, {"origin": "http://["}])
async def test_an_address_that_cannot_be_read_is_refused(headers: dict[str, str]) -> None:
    assert (await ask(OPEN, request(**headers), b""))[0] == 403


async def test_a_path_without_a_slash_is_nothing_here() -> None:
    assert (await ask(OPEN, request(path="*") | {"method": "OPTIONS"}, b""))[0] == 404
