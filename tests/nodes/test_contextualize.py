"""What of the asker's situation reaches the search."""

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.context import make_context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.nodes import contextualize
from adaptive_rag.testing import run_node
from tests.conftest import TOWN

QUESTION = "How much has the sea risen at Saltmere since 1950?"
CELLO = "My sister plays the cello and collects old French novels about horses."


@pytest.mark.parametrize(
    ("situation", "searched"), [("I live in Saltmere, behind the sea wall.", True), (CELLO, False)]
)
def test_a_situation_off_the_topic_is_not_searched_for(situation: str, searched: bool) -> None:
    rag = AdaptiveRAG(MemoryIndex.from_texts(TOWN), route="contextual")
    output = rag.invoke({"question": QUESTION, "user_context": situation})
    record = next(record for record in output["trace"] if record["step"] == "contextualize")
    assert any(situation in query for query in record["queries"]) is searched
    left_out = [d["chosen"] for d in record["decisions"] if d["what"] == "situation"]
    assert left_out == ([] if searched else ["not searched for"])


def test_without_context_the_situation_is_not_used_for_scores_and_answers(town: MemoryIndex) -> None:
    state = {"question": QUESTION, "user_context": "I farm.", "query_type": "contextual"}
    update = run_node(contextualize, state, make_context(index=town, without="context"))
    assert update["implied_context"] == ""
