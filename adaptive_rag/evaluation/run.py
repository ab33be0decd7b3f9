"""Runs the arms over the questions of data sets; what was answered is kept, so that a run can go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adaptive_rag.errors import ConfigurationError, import_extra
from adaptive_rag.evaluation.arms import Arm, ArmName, Bench
from adaptive_rag.evaluation.asking import ask
from adaptive_rag.evaluation.datasets import Dataset, Question
from adaptive_rag.evaluation.metrics import require_measures, score_rankings
from adaptive_rag.evaluation.provenance import RunSettings, begin_run, code_digest, now
from adaptive_rag.evaluation.records import RUN, Journal, QuestionRecord, write_json
from adaptive_rag.evaluation.sweep import sweep_alpha

# What a finished run is reported with; whoever lacks it learns so before the first question.
REPORTING = {
    "scipy.stats": "Measuring how sure a figure is",
    "matplotlib": "Drawing plots",
    "jinja2": "Writing the report",
}

Advance = Callable[[], None]
# Gives a bar for a description and a total, and closes it afterwards.
OpenBar = Callable[[str, int], Any]


@dataclass(frozen=True)
class FinishedRun:
    """A run's questions with all results, and what is known about the run."""

    about: dict[str, Any]
    records: list[QuestionRecord]
    # data set -> type ("all" too) -> alpha -> headline metric
    alpha: dict[str, dict[str, dict[str, float]]]

    @property
    def notes(self) -> list[str]:
        """Return what was left out or could not be read, data set by data set."""
        return [note for notes in self.about.get("notes", {}).values() for note in notes]


def run_arms(
    datasets: Sequence[Dataset],
    arms: Mapping[ArmName, Arm],
    open_bench: Callable[[Dataset], tuple[Dataset, Bench]],
    settings: RunSettings,
    out: Path,
    *,
    open_bar: OpenBar | None = None,
    jobs: int = 1,
    fresh: bool = False,
) -> FinishedRun:
    """Ask every question of every arm, skipping what `out` already holds.

    `open_bench` opens a data set's index when it is needed, and may complete the data set from it.
    `fresh` removes the files of an earlier run in `out` first, and nothing else.

    Raises:
        ConfigurationError: `out` holds a run made with other settings, data or code.
        MissingExtraError: a package that scores or reports is not installed.
    """
    _check_names(datasets)
    for package, purpose in REPORTING.items():
        import_extra(package, extra="eval", purpose=purpose)
    require_measures([question for dataset in datasets for question in dataset.questions])
    made_with = {
        "settings": settings.as_json(),
        "data": {d.name: {"corpus": d.corpus_digest, "questions": d.questions_digest} for d in datasets},
        "code": code_digest(),
    }
    about = begin_run(out, made_with, fresh=fresh)
    journal = Journal(out)
    alpha: dict[str, dict[str, dict[str, float]]] = about.setdefault("alpha", {})
    notes: dict[str, list[str]] = about.setdefault("notes", {})
    for dataset in datasets:
        notes.setdefault(dataset.name, list(dataset.notes))
        sweep = "fusion" in arms and dataset.name not in alpha
        if not sweep and not any(journal.missing(dataset.name, q.id, arms) for q in dataset.questions):
            continue
        dataset, bench = open_bench(dataset)
        notes[dataset.name] = list(dict.fromkeys([*notes[dataset.name], *dataset.notes]))
        _answer(dataset, arms, bench, journal, open_bar or no_bar, jobs)
        if sweep:
            alpha[dataset.name] = sweep_alpha(dataset, bench)
            write_json(out / RUN, about)
    for dataset in datasets:
        _score(dataset, [journal.records[dataset.name, q.id] for q in dataset.questions], settings.k)
    journal.compact()
    about["arms"] = {**about.get("arms", {}), **{name: arm.what for name, arm in arms.items()}}
    about["finished"] = now()
    write_json(out / RUN, about)
    return FinishedRun(about, list(journal.records.values()), alpha)


def _answer(
    dataset: Dataset,
    arms: Mapping[ArmName, Arm],
    bench: Bench,
    journal: Journal,
    open_bar: OpenBar,
    jobs: int,
) -> None:
    """Ask what the journal lacks, and write each question down as it is answered."""
    waiting = [
        (question, {name: arm for name, arm in arms.items() if name in missing})
        for question in dataset.questions
        if (missing := journal.missing(dataset.name, question.id, arms))
    ]

    def ask_waiting(one: tuple[Question, Mapping[ArmName, Arm]]) -> QuestionRecord:
        question, missing = one
        return ask(dataset, question, missing, bench)

    with open_bar(dataset.name, len(waiting)) as advance, _workers(jobs) as each:
        for record in each(ask_waiting, waiting):
            journal.add(record)
            advance()


def _score(dataset: Dataset, records: Sequence[QuestionRecord], k: int) -> None:
    """Add the metrics of every arm's rankings to the records of a data set."""
    # What is relevant among chunks of documents was only known once they were cut.
    gold = {record["id"]: record["gold"] for record in records}
    questions = [replace(question, gold=gold[question.id]) for question in dataset.questions]
    for name in {name for record in records for name in record["arms"]}:
        rankings = {r["id"]: r["ranked"][name] for r in records if name in r["ranked"]}
        scores = score_rankings(questions, rankings, k)
        for record in records:
            if name in record["arms"]:
                metrics = record["arms"][name]["metrics"]
                metrics.update({key: round(value, 6) for key, value in scores[record["id"]].items()})


def _check_names(datasets: Sequence[Dataset]) -> None:
    names = [dataset.name for dataset in datasets]
    if not names:
        raise ConfigurationError("No data set was given; pass at least one folder.")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigurationError(
            f"Two data sets are called {twice[0]!r}; results are filed by name, so rename one folder."
        )


@contextmanager
def _workers(jobs: int) -> Iterator[Callable[..., Iterator[QuestionRecord]]]:
    if jobs == 1:
        yield map
        return
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield pool.map
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def no_bar(description: str, total: int) -> Iterator[Advance]:
    """Show nothing."""
    yield lambda: None
