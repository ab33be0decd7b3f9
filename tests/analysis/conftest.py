from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _nothing_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a home of its own, in which nobody has taught the router anything."""
    monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path / "home"))
