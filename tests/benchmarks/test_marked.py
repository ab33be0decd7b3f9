"""The benchmark that measures what answers quote of the sentences that were marked."""

from benchmarks.marked import answer, measure

HOURS = "The baths are open from nine to five. On Mondays they are closed. Towels cost two pounds."
ROW = {
    "q": "When are the baths open?",
    "type": "factual",
    "sit": "",
    "told": "yes",
    "read": [
        {"id": "1", "source": "towels.md", "section": "", "title": "", "text": "Towels are blue."},
        {"id": "2", "source": "hours.md", "section": "", "title": "Hours", "text": HOURS},
    ],
    "best": [1, 0, 37],
    "points": [[1, 0, 37], [1, 38, 65]],
    "beside": [],
}


def test_marked_sentences_that_an_answer_quotes_are_counted() -> None:
    figures = measure(ROW, answer(ROW))
    assert (figures["answer"], figures["best"], figures["exact"]) == (1, 1, 1)
    assert figures["points"] in (0.5, 1) and figures["words"] > 5
    assert figures["wrong"] == 0 and 0 < figures["brier"] < 0.25


def test_of_a_question_without_an_answer_only_the_outcome_counts() -> None:
    row = ROW | {"q": "Who founded the railway museum?", "told": "no", "points": [], "best": None}
    figures = measure(row, answer(row))
    assert figures["answer, unanswerable"] == figures["wrong"] == 0 and "best" not in figures
