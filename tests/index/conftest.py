"""A bucket for tests, on a server of this machine, and a network before it that a test can spoil."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adaptive_rag.index import table
from tests.s3_server import Network, network_before, serving_s3


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving_s3(tmp_path_factory.mktemp("s3")) as port:
        yield port


@pytest.fixture
def kb(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an index that nobody has written yet."""
    use(monkeypatch, port)
    return f"s3://wiki/{tmp_path.name}/kb"


@pytest.fixture
def new_kb(tmp_path: Path) -> Path:
    """The folder of an index that nobody has written yet."""
    return tmp_path / "kb"


@pytest.fixture
def network(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    with network_before(port) as network:
        use(monkeypatch, network.port)
        yield network


def use(monkeypatch: pytest.MonkeyPatch, port: int, who: str = "writer", secret: str = "secret") -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", who)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    # a connection keeps the credentials that it began with
    table.connect.cache_clear()
    table._session.cache_clear()
