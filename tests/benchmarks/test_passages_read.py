"""What is counted among the passages that an answer reads."""

import pytest

from adaptive_rag.evaluation.datasets import Dataset, Question
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.index.memory import MemoryIndex
from benchmarks.passages_read import at_tokens, compare, measure

TEXTS = [f"Reason {i}: the sea wall of Saltmere protects house {i}." for i in range(30)]
GRAPH = build_retrieval_graph().compile()


@pytest.fixture(scope="module")
def index() -> MemoryIndex:
    return MemoryIndex.from_texts(TEXTS)


@pytest.fixture(scope="module")
def dataset(index: MemoryIndex) -> Dataset:
    ids = [chunk["id"] for chunk in index.search(["sea wall"], limit=30)[0]]
    question = Question(
        "q",
        "How long is the sea wall of Saltmere?",
        type="factual",
        gold=dict.fromkeys(ids, 1),
        aspects={id_: (f"{'support' if i % 2 else 'undermine'}/{i}",) for i, id_ in enumerate(ids)},
    )
    return Dataset("town", questions=(question,))


def test_recall_sides_and_aspects_are_those_of_what_is_read(index: MemoryIndex, dataset: Dataset) -> None:
    row = measure(dataset, index, GRAPH, k=30)
    assert row | {"tokens": 0} == {
        "passages": 30,
        "tokens": 0,
        "recall": 1,
        "any": 1,
        "both": 1,
        "aspects": 1,
    }
    row = measure(dataset, index, GRAPH, k=1)
    assert (row["recall"], row["both"], row["aspects"]) == (pytest.approx(1 / 30), 0, pytest.approx(1 / 30))
    # 51 bytes, or 53 where the number has two digits
    assert row["tokens"] in (13, 14)


def test_equal_tokens_lie_on_a_line_between_two_rows() -> None:
    fewer, more = {"tokens": 100.0, "recall": 0.4}, {"tokens": 200.0, "recall": 0.8}
    assert at_tokens(150, fewer, more) == {"tokens": 150, "recall": pytest.approx(0.6)}
    assert at_tokens(100, fewer, fewer) == fewer


def test_a_row_is_printed_for_every_way_to_read(
    index: MemoryIndex, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    compare(dataset, index, GRAPH, [4], ["balanced"])
    names = [line.split(" | ")[1] for line in capsys.readouterr().out.splitlines()]
    assert names[:2] == ["k = 4", "k unset"]
    assert names[3] == "profile = balanced"
    assert all(name.startswith("as many tokens, k = ") for name in (names[2], names[4]))
    assert len(names) == 5
