import pytest

from adaptive_rag.text.words import coverage, language_of, stem, terms, weighted_terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("predicting", "prediction"),
        ("regulation", "regulatory"),
        ("organisation", "organizations"),
        ("babies", "baby"),
        ("stopped", "stop"),
    ],
)
def test_forms_of_a_word_share_their_stem(one, other):
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("art", "arm"), ("gas", "gash"), ("university", "universe"[:4])])
def test_different_words_keep_different_stems(one, other):
    assert stem(one) != stem(other)


def test_terms_leave_out_the_words_that_any_text_has():
    assert terms("What is the height of the wall?") == [stem("height"), stem("wall")]


def test_names_and_quoted_words_weigh_more_than_words_of_asking():
    weights = weighted_terms("What kinds of 'cobot' does the city of Norhaven use?")
    assert weights[stem("norhaven")] == weights[stem("cobot")] == 2.0
    assert weights[stem("city")] == 1.0
    assert weights[stem("kinds")] < 1.0


def test_coverage_of_nothing_is_nothing():
    assert coverage({}, {"wall"}) == 0.0
    assert coverage({"wall": 1.0, "sea": 3.0}, {"sea"}) == 0.75


def test_accents_are_left_out_as_they_are_when_a_question_is_typed():
    assert terms("the cafe of Muller") == terms("the Café of Müller")
    assert weighted_terms("a Café") == weighted_terms("a Cafe")
    assert weighted_terms("is there 'café noir'") == weighted_terms("is there 'cafe noir'")
    assert terms("が ガ") == ["が", "ガ"]  # a mark that makes another letter of it stays


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Wie hoch ist die Kaution?", ["hoch", "kaution"]),
        ("Was muss ich für den Müll tun?", ["mull"]),
        ("When did the men of war die?", ["men", "war", "die"]),
        ("Will the man die?", ["man", "die"]),
    ],
)
def test_german_function_words_weigh_nothing_in_german_questions(question, asked):
    assert list(weighted_terms(question)) == [stem(word) for word in asked]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The wall protects the low town.", "en"),
        ("Der Deich schützt viele Häuser.", "de"),
        ("El muro protege muchas casas de la ciudad.", "es"),
        ("Стена защищает дома.", "CYRILLIC"),
        # no function word, or only such as several languages have
        ("Bananas grow well in Iceland.", None),
        ("harbour office", None),
    ],
)
def test_a_language_is_told_only_by_its_own_words(text, language):
    assert language_of(text) == language
