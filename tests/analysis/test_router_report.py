"""The router's figures are of questions that it was not trained on."""

import json
from pathlib import Path

import numpy as np
import pytest

from training import router_report


def test_questions_of_the_training_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ("Who built the wall?", "When was it dredged?", "Where is it?")
    (tmp_path / "town").mkdir()
    lines = (json.dumps({"text": text, "type": "Factual"}) + "\n" for text in texts)
    (tmp_path / "town" / "queries.jsonl").write_text("".join(lines))
    monkeypatch.setattr(router_report, "RETRIEVAL_SETS", ("town",))
    monkeypatch.setattr(router_report, "load_rows", lambda data: [{"text": "who built the wall"}])
    monkeypatch.setattr(router_report, "predict", lambda rows: np.tile([0.7, 0.1, 0.1, 0.1], (len(rows), 1)))
    router_report.show_retrieval_sets(tmp_path)
    said = [line.split("accuracy")[0].split() for line in capsys.readouterr().out.splitlines()]
    assert [(line[0], int(line[-1])) for line in said] == [("town,", 2), ("all", 2), ("those", 1)]
