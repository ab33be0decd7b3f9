import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import typer
from typer.testing import CliRunner

from adaptive_rag.analysis.learning import read_questions
from adaptive_rag.cli.evaluate import evaluate
from adaptive_rag.cli.options import flatten_options
from adaptive_rag.cli.output import reporting_errors
from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.evaluation.arms import Bench, all_arm_names
from adaptive_rag.evaluation.corpora import default_cache, open_corpus
from adaptive_rag.evaluation.datasets import load_dataset
from adaptive_rag.evaluation.experiment import Experiment
from adaptive_rag.evaluation.experiment import evaluate as run_experiment
from adaptive_rag.evaluation.judge import CRITERIA
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.samples import questions_path
from adaptive_rag.testing import ScriptedChatModel
from benchmarks.chat_server import ChatServer, say_sensibly

app = typer.Typer()
app.command("eval")(reporting_errors(flatten_options(evaluate)))


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command in an empty folder with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Any:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


def test_the_command_writes_what_the_contract_names(ask: Any, write_set: Any, tmp_path: Path) -> None:
    result = ask(write_set(), "--arms", "standard,adaptive", "--k", 10, "--out", "results", "--limit", 2)
    assert result.exit_code == 0, result.output
    rows = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert {(row["arm"], row["type"]) for row in rows} >= {("standard", "all"), ("adaptive", "all")}
    assert all(row["metrics"].keys() >= {"ndcg@10", "recall@10", "mrr@10"} for row in rows)
    assert all(row["cost"].keys() >= {"model_calls", "rounds", "ms"} for row in rows)
    lines = [json.loads(line) for line in (tmp_path / "results" / "questions.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    for line in lines:
        assert set(line["ranked"]) == {"standard", "adaptive"}
        assert set(line["ranked"]["standard"]) == {"p1", "p2", "p3", "p4"}
    assert (tmp_path / "results" / "report.html").read_text().startswith("<!doctype html>")
    assert "tiny" in result.stdout
    # A pipe gets all columns, however narrow the terminal is.
    assert {"precision@10", "95", "won/lost", "ms"} <= set(result.stdout.splitlines()[1].split())


def test_answers_over_documents_are_scored_and_cited(ask: Any, tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "town.txt").write_text("The sea wall of Saltmere is 4.1 metres high. It was finished in 1968.")
    text = (folder / "town.txt").read_text()
    high = {"question": "How high is the sea wall of Saltmere?", "quote": text.partition(" It was")[0]}
    high |= {"ideal_answer": "The sea wall is 4.1 metres high.", "has_answer": True}
    trains = {"question": "How many trains leave Vienna?", "ideal_answer": "Unknown.", "has_answer": False}
    questions = [high, trains]
    (folder / "val.json").write_text(json.dumps(questions))
    result = ask(folder, "--arms", "standard,adaptive", "--out", "results")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in (tmp_path / "results" / "questions.jsonl").read_text().splitlines()]
    first, second = (line["arms"] for line in lines)
    for arm in ("standard", "adaptive"):
        assert "4.1 metres" in first[arm]["answer"]
        assert first[arm]["metrics"]["ndcg@10"] == 1.0
        assert first[arm]["metrics"]["citation_correctness"] == 1.0
        assert second[arm]["abstained"]
        assert second[arm]["metrics"]["quality"] == 1.0
    rows = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert all(row["metrics"]["abstention_recall"] == 1.0 for row in rows)


@pytest.mark.nightly
def test_the_judges_verdicts_and_analysis_are_shown_in_the_terminal(ask: Any, write_set: Any) -> None:
    def say(body: dict[str, Any]) -> str:
        prompt = str(body["messages"][-1]["content"])
        if "Several ways of answering were compared" in prompt:
            return "Fusion is best where words and meaning agree."
        if "You compare answers to one question" in prompt:
            scores = dict.fromkeys(CRITERIA, 7)
            return json.dumps({"scores": dict.fromkeys("ABC", scores), "best": "tie", "reason": "Alike."})
        return say_sensibly(body)

    with ChatServer(say=say) as server:
        of_model = ("--model", "openai:scripted", "--set", f"models.base_url={server.url}")
        comparison = ("--arms", "adaptive", "--judge", "vector-bm25-fusion", "--limit", 2)
        result = ask(write_set(), *comparison, *of_model, "--out", "results", "--markdown", "results.md")
        judging = [call for call in server.calls if "You compare answers" in str(call.body)]
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["type", "vector-alone", "okapi-alone", "recipe-vector-bm25-fusion", "tie"] in rows
    assert ["recipe-vector-bm25-fusion", *["7.0"] * 5] in rows
    assert "Fusion is best where words and meaning agree." in result.stdout
    assert len(judging) % 3 == 0 and judging
    assert "--judge vector-bm25-fusion --markdown results.md` wrote" in Path("results.md").read_text()


def test_labelled_questions_are_collected_for_learning(ask: Any, write_set: Any, tmp_path: Path) -> None:
    kept = tmp_path / "mine.jsonl"
    kept.write_text('{"text": "Who?", "type": "factual"}\n')
    arguments = (write_set(), "--arms", "standard", "--collect", kept)
    result = ask(*arguments)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stderr.split())
    assert f"Appended 3 labelled questions to {kept}" in said and "route --learn" in said
    lines = read_questions(kept, labelled=True)
    assert [line.type for line in lines] == ["factual", "factual", "opinion", "contextual"]
    assert lines[3].user_context == "I want to read in the library."
    assert [turn["role"] for turn in lines[3].history] == ["user", "agent"]
    assert "SECRET" not in kept.read_text()
    again = ask(*arguments).stderr
    assert f"Appended 0 labelled questions to {kept}; 3 stood there already." in again
    assert read_questions(kept, labelled=True) == lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "soup"], "recipe = 'soup' is not usable"),
        (["--collect", "."], "'.' cannot be"),
        (["--arms", "adaptiv"], "'adaptiv' is not an arm. The arms are: standard"),
        (["--judge", "adaptive-against-standard"], "A judge is a chat model: pass one with --model"),
        (["--judge", "adaptive"], "A judge compares two or three arms"),
        (["--set", "strict=perhaps"], "strict = 'perhaps' is not usable"),
        (["--set", "k=3"], "--set k is not usable here: pass the number of passages with -k N."),
        (["--set", "index=kb"], "--set index is not usable here: an index is made of each data set"),
        (["--markdown", "."], "--markdown '.' cannot be written."),
        (["--out", "tiny/corpus.jsonl/run"], "run' cannot be read or written: Not a directory."),
        (["--arms", "all,adaptiv"], "'all', 'adaptiv' is not an arm. The arms are: standard"),
    ],
)
def test_wrong_arguments_end_before_anything_is_indexed(
    ask: Any, write_set: Any, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = ask(write_set(), *arguments)
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "caches").exists()
    assert not (tmp_path / "adaptive-rag-eval").exists()


