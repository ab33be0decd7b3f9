"""The views of a question-answer pair: how they are weighed."""

from typing import get_args

import pytest

from adaptive_rag.search.views import PAIR_ALONE, WEIGHTS_BY_INTENT, WITH_ANSWER, WITH_QUESTION, weigh_views
from adaptive_rag.state import Intent


def test_every_intent_has_weights():
    assert set(WEIGHTS_BY_INTENT) == set(get_args(Intent))


@pytest.mark.parametrize(
    ("weights", "mean"),
    [
        (WITH_QUESTION, (0.6 * 0.5 + 0.3 * 0.9) / 0.9),
        (WITH_ANSWER, (0.6 * 0.5 + 0.4 * 0.1) / 1.0),
        (PAIR_ALONE, 0.5),
    ],
)
def test_the_dense_score_of_a_pair_becomes_the_weighted_mean_of_its_views(make, weights, mean):
    pair = make("a", dense=0.5, dense_question=0.9, dense_answer=0.1, sparse=2.0)
    weighed = weigh_views(pair, weights)
    assert weighed["scores"]["dense"] == pytest.approx(mean)
    assert weighed["scores"]["dense_pair"] == 0.5
    assert weighed["scores"]["sparse"] == 2.0
    assert pair["scores"]["dense"] == 0.5


def test_a_chunk_that_is_no_pair_stays_as_it_is(make):
    plain = make("a", dense=0.3, sparse=1.0)
    assert weigh_views(plain, WITH_ANSWER) == plain
