"""Run the arms over the questions of data sets, and store the results so that a run can be resumed."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.runnables import Runnable
from langgraph.graph import StateGraph

from adaptive_rag.analysis.router import load_router
from adaptive_rag.context import Context, make_context
from adaptive_rag.errors import ConfigurationError, import_extra
from adaptive_rag.evaluation.arms import Arm, Bench, Result, by_fusion
from adaptive_rag.evaluation.corpora import open_corpus
from adaptive_rag.evaluation.datasets import Dataset, Question, with_gold
from adaptive_rag.evaluation.metrics import headline, ranked_ids, score_answer, score_ranking
from adaptive_rag.evaluation.provenance import RunSettings, begin_run, code_digest, now, routing_digest
from adaptive_rag.evaluation.records import RUN, ArmRecord, Journal, QuestionRecord, write_json
from adaptive_rag.evaluation.replay import read_replies
from adaptive_rag.evaluation.summary import ALL
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.index import Progress
from adaptive_rag.llm.ask import find_failures
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.models.reader import load_reader
from adaptive_rag.nodes import generate
from adaptive_rag.search.search import POOL
from adaptive_rag.state import Candidate, State, TraceRecord

# The packages that score and report a run; they are imported before the first question is asked.
REQUIRED_PACKAGES = ("ir_measures", "pyndeval", "scipy.stats", "matplotlib", "jinja2")
# Characters of a chunk, and candidates of a step, that are stored for the report.
EXCERPT_LENGTH, MAX_CANDIDATES = 300, 10
# Weights of vectors against words that are tried in plain fusion, and questions searched for together.
ALPHAS = tuple(round(step / 10, 1) for step in range(11))
BATCH_SIZE = 64

Advance = Callable[[], None]
# Opens a progress bar with a description and a total; yields the function that advances it.
OpenBar = Callable[[str, int], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class FinishedRun:
    """The record of a run, and its questions with all results."""

    about: dict[str, Any]
    records: list[QuestionRecord]

    @property
    def notes(self) -> list[str]:
        """Return sentences about what was left out or not readable, and what else the figures depend on."""
        notes = [note for dataset_notes in self.about.get("notes", {}).values() for note in dataset_notes]
        if self.about.get("routing"):
            notes.append(
                "The router had learned from questions of yours (adaptive-rag route --forget undoes it)."
            )
        failures = Counter(
            arm
            for record in self.records
            for arm, result in record["arms"].items()
            if find_failures(result["trace"])
        )
        return notes + [
            f"{arm}: the chat model failed at {count} questions; its steps were done locally."
            for arm, count in failures.items()
        ]


def no_bar(description: str, total: int) -> AbstractContextManager[Advance]:
    """Return a bar that shows nothing."""
    return nullcontext(lambda: None)


def open_bench(
    dataset: Dataset,
    cache: Path,
    settings: RunSettings,
    show_index: Callable[[str, Progress], None] = lambda name, progress: None,
) -> tuple[Dataset, Bench]:
    """Open the index and the graph for a data set.

    Returns the data set, with labels and notes added from the index, and the bench.
    `show_index` is called with the name of the data set while it is being indexed.

    Raises:
        IndexingError: no document could be read.
    """
    context = make_context(**settings.settings)
    index, notes = open_corpus(
        dataset, cache, embeddings=context.embeddings, progress=partial(show_index, dataset.name)
    )
    has_answers = scores_answers(dataset, settings)
    # Loaded here, so that their loading is not counted in the time of the first question.
    load_router()
    if has_answers:
        load_reader(context.reader)
    bench = Bench(
        source=index,
        graph=(build_graph() if has_answers else build_retrieval_graph()).compile(),
        answering=_build_answering_graph() if has_answers else None,
        k=settings.k,
        seed=settings.seed,
        settings=dict(settings.settings),
        replies=read_replies(Path(settings.replies), dataset.name) if settings.replies else None,
        ontology=str(dataset.ontology) if dataset.ontology else None,
    )
    if not dataset.passages:
        dataset = with_gold(dataset, index.chunks())
        unlabelled = [question.id for question in dataset.questions if question.quote and not question.gold]
        if unlabelled:
            problem = f"no chunk holds the quote of {len(unlabelled)} questions, whose rankings have no score"
            notes = (*notes, f"{dataset.name}: {problem}: {', '.join(unlabelled)}")
    return replace(dataset, notes=(*dataset.notes, *notes)), bench


def scores_answers(dataset: Dataset, settings: RunSettings) -> bool:
    """Return whether the answers to a data set are scored too; by default those over documents."""
    return settings.answers if settings.answers is not None else not dataset.passages


def run_arms(
    datasets: Sequence[Dataset],
    arms: Mapping[str, Arm],
    open_bench: Callable[[Dataset], tuple[Dataset, Bench]],
    settings: RunSettings,
    out: Path,
    *,
    open_bar: OpenBar = no_bar,
    jobs: int = 1,
    fresh: bool = False,
) -> FinishedRun:
    """Ask every arm every question, except for those whose results `out` already holds.

    `open_bench` opens a data set's index when it is needed, and may add labels and notes to the data set.
    `fresh` removes the files of an earlier run in `out` first, and nothing else.

    Raises:
        ConfigurationError: `out` holds a run made with other settings, data, code or routing.
        MissingExtraError: a package that scores or reports is not installed.
    """
    _check_dataset_names([dataset.name for dataset in datasets])
    for package in REQUIRED_PACKAGES:
        import_extra(package, extra="eval", purpose="Scoring and reporting a run")
    conditions = {
        "settings": settings.as_json(),
        "data": {d.name: {"corpus": d.corpus_digest, "questions": d.questions_digest} for d in datasets},
        "code": code_digest(),
        "routing": routing_digest(),
    }
    about = begin_run(out, conditions, fresh=fresh)
    about["jobs"] = max(jobs, about.get("jobs", 1))
    journal = Journal(out)
    alpha, notes = about.setdefault("alpha", {}), about.setdefault("notes", {})
    for dataset in datasets:
        notes.setdefault(dataset.name, list(dataset.notes))
        missing = {q.id: journal.missing(dataset.name, q.id, arms) for q in dataset.questions}
        needs_sweep = "fusion" in arms and dataset.name not in alpha
        if not needs_sweep and not any(missing.values()):
            continue
        dataset, bench = open_bench(dataset)
        notes[dataset.name] = list(dict.fromkeys([*notes[dataset.name], *dataset.notes]))
        # Store the notes now: a resumed run finds the index complete, and would not get them again.
        write_json(out / RUN, about)
        tasks = [
            (dataset.name, question, {name: arms[name] for name in missing[question.id]}, bench, settings.k)
            for question in dataset.questions
            if missing[question.id]
        ]
        with open_bar(dataset.name, len(tasks)) as advance:
            for record in _run_tasks(tasks, jobs):
                journal.add(record)
                advance()
        if needs_sweep:
            alpha[dataset.name] = sweep_alpha(dataset, bench)
            write_json(out / RUN, about)
    journal.compact()
    about["arms"] = {**about.get("arms", {}), **{name: arm.what for name, arm in arms.items()}}
    about["finished"] = now()
    write_json(out / RUN, about)
    return FinishedRun(about, list(journal.records.values()))


def _check_dataset_names(names: Sequence[str]) -> None:
    if not names:
        raise ConfigurationError("No data set was given; pass at least one folder.")
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ConfigurationError(
            f"Two data sets are called {repeated[0]!r}; results are filed by name, so rename one folder."
        )


def ask_arms(
    dataset: str, question: Question, arms: Mapping[str, Arm], bench: Bench, k: int
) -> QuestionRecord:
    """Ask every arm a question, and return the results with their scores."""
    # The first search for a question warms the caches for the other arms, so they take turns in being first.
    names = list(arms)
    first = zlib.crc32(question.id.encode()) % len(names)
    results: dict[str, Result] = {}
    for name in [*names[first:], *names[:first]]:
        # No arm may use the embeddings that an earlier arm has cached.
        load_minilm().forget()
        results[name] = arms[name].run(question, bench)
    ranked = {name: ranked_ids(results[name].documents) for name in arms}
    documents = [document for result in results.values() for document in result.documents]
    return QuestionRecord(
        dataset=dataset,
        id=question.id,
        type=question.type,
        question=question.text,
        user_context=question.user_context,
        history=list(question.history),
        reference=question.reference,
        has_answer=question.has_answer,
        gold=question.gold,
        ranked=ranked,
        arms={name: _make_arm_record(question, results[name], ranked[name], k) for name in arms},
        texts={ranked_ids([document])[0]: document["text"][:EXCERPT_LENGTH] for document in documents},
    )


def sweep_alpha(dataset: Dataset, bench: Bench) -> dict[str, dict[str, float]]:
    """Return the headline metric of plain fusion for each alpha, by question type and overall."""
    questions, texts = dataset.questions, [question.text for question in dataset.questions]
    pools: list[list[Candidate]] = []  # the candidates of each question, searched once for all alphas
    for start in range(0, len(texts), BATCH_SIZE):
        pools += bench.searched.search(texts[start : start + BATCH_SIZE], limit=max(POOL, 3 * bench.k))
    by_type: dict[str, dict[str, float]] = {}
    for alpha in ALPHAS:
        scores = {
            question.id: score_ranking(question, ranked_ids(by_fusion(pool, alpha)[: bench.k]), bench.k)
            for question, pool in zip(questions, pools, strict=True)
        }
        for kind in (ALL, *sorted({question.type for question in questions if question.type})):
            judged = [q.id for q in questions if kind in (ALL, q.type) and q.gold]
            if judged:
                mean = sum(scores[id_][headline(bench.k)] for id_ in judged) / len(judged)
                by_type.setdefault(kind, {})[f"{alpha:.1f}"] = mean
    return by_type


def _make_arm_record(question: Question, result: Result, ranked: list[str], k: int) -> ArmRecord:
    analysis = result.analysis
    record = ArmRecord(
        **result.cost(),  # type: ignore[typeddict-item]
        metrics={name: round(score, 6) for name, score in score_ranking(question, ranked, k).items()},
        route=analysis["type"] if analysis else None,
        probability=round(analysis["probabilities"][analysis["type"]], 6) if analysis else None,
        confidence=round(analysis["confidence"], 6) if analysis else None,
        trace=[_shorten(step) for step in result.trace],
    )
    if analysis and analysis["alternatives"]:
        record["routes"] = [analysis["type"], *analysis["alternatives"]]
    if result.answer is not None:
        record["metrics"] |= score_answer(question, result, load_minilm().encode)
        record["answer"] = result.answer
        record["citations"] = result.citations
        record["abstained"] = result.abstained
    return record


def _shorten(step: TraceRecord) -> TraceRecord:
    """Return a step of the trace with only the ids and the scores of its first candidates."""
    if "candidates" not in step:
        return step
    candidates: list[Any] = []
    for candidate in step["candidates"][:MAX_CANDIDATES]:
        scores = {name: round(score, 4) for name, score in candidate.get("scores", {}).items()}
        candidates.append({"id": candidate.get("id"), "scores": scores})
    return {**step, "candidates": candidates}


def _build_answering_graph() -> Runnable[Any, Any]:
    """Build the graph that answers from documents which an arm found without the whole graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State, context_schema=Context)
    return graph.add_node("generate", generate).set_entry_point("generate").compile()


def _run_tasks(
    tasks: Sequence[tuple[str, Question, Mapping[str, Arm], Bench, int]], jobs: int
) -> Iterator[QuestionRecord]:
    """Call `ask_arms` for each task, `jobs` at a time, and yield the records in order.

    An interruption drops the tasks that have not begun.
    """
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from (pool.map if jobs > 1 else map)(lambda task: ask_arms(*task), tasks)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
