"""Run an evaluation: load data sets, open their indexes, ask every arm, write the reports."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.arms import MAIN_ARMS, all_arm_names, find_arms
from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.evaluation.datasets import Dataset, limited, load_dataset
from adaptive_rag.evaluation.judge import judge_run, parse_comparison
from adaptive_rag.evaluation.labels import append_questions, labelled_questions
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.records import VERDICTS, QuestionRecord
from adaptive_rag.evaluation.replay import only_replied
from adaptive_rag.evaluation.report import Report, write_reports
from adaptive_rag.evaluation.run import FinishedRun, OpenBar, no_bar, open_bench, run_arms, scores_answers
from adaptive_rag.index import Progress
from adaptive_rag.index.manifest import quoted
from adaptive_rag.models.chat import chat_model_of
from adaptive_rag.text.redaction import redact


@dataclass(frozen=True)
class Experiment:
    """What to measure, and where the results go."""

    datasets: Sequence[Path]
    out: Path
    settings: RunSettings = field(default_factory=RunSettings)
    arms: Sequence[str] = MAIN_ARMS  # ("all",) means every arm of the table
    judge: str | None = None  # a predefined comparison, or two or three arms with commas
    markdown: Path | None = None
    collect: Path | None = None  # file to which labelled questions are appended, for the router to learn from
    cache: Path | None = None  # None means the user's cache folder
    jobs: int = 1
    fresh: bool = False


def evaluate(
    experiment: Experiment,
    *,
    print_note: Callable[[str], None] = lambda note: None,
    open_bar: OpenBar = no_bar,
    show_index: Callable[[str, Progress], None] = lambda name, progress: None,
) -> Report:
    """Run an experiment, or resume the run in its folder; return the report.

    `print_note` is called with notes on what was left out or could not be read.

    Raises:
        ConfigurationError: a data set, an arm, a setting or a folder is not usable; this is checked before
            the first index is built.
        IndexingError: no document of a data set could be read.
        MissingExtraError: a package that scores or reports is not installed.
    """
    judged_arms = parse_comparison(experiment.judge) if experiment.judge else ()
    settings = experiment.settings
    has_all_arms = list(experiment.arms) == ["all"]
    names = all_arm_names(answers=True) if has_all_arms else experiment.arms
    arms = find_arms([*names, *judged_arms])
    datasets = [load_dataset(path) for path in experiment.datasets]
    if settings.replies:
        datasets = [only_replied(dataset, Path(settings.replies)) for dataset in datasets]
    datasets = [limited(dataset, settings.limit, settings.seed) for dataset in datasets]
    # Where answers are scored anyway, a judge changes no setting, so a run without one is continued.
    if judged_arms and not all(scores_answers(dataset, settings) for dataset in datasets):
        settings = replace(settings, answers=True)
    if has_all_arms and not any(scores_answers(dataset, settings) for dataset in datasets):
        arms = find_arms([*all_arm_names(answers=False), *judged_arms])
    model = chat_model_of(make_context(**settings.settings), "answer") if judged_arms else None
    if judged_arms and model is None:
        raise ConfigurationError("A judge is a chat model: pass one with --model provider:name.")
    _check_outputs(experiment, datasets)
    dataset_notes = dict.fromkeys(note for dataset in datasets for note in dataset.notes)
    for note in dataset_notes:
        print_note(note)
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
    for note in run.notes:
        if note not in dataset_notes:
            print_note(note)
    if experiment.collect is not None:
        print_note(_collect(run.records, experiment.collect))
    command = _format_command(run, settings, experiment)
    write = partial(write_reports, run, experiment.out, markdown=experiment.markdown, command=command)
    # Write the reports before the judge is asked, whose model may fail.
    report = write()
    if model is None:
        return report
    file = experiment.out / VERDICTS
    return write(verdicts=judge_run(model, run.records, judged_arms, file=file, open_bar=open_bar))


def _check_outputs(experiment: Experiment, datasets: Sequence[Dataset]) -> None:
    """Raise a ConfigurationError if a file cannot be written, or would later be read as a document."""
    out, collect, markdown = experiment.out.resolve(), experiment.collect, experiment.markdown
    if collect is not None and collect.resolve().is_relative_to(out):
        raise ConfigurationError(
            f"--collect {str(collect)!r} lies in the folder of the run, which holds nothing else; name a "
            "file outside of --out."
        )
    for option, file in (("--collect", collect), ("--markdown", markdown)):
        for folder in (dataset.documents_folder for dataset in datasets):
            if not file or not folder or file.resolve().is_relative_to(out):
                continue
            if file.resolve().is_relative_to(folder.resolve()):
                raise ConfigurationError(
                    f"{option} {str(file)!r} would be a document of {str(folder)!r} in the next run; name a "
                    "file outside of that folder."
                )
    if markdown is not None:
        existing = next(path for path in (markdown, *markdown.absolute().parents) if path.exists())
        if markdown.is_dir() or not os.access(existing, os.W_OK):
            raise ConfigurationError(f"--markdown {str(markdown)!r} cannot be written.")
    if collect is not None:
        append_questions(collect, [])


def _collect(records: Sequence[QuestionRecord], file: Path) -> str:
    """Append the questions that have a label to a file, and return a sentence about it."""
    added = append_questions(file, labelled_questions(records))
    already = f"; {added.already_held} stood there already" if added.already_held else ""
    disputed = f"; {len(added.disputed)} of them stand there with another type too" if added.disputed else ""
    return (
        f"Appended {added.written} labelled questions to {file}{already}{disputed}. "
        f"Learn from them: adaptive-rag route --learn {quoted(str(file))}"
    )


def _format_command(run: FinishedRun, settings: RunSettings, experiment: Experiment) -> str:
    """Return the command that makes the same run; data sets and replies are named without their folders."""
    parts = ["adaptive-rag", "eval", *run.about["data"]]
    parts += ["--arms", ",".join(run.about["arms"]), "--k", str(settings.k)]
    if settings.answers is not None:
        parts.append("--answers" if settings.answers else "--no-answers")
    parts += ["--limit", str(settings.limit)] if settings.limit else []
    parts += ["--seed", str(settings.seed)] if settings.seed else []
    for name, value in settings.settings.items():
        parts += ["--model", str(value)] if name == "model" else ["--set", f"{name}={value}"]
    parts += ["--replies", Path(settings.replies).name] if settings.replies else []
    parts += ["--judge", experiment.judge] if experiment.judge else []
    markdown = experiment.markdown
    parts += ["--markdown", markdown.as_posix()] if markdown and not markdown.is_absolute() else []
    return redact(shlex.join(parts))
