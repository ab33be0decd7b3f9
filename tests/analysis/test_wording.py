"""What becomes of a question that the router leaves open between two types."""

from adaptive_rag.analysis import analyse
from adaptive_rag.analysis.wording import settle_by_wording


def test_where_the_asker_says_who_they_are_the_question_is_contextual():
    found = analyse("who repairs the boiler", user_context="I am the tenant of unit 7")
    open_one = {**found, "type": "factual", "alternatives": ["contextual"]}

    assert settle_by_wording(open_one, situated=True)["type"] == "contextual"
    assert settle_by_wording(open_one, situated=False) == open_one


def test_a_question_for_causes_is_rather_analytical_than_factual():
    found = analyse("What caused the checkout outage on 6 May?")
    open_one = {**found, "type": "factual", "alternatives": ["analytical"]}

    decided = settle_by_wording(open_one, situated=False)

    assert (decided["type"], decided["alternatives"]) == ("analytical", ["factual"])