@pytest.mark.parametrize("option", ["--markdown", "--collect"])
def test_what_the_next_run_would_read_as_a_document_is_not_written(
    ask: Any, tmp_path: Path, option: str
) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "town.txt").write_text("The sea wall is 4.1 metres high.")
    (folder / "questions.jsonl").write_text('{"question": "How high is the wall?", "has_answer": true}')
    result = ask(folder, "--arms", "standard", option, folder / "kept.jsonl")
    assert result.exit_code == 1
    assert "would be a document of" in result.stderr and not (folder / "kept.jsonl").exists()
    if option == "--markdown":
        within = folder / "results"
        assert ask(folder, "--arms", "standard", option, within / "page.md", "--out", within).exit_code == 0
        assert ask(folder, "--arms", "standard", "--out", within).exit_code == 0, "the same data"


def test_bad_data_end_with_one_message(ask: Any, write_set: Any) -> None:
    result = ask(write_set(qrels=[("q1", "p9", 1)]))
    assert result.exit_code == 1
    assert "names 'p9', which corpus.jsonl does not hold" in " ".join(result.stderr.split())


@pytest.mark.nightly
def test_fresh_throws_away_the_run_and_nothing_else(ask: Any, write_set: Any, tmp_path: Path) -> None:
    arguments = (write_set(), "--arms", "standard", "--out", "results")
    assert ask(*arguments, "--k", 5).exit_code == 0
    (tmp_path / "results" / "notes.txt").write_text("mine")
    refused = ask(*arguments, "--k", 6)
    assert refused.exit_code == 1
    assert "--fresh" in refused.stderr
    assert ask(*arguments, "--k", 6, "--fresh").exit_code == 0
    rows = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert "ndcg@6" in rows[0]["metrics"]
    assert (tmp_path / "results" / "notes.txt").read_text() == "mine"


