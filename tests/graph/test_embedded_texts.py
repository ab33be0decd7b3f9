"""How many texts a question embeds: what a question costs most."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index import Index
from adaptive_rag.models.onnx import OnnxEmbeddings, Vectors, load_minilm
from adaptive_rag.rank.stances import AGAINST, FOR
from adaptive_rag.state import RoutedType
from adaptive_rag.testing import ScriptedChatModel
from tests.conftest import EVERY_STEP, TOWN

QUESTION = "Should the town raise the sea wall against the storms?"
CONTEXT = "I rent a flat on the ground floor."


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    for number, text in enumerate(TOWN):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    Index.build(folder, folder / "kb")
    return folder / "kb"


def count_embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gains the number of texts of every batch that is embedded from now on."""
    embedded: list[int] = []
    run = OnnxEmbeddings._run

    def counted(self: OnnxEmbeddings, batch: Sequence[Sequence[int]]) -> Vectors:
        embedded.append(len(batch))
        return run(self, batch)

    monkeypatch.setattr(OnnxEmbeddings, "_run", counted)
    return embedded


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("route", "context", "texts"),
    [
        ("factual", "", 1),
        ("contextual", CONTEXT, 3),  # the question, the question in its context, the context
        ("analytical", "", 1),
        ("opinion", "", 2),  # the question and its keywords
    ],
)
def test_each_text_is_embedded_once(
    kb: Path, monkeypatch: pytest.MonkeyPatch, route: RoutedType, context: str, texts: int
) -> None:
    model = load_minilm()
    model.forget()
    # The headings of the sides are the same for every question.
    model.encode([FOR, AGAINST, "who is affected and how"])
    rag = AdaptiveRAG(kb, route=route)
    embedded = count_embedded(monkeypatch)
    rag.invoke({"question": QUESTION, "user_context": context})
    assert sum(embedded) == texts


def test_each_sub_question_of_a_model_is_embedded_once(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_minilm().forget()
    embedded = count_embedded(monkeypatch)
    model = ScriptedChatModel(script={"generate": "I don't know."})
    AdaptiveRAG(kb, route="analytical", model=model, **EVERY_STEP).invoke(QUESTION)
    assert model.skills == ["decompose", "generate"]
    assert sum(embedded) == 4, "the question and three sub-questions"
