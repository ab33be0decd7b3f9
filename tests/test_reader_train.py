"""Training of the reader continues from its own state. Needs PyTorch, which is not a dependency."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")


class NoData:
    """Examples that are not looked at."""

    def items(self, draw: Any) -> list[Any]:
        return []


def test_training_that_was_interrupted_continues_with_the_share_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.reader import train as training

    monkeypatch.setattr(training, "batches", lambda items, draw: [[2.0], [3.0]])
    monkeypatch.setattr(training, "loss_of", lambda reader, items: reader(torch.tensor(items)).mean())
    monkeypatch.setattr(training, "load_start", lambda start: torch.nn.Linear(1, 1))
    monkeypatch.setattr(
        training, "optimizer_of", lambda reader: torch.optim.AdamW(reader.parameters(), lr=1.0)
    )
    data: Any = NoData()
    training.train(tmp_path, data, epochs=1, hours=0)
    assert torch.load(tmp_path / "state.pt")["step"] == 1
    training.train(tmp_path, data, epochs=1, hours=1, kept=0.25)
    mean = torch.load(tmp_path / "reader.pt")
    training.train(tmp_path, data, epochs=1, hours=1, kept=1.0)
    start = torch.load(tmp_path / "reader.pt")
    assert start["weight"] != mean["weight"]
