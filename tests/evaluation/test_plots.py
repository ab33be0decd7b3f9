import re
import sys
from typing import Any

import pytest

from adaptive_rag.errors import MissingExtraError
from adaptive_rag.evaluation import plots
from adaptive_rag.evaluation.routing import RoutedQuestion, score_routing


def row(arm: str, kind: str = "factual", value: float = 0.5, **cost: float) -> Any:
    return {
        **{"dataset": "tiny", "arm": arm, "type": kind, "n": 4, "against_standard": {}},
        **{"metrics": {"ndcg@2": value}, "counts": {"ndcg@2": 4}, "intervals": {"ndcg@2": [0.25, 0.875]}},
        "cost": {"model_calls": 0.0, "rounds": 0.0, "tokens": 0.0, "ms": 10.0, **cost},
    }


def heights(figure: Any) -> list[float]:
    return [patch.get_height() for patch in figure.axes[0].patches]


def tips(svg: str) -> list[str]:
    return re.findall(r"<title>([^<]*)</title>", svg)


def test_a_bar_is_as_high_as_its_figure_and_its_whisker_spans_the_interval() -> None:
    figure = plots.plot_by_type([row("standard", value=0.5), row("adaptive", value=0.75)], "ndcg@2")
    assert heights(figure) == [0.5, 0.75]
    spans = [container.get_children()[-1].get_segments()[0][:, 1] for container in _whiskers(figure)]
    assert [list(span) for span in spans] == [[0.25, 0.875]] * 2
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["factual\nn=4"]


def _whiskers(figure: Any) -> list[Any]:
    return [c for c in figure.axes[0].containers if type(c).__name__ == "ErrorbarContainer"]


def test_the_ring_of_a_sweep_stands_at_its_best_alpha() -> None:
    svg = plots.as_svg(plots.plot_alpha({"all": {"0.0": 0.2, "0.5": 0.9, "1.0": 0.4}}, "ndcg@2"), "Alpha")
    assert tips(svg) == ["all types: best 0.900 at 0.5"]


def test_the_frontier_holds_what_no_cheaper_point_beats() -> None:
    points = {"a": (1, 0.5), "b": (2, 0.4), "c": (3, 0.9), "d": (1, 0.6)}
    assert plots.pareto_frontier(points) == ["d", "c"]


@pytest.mark.parametrize(("calls", "cost"), [(0.0, "milliseconds"), (2.0, "chat calls")])
def test_the_cost_is_chat_calls_where_any_were_made(calls: float, cost: str) -> None:
    figure = plots.plot_cost([row("standard", "all"), row("adaptive", "all", model_calls=calls)], "ndcg@2")
    assert figure.axes[0].get_xlabel() == f"{cost} per question"


def test_the_router_is_drawn_with_its_counts() -> None:
    report = score_routing(
        [RoutedQuestion("factual", "factual", 0.85), RoutedQuestion("factual", "opinion", 0.85)]
    )
    assert report is not None
    confusion = tips(plots.as_svg(plots.plot_confusion(report), "Confusion"))
    assert "factual routed to opinion: 1 of 2" in confusion
    assert len(confusion) == 16
    assert tips(plots.as_svg(plots.plot_reliability(report), "Reliability")) == [
        "probability 0.8-0.9: right 50% of 2"
    ]


def test_the_same_figure_gives_the_same_drawing_with_text_and_the_colours_of_the_page() -> None:
    first, second = (plots.as_svg(plots.plot_by_type([row("adaptive")], "ndcg@2"), "Bars") for _ in range(2))
    assert first == second
    assert "var(--accent)" in first and plots.ACCENT not in first
    assert re.search(r"<text[^>]*>ndcg@2</text>", first)
    assert "http" not in first


def test_two_drawings_of_one_page_share_no_id() -> None:
    one, two = (
        plots.as_svg(plots.plot_by_type([row("adaptive")], "ndcg@2"), name) for name in ("One", "Two")
    )
    ids = re.findall(r' id="([^"]*)"', one)
    assert ids and not set(ids) & set(re.findall(r' id="([^"]*)"', two))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', one)) <= set(ids)


def test_a_name_from_the_data_stays_text() -> None:
    figure = plots.plot_alpha({"factual, <b>$x^2$</b>": {"0.0": 0.1, "1.0": 0.2}}, "ndcg@2")
    svg = plots.as_svg(figure, '"><script>')
    assert "<b>" not in svg and "<script>" not in svg
    assert "&lt;b&gt;$x^2$&lt;/b&gt;" in svg


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adaptive-rag\[eval\]'"):
        plots.plot_by_type([row("adaptive")], "ndcg@2")
