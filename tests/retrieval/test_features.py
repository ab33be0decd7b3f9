import numpy as np
import pytest

from adaptive_rag.retrieval.features import best_sentence, term_coverage


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


def test_a_rare_word_covers_more_than_a_common_one():
    texts = ["harbour harbour", "harbour", "harbour tides", "harbour lantern"]
    covered = term_coverage("harbour lantern", texts)
    assert covered[3] == pytest.approx(1.0)
    assert covered[0] == covered[1] == covered[2]  # neither repeats nor other words count
    assert covered[0] < 0.5


def test_coverage_meets_other_forms_of_a_word():
    assert term_coverage("predicting floods", ["flood prediction", "a sea wall"])[0] == pytest.approx(1.0)


def test_a_question_of_stop_words_covers_nothing():
    assert term_coverage("what is it?", ["anything"]).tolist() == [0.0]
    assert term_coverage("harbour", []).tolist() == []
