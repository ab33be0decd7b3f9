"""`adaptive-rag demo`."""

import pytest

from adaptive_rag.samples import SAMPLE_QUESTIONS
from tests.cli.conftest import Run


@pytest.mark.slow
def test_the_demo_asks_a_question_of_each_type_and_answers_it(run: Run) -> None:
    result = run("demo")
    assert result.exit_code == 0
    for sample in SAMPLE_QUESTIONS:
        assert f"› {sample.question}" in result.stdout
        assert f"● {sample.type}" in result.stdout
    assert result.stdout.count("grounding") == len(SAMPLE_QUESTIONS)
    assert "Documents: " in result.stderr
