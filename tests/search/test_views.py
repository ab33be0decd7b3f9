"""The views of a question-answer pair: how they are weighed, and that the setting is obeyed."""

from pathlib import Path
from typing import Any, get_args

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.index import Index
from adaptive_rag.search.search import search
from adaptive_rag.search.views import PAIR_ALONE, WEIGHTS_BY_INTENT, WITH_ANSWER, WITH_QUESTION, weigh_views
from adaptive_rag.state import Candidate, Intent, Query

PAIRS = """question,answer
When are the sirens tested?,On the first Monday of each month at eleven.
Where are the sandbag stations?,At the fish quay and in Mill Street.
The pump does not start. What can I do?,Switch it off and clean the filter before you try again.
"""


def candidate(**scores: float) -> Candidate:
    return Candidate(
        id="a",
        source="faq.csv",
        page=None,
        section=None,
        start=0,
        end=1,
        text="x",
        metadata={},
        scores=scores,
        labels=[],
    )


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
def test_the_dense_score_of_a_pair_becomes_the_weighted_mean_of_its_views(weights, mean):
    pair = candidate(dense=0.5, dense_question=0.9, dense_answer=0.1, sparse=2.0)
    [weighed] = weigh_views([pair], weights)
    assert weighed["scores"]["dense"] == pytest.approx(mean)
    assert weighed["scores"]["dense_pair"] == 0.5
    assert weighed["scores"]["sparse"] == 2.0
    assert pair["scores"]["dense"] == 0.5


def test_equal_views_leave_the_score_as_it_was():
    for weights in WEIGHTS_BY_INTENT.values():
        [weighed] = weigh_views([candidate(dense=0.4, dense_question=0.4, dense_answer=0.4)], weights)
        assert weighed["scores"]["dense"] == pytest.approx(0.4)


def test_a_chunk_that_is_no_pair_stays_as_it_is():
    plain = candidate(dense=0.3, sparse=1.0)
    assert weigh_views([plain], WITH_ANSWER) == [plain]


@pytest.fixture(scope="module")
def faq(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("faq")
    (folder / "faq.csv").write_text(PAIRS)
    Index.build([folder / "faq.csv"], folder / "index")
    return Index.open(folder / "index")


ANALYSIS: Any = {"ontology_terms": {}, "domain_relevance": 0.5, "intent": "factual"}


def test_the_setting_reaches_the_search(faq: Index) -> None:
    query = Query(text="When do they try out the alarm?")

    def scores(**retrieval: Any) -> dict[str, dict[str, float]]:
        found, _ = search(faq, [query], make_context(retrieval=retrieval), ANALYSIS)
        return {candidate["id"]: candidate["scores"] for candidate in found}

    without, with_views = scores(), scores(qa_views=True)
    assert without.keys() == with_views.keys()
    assert all("dense_pair" not in found for found in without.values())
    assert all("dense_pair" in found for found in with_views.values())
    assert any(abs(with_views[id_]["dense"] - without[id_]["dense"]) > 0.01 for id_ in without)
