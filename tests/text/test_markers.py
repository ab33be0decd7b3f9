"""The markers of answers: what is written is read again, whatever its form."""

import pytest

from adaptive_rag.text.markers import (
    BRACKETS,
    OTHER_BRACKETS,
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


ONE, TWO, THREE, FOUR = map(write_marker, range(1, 5))
CODE = (
    f"It is high {THREE}.\n\n```\nx = items{ONE}  # see {TWO}\n```\n\nTake `rows{ONE}{TWO}`, not items{FOUR}."
)


def other(marker: str) -> str:
    """Return a marker in the brackets that a document's own ones get."""
    return marker.translate(str.maketrans(BRACKETS, OTHER_BRACKETS))


def test_code_holds_no_markers() -> None:
    assert find_markers(CODE) == [3, 4]
    assert strip_markers(CODE) == CODE.replace(f" {THREE}", "").replace(FOUR, "")


def test_a_documents_code_keeps_its_brackets() -> None:
    assert respell_markers(CODE) == CODE.replace(THREE, other(THREE)).replace(FOUR, other(FOUR))


def test_a_model_is_shown_no_brackets_of_a_document_but_those_of_an_index() -> None:
    assert respell_for_model(CODE) == respell_markers(CODE).replace(f"see {TWO}", f"see {other(TWO)}")
    said = f"```\nAs they say {ONE}, {BRACKETS[0]}source 2{BRACKETS[1]}"
    assert (
        respell_for_model(said)
        == f"```\nAs they say {other(ONE)}, {OTHER_BRACKETS[0]}source 2{OTHER_BRACKETS[1]}"
    )
