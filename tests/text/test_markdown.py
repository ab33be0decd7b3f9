"""Markdown's signs, where no page is made of a text."""

import pytest

from adaptive_rag.text.markdown import headings_as_bold, without_emphasis, without_open_emphasis


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Gates\n\nThe **north\ngate** is shut.", "Gates\n\nThe north\ngate is shut."),
        ("```sh\n# install\nmake **all**\n```", "```sh\n# install\nmake **all**\n```"),
        ("#1 of 3, and 2 ** 3 ** 4", "#1 of 3, and 2 ** 3 ** 4"),
    ],
)
def test_signs_of_headings_and_bold_words_are_left_out_but_in_code(text: str, shown: str) -> None:
    assert without_emphasis(text) == shown


def test_a_heading_becomes_a_line_of_bold_words() -> None:
    assert headings_as_bold("## For **you**\nShut it. [1]") == "**For you**\nShut it. [1]"
    assert headings_as_bold("```\n# not this\n```") == "```\n# not this\n```"


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("*This book belongs to us.", "This book belongs to us."),
        ("Ask Ianthe, Tannery Lane.*", "Ask Ianthe, Tannery Lane."),
        ("_Ask at the “desk”.", "Ask at the “desk”."),
        ("*Ask* at the desk.", "*Ask* at the desk."),
        ("**Who?** Ask **them.**", "**Who?** Ask **them.**"),
        ("_private is a hotel with 4*", "_private is a hotel with 4*"),
    ],
)
def test_the_mark_of_an_emphasis_over_several_sentences_is_left_out(sentence: str, shown: str) -> None:
    assert without_open_emphasis(sentence) == shown
