import numpy as np
import pytest

from adaptive_rag.search.alpha import HIGHEST, IN_DOMAIN_ALPHA, choose_alpha, word_margin

PLAIN = {"ontology_terms": {}, "domain_relevance": 0.5}
CLEAR = np.array([10.0] + [1.0] * 20)
UNCLEAR = np.full(20, 4.0)


def test_words_that_single_out_a_chunk_count_more():
    assert choose_alpha(CLEAR, PLAIN)[0] < 0.5 < choose_alpha(UNCLEAR, PLAIN)[0]


@pytest.mark.parametrize(
    ("sparse", "margin"),
    [
        ([8.0, 7, 7, 7, 4, 4, 4, 4, 4, 4, 0], 0.5),  # against ranks 5 to 10, in any order
        ([4.0, 0, 4, 7, 4, 4, 8, 7, 4, 7, 4], 0.5),
        ([8.0, *[2.0] * 8], 0.0),  # no tenth chunk holds a word: a stray match singles nothing out
        ([8.0, *[2.0] * 8, *[0.0] * 30], 0.0),
        ([8.0], 0.0),
        ([0.0, 0.0, 0.0], 0.0),
        ([], 0.0),
    ],
)
def test_the_margin_is_the_share_by_which_the_best_leads(sparse, margin):
    assert word_margin(np.array(sparse)) == pytest.approx(margin)


def test_alpha_stays_between_its_bounds():
    assert choose_alpha(np.array([1e6] + [1e-3] * 20), PLAIN)[0] == pytest.approx(0.4)
    assert choose_alpha(UNCLEAR, PLAIN)[0] == HIGHEST


def test_in_a_known_domain_meaning_counts_more():
    known = {"ontology_terms": {"sea": ["wall"]}, "domain_relevance": 0.9}
    alpha, why = choose_alpha(CLEAR, known)
    assert alpha == IN_DOMAIN_ALPHA and "domain" in why
    assert choose_alpha(CLEAR, {"ontology_terms": {}, "domain_relevance": 0.9})[0] < 0.5
