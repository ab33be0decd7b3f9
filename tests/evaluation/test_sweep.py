from adaptive_rag.evaluation.arms import Bench
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.sweep import sweep_alpha
from tests.evaluation.conftest import Graph, Words


def test_the_sweep_ends_at_words_alone_and_meaning_alone(tiny: Dataset, graph: Graph) -> None:
    sweep = sweep_alpha(tiny, Bench(source=Words(tiny), graph=graph, k=1))
    assert list(sweep["all"]) == [f"{step / 10:.1f}" for step in range(11)]
    assert set(sweep) == {"all", "factual", "opinion", "contextual"}
    assert (sweep["factual"]["0.0"], sweep["factual"]["1.0"]) == (1.0, 0.0)
