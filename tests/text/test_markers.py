"""The markers of answers: what is written is read again, whatever its form."""

import pytest

from adaptive_rag.text.markers import (
    find_markers,
    respell_for_model,
    respell_markers,
    strip_markers,
    write_marker,
)


@pytest.mark.parametrize("number", [1, 12])
def test_a_marker_is_read_as_it_was_written(number: int) -> None:
    text = f"The wall is long {write_marker(number)}{write_marker(3)}. So it is."
    assert find_markers(text) == [number, 3]
    assert strip_markers(text) == "The wall is long. So it is."


def test_numbers_that_are_no_markers_stay() -> None:
    text = "It was built in 1911 [sic] and cost 3 pounds <4>."
    assert (find_markers(text), strip_markers(text)) == ([], text)


@pytest.mark.parametrize("inside", ["7", "2, 3", "^4", "source 5"])
def test_a_documents_own_brackets_are_no_markers(inside: str) -> None:
    taken_for_ours = write_marker(7).replace("7", inside)
    respelled = respell_markers(f"It is wide {taken_for_ours}.")
    assert taken_for_ours not in respelled and inside in respelled
    assert find_markers(respelled) == []


CODE = "It is high [3].\n\n```\nx = items[1]  # see [2]\n```\n\nTake `rows[0][1]`, not items[4]."


def test_code_holds_no_markers() -> None:
    assert find_markers(CODE) == [3, 4]
    assert strip_markers(CODE) == CODE.replace(" [3]", "").replace("[4]", "")


def test_a_documents_code_keeps_its_brackets() -> None:
    assert respell_markers(CODE) == CODE.replace("[3]", "(3)").replace("[4]", "(4)")


def test_a_model_is_shown_no_brackets_of_a_document_but_those_of_an_index() -> None:
    assert respell_for_model(CODE) == respell_markers(CODE).replace("[2]", "(2)")
    assert respell_for_model("```\nAs they say [1], [source 2]") == "```\nAs they say (1), (source 2)"