def test_what_could_not_be_read_is_told_in_the_terminal_and_on_the_page(ask: Any, tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "town.txt").write_text("The sea wall of Saltmere is 4.1 metres high.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing of a document")
    question = {"question": "How high is the wall?", "ideal_answer": "4.1 metres", "quote": "4.1 metres high"}
    (folder / "val.json").write_text(json.dumps([question, {**question, "quote": "no such words"}]))
    result = ask(folder, "--arms", "standard", "--out", "results")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "results" / "report.html").read_text()
    for said in (
        "broken.pdf",
        "no chunk holds the quote of 1 questions, whose rankings have no score: val-2",
    ):
        assert said in result.stderr and said in page


def test_reports_are_there_although_the_judge_fails(
    write_set: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedChatModel()
    settings = RunSettings(limit=1, answers=True, settings={"model": model, "models.steps": "generate"})
    places = {"out": tmp_path / "out", "cache": tmp_path / "cache", "markdown": tmp_path / "results.md"}
    first = Experiment([write_set()], settings=settings, arms=["standard"], **places)
    monkeypatch.setattr("adaptive_rag.evaluation.experiment.judge_run", Mock(side_effect=AdaptiveRAGError))
    with pytest.raises(AdaptiveRAGError):
        run_experiment(replace(first, judge="standard,bm25"))
    assert (tmp_path / "out" / "report.html").is_file()
    # A later call asks one arm alone; the page and its command are of the whole run.
    run_experiment(first)
    assert (
        "eval tiny --arms standard,bm25 --k 10 --answers --limit 1" in (tmp_path / "results.md").read_text()
    )


@pytest.mark.parametrize(
    ("over_documents", "given", "is_scored"),
    [
        (True, {}, True),
        (True, {"answers": False}, False),
        (False, {}, False),
        (False, {"answers": True}, True),
        (False, {"judge": "standard,bm25"}, True),
        (True, {"judge": "standard,bm25"}, True),
    ],
)
def test_all_arms_include_those_of_answers_where_answers_are_scored(
    write_set: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    over_documents: bool,
    given: dict[str, Any],
    is_scored: bool,
) -> None:
    run_arms = Mock(side_effect=AdaptiveRAGError)
    monkeypatch.setattr("adaptive_rag.evaluation.experiment.run_arms", run_arms)
    settings = RunSettings(answers=given.get("answers"), settings={"model": ScriptedChatModel()})
    data, judge = questions_path() if over_documents else write_set(), given.get("judge")
    with pytest.raises(AdaptiveRAGError):
        run_experiment(Experiment([data], settings=settings, arms=["all"], judge=judge, out=tmp_path / "out"))
    assert set(run_arms.call_args.args[1]) == set(all_arm_names(answers=is_scored))
    is_changed = judge and not over_documents  # otherwise a run without a judge can be continued with one
    assert run_arms.call_args.args[3].answers is (True if is_changed else given.get("answers"))


def test_indexes_lie_with_the_caches_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_cache() == tmp_path / "adaptive-rag" / "evaluation"


def test_a_second_opening_of_a_corpus_indexes_nothing(write_set: Any, tmp_path: Path) -> None:
    dataset = load_dataset(write_set())
    first, _ = open_corpus(dataset, tmp_path / "cache")
    embedded: list[Any] = []
    second, _ = open_corpus(dataset, tmp_path / "cache", progress=embedded.append)
    assert len(first) == len(second) == 4
    assert embedded == []
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.nightly
@pytest.mark.slow
def test_standard_agrees_with_independent_code(public_data: Path, tmp_path: Path) -> None:
    """nDCG@10 of dense retrieval over exact float vectors, measured with other code, is 0.750."""
    from adaptive_rag.evaluation.arms import ARMS
    from adaptive_rag.evaluation.metrics import ranked_ids, score_ranking
    from adaptive_rag.index.memory import MemoryIndex

    dataset = load_dataset(public_data / "contextual_sharc")
    bench = Bench(source=MemoryIndex(dataset.passages), graph=None)  # type: ignore[arg-type]
    scores = [
        score_ranking(q, ranked_ids(ARMS["standard"].run(q, bench).documents), 10) for q in dataset.questions
    ]
    mean = sum(one["ndcg@10"] for one in scores) / len(scores)
    assert len(scores) == 197
    assert mean == pytest.approx(0.750, abs=0.006)
