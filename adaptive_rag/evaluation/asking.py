"""Opens what the arms share, asks one question of every arm, and writes down what each made of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.graph import END, START, StateGraph

from adaptive_rag.context import Context, make_context
from adaptive_rag.evaluation.arms import AnsweringGraph, Arm, ArmName, Bench, Result
from adaptive_rag.evaluation.corpora import open_corpus
from adaptive_rag.evaluation.datasets import Dataset, Question, with_gold
from adaptive_rag.evaluation.metrics import Answer, ranked_ids, score_answer
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.records import ArmRecord, QuestionRecord
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.index import Progress
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.nodes import generate
from adaptive_rag.state import State, TraceRecord

# Characters of a chunk that are kept for a reader of the report.
BEGINNING = 300
# Candidates of a step that are kept for the same reader.
KEPT_CANDIDATES = 10


def open_bench(
    dataset: Dataset,
    cache: Path,
    settings: RunSettings,
    show_index: Callable[[str, Progress], None] = lambda name, progress: None,
) -> tuple[Dataset, Bench]:
    """Open the index and the graph for a data set; complete its judgements and notes from the index.

    `show_index` is called with the name of the data set while it is indexed.

    Raises:
        IndexingError: no document could be read.
    """
    embeddings = make_context(**settings.knobs).embeddings
    corpus = open_corpus(dataset, cache, embeddings=embeddings, progress=partial(show_index, dataset.name))
    answered = settings.answers if settings.answers is not None else not dataset.passages
    bench = Bench(
        source=corpus.index,
        graph=(build_graph() if answered else build_retrieval_graph()).compile(),
        answering=_build_last_step() if answered else None,
        k=settings.k,
        seed=settings.seed,
        knobs=dict(settings.knobs),
    )
    if not dataset.passages:
        dataset = with_gold(dataset, corpus.index.chunks())
    return replace(dataset, notes=(*dataset.notes, *corpus.notes)), bench


def _build_last_step() -> AnsweringGraph:
    """Build the graph that answers from documents which an arm found itself."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State, context_schema=Context)
    graph.add_node("generate", generate)
    graph.add_edge(START, "generate")
    graph.add_edge("generate", END)
    return graph.compile()


def ask(dataset: Dataset, question: Question, arms: Mapping[ArmName, Arm], bench: Bench) -> QuestionRecord:
    """Return the record of a question; its rankings are scored once the whole data set is answered."""
    results = _results(question, arms, bench)
    record = QuestionRecord(
        dataset=dataset.name,
        id=question.id,
        type=question.type,
        question=question.text,
        user_context=question.user_context,
        history=list(question.history),
        reference=question.reference,
        has_answer=question.has_answer,
        gold=question.gold,
        ranked={name: ranked_ids(results[name].documents) for name in arms},
        arms={name: _arm_record(question, results[name]) for name in arms},
    )
    if not dataset.passages:
        found = [document for result in results.values() for document in result.documents]
        record["texts"] = {document["id"]: document["text"][:BEGINNING] for document in found}
    return record


def _results(question: Question, arms: Mapping[ArmName, Arm], bench: Bench) -> dict[ArmName, Result]:
    names = list(arms)
    # The first search of a question pays for what the others find warm, so the arms take turns at it.
    turn = zlib.crc32(question.id.encode()) % len(names)
    results = {}
    for name in [*names[turn:], *names[:turn]]:
        # An arm must not profit from what the arm before it has embedded.
        load_minilm().forget()
        results[name] = arms[name].run(question, bench)
    return results


def _arm_record(question: Question, result: Result) -> ArmRecord:
    analysis = result.analysis
    record = ArmRecord(
        metrics={},
        ms=result.ms,
        model_calls=result.model_calls,
        rounds=result.rounds,
        tokens=result.tokens,
        route=analysis["type"] if analysis else None,
        probability=round(analysis["probabilities"][analysis["type"]], 6) if analysis else None,
        confidence=round(analysis["confidence"], 6) if analysis else None,
        trace=[_compact(step) for step in result.trace],
    )
    if analysis and analysis["alternatives"]:
        record["routes"] = [analysis["type"], *analysis["alternatives"]]
    if result.answer is not None:
        answer = Answer(result.answer, result.citations, result.abstained, result.documents)
        record["metrics"] = score_answer(question, answer, load_minilm().encode)
        record["answer"] = result.answer
        record["citations"] = result.citations
        record["abstained"] = result.abstained
    return record


def _compact(step: TraceRecord) -> TraceRecord:
    """Keep of a step's candidates what a reader follows: which, in what order, with what scores."""
    if "candidates" not in step:
        return step
    kept = [
        {
            "id": candidate.get("id"),
            "scores": {name: round(score, 4) for name, score in candidate.get("scores", {}).items()},
        }
        for candidate in step["candidates"][:KEPT_CANDIDATES]
    ]
    return {**step, "candidates": kept}
