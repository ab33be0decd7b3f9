"""`adaptive-rag search`."""

from pathlib import Path

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


def test_what_has_nothing_to_do_with_the_question_is_marked(run: Run, town_index: str) -> None:
    for question, is_marked in (("symptoms of measles in toddlers", True), ("How high is the wall?", False)):
        shown = run("search", question, "--index", town_index, "-k", "2").stdout
        assert ("probably about something else" in shown) is is_marked
    german = run("search", "Welche Kinderkrankheiten gibt es?", "--index", town_index, "-k", "2").stdout
    assert "probably about something else" not in german


def test_long_texts_are_cut_unless_all_is_asked_for(run: Run) -> None:
    Path("long.txt").write_text("The harbour wall is old. " * 36 + "It ends here.")
    run("index", "long.txt")
    assert "It ends here." not in run("search", "harbour wall").stdout
    assert "It ends here." in " ".join(run("search", "harbour wall", "--full").stdout.split())


def test_a_condition_narrows_what_is_found(run: Run, town_index: str) -> None:
    found = parsed(run("search", "sea wall", "-i", town_index, "-w", "file = note03.txt", "--json"))
    assert {document["source"].rpartition("/")[2] for document in found["documents"]} == {"note03.txt"}
    refused = run("search", "sea wall", "-i", town_index, "--where", "fle = note03.txt")
    assert refused.exit_code != 0
    assert "Did you mean 'file'" in refused.stderr


def test_an_answer_that_a_condition_emptied_says_so(run: Run, town_index: str) -> None:
    said = run("ask", "How high is the sea wall?", "-i", town_index, "-w", "page > 3 or kind = pdf", "--json")
    answer = parsed(said)["answer"]
    assert answer.endswith("No passage meets the condition: page > 3 or kind = pdf")
    said = run("ask", "Who composed the opera Fidelio?", "-i", town_index, "-w", "kind = txt", "--json")
    answer = parsed(said)["answer"]
    assert "Only passages that meet the condition were searched: kind = txt." in answer


def test_a_passage_of_a_markdown_file_is_shown_without_its_signs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gate.md").write_text("# Gates\n\nThe **north gate** is shut at nine.\n")
    run("index", "gate.md")
    shown = run("search", "north gate").stdout
    assert "Gates The north gate is shut at nine." in shown
    assert "**north gate**" in parsed(run("search", "north gate", "--json"))["documents"][0]["text"]
