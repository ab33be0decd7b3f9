"""Sets that are relevant and say different things: selected locally, or by the chat model."""

import numpy as np
import pytest

from adaptive_rag.context import make_context
from adaptive_rag.rank.selection import PassageChoice, ask_to_select, cover, select
from tests.llm.made import QUESTION, candidate, finish

# Two paraphrases, a text on the same topic, a text on another.
VECTORS = np.array([[1, 0, 0], [0.98, 0.199, 0], [0.6, 0.8, 0], [0, 0, 1]], dtype=np.float32)
RELEVANCE = [1.0, 0.95, 0.8, 0.1]


def test_coverage_chooses_each_item_once_and_no_more_than_there_are():
    for k in (0, 2, 9):
        chosen = cover(VECTORS, RELEVANCE, k)
        assert len(chosen) == len(set(chosen)) == min(k, 4)
    assert cover(VECTORS[:0], [], 3) == []


def test_coverage_puts_another_thought_before_a_paraphrase_and_the_irrelevant_last():
    assert cover(VECTORS, RELEVANCE, 4) == [0, 2, 1, 3]


CANDIDATES = [candidate(n) for n in range(1, 8)]
LOCAL = [CANDIDATES[4], CANDIDATES[0]]


def ids(candidates):
    return [c["id"] for c in candidates]


def choose(*numbers):
    said = [[PassageChoice(passages=list(numbers))]] if numbers else [[None]]
    (chosen, by_model), [request] = finish(select(QUESTION, CANDIDATES, LOCAL, "model"), *said)
    return ids(chosen), by_model, request


def test_selection_is_local_unless_a_setting_says_otherwise():
    selection = make_context().retrieval.selection
    assert selection == "local"
    assert finish(select(QUESTION, CANDIDATES, LOCAL, selection)) == ((LOCAL, False), [])


def test_a_model_reads_the_local_set_first_then_the_best_of_the_others():
    *_, request = choose()
    assert request.values()["n"] == "4"
    assert request.bounds["passages"]["items"]["maximum"] == 4
    assert request.bounds["passages"]["maxItems"] == 2
    # c5 and c1 were selected locally, c2 and c3 are the best of the others
    assert choose(1, 2)[0] == ["c5", "c1"]
    assert choose(3, 4)[0] == ["c2", "c3"]


@pytest.mark.parametrize(
    ("numbers", "chosen"),
    [
        ((4, 1), ["c3", "c5"]),
        ((3,), ["c2", "c5"]),  # filled up from the local set
        ((3, 3, 3), ["c2", "c5"]),
        ((1,), ["c5", "c1"]),
        ((4, 3, 2, 1), ["c3", "c2"]),
    ],
)
def test_a_models_choice_is_made_as_long_as_the_local_set(numbers, chosen):
    assert choose(*numbers)[:2] == (chosen, True)


def test_without_a_reply_the_local_set_stands():
    assert choose()[:2] == (["c5", "c1"], False)


def test_a_number_that_names_no_passage_is_dropped_and_nothing_else_refused():
    check = ask_to_select(QUESTION, CANDIDATES, 2).check
    assert check(PassageChoice(passages=[7, 1])).passages == [7, 1]
    assert check(PassageChoice(passages=[0, 3, 8, -1])).passages == [3]
    with pytest.raises(ValueError, match=r"numbered 1 to 7, got \[0, 8\]"):
        check(PassageChoice(passages=[0, 8]))
