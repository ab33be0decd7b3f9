"""Runs the arms over the questions of data sets, and stores the results so that a run can be resumed."""

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

from adaptive_rag.context import Context, make_context
from adaptive_rag.errors import ConfigurationError, import_extra
from adaptive_rag.evaluation.arms import Arm, Bench, Result
from adaptive_rag.evaluation.corpora import open_corpus
from adaptive_rag.evaluation.datasets import Dataset, Question, with_gold
from adaptive_rag.evaluation.metrics import ranked_ids, score_answer, score_ranking
from adaptive_rag.evaluation.provenance import RunSettings, begin_run, code_digest, now, routing_digest
from adaptive_rag.evaluation.records import RUN, ArmRecord, Journal, QuestionRecord, write_json
from adaptive_rag.evaluation.replay import read_replies
from adaptive_rag.evaluation.sweep import sweep_alpha
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.index import Progress
from adaptive_rag.llm.ask import find_failures
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.nodes import generate
from adaptive_rag.state import State, TraceRecord

# The packages that score and report a run; a missing one is reported before the first question.
NEEDED = ("ir_measures", "pyndeval", "scipy.stats", "matplotlib", "jinja2")
# Characters of a chunk, and candidates of a step, that are kept for a reader of the report.
BEGINNING, KEPT_CANDIDATES = 300, 10

