"""The tables and pictures of what calls and recipes are worth, over made records."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import calls, recipes

PNG = b"\x89PNG"


def record(number: int, kind: str, arms: dict[str, dict[str, float]]) -> dict[str, Any]:
    made = {
        name: {"metrics": metrics, "model_calls": number % 2, "ms": 10.0} for name, metrics in arms.items()
    }
    return {"dataset": f"set_{kind}", "id": str(number), "type": kind, "arms": made}


def of_plans(gain: float, questions: int = 12) -> list[Any]:
    return [
        record(
            i,
            "factual",
            {
                calls.NO_PLAN: {"ndcg@4": 0.5 + i / 100, "recall@4": 0.5},
                calls.PLAN: {"ndcg@4": 0.5 + i / 100 + gain, "recall@4": 0.5},
                calls.DEFAULT: {"ndcg@4": 0.5 + i / 100, "recall@4": 0.5},
            },
        )
        for i in range(questions)
    ]


def test_a_plan_that_gains_everywhere_is_sure_and_set_in_bold() -> None:
    rows = calls.summarise(of_plans(0.1), 4)
    assert [row["measure"] for row in rows] == ["ndcg@4", "recall@4"]
    assert calls.is_significant(rows[0]["difference"]) and not calls.is_significant(rows[1]["difference"])
    assert not calls.is_significant(calls.summarise(of_plans(0.1, questions=1), 4)[0]["difference"])
    table = calls.format_rows(rows)
    assert "### Factual: enhanced query" in table
    assert "| set_factual | 12 | ndcg@4 | 0.555 | 0.655 | **+0.100" in table
    assert "| 0.555 | 0.50 |" in table


def test_the_differences_are_drawn(tmp_path: Path) -> None:
    file = tmp_path / "calls.png"
    calls.draw(calls.summarise(of_plans(-0.05), 4), file)
    assert file.read_bytes().startswith(PNG)


def test_recipes_are_averaged_by_type_and_drawn_over_their_calls(tmp_path: Path) -> None:
    records = [
        record(i, kind, {arm: {"ndcg@4": 0.1 * i + 0.01 * n} for n, arm in enumerate(recipes.ARMS)})
        for i, kind in enumerate(("factual", "opinion"), start=1)
    ]
    quality = recipes.compute_means(records, "ndcg@4")  # type: ignore[arg-type]
    assert quality["standard"] == {"factual": 0.1, "opinion": 0.2, "all": 0.15000000000000002}
    assert recipes.compute_means(records, "both@5") == {}  # type: ignore[arg-type]
    assert "| standard | 0.100 | 0.200 | 0.150 |" in recipes.format_figures(quality)
    costs = {arm: {"factual": 2.0, "opinion": 2.0, "all": 2.0} for arm in recipes.ARMS[1:]}
    recipes.draw(quality, costs, tmp_path / "recipes.png")
    assert (tmp_path / "recipes.png").read_bytes().startswith(PNG)


@pytest.mark.nightly
@pytest.mark.usefixtures("samples_embedded")
def test_the_default_makes_fewer_calls_than_the_original_of_every_type() -> None:
    ours, original = recipes.count_calls(recipes.DEFAULT), recipes.count_calls("recipe-adaptive-retrieval")
    assert original == {"factual": 11, "analytical": 3, "opinion": 3, "contextual": 12, "all": 7.25}
    assert all(ours[kind] < original[kind] for kind in original)
    assert max(ours.values()) <= 3
