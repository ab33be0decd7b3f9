"""The table of rerankers: what every row must do, whatever it scores by."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.llm.request import Reply
from adaptive_rag.rank.rerankers import RERANKERS
from adaptive_rag.rank.scoring import RerankRequest
from adaptive_rag.state import Candidate
from adaptive_rag.text.languages import load_words
from tests.models.made_cross_encoder import write_cross_encoder
from tests.models.made_reader import write_reader

TEXTS = ["The wall was built in 1968.", "Herring is salted.", "The library is open."]


@pytest.mark.parametrize("name", RERANKERS)
def test_a_reranker_orders_what_it_was_given_and_adds_nothing(
    name: str, make: Callable[..., Candidate], tmp_path: Path
) -> None:
    given = [make(str(i), text, fused=1 - i / 10) for i, text in enumerate(TEXTS)]
    model = (
        str(write_cross_encoder(tmp_path, "When was the wall built?", *TEXTS))
        if name == "cross-encoder"
        else ""
    )
    reader = f"onnx:{write_reader(tmp_path / 'reader.onnx')}"
    settings = make_context(retrieval={"reranker_model": model}, reader=reader)
    request = RerankRequest("When was the wall built?", "", given, 3, lambda: [5.0, 3.0, 4.0], settings)
    work = RERANKERS[name].rerank(request)
    try:
        asked = next(work)
        while True:
            asked = work.send([Reply(reason="no model") for _ in asked])
    except StopIteration as done:
        ranked = done.value
    assert sorted(candidate["id"] for candidate in ranked) == ["0", "1", "2"]
    assert all(set(candidate["scores"]) >= {"fused"} for candidate in ranked)
    # The page shows the scores that have a label.
    labels = load_words("en").labels["score"]
    assert all(candidate["scores"].keys() <= labels.keys() for candidate in ranked)
    key = "relevance" if "relevance" in ranked[0]["scores"] else "fused"
    scores = [candidate["scores"][key] for candidate in ranked]
    assert scores == sorted(scores, reverse=True)
    assert key == "fused" or all(0 <= score <= 10 for score in scores)
