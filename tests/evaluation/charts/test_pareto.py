from adaptive_rag.evaluation.charts import Point, pareto_frontier


def test_the_frontier_holds_what_no_cheaper_point_beats() -> None:
    points = [Point("a", 1, 0.5), Point("b", 2, 0.4), Point("c", 3, 0.9), Point("d", 1, 0.6)]
    assert [point.series for point in pareto_frontier(points)] == ["d", "c"]
