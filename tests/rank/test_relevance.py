import numpy as np
import pytest

from adaptive_rag.rank.features import best_sentence, bm25_among, count_terms, term_coverage


def unit(*rows):
    array = np.array(rows, dtype=np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def test_a_chunk_is_as_near_as_its_nearest_sentence():
    query = unit([1, 0])[0]
    found = best_sentence(query, [unit([0, 1], [1, 0]), unit([1, 1])])
    assert found == pytest.approx([1.0, 0.5**0.5])


def test_a_chunk_without_sentences_gets_the_lowest_score():
    query = unit([1, 0])[0]
    none = np.zeros((0, 2), dtype=np.float32)
    assert best_sentence(query, [none, unit([1, 1]), none, unit([1, 0])]) == pytest.approx(
        [0.5**0.5, 0.5**0.5, 0.5**0.5, 1.0]
    )


def test_without_any_sentence_all_score_nothing():
    none = np.zeros((0, 2), dtype=np.float32)
    assert best_sentence(unit([1, 0])[0], [none, none]).tolist() == [0.0, 0.0]


def covered(question, texts):
    return term_coverage(count_terms(question, texts))


def test_terms_are_counted_in_each_text():
    counts = count_terms("harbour lantern", ["Harbours, harbour!", "a lantern", "tides"])
    assert counts.tolist() == [[2, 0], [0, 1], [0, 0]]


def test_a_word_that_begins_like_two_terms_is_counted_once():
    assert count_terms("ai aims", ["AI aims high, unaimed; aims_aims"]).tolist() == [[1, 3]]


def test_a_rare_word_covers_more_than_a_common_one():
    shares = covered("harbour lantern", ["harbour harbour", "harbour", "harbour tides", "harbour lantern"])
    assert shares[3] == pytest.approx(1.0)
    assert shares[0] == shares[1] == shares[2]  # neither repeats nor other words count
    assert shares[0] < 0.5


def test_coverage_meets_other_forms_of_a_word():
    assert covered("predicting floods", ["flood prediction", "a sea wall"])[0] == pytest.approx(1.0)


def test_a_question_of_stop_words_covers_nothing():
    assert covered("what is it?", ["anything"]).tolist() == [0.0]
    assert covered("harbour", []).tolist() == []
    assert bm25_among(count_terms("what is it?", ["anything"]), np.ones(1)).tolist() == [0.0]


def test_among_candidates_repeats_count_and_length_weighs():
    texts = ["harbour", "harbour harbour", "tides", "tides", "harbour"]
    once, twice, none, _, long = bm25_among(count_terms("harbour", texts), np.array([10, 10, 10, 10, 40.0]))
    assert none == 0 < long < once < twice


def test_a_word_that_all_candidates_hold_ranks_none_of_them():
    held = ["harbour lantern", *["harbour"] * 9]
    scores = bm25_among(count_terms("harbour lantern", held), np.full(10, 20.0))
    assert scores[0] > 10 * scores[1]
