"""The views of question-answer pairs in the whole graph: the setting reaches every strategy's search."""

from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.index import Index
from adaptive_rag.state import Candidate

PAIRS = """question,answer
When are the sirens tested?,On the first Monday of each month at eleven.
Where are the sandbag stations?,At the fish quay and in Mill Street.
The pump does not start. What can I do?,Switch it off and clean the filter before you try again.
"""


@pytest.fixture(scope="module")
def faq(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("faq")
    (folder / "faq.csv").write_text(PAIRS)
    Index.build([folder / "faq.csv"], folder / "index")
    return Index.open(folder / "index")


def ask(faq: Index, question: str, **settings: Any) -> list[Candidate]:
    context = make_context(index=faq, without="window,hedge", **settings)
    return build_retrieval_graph().compile().invoke({"question": question}, context=context)["documents"]


@pytest.mark.parametrize("route", STRATEGIES)
def test_the_setting_reaches_the_search_of_every_strategy(faq: Index, route: str) -> None:
    question = "When do they try out the alarm?"
    without = {d["id"]: d["scores"] for d in ask(faq, question, route=route)}
    views = ask(faq, question, route=route, retrieval={"qa_views": True})
    with_views = {d["id"]: d["scores"] for d in views}
    assert without.keys() == with_views.keys()
    assert all("dense_pair" not in scores for scores in without.values())
    assert all("dense_pair" in scores for scores in with_views.values())
    assert any(abs(with_views[id_]["dense"] - without[id_]["dense"]) > 0.01 for id_ in without)
