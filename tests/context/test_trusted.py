"""Files of a folder name other machines and keys only once their user has said so."""

import json
import os
import pty
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from adaptive_rag.cli.app import app
from adaptive_rag.context import CONFIG_FILE, make_context
from adaptive_rag.context.trusted import other_hosts, risky_variables, store_trust, stored_trust
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server.settings import read_server_settings

REMOTE = "model = 'openai:gpt'\n[models]\nbase_url = 'https://user:secret@collector.example/v1'\n"


@pytest.fixture(autouse=True)
def _own_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("settings", "hosts"),
    [
        ({"models": {"base_url": "http://localhost:8080/v1"}}, []),
        ({"models": {"base_url": "http://[::1]:8080/v1"}, "index": "file:///here"}, []),
        ({"index": "s3://bucket/kb"}, ["bucket"]),
        ({"index": "postgresql://a:b@db.example/kb"}, ["db.example"]),
        ({"serving": {"origins": ["https://a.example", "http://localhost:3000"]}}, ["a.example"]),
        ({"retrieval": {"ray": "10.0.0.5:6379"}}, ["10.0.0.5"]),
        ({"retrieval": {"ray": "auto"}}, []),
        ({"models": {"base_url": "https://[broken"}}, ["?"]),
        ({"models": {"base_url": "https://localhost.evil.example"}}, ["localhost.evil.example"]),
        ({"models": {"base_url": "https://localhost@evil.example"}}, ["evil.example"]),
        ({"models": '{"base_url": "http:\\/\\/evil.example/v1"}'}, ["evil.example"]),
        ({"index": "postgresql://localhost/kb?sslmode=disable"}, []),
        ({"index": "postgresql+psycopg://localhost/kb?host=evil.example"}, ["?"]),
        ({"index": "postgresql://localhost/kb?%68ostaddr=10.0.0.5"}, ["?"]),
        ({"index": "s3://localhost/kb"}, ["?"]),
    ],
)
def test_hosts_beyond_this_machine_are_found(settings: dict[str, object], hosts: list[str]) -> None:
    assert other_hosts(settings) == hosts


def test_variables_that_are_more_than_settings_of_this_machine_are_found() -> None:
    variables = {
        "ADAPTIVE_RAG_K": "3",
        "ADAPTIVE_RAG_MODELS__BASE_URL": "https://collector.example/v1",
        "ADAPTIVE_RAG_RETRIEVAL__RAY": "10.0.0.5:6379",
        "ADAPTIVE_RAG_HOME": "elsewhere",
        "ADAPTIVE_RAG_TRUST_FOLDER": "1",
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": "https://collector.example/v1",
    }
    assert set(risky_variables(variables)) == variables.keys() - {"ADAPTIVE_RAG_K"}


def test_a_config_file_that_names_another_machine_is_refused_until_it_is_trusted() -> None:
    Path(CONFIG_FILE).write_text(REMOTE)
    with pytest.raises(ConfigurationError, match=r"collector\.example.*settings --trust") as refused:
        make_context()
    assert "secret" not in str(refused.value)
    store_trust(Path(CONFIG_FILE), trusted=True)
    assert make_context().models.base_url is not None
    Path(CONFIG_FILE).write_text(REMOTE.replace("collector", "another"))
    with pytest.raises(ConfigurationError, match=r"another\.example"):
        make_context()


def test_what_the_environment_says_needs_no_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_MODELS__BASE_URL", "https://collector.example/v1")
    assert make_context().models.base_url == "https://collector.example/v1"
    Path(CONFIG_FILE).write_text(REMOTE)
    monkeypatch.setenv("ADAPTIVE_RAG_TRUST_FOLDER", "1")
    make_context()
    for off in ("0", "false", "no", ""):
        monkeypatch.setenv("ADAPTIVE_RAG_TRUST_FOLDER", off)
        with pytest.raises(ConfigurationError, match="settings --trust"):
            make_context()


def test_the_servers_table_is_held_to_it_too() -> None:
    Path(CONFIG_FILE).write_text("[server]\noidc_issuer = 'https://idp.example'\noidc_client_id = 'a'\n")
    with pytest.raises(ConfigurationError, match=r"idp\.example"):
        read_server_settings()
    store_trust(Path(CONFIG_FILE), trusted=True)
    assert read_server_settings().oidc_issuer == "https://idp.example"


@pytest.mark.parametrize("content", ["no JSON", "[]", '{"a": 1}', '{"a": {"b": 1}}'])
def test_a_list_that_cannot_be_read_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "trusted.json").write_text(content)
    Path(CONFIG_FILE).write_text(REMOTE)
    with pytest.raises(ConfigurationError, match=r"trusted\.json"):
        make_context()


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command whose input and error stream are a terminal; return what it showed there."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(answer: str, *arguments: str) -> str:
        terminal, end = pty.openpty()
        os.write(terminal, f"{answer}\n".encode())
        with monkeypatch.context() as patch, open(end, closefd=False) as typed, open(end, "w") as shown:
            patch.setattr(sys, "stdin", typed)
            patch.setattr(sys, "stderr", shown)
            with suppress(SystemExit):
                app(list(arguments))
            shown.flush()
            said = os.read(terminal, 65536).decode()
        os.close(terminal)
        return said

    return run


def test_the_shell_asks_once_and_keeps_what_was_said(at_a_terminal: Callable[..., str]) -> None:
    Path(CONFIG_FILE).write_text(REMOTE)
    shown = at_a_terminal("n", "route", "When?")
    assert "names other machines: collector.example" in " ".join(shown.split()) and "Error" in shown
    assert stored_trust(Path(CONFIG_FILE)) is False
    assert "[y/N]" not in at_a_terminal("y", "route", "When?")
    Path(".env").write_text("TOWN_API_KEY=k\n")
    Path(CONFIG_FILE).unlink()
    assert "TOWN_API_KEY" in at_a_terminal("y", "list")
    assert stored_trust(Path(".env")) is True
    kept = json.loads((Path(os.environ["ADAPTIVE_RAG_HOME"]) / "trusted.json").read_text())
    assert [trusted for _, trusted in kept.values()] == [False, True]
