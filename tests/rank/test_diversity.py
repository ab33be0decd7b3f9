from typing import get_args

import numpy as np
import pytest

from adaptive_rag.rank.diversity import (
    SELECTORS,
    Diversity,
    cover,
    facility_location,
    maximal_marginal_relevance,
    most_relevant,
)

# Two paraphrases, a text on the same topic, a text on another.
VECTORS = np.array([[1, 0, 0], [0.98, 0.199, 0], [0.6, 0.8, 0], [0, 0, 1]], dtype=np.float32)
RELEVANCE = [1.0, 0.95, 0.8, 0.1]


def test_the_table_has_every_name():
    assert set(SELECTORS) == set(get_args(Diversity))


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_chooses_each_item_once_and_no_more_than_there_are(name):
    for k in (0, 2, 9):
        chosen = SELECTORS[name](VECTORS, RELEVANCE, k)
        assert len(chosen) == len(set(chosen)) == min(k, 4)
    assert SELECTORS[name](VECTORS[:0], [], 3) == []


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_begins_with_the_most_relevant(name):
    assert SELECTORS[name](VECTORS, RELEVANCE, 1) == [0]


def test_coverage_puts_another_thought_before_a_paraphrase():
    assert cover(VECTORS, RELEVANCE, 3)[:2] == [0, 2]


def test_coverage_does_not_fetch_the_irrelevant_for_being_new():
    assert cover(VECTORS, RELEVANCE, 3) == [0, 2, 1]


def test_coverage_does_not_mind_the_scale_of_relevance():
    assert cover(VECTORS, [10 * r - 3 for r in RELEVANCE], 4) == cover(VECTORS, RELEVANCE, 4)


def test_marginal_relevance_with_weight_one_is_relevance():
    assert maximal_marginal_relevance(VECTORS, RELEVANCE, 4, weight=1.0) == most_relevant(
        VECTORS, RELEVANCE, 4
    )


def test_facility_location_prefers_what_stands_for_more_of_the_relevant():
    lone_then_group = np.array([[0, 1], [1, 0], [0.99, 0.141], [0.99, -0.141]], dtype=np.float32)
    assert facility_location(lone_then_group, [0.5, 0.5, 0.5, 0.4], 1, weight=0.0) != [0]
