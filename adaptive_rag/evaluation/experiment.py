"""Runs a whole evaluation: loads data sets, opens their indexes, asks every arm, writes the reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.arms import MAIN_ARMS, find_arms, whole_table
from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.evaluation.datasets import limited, load_dataset
from adaptive_rag.evaluation.judge import comparison, judge_run
from adaptive_rag.evaluation.labels import append_questions, labelled_questions
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.records import QuestionRecord
from adaptive_rag.evaluation.replay import only_replied
from adaptive_rag.evaluation.report import Report, write_reports
from adaptive_rag.evaluation.run import FinishedRun, OpenBar, no_bar, open_bench, run_arms
from adaptive_rag.index import Progress
from adaptive_rag.models.chat import chat_model_of
from adaptive_rag.text.redaction import redact


@dataclass(frozen=True)
class Experiment:
    """What is measured, and where the results go."""

    datasets: Sequence[Path]
    out: Path
    settings: RunSettings = field(default_factory=RunSettings)
    arms: Sequence[str] = MAIN_ARMS  # ("all",) means the whole table
    judge: str | None = None  # a predefined comparison, or two or three arms with commas
    markdown: Path | None = None
    collect: Path | None = None  # where labelled questions are appended, for learning
    cache: Path | None = None  # None: in the user's cache folder
    jobs: int = 1
    fresh: bool = False


def evaluate(
    experiment: Experiment,
    *,
    say: Callable[[str], None] = lambda note: None,
    open_bar: OpenBar = no_bar,
    show_index: Callable[[str, Progress], None] = lambda name, progress: None,
) -> Report:
    """Run an experiment, or resume the run in its folder; return the report.

    `say` is called with notes on what was left out or could not be read.

    Raises:
        ConfigurationError: a data set, an arm, a setting or a folder is not usable. All of them are checked
            before the first index is built.
        IndexingError: no document of a data set could be read.
        MissingExtraError: a package that scores or reports is not installed.
    """
    settings = experiment.settings
    judged = comparison(experiment.judge) if experiment.judge else ()
    whole = list(experiment.arms) == ["all"]
    named = whole_table(answers=bool(settings.answers)) if whole else experiment.arms
    arms = find_arms([*named, *judged])
    datasets = [load_dataset(path) for path in experiment.datasets]
    if settings.replies:
        datasets = [only_replied(dataset, Path(settings.replies)) for dataset in datasets]
    datasets = [limited(dataset, settings.limit, settings.seed) for dataset in datasets]
    model = chat_model_of(make_context(**settings.settings), "answer") if judged else None
    if judged and model is None:
        raise ConfigurationError("A judge is a chat model: pass one with --model provider:name.")
    if experiment.collect is not None:
        _check_collect(experiment.collect, experiment.out)
    settings = replace(settings, answers=bool(judged) or settings.answers)
    noted = dict.fromkeys(note for dataset in datasets for note in dataset.notes)
    for note in noted:
        say(note)
    run = run_arms(
        datasets,
        arms,
        lambda dataset: open_bench(dataset, experiment.cache or default_cache(), settings, show_index),
        settings,
        experiment.out,
        open_bar=open_bar,
        jobs=experiment.jobs,
        fresh=experiment.fresh,
    )
    for note in (note for note in run.notes if note not in noted):
        say(note)
    if experiment.collect is not None:
        say(_collect(run.records, experiment.collect))
    command = _command(run, settings, experiment.markdown)
    write = partial(write_reports, run, experiment.out, markdown=experiment.markdown, command=command)
    # Before the judge, too, whose model may fail.
    report = write()
    return write(verdicts=judge_run(model, run.records, judged, open_bar=open_bar)) if model else report


def _check_collect(file: Path, out: Path) -> None:
    if file.resolve().is_relative_to(out.resolve()):
        raise ConfigurationError(
            f"--collect {str(file)!r} lies in the folder of the run, which holds nothing else; name a file "
            "outside of --out."
        )
    append_questions(file, [])


def _collect(records: Sequence[QuestionRecord], file: Path) -> str:
    """Append the questions that have a label to a file, and return a summary."""
    added = append_questions(file, labelled_questions(records))
    known = f"; {added.known} stood there already" if added.known else ""
    disputed = f"; {len(added.disputed)} of them stand there with another type too" if added.disputed else ""
    command = f"adaptive-rag route --learn {file}"
    return (
        f"Appended {added.written} labelled questions to {file}{known}{disputed}. Learn from them: {command}"
    )


def _command(run: FinishedRun, settings: RunSettings, markdown: Path | None) -> str:
    """Return the command that makes the same run, with data sets by name, wherever they are."""
    parts = ["adaptive-rag", "eval", *run.about["data"]]
    parts += ["--arms", ",".join(run.about["arms"]), "--k", str(settings.k)]
    if settings.answers is not None:
        parts.append("--answers" if settings.answers else "--no-answers")
    parts += ["--limit", str(settings.limit)] if settings.limit else []
    parts += ["--seed", str(settings.seed)] if settings.seed else []
    for name, value in settings.settings.items():
        parts += ["--model", str(value)] if name == "model" else ["--set", f"{name}={value}"]
    parts += ["--replies", Path(settings.replies).name] if settings.replies else []
    parts += ["--markdown", markdown.as_posix()] if markdown and not markdown.is_absolute() else []
    return redact(" ".join(parts))
