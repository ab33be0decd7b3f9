"""Of a long question patterns read the ends alone, whatever it is made of."""

from collections.abc import Callable
from typing import Any

import pytest

from adaptive_rag.analysis import parse
from adaptive_rag.query import follow_up, parts
from adaptive_rag.text.words import HEAD_CHARACTERS, TAIL_CHARACTERS, read_ends

MOST = HEAD_CHARACTERS + TAIL_CHARACTERS + 1
UNITS = {
    "no spaces": "abcdefgh",
    "punctuation": "?!.,;:-()",
    "newlines": "\n",
    "Chinese": "水位最高的记录是多少",
    "short words": "who is on the quay at ten ",
    "combining marks": "e\u0301\u0302\u0323",
    "blanks": " ",
    "addresses": "http://",
    "questions": "What is the highest level? ",
    "dates": "12.3.2021 ",
}
QUESTIONS = {name: f"a{unit * (20_000 // len(unit))}!"[:20_000] for name, unit in UNITS.items()}
READERS: dict[str, tuple[Any, Callable[[str], object]]] = {
    "analysis": (parse, parse.parse_question),
    "parts": (parts, parts.split_question),
    "follow-up": (
        follow_up,
        lambda question: follow_up.complete(
            "Who paid for the second one?",
            [
                {"role": "user", "text": f"When was the wall built? {question}"},
                {"role": "agent", "text": question},
            ],
        ),
    ),
}


def test_a_question_of_usual_length_is_read_whole() -> None:
    assert read_ends("x" * (MOST - 1)) == "x" * (MOST - 1)
    long = "a" * 5_000 + "z" * 5_000
    assert read_ends(long) == "a" * HEAD_CHARACTERS + "\n" + "z" * TAIL_CHARACTERS


@pytest.mark.few(10)
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("reader", READERS)
def test_no_more_than_the_ends_reaches_the_patterns(
    monkeypatch: pytest.MonkeyPatch, reader: str, question: str
) -> None:
    module, read = READERS[reader]
    given: list[int] = []

    def measured(text: str) -> str:
        found = read_ends(text)
        given.append(len(found))
        return found

    monkeypatch.setattr(module, "read_ends", measured)
    read(question)
    assert given and max(given) <= MOST
