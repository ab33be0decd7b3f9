"""`adaptive-rag demo`."""

from pathlib import Path

import pytest

from adaptive_rag.samples import SAMPLE_QUESTIONS, samples_path
from tests.cli.conftest import Run


@pytest.mark.slow
@pytest.mark.usefixtures("samples_embedded")
def test_the_demo_asks_a_question_of_each_type_and_answers_it(run: Run) -> None:
    result = run("demo")
    assert result.exit_code == 0
    for sample in SAMPLE_QUESTIONS:
        assert f"› {sample.question}" in result.stdout
        assert f"● {sample.type}" in result.stdout
    assert result.stdout.count("quoted from the documents") == len(SAMPLE_QUESTIONS)
    assert "Documents: " in result.stderr
    assert str(samples_path().name + "/") not in result.stdout, "the samples go by their names"


def test_the_sample_documents_can_be_copied_and_copied_again(run: Run, tmp_path: Path) -> None:
    names = {path.name for path in samples_path().iterdir()}
    for _ in range(2):
        result = run("demo", "--copy", "samples")
        assert result.exit_code == 0
        assert {Path(line).name for line in result.stdout.splitlines()} == names
    assert {path.name for path in (tmp_path / "samples").iterdir()} == names


def test_copying_leaves_other_files_of_the_same_name_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "faq.csv").write_text("mine")
    result = run("demo", "--copy", ".")
    assert result.exit_code == 1
    assert "faq.csv exists and is not the sample document of that name" in " ".join(result.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["faq.csv"]
    assert (tmp_path / "faq.csv").read_text() == "mine"


def test_a_place_that_cannot_hold_the_samples_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    for place, problem in (("note.txt", "File exists"), ("note.txt/inner", "Not a directory")):
        result = run("demo", "--copy", place)
        said = f"Error: '{place}' cannot hold the sample documents: {problem}."
        assert (result.exit_code, " ".join(result.stderr.split())) == (1, said)


def test_the_help_says_where_the_index_is_kept(run: Run) -> None:
    shown = " ".join(run("demo", "--help").stdout.replace("│", " ").split())
    assert "(a temporary folder)" in shown and "(.adaptive-rag)" not in shown
