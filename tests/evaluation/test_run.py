import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.analysis.router import load_router
from adaptive_rag.errors import ConfigurationError, MissingExtraError
from adaptive_rag.evaluation.arms import Bench, find_arms
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.provenance import RunSettings, begin_run
from adaptive_rag.evaluation.run import FinishedRun, open_bench, run_arms, sweep_alpha
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.models.reader import _load_shipped
from tests.evaluation.conftest import Graph, Words


@pytest.fixture(autouse=True)
def _steady_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep an edit made while the tests run from ending a run."""
    monkeypatch.setattr("adaptive_rag.evaluation.run.code_digest", lambda: "steady")


ARMS = find_arms(["standard", "fusion", "adaptive"])


def bench_of(dataset: Dataset, graph: Graph | None = None, k: int = 2) -> Bench:
    return Bench(source=Words(dataset), graph=graph or Graph(dataset), k=k)


def run(dataset: Dataset, out: Path, graph: Graph, **settings: Any) -> FinishedRun:
    arms = settings.pop("arms", ARMS)
    bench = bench_of(dataset, graph, settings.get("k", 2))
    return run_arms(
        [dataset], arms, lambda dataset: (dataset, bench), RunSettings(**{"k": 2, **settings}), out
    )


def lines(out: Path) -> list[Any]:
    return [json.loads(line) for line in (out / "questions.jsonl").read_text().splitlines()]


def test_every_question_leaves_a_line_with_the_ranking_and_trace_of_every_arm(
    tiny: Dataset, graph: Graph, tmp_path: Path
) -> None:
    run(tiny, tmp_path / "out", graph)
    first, second, third = lines(tmp_path / "out")
    assert (first["dataset"], first["id"], first["type"]) == ("tiny", "q1", "factual")
    assert first["ranked"]["adaptive"] == ["p1"]
    assert set(first["ranked"]) == {"standard", "fusion", "adaptive"}
    assert second["arms"]["adaptive"]["metrics"]["both@2"] == 1.0
    assert [step["step"] for step in third["arms"]["adaptive"]["trace"]] == ["classify", "retrieve"]
    assert (third["arms"]["adaptive"]["model_calls"], third["arms"]["adaptive"]["tokens"]) == (1, 12)
    assert third["arms"]["adaptive"]["route"] == "factual"
    assert third["arms"]["standard"]["route"] is None


def test_an_interrupted_run_goes_on_where_it_stopped(tiny: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(tiny, out, Graph(tiny, fail_at=2))
    assert [line["id"] for line in lines(out)] == ["q1", "q2"]
    again = Graph(tiny)
    finished = run(tiny, out, again)
    assert [state["question"] for state, _ in again.asked] == ["When can I go?"]
    assert [record["id"] for record in finished.records] == ["q1", "q2", "q3"]
    assert all("ndcg@2" in record["arms"]["adaptive"]["metrics"] for record in finished.records)


def test_a_line_torn_by_a_crash_is_asked_again(tiny: Dataset, graph: Graph, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(tiny, out, graph)
    text = (out / "questions.jsonl").read_bytes()
    (out / "questions.jsonl").write_bytes(text[:-40] + b"\xc3")  # half of a letter
    again = Graph(tiny)
    run(tiny, out, again)
    assert [state["question"] for state, _ in again.asked] == ["When can I go?"]
    assert len(lines(out)) == 3


def test_a_finished_run_is_not_asked_again(tiny: Dataset, graph: Graph, tmp_path: Path) -> None:
    first = run(tiny, tmp_path / "out", graph)
    again = Graph(tiny)
    second = run(tiny, tmp_path / "out", again)
    assert again.asked == []
    assert second.records == first.records
    assert second.about["alpha"] == first.about["alpha"]


def test_a_further_arm_is_added_to_the_lines_that_are_there(
    tiny: Dataset, graph: Graph, tmp_path: Path
) -> None:
    run(tiny, tmp_path / "out", graph)
    further = Graph(tiny)
    run(tiny, tmp_path / "out", further, arms=find_arms(["random", "adaptive"]))
    assert len(further.asked) == 3
    assert all(
        set(line["ranked"]) == {"standard", "fusion", "adaptive", "random"}
        for line in lines(tmp_path / "out")
    )


@pytest.mark.parametrize(
    "change",
    [
        {"k": 3},
        {"seed": 1},
        {"limit": 2},
        {"settings": {"route": "factual"}},
        {"settings": {"without": {"hedge"}}},
        {"settings": {"retrieval": {"alpha": 0.5}}},
    ],
)
def test_a_folder_with_a_run_under_other_settings_is_refused(
    tiny: Dataset, graph: Graph, tmp_path: Path, change: dict[str, Any]
) -> None:
    run(tiny, tmp_path / "out", graph)
    with pytest.raises(ConfigurationError, match=r"made with other settings.*--fresh"):
        run(tiny, tmp_path / "out", graph, **change)


def test_a_run_goes_on_whichever_way_its_settings_are_written(
    tiny: Dataset, graph: Graph, tmp_path: Path
) -> None:
    run(tiny, tmp_path / "out", graph, settings={"without": "hedge", "retrieval": {"alpha": 0.5}})
    again = Graph(tiny)
    run(tiny, tmp_path / "out", again, settings={"without": ["hedge"], "retrieval.alpha": 0.5})
    assert again.asked == []


def test_a_folder_with_a_run_over_other_data_is_refused(write_set: Any, graph: Graph, tmp_path: Path) -> None:
    from adaptive_rag.evaluation.datasets import load_dataset

    run(load_dataset(write_set()), tmp_path / "out", graph)
    changed = load_dataset(write_set(qrels=[("q1", "p2", 1)], aspects=[]))
    with pytest.raises(ConfigurationError, match="made with other data of tiny"):
        run(changed, tmp_path / "out", graph)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("questions.jsonl", b"precious", "is not empty and holds no run"),
        ("run.json", b'{"settings": "of another program"}', "is not empty and holds no run"),
        ("run.json", b"[", "is damaged"),
        ("run.json", b"\xff", "is not in UTF-8"),
    ],
)
def test_a_folder_with_something_else_is_refused_and_left_alone(
    tmp_path: Path, name: str, content: bytes, said: str, fresh: bool
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigurationError, match=said):
        begin_run(tmp_path, {"data": {}}, fresh=fresh)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(name, content)]


def test_the_sweep_ends_at_words_alone_and_meaning_alone(tiny: Dataset, graph: Graph) -> None:
    sweep = sweep_alpha(tiny, bench_of(tiny, graph, k=1))
    assert list(sweep["all"]) == [f"{step / 10:.1f}" for step in range(11)]
    assert set(sweep) == {"all", "factual", "opinion", "contextual"}
    assert (sweep["factual"]["0.0"], sweep["factual"]["1.0"]) == (1.0, 0.0)


def test_a_condition_of_the_run_restricts_the_sweep(tiny: Dataset, graph: Graph) -> None:
    bench = replace(bench_of(tiny, graph, k=1), source=MemoryIndex(tiny.passages))
    assert sweep_alpha(tiny, bench)["factual"]["0.0"] == 1.0
    bench = replace(bench, settings={"where": "not source = p1"})
    assert set(sweep_alpha(tiny, bench)["factual"].values()) == {0.0}


def test_two_data_sets_of_one_name_are_refused(tiny: Dataset, graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Two data sets are called 'tiny'"):
        run_arms([tiny, tiny], ARMS, lambda d: (d, None), RunSettings(), tmp_path / "out")  # type: ignore[arg-type, return-value]


def test_several_workers_give_what_one_gives(tiny: Dataset, tmp_path: Path) -> None:
    found = []
    for jobs in (1, 3):
        bench = bench_of(tiny)
        finished = run_arms(
            [tiny], ARMS, lambda d, b=bench: (d, b), RunSettings(k=2), tmp_path / str(jobs), jobs=jobs
        )  # type: ignore[misc]
        assert finished.about["jobs"] == jobs
        found.append([(r["id"], r["ranked"], r["arms"]["adaptive"]["metrics"]) for r in finished.records])
    assert found[0] == found[1]


def test_a_folder_with_a_run_of_other_code_is_refused(
    tiny: Dataset, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tiny, tmp_path / "out", graph)
    monkeypatch.setattr("adaptive_rag.evaluation.run.code_digest", lambda: "edited")
    with pytest.raises(ConfigurationError, match=r"made with other code.*--fresh"):
        run(tiny, tmp_path / "out", graph)


def test_a_folder_with_a_run_of_other_routing_is_refused(
    tiny: Dataset, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path))
    assert run(tiny, tmp_path / "out", graph).notes == []
    (tmp_path / "router.json").write_text("learned")
    with pytest.raises(ConfigurationError, match=r"made with other routing.*--fresh"):
        run(tiny, tmp_path / "out", graph)
    assert "The router had learned" in " ".join(run(tiny, tmp_path / "new", graph).notes)


def test_questions_at_which_the_chat_model_failed_are_counted(
    tiny: Dataset, graph: Graph, tmp_path: Path
) -> None:
    finished = run(tiny, tmp_path / "out", graph)
    for record, asked in zip(finished.records, (["enhance"], [], ["enhance"]), strict=True):
        local = {"skill": "enhance", "reason": "Connection error"}
        record["arms"]["adaptive"]["trace"] = [{"step": "enhance", "asked": asked, "stand_ins": [local]}]  # type: ignore[list-item]
    assert finished.notes == ["adaptive: the chat model failed at 2 questions; its steps were done locally."]


@pytest.mark.parametrize("package", ["ir_measures", "pyndeval", "scipy.stats", "matplotlib", "jinja2"])
def test_a_missing_package_is_told_before_the_first_question(
    package: str, tiny: Dataset, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingExtraError, match=rf"'{package.partition('.')[0]}'.*pip install 'adaptive-rag\[eval\]'"
    ):
        run(tiny, tmp_path / "out", graph)
    assert graph.asked == []


def test_an_interruption_loses_nothing_that_the_index_said(tiny: Dataset, tmp_path: Path) -> None:
    def opened(graph: Graph, *notes: str) -> Any:
        return replace(tiny, notes=notes), bench_of(tiny, graph)

    arguments = (RunSettings(k=2), tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        run_arms([tiny], ARMS, lambda _: opened(Graph(tiny, fail_at=1), "tiny: no text"), *arguments)
    assert run_arms([tiny], ARMS, lambda _: opened(Graph(tiny)), *arguments).notes == ["tiny: no text"]


@pytest.mark.parametrize("answers", [False, True])
def test_the_models_are_loaded_before_the_first_question_is_timed(
    tiny: Dataset, tmp_path: Path, answers: bool
) -> None:
    for load in (load_router, _load_shipped):
        load.cache_clear()
    open_bench(tiny, tmp_path, RunSettings(answers=answers))
    assert (load_router.cache_info().currsize, _load_shipped.cache_info().currsize) == (1, int(answers))
