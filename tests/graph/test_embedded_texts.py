"""How many texts a question embeds: what a question costs most."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index import Index
from adaptive_rag.models.onnx import OnnxEmbeddings, Vectors, load_minilm
from adaptive_rag.rank.stances import AGAINST, FOR
from adaptive_rag.state import QueryType
from tests.conftest import TOWN

QUESTION = "Should the town raise the sea wall against the storms?"
CONTEXT = "I rent a flat on the ground floor."


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    for number, text in enumerate(TOWN):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    Index.build(folder, folder / "kb")
    return folder / "kb"


@pytest.mark.parametrize(
    ("route", "context", "texts"),
    [
        ("factual", "", 1),
        ("contextual", CONTEXT, 3),  # the question, the question in its context, the context
        ("analytical", "", 4),  # the question and three sub-questions
        ("opinion", "", 2),  # the question and its keywords
    ],
)
def test_each_text_is_embedded_once(
    kb: Path, monkeypatch: pytest.MonkeyPatch, route: QueryType, context: str, texts: int
) -> None:
    model = load_minilm()
    model.forget()
    # The headings of the sides are the same for every question.
    model.encode([FOR, AGAINST, "who is affected and how"])
    rag = AdaptiveRAG(kb, route=route)
    embedded: list[int] = []
    run = OnnxEmbeddings._run

    def counted(self: OnnxEmbeddings, batch: Sequence[Sequence[int]]) -> Vectors:
        embedded.append(len(batch))
        return run(self, batch)

    monkeypatch.setattr(OnnxEmbeddings, "_run", counted)
    rag.invoke({"question": QUESTION, "user_context": context})
    assert sum(embedded) == texts
