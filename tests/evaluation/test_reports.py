import io
import json
import re
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from rich.console import Console

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation import metrics, plots, report
from adaptive_rag.evaluation.arms import Bench, find_arms
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.judge import judge_run
from adaptive_rag.evaluation.metrics import RankingMetric
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.records import read_records
from adaptive_rag.evaluation.report import Report, write_reports
from adaptive_rag.evaluation.run import FinishedRun, run_arms
from adaptive_rag.evaluation.summary import compare_arms, figure, tone
from adaptive_rag.evaluation.terminal import print_report
from adaptive_rag.text.visible import is_hidden
from tests.evaluation.conftest import QUERIES, Graph, Words

ARMS = find_arms(["standard", "bm25", "fusion", "adaptive"])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that no test changes."""
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def run(tiny: Dataset, folder: Path) -> FinishedRun:
    bench = Bench(source=Words(tiny), graph=Graph(tiny), k=2)
    return run_arms([tiny], ARMS, lambda dataset: (dataset, bench), RunSettings(k=2), folder)


@pytest.fixture
def finished(run: FinishedRun, out: Path) -> FinishedRun:
    """A run that the test may change; its reports are written elsewhere."""
    out.mkdir()
    return deepcopy(run)


@pytest.fixture(scope="module")
def written(run: FinishedRun, folder: Path) -> Report:
    return write_reports(run, folder)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the drawings, which take most of a page's time."""
    monkeypatch.setattr(plots, "as_svg", lambda figure, title: "<svg>")


