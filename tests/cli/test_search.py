"""`adaptive-rag search`."""

from tests.cli.conftest import Run, parsed

VIEWS = "What are the different views on raising the sea wall?"


def test_the_chunks_are_shown_with_their_scores_and_what_they_were_found_for(
    run: Run, town_index: str
) -> None:
    shown = run("search", VIEWS, "--index", town_index, "--route", "opinion").stdout
    assert "note" in shown and ".txt" in shown
    assert "dense 0." in shown and "fused " in shown
    assert "for " in shown


def test_json_is_one_object_without_an_answer(run: Run, town_index: str) -> None:
    found = parsed(run("search", VIEWS, "--index", town_index, "-k", "3", "--json"))
    assert list(found) == ["question", "query_type", "analysis", "documents", "trace"]
    assert len(found["documents"]) == 3


def test_it_finds_what_ask_reads(run: Run, town_index: str) -> None:
    found = parsed(run("search", VIEWS, "--index", town_index, "--json"))
    asked = parsed(run("ask", VIEWS, "--index", town_index, "--json"))
    assert found["documents"] == asked["documents"]


def test_long_texts_are_cut_unless_all_is_asked_for(run: Run) -> None:
    with open("long.txt", "w") as file:
        file.write("The harbour wall is old. " * 36 + "It ends here.")
    run("index", "long.txt")
    assert "It ends here." not in run("search", "harbour wall").stdout
    assert "It ends here." in " ".join(run("search", "harbour wall", "--full").stdout.split())