Advance = Callable[[], None]
# Opens a progress bar with a description and a total, and closes it afterwards.
OpenBar = Callable[[str, int], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class FinishedRun:
    """A run's questions with all results, and what is known about the run."""

    about: dict[str, Any]
    records: list[QuestionRecord]

    @property
    def notes(self) -> list[str]:
        """Return what was left out or could not be read, and what else the figures depend on."""
        notes = [note for notes in self.about.get("notes", {}).values() for note in notes]
        if self.about.get("routing"):
            notes.append(
                "The router had learned from questions of yours (adaptive-rag route --forget undoes it)."
            )
        failed = Counter(
            arm
            for record in self.records
            for arm, answered in record["arms"].items()
            if find_failures(answered["trace"])
        )
        return notes + [
            f"{arm}: the chat model failed at {n} questions; its steps were done locally."
            for arm, n in failed.items()
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
    """Open the index and the graph for a data set; complete its judgements and notes from the index.

    `show_index` is called with the name of the data set while it is indexed.

    Raises:
        IndexingError: no document could be read.
    """
    embeddings = make_context(**settings.settings).embeddings
    index, notes = open_corpus(
        dataset, cache, embeddings=embeddings, progress=partial(show_index, dataset.name)
    )
    answered = settings.answers if settings.answers is not None else not dataset.passages
    bench = Bench(
        source=index,
        graph=(build_graph() if answered else build_retrieval_graph()).compile(),
        answering=_build_last_step() if answered else None,
        k=settings.k,
        seed=settings.seed,
        settings=dict(settings.settings),
        replies=read_replies(Path(settings.replies), dataset.name) if settings.replies else None,
        ontology=str(dataset.ontology) if dataset.ontology else None,
    )
    if not dataset.passages:
        dataset = with_gold(dataset, index.chunks())
        if lost := [question.id for question in dataset.questions if question.quote and not question.gold]:
            said = f"no chunk holds the quote of {len(lost)} questions, whose rankings have no score"
            notes = (*notes, f"{dataset.name}: {said}: {', '.join(lost)}")
    return replace(dataset, notes=(*dataset.notes, *notes)), bench


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
    """Ask every arm every question, skipping what `out` already holds.

    `open_bench` opens a data set's index when it is needed, and may complete the data set from it.
    `fresh` removes the files of an earlier run in `out` first, and nothing else.

    Raises:
        ConfigurationError: `out` holds a run made with other settings, data, code or routing.
        MissingExtraError: a package that scores or reports is not installed.
    """
    _check_names([dataset.name for dataset in datasets])
    for package in NEEDED:
        import_extra(package, extra="eval", purpose="Scoring and reporting a run")
    made_with = {
        "settings": settings.as_json(),
        "data": {d.name: {"corpus": d.corpus_digest, "questions": d.questions_digest} for d in datasets},
        "code": code_digest(),
        "routing": routing_digest(),
    }
    about = begin_run(out, made_with, fresh=fresh)
    about["jobs"] = max(jobs, about.get("jobs", 1))
    journal = Journal(out)
    alpha, notes = about.setdefault("alpha", {}), about.setdefault("notes", {})
    for dataset in datasets:
        notes.setdefault(dataset.name, list(dataset.notes))
        missing = {q.id: journal.missing(dataset.name, q.id, arms) for q in dataset.questions}
        sweep = "fusion" in arms and dataset.name not in alpha
        if not sweep and not any(missing.values()):
            continue
        dataset, bench = open_bench(dataset)
        notes[dataset.name] = list(dict.fromkeys([*notes[dataset.name], *dataset.notes]))
        # A run that is interrupted finds the index complete, and learns of its notes from here alone.
        write_json(out / RUN, about)
        waiting = [
            (dataset.name, question, {name: arms[name] for name in missing[question.id]}, bench, settings.k)
            for question in dataset.questions
            if missing[question.id]
        ]
        with open_bar(dataset.name, len(waiting)) as advance:
            for record in _ask_each(waiting, jobs):
                journal.add(record)
                advance()
        if sweep:
            alpha[dataset.name] = sweep_alpha(dataset, bench)
            write_json(out / RUN, about)
    journal.compact()
    about["arms"] = {**about.get("arms", {}), **{name: arm.what for name, arm in arms.items()}}
    about["finished"] = now()
    write_json(out / RUN, about)
    return FinishedRun(about, list(journal.records.values()))


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise ConfigurationError("No data set was given; pass at least one folder.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigurationError(
            f"Two data sets are called {twice[0]!r}; results are filed by name, so rename one folder."
        )


def ask_arms(
    dataset: str, question: Question, arms: Mapping[str, Arm], bench: Bench, k: int
) -> QuestionRecord:
    """Ask every arm a question, and return the results with their scores."""
    # The first search of a question warms the caches for the others, so the arms take turns in going first.
    names = list(arms)
    turn = zlib.crc32(question.id.encode()) % len(names)
    results: dict[str, Result] = {}
    for name in [*names[turn:], *names[:turn]]:
        # An arm must not profit from the embeddings of the arm before it.
        load_minilm().forget()
        results[name] = arms[name].run(question, bench)
    ranked = {name: ranked_ids(results[name].documents) for name in arms}
    read = [document for result in results.values() for document in result.documents]
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
        arms={name: _arm_record(question, results[name], ranked[name], k) for name in arms},
        texts={ranked_ids([document])[0]: document["text"][:BEGINNING] for document in read},
    )


def _arm_record(question: Question, result: Result, ranked: list[str], k: int) -> ArmRecord:
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
    """Keep only the ids, the order and the scores of a step's first candidates."""
    if "candidates" not in step:
        return step
    kept: list[Any] = []
    for candidate in step["candidates"][:KEPT_CANDIDATES]:
        scores = {name: round(score, 4) for name, score in candidate.get("scores", {}).items()}
        kept.append({"id": candidate.get("id"), "scores": scores})
    return {**step, "candidates": kept}


def _build_last_step() -> Runnable[Any, Any]:
    """Build the graph that answers from documents which an arm found itself."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State, context_schema=Context)
    return graph.add_node("generate", generate).set_entry_point("generate").compile()


def _ask_each(
    waiting: Sequence[tuple[str, Question, Mapping[str, Arm], Bench, int]], jobs: int
) -> Iterator[QuestionRecord]:
    """Yield the record of each question in turn, asking `jobs` at once; an interruption drops the rest."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from (pool.map if jobs > 1 else map)(lambda one: ask_arms(*one), waiting)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
