"""An index in Azure's blob storage: what holds in S3 holds there."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from adaptive_rag.errors import IndexUnreachableError
from adaptive_rag.index import table
from tests.azure_server import ACCOUNT, KEY, PROGRAM, serving_azure
from tests.index import test_bucket, test_bucket_kills
from tests.index.made import build, open_index, write_files
from tests.index.test_bucket import (  # noqa: F401
    test_an_index_in_a_bucket_is_built_read_changed_checked_and_repaired,
)
from tests.s3_server import Network, network_before

pytestmark = pytest.mark.skipif(
    not shutil.which(PROGRAM), reason="Azurite is not installed (npm install -g azurite)"
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving_azure(tmp_path_factory.mktemp("azure")) as port:
        yield port


@pytest.fixture
def kb(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an index that nobody has written yet."""
    use(monkeypatch, port)
    return f"az://wiki/{tmp_path.name}/kb"


@pytest.fixture
def network(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    with network_before(port) as network:
        use(monkeypatch, network.port)
        yield network


def use(monkeypatch: pytest.MonkeyPatch, port: int, key: str = KEY) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"http://127.0.0.1:{port}/{ACCOUNT}")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", key)
    # a connection keeps the credentials that it began with
    table.connect.cache_clear()
    table._session.cache_clear()


@pytest.mark.nightly
class TestMoreOfWhatHoldsInS3:
    """What the same code does over another store."""

    test_a_writer_is_waited_for = staticmethod(
        test_bucket.test_a_live_writer_is_waited_for_however_long_it_takes
    )
    test_a_question_reads_one_version = staticmethod(
        test_bucket.test_a_question_reads_one_version_and_the_next_one_the_new_state
    )
    test_one_writer_replaces_an_object = staticmethod(
        test_bucket.test_of_many_writers_at_once_one_makes_an_object_and_one_replaces_it
    )
    test_after_a_kill_readers_see_one_whole_state = staticmethod(
        test_bucket_kills.test_after_a_kill_readers_see_one_whole_state_and_the_next_run_completes_it
    )

    def test_two_writers_at_once_both_keep_their_documents(self, kb: str, tmp_path: Path) -> None:
        test_bucket.test_writers_at_once_all_keep_their_documents(kb, tmp_path, 2)


def test_what_azure_refuses_is_said_in_a_line(
    kb: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write_files(tmp_path / "docs", {"1.txt": "Ebb."})
    with pytest.raises(IndexUnreachableError, match="there is no such container"):
        open_index("az://nowhere/kb")
    with pytest.raises(IndexUnreachableError, match="there is no such container"):
        build(docs, "az://nowhere/kb")
    use(monkeypatch, port, "YW5vdGhlciBrZXk=")
    with pytest.raises(IndexUnreachableError, match=r"refuses these credentials.*AZURE_STORAGE_ACCOUNT_KEY"):
        open_index(kb)
