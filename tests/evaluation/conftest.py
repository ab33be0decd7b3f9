"""A small data set on disk, a small source, and a graph that only remembers what it was asked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adaptive_rag.evaluation.arms import Bench
from adaptive_rag.evaluation.datasets import Dataset, load_dataset

CORPUS = [
    {"_id": "p1", "title": "Harbour", "text": "The harbour was dredged in 1987."},
    {"_id": "p2", "title": "", "text": "A higher wall protects homes."},
    {"_id": "p3", "title": "", "text": "A higher wall hides the beach."},
    {"_id": "p4", "title": "Library", "text": "Library hours are Tuesday to Saturday."},
]
QUERIES = [
    {"_id": "q1", "text": "When was the harbour dredged?", "type": "Factual", "reference_answer": "In 1987."},
    {"_id": "q2", "text": "Should the wall be raised?", "type": "opinion", "claim": "SECRET claim"},
    {
        "_id": "q3",
        "text": "When can I go?",
        "type": "Contextual",
        "user_context": "I want to read in the library.",
        "history": [{"role": "user", "text": "Is there a library?"}, {"role": "agent", "text": "Yes."}],
        "standalone_text": "SECRET rewrite",
        "reference_answer": "SECRET answer",
    },
]
QRELS = [("q1", "p1", 1), ("q2", "p2", 1), ("q2", "p3", 1), ("q3", "p4", 2)]
ASPECTS = [("q2", "p2", "support/c01"), ("q2", "p3", "undermine/c01")]

Write = Callable[..., Path]


def writing_sets(place: Path) -> Write:
    """Return what writes a BEIR folder; any part can be replaced."""

    def write(
        name: str = "tiny",
        corpus: list[Any] | None = None,
        queries: list[Any] | None = None,
        qrels: list[tuple[Any, ...]] | None = None,
        aspects: list[tuple[Any, ...]] | None = None,
        qrels_header: str = "query-id\tcorpus-id\tscore",
    ) -> Path:
        folder = place / name
        folder.mkdir(exist_ok=True)
        for file, rows, default in (("corpus.jsonl", corpus, CORPUS), ("queries.jsonl", queries, QUERIES)):
            rows = default if rows is None else rows
            (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        for file, header, table, rows in (
            ("qrels.tsv", qrels_header, qrels, QRELS),
            ("aspects.tsv", "query-id\tcorpus-id\taspect", aspects, ASPECTS),
        ):
            lines = [header, *("\t".join(map(str, row)) for row in (rows if table is None else table))]
            (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder

    return write


@pytest.fixture
def write_set(tmp_path: Path) -> Write:
    return writing_sets(tmp_path)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load_dataset(writing_sets(tmp_path_factory.mktemp("sets"))())


class Words:
    """A source that counts shared words; its "vectors" like short passages."""

    def __init__(self, dataset: Dataset) -> None:
        self.passages = dataset.passages
        self.searches: list[list[str]] = []

    def search(self, queries: Any, *, limit: int) -> Any:
        self.searches.append(list(queries))
        return [self._one(query)[:limit] for query in queries]

    def _one(self, query: str) -> list[Any]:
        words = set(query.lower().strip("?").split())
        candidates = []
        for passage in self.passages:
            shared = float(len(words & set(passage["text"].lower().strip(".").split())))
            dense = 1 / len(passage["text"])
            candidates.append({**passage, "scores": {"dense": dense, "sparse": shared}, "labels": []})
        return candidates

    def __len__(self) -> int:
        return len(self.passages)

    def chunks(self) -> Any:
        return iter(self.passages)

    def vectors(self, ids: Any) -> Any:
        return np.zeros((len(ids), 2), dtype=np.float32)

    def sentences(self, ids: Any) -> Any:
        raise AssertionError("no arm reads sentences itself")


class Graph:
    """Remembers inputs and contexts, and finds the gold of whatever it is asked."""

    def __init__(self, dataset: Dataset, *, fail_at: int | None = None) -> None:
        self.dataset = dataset
        self.asked: list[tuple[dict[str, Any], Any]] = []
        self.fail_at = fail_at

    def invoke(self, state: Any, /, *, context: Any) -> Any:
        if self.fail_at is not None and len(self.asked) == self.fail_at:
            raise KeyboardInterrupt
        self.asked.append((state, context))
        question = next(q for q in self.dataset.questions if q.text == state["question"])
        documents = [
            {**p, "scores": {"fused": 1.0}, "labels": []}
            for p in self.dataset.passages
            if p["id"] in question.gold
        ]
        kind = context.route or "factual"
        return {
            "documents": documents,
            "analysis": {
                "type": kind,
                "probabilities": {
                    name: 0.7 if name == kind else 0.1
                    for name in ("factual", "analytical", "opinion", "contextual")
                },
                "confidence": 0.6,
                "alternatives": [],
            },
            "trace": [
                {"step": "classify", "ms": 1.0, "calls": 1, "rounds": 1, "tokens": {"in": 10, "out": 2}},
                {"step": "retrieve", "ms": 2.0, "calls": 0, "rounds": 0, "tokens": {}, "queries": ["q"]},
            ],
            "answer": "In 1987 [1].",
            "citations": [],
            "abstained": False,
        }


@pytest.fixture
def graph(tiny: Dataset) -> Graph:
    return Graph(tiny)


@pytest.fixture
def bench(tiny: Dataset, graph: Graph) -> Bench:
    return Bench(source=Words(tiny), graph=graph, k=2)