class Page(HTMLParser):
    """Collects what a browser would fetch, and checks that tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        values = dict(attrs)
        self.fetched += [
            values[name] for name in ("src", "href") if name in values and not values[name].startswith("#")
        ]
        self.scripts += tag == "script"
        if tag not in ("meta", "br", "rect", "path", "circle") and not self.get_starttag_text().endswith(
            "/>"
        ):  # type: ignore[union-attr]
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_the_summary_has_a_row_for_every_arm_and_type(written: Report, folder: Path) -> None:
    rows = json.loads((folder / "summary.json").read_text())
    assert {(row["arm"], row["type"]) for row in rows} == {
        (arm, kind) for arm in ARMS for kind in ("all", "factual", "opinion", "contextual")
    }
    row = next(row for row in rows if (row["arm"], row["type"]) == ("adaptive", "all"))
    assert {"dataset", "arm", "type", "n", "metrics", "cost"} <= set(row)
    assert (row["dataset"], row["n"]) == ("tiny", 3)
    assert row["metrics"]["ndcg@2"] == 1.0
    assert {"model_calls", "rounds", "ms"} <= set(row["cost"])
    assert row["cost"]["model_calls"] == 1.0
    assert row["against_standard"]["ndcg@2"]["n"] == row["counts"]["ndcg@2"] == 3


def test_metrics_stand_only_where_questions_have_them(written: Report) -> None:
    for row in written.rows:
        assert ("both@2" in row["metrics"]) is (row["type"] in ("all", "opinion"))
    whole = next(row for row in written.rows if row["type"] == "all")
    assert whole["counts"]["both@2"] == 1
    assert figure(whole, "both@2").endswith(" (1)") and "(" not in figure(whole, "ndcg@2")


@pytest.mark.parametrize(
    ("low", "p", "expected"), [(0.1, 0.01, "good"), (0.1, 1.0, "flat"), (-0.1, 0.01, "flat")]
)
def test_a_difference_is_marked_where_interval_and_test_agree(low: float, p: float, expected: str) -> None:
    assert tone({"mean": 0.2, "low": low, "high": 0.3, "p": p}) == expected


def test_an_arm_that_did_not_answer_every_question_is_left_out(finished: FinishedRun) -> None:
    del finished.records[0]["arms"]["bm25"]
    arms = {row["arm"] for row in compare_arms(finished.records, k=2) if row["type"] == "all"}
    assert arms == {"standard", "fusion", "adaptive"}


def test_the_page_fetches_nothing_and_runs_nothing(written: Report, folder: Path) -> None:
    text = (folder / "report.html").read_text()
    page = Page()
    page.feed(text)
    assert page.fetched == []
    assert page.scripts == 0
    assert page.open == []
    assert not re.search(r"url\((?!#)|@import|https?://", text)


def test_the_page_shows_each_part(written: Report, folder: Path) -> None:
    text = (folder / "report.html").read_text()
    for part in ("Against plain retrieval", "Every arm", "Quality against cost", "Confusion", "Reliability"):
        assert part in text
    assert text.count("<svg") >= 4


@pytest.mark.usefixtures("undrawn")
def test_the_page_draws_a_panel_for_each_drawn_metric(
    finished: FinishedRun, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MIN_QUESTIONS", 1)

    def panels() -> list[str]:
        write_reports(finished, out)
        section = (out / "report.html").read_text(encoding="utf-8").split('<h2 id="bars">')[1].split("<h2")[0]
        assert section.count("svg") == len(re.findall("<h3>", section))
        return re.findall(r"<h3>(.*?)</h3>", section)

    assert panels() == ["ndcg@2", "Coverage, opinion questions"]
    added = RankingMetric("hit", "Success", cutoff=1, drawn=True)
    monkeypatch.setattr(metrics, "RANKING_METRICS", [*metrics.RANKING_METRICS, added])
    for record in finished.records:
        for result in record["arms"].values():
            result["metrics"]["hit@1"] = 1.0
    assert panels() == ["ndcg@2", "hit@1", "Coverage, opinion questions"]
    assert ">hit@1<" in (out / "report.html").read_text(encoding="utf-8").split("Every arm")[-1]


@pytest.mark.usefixtures("undrawn")
def test_questions_that_were_lost_are_shown_with_both_rankings(finished: FinishedRun, out: Path) -> None:
    lost = finished.records[1]
    lost["arms"]["adaptive"]["metrics"]["ndcg@2"] = 0.1
    lost["ranked"]["adaptive"] = ["p4", "p2"]
    lost["question"] = "<script>alert(1)</script>?"
    lost["arms"]["standard"]["metrics"]["ndcg@2"] = 0.9
    write_reports(finished, out)
    text = (out / "report.html").read_text()
    assert "-0.800" in text
    assert "&lt;script&gt;alert(1)" in text
    assert '<li class="gold"><code>p2</code> A higher wall protects homes.</li>' in text
    assert "1 relevant not among them: p3" in text
    assert json.loads((out / "details.json").read_text())["lost"] == [
        {"dataset": "tiny", "id": "q2", "by": -0.8}
    ]


def test_text_from_the_data_stays_text_wherever_the_page_shows_it(finished: FinishedRun, out: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>\u202e\x1b[31m\u200b"
    for record in finished.records:
        record["dataset"] = record["question"] = record["user_context"] = hostile
        record["arms"]["adaptive"]["metrics"]["ndcg@2"] = 0.1
        record["arms"]["standard"]["metrics"]["ndcg@2"] = 0.9
        record["arms"]["adaptive"]["answer"] = hostile
        record["arms"]["adaptive"]["trace"] = [{"step": hostile, "ms": 1.0, "queries": [hostile]}]  # type: ignore[list-item]
    finished.about["notes"] = {hostile: [f"{hostile}: no text"]}
    finished.about["machine"] = hostile
    write_reports(finished, out)
    text = (out / "report.html").read_text()
    assert "<img" not in text
    assert text.count("&lt;img src=x") > 10
    assert not [character for character in set(text) if is_hidden(character)]


@pytest.mark.few(1)
@pytest.mark.parametrize("terminal", [False, True])
def test_the_name_of_a_data_set_is_no_markup_on_the_terminal(written: Report, terminal: bool) -> None:
    hostile = "[red]tiny[/] [link=https://x.example]x[/link] [/]"
    rows = [{**row, "dataset": hostile} for row in written.rows]
    console = Console(width=200, file=io.StringIO(), force_terminal=terminal)
    print_report(console, rows, k=2, routing=written.routing)  # type: ignore[arg-type]
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("[link=https://x.example]x[/link] [/]") >= 1
    assert "\x1b]8" not in text


@pytest.mark.usefixtures("undrawn")
def test_the_page_says_what_could_not_be_read(
    finished: FinishedRun, written: Report, folder: Path, out: Path
) -> None:
    assert "What could not be read" not in (folder / "report.html").read_text()
    finished.about["notes"] = {"tiny": ["tiny: scan.pdf: 3 of 12 pages hold no text"]}
    write_reports(finished, out)
    text = (out / "report.html").read_text()
    assert '<h2 id="unread">What could not be read' in text
    assert "<li>tiny: scan.pdf: 3 of 12 pages hold no text</li>" in text


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_documents_without_judgements_speaks_of_quality(finished: FinishedRun, out: Path) -> None:
    for record in finished.records:
        for answered in record["arms"].values():
            answered["metrics"] = {"quality": 0.5}
    written = write_reports(finished, out)
    assert all(set(row["metrics"]) == {"quality"} for row in written.rows)
    assert "quality of standard" in (out / "report.html").read_text()


@pytest.mark.usefixtures("undrawn")
def test_the_markdown_says_where_it_comes_from_and_what_was_lost(finished: FinishedRun, out: Path) -> None:
    opinion = finished.records[1]["arms"]
    opinion["adaptive"]["metrics"]["ndcg@2"], opinion["standard"]["metrics"]["ndcg@2"] = 0.2, 0.7
    opinion["adaptive"]["metrics"]["abstention_recall"] = 0.25
    write_reports(finished, out, markdown=out / "results.md", command="adaptive-rag eval tiny")
    text = (out / "results.md").read_text()
    for part in ("`adaptive-rag eval tiny` wrote this page", "- Machine: ", "- Code: adaptive-rag", "tiny"):
        assert part in text
    assert "- opinion in tiny: `ndcg@2` -0.500" in text
    assert "| tiny | both@2 | 1 |" in text
    assert " | abstention_recall | calls | ms |" in text
    widths = [line.count("|") for line in text.splitlines() if line.startswith("| tiny")]
    assert len(set(widths)) == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_table_fits_the_terminal_and_keeps_the_figures_whole(written: Report, width: int) -> None:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    print_report(console, written.rows, k=2, routing=written.routing)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    table = text[: text.index("Router")]
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= width
    assert {"adaptive", "1.000", "ndcg@2"} <= set(table.split())


def test_a_folder_without_a_finished_run_cannot_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no finished run"):
        read_records(tmp_path)


def test_no_label_of_the_data_reaches_a_report_as_an_input(written: Report, folder: Path) -> None:
    assert "SECRET rewrite" in json.dumps(QUERIES)
    assert "SECRET rewrite" not in (folder / "questions.jsonl").read_text()


@pytest.mark.usefixtures("undrawn")
def test_a_judge_has_a_section_and_says_how_often_the_order_mattered(
    finished: FinishedRun, out: Path
) -> None:
    for record in finished.records:
        for arm in ("standard", "adaptive"):
            record["arms"][arm]["answer"] = f"The answer of {arm}."
    scores = dict.fromkeys(("accuracy", "relevance", "comprehensiveness", "clarity"), 5)
    always_first = json.dumps({"scores": {"A": scores, "B": scores}, "best": "A", "reason": "It is first."})
    judge = FakeListChatModel(responses=[*[always_first] * 4, "Nobody wins <b>."])
    verdicts = judge_run(judge, finished.records, ("standard", "adaptive"))
    write_reports(finished, out, verdicts=verdicts, markdown=out / "results.md")
    text, page = (out / "report.html").read_text(), (out / "results.md").read_text()
    assert "The order changed the verdict on 2 of them" in text and "verdict on 2 of them" in page
    assert "| best answer | standard | adaptive | tie |\n|---|--:|--:|--:|\n| all types | 0 | 0 | 2 |" in page
    assert "\n| adaptive | 5.00 | 5.00 | 5.00 | 5.00 | 5.00 |\n\n> Nobody wins <b>.\n\n## Every" in page
    assert "Nobody wins &lt;b&gt;." in text
    assert json.loads((out / "details.json").read_text())["judge"]["wins"]["all"]["tie"] == 2
