"""`adaptive-rag recipes`, and `--recipe` of the commands that answer."""

import pytest

from adaptive_rag.recipes import NAMES, load_recipe
from tests.cli.conftest import Run, parsed

LONG = "How long is the sea wall of Saltmere?"


def test_each_recipe_is_explained_in_five_lines_with_its_calls(run: Run) -> None:
    shown = run("recipes").stdout
    words = " ".join(shown.split())
    for name in NAMES:
        recipe = load_recipe(name)
        assert len(recipe.about) == 5
        assert f"\n{name}\n" in shown
        assert all(line in words for line in recipe.about)
    assert "Chat calls at k = 4: factual 11, analytical 3, opinion 3, contextual 12." in words
    assert "Chat calls at k = 5: 1 for every question." in words
    assert max(map(len, shown.splitlines())) <= 80


def test_json_holds_the_settings_of_each(run: Run) -> None:
    found = parsed(run("recipes", "--json"))
    assert [recipe["name"] for recipe in found] == list(NAMES)
    assert [recipe["settings"] for recipe in found] == [load_recipe(name).settings for name in NAMES]
    assert found[0]["calls"]["factual"] == 11


@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_recipe_is_run_and_what_is_set_besides_wins(run: Run, town_index: str, command: str) -> None:
    recipe = ("--recipe", "vector-bm25-fusion", "-i", town_index, "--json")
    assert len(parsed(run(command, LONG, *recipe))["documents"]) == 5
    assert len(parsed(run(command, LONG, *recipe, "-k", "2"))["documents"]) == 2


def test_a_conversation_follows_a_recipe(run: Run, town_index: str) -> None:
    chosen = ("-i", town_index, "--file", "kept.sqlite", "--recipe", "vector-bm25-fusion")
    assert "5 passages read" in run("chat", *chosen, stdin=f"{LONG}\n").stdout


@pytest.mark.parametrize(
    "command", [("ask", LONG), ("search", LONG), ("chat",), ("demo",), ("compare", LONG)]
)
def test_an_unknown_recipe_is_refused(run: Run, town_index: str, command: tuple[str, ...]) -> None:
    option = "--recipes" if command[0] == "compare" else "--recipe"
    result = run(*command, "-i", town_index, option, "soup", stdin="")
    assert (result.exit_code, result.stdout) == (1, "")
    said = " ".join(result.stderr.split())
    assert "recipe = 'soup' is not usable: expected one of adaptive-retrieval" in said
