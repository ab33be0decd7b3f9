from pathlib import Path

import pytest

from benchmarks.question_answer_views import VIEWS, Asked, Set, measure


def test_every_stage_is_measured_with_every_view(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faq = tmp_path / "faq.csv"
    faq.write_text(
        "question,answer\nWhen does the library open?,On Tuesdays.\nWho pays for the wall?,The town does.\n"
    )
    asked = [
        Asked("At what time can I get into the library?", lambda candidate: "library" in candidate["text"]),
        Asked("Whose money is the wall built with?", lambda candidate: "wall" in candidate["text"]),
    ]
    measure(Set("tiny", [faq], asked), tmp_path, graph=True)
    lines = capsys.readouterr().out.splitlines()
    staged = [line for line in lines if any(f" {stage} " in line for stage in ("dense", "fused", "scored"))]
    assert len(staged) == 3
    assert all(view in line for line in staged for view in VIEWS)
    assert "pair 1.000" in staged[0]
