"""`adaptive-rag compare`: columns side by side, and what only one of them has."""

from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.cli.compare import _format_passages
from adaptive_rag.compare import Column, compare_columns
from tests.cli.conftest import Run, parsed

VIEWS = "What are the different views on raising the sea wall?"
TWO = ("--routes", "factual,opinion")


@pytest.mark.parametrize("columns", [80, 120])
def test_two_columns_stand_side_by_side_and_keep_to_the_width(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run("compare", VIEWS, "-i", town_index, *TWO).stdout
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    assert all(line == line.rstrip() for line in lines) and "\x1b" not in shown
    [heading] = [line for line in lines if line.startswith("● ")]
    assert heading.split(" │ ")[0].strip() == "● factual" and heading.endswith(" │ ● opinion")
    borders = {line.index("│") for line in lines if "│" in line}
    assert len(borders) == 1, "the border is a straight line"
    assert "no chat model" in shown and "passages" in shown and " s · " in shown


def test_what_one_column_alone_has_is_marked_without_colour(run: Run, town_index: str) -> None:
    given = ("compare", VIEWS, "-i", town_index, *TWO, "--recipes", "vector-bm25-fusion")
    found = parsed(run(*given, "--json"))
    lines = run(*given).stdout.splitlines()
    marked = sum(cell.strip().startswith("+ ") for line in lines[:-1] for cell in line.split("│"))
    only = [found[what]["only"] for what in ("sentences", "passages")]
    assert marked == sum(len(held) for difference in only for held in difference.values()) > 0
    assert lines[-1] == "+ marks what only that column has."


def test_a_joined_passage_of_which_one_chunk_is_shared_is_marked_in_part() -> None:
    text = "The wall is old. It is long."
    empty: dict[str, Any] = {"section": None, "scores": {}, "labels": []}
    parts = [
        {"id": "a", "rank": 1, "start": 0, "end": 16, **empty},
        {"id": "b", "rank": 2, "start": 17, "end": 28, **empty},
    ]
    passage = {"id": "a", "source": "a.txt", "page": None, "start": 0, "end": 28, "text": text}
    rest: dict[str, Any] = {"metadata": {}, **empty}
    columns = [
        Column(name, {}, [name], {"documents": [{**passage, **rest, **more}], "answer": ""}, 0, 1.0)
        for name, more in (("one", {"parts": parts}), ("two", {"text": text[:16], "end": 16}))
    ]
    found = compare_columns("What?", "", columns)
    shown = [[line.plain for line in _format_passages(column, found, 40)] for column in columns]
    assert shown == [["+ [1] a.txt, in part", "  It is long."], ["  [1] a.txt"]]


def test_columns_that_do_not_fit_beside_each_other_stand_below(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    three = ("--routes", "factual,opinion,contextual")
    shown = run("compare", VIEWS, "-i", town_index, *three).stdout
    assert [line.count("● ") for line in shown.splitlines() if "● " in line] == [2, 1]
    monkeypatch.setenv("COLUMNS", "40")
    shown = run("compare", VIEWS, "-i", town_index, *three).stdout
    assert [line.count("● ") for line in shown.splitlines() if "● " in line] == [1, 1, 1]
    assert "│" not in shown


def test_without_names_the_way_by_itself_is_shown_with_its_route(run: Run, town_index: str) -> None:
    assert "● by itself: opinion" in run("compare", VIEWS, "-i", town_index).stdout


def test_documents_are_indexed_where_they_are_new_and_compared_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wall.txt").write_text("The sea wall of Saltmere is 2,340 metres long.\n")
    (tmp_path / "rye.txt").write_text("Rye bread is baked for 75 minutes at 220 degrees.\n")
    run("index", "rye.txt")
    found = parsed(run("compare", "How long is the wall?", "--docs", "wall.txt", *TWO, "--json"))
    assert {place["source"] for place in found["places"].values()} == {"wall.txt"}


def test_a_context_and_settings_reach_every_column(run: Run, town_index: str) -> None:
    given = ("-i", town_index, "-k", "2", "--context", "I rent a ground-floor flat", "--json")
    found = parsed(run("compare", "How should I prepare for a flood?", *TWO, *given))
    assert found["user_context"] == "I rent a ground-floor flat"
    assert [len(column["output"]["documents"]) for column in found["columns"]] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--routes", "factual,sideways"), "route = 'sideways' is not usable: expected one of factual"),
        (("-k", "0"), "k = 0 is not usable"),
    ],
)
def test_a_wrong_name_is_refused_before_documents_are_indexed(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "wall.txt").write_text("The sea wall of Saltmere is 2,340 metres long.\n")
    result = run("compare", "How long?", "--docs", "wall.txt", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert problem in " ".join(result.stderr.split())
    assert not (tmp_path / ".adaptive-rag").exists()
