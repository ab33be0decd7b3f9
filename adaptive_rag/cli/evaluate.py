"""`adaptive-rag eval`: measure the arms on labelled questions and write the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_note, stderr, stdout
from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError

if TYPE_CHECKING:
    from adaptive_rag.evaluation.provenance import RunSettings

# Settings that are the same for all arms.
FIXED = {
    "k": "pass the number of passages with -k N",
    "index": "an index is made of each data set, in the folder --cache",
}


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """What is measured; runs with the same values can be compared."""

    k: Annotated[int, Option("--k", "-k", min=1, max=1000, help="Passages scored.", metavar="N")] = 10
    seed: Annotated[int, Option(help="Random seed.", metavar="N")] = 0
    limit: Annotated[int | None, Option(min=1, help="Ask a random sample of N questions.", metavar="N")] = (
        None
    )
    recipe: options.Recipe = None
    model: options.Model = None
    assignments: options.Assignments = None
    replies: Annotated[
        Path | None, Option(help="Recorded replies in place of a model.", metavar="FOLDER")
    ] = None
    answers: Annotated[bool | None, Option(help="Also score the answers.", show_default=False)] = None

    def settings(self) -> RunSettings:
        """Return the settings of the run."""
        from adaptive_rag.evaluation.provenance import RunSettings

        settings = options.collect_settings(self.assignments, recipe=self.recipe, model=self.model)
        for name, instead in FIXED.items():
            if name in settings:
                raise ConfigurationError(f"--set {name} is not usable here: {instead}.")
        replies = str(self.replies) if self.replies else None
        return RunSettings(self.k, self.seed, self.limit, self.answers, settings, replies)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where a run writes its results, and how it runs."""

    out: Annotated[Path, Option(help="Folder for the results.")] = Path("adaptive-rag-eval")
    judge: Annotated[str | None, Option(help="Let a model compare these answers.", metavar="ARMS")] = None
    collect: Annotated[Path | None, Option(help="Append labels for `route --learn`.", metavar="FILE")] = None
    markdown: Annotated[Path | None, Option(help="Also write the report as Markdown.", metavar="FILE")] = None
    cache: Annotated[Path | None, Option(help="Folder that keeps the indexes.", show_default=False)] = None
    jobs: Annotated[int, Option(min=1, max=64, help="Questions at the same time.", metavar="N")] = 1
    fresh: Annotated[bool, Option("--fresh", help="Do not continue the run in --out.")] = False


def evaluate(
    datasets: Annotated[list[Path], Argument(metavar="DATASET", help="Folder, or file of questions.")],
    measure_options: MeasureOptions,
    output_options: OutputOptions,
    arms: Annotated[
        str, Option(help="What to compare, with commas, or all.", metavar="NAMES", show_default=False)
    ] = "standard,bm25,fusion,adaptive,oracle",
    verbose: options.Verbose = 0,
) -> None:
    """Compare standard and adaptive retrieval, and other arms, on labelled questions."""
    from adaptive_rag.context.groups import split_list
    from adaptive_rag.evaluation.experiment import Experiment
    from adaptive_rag.evaluation.experiment import evaluate as run_experiment
    from adaptive_rag.evaluation.terminal import print_judge, print_report

    experiment = Experiment(
        datasets, settings=measure_options.settings(), arms=split_list(arms), **vars(output_options)
    )
    try:
        with _show_progress() as (print_message, open_bar, show_index):
            report = run_experiment(
                experiment, print_note=print_message, open_bar=open_bar, show_index=show_index
            )
    except (AdaptiveRAGError, BrokenPipeError):  # some of our errors are an OSError too
        raise
    except OSError as error:
        place = error.filename or output_options.out
        raise ConfigurationError(f"{str(place)!r} cannot be read or written: {error.strerror}.") from error
    jobs = report.run.about["jobs"]
    console = stdout(unbroken=True)
    print_report(console, report.rows, k=measure_options.k, routing=report.routing, jobs=jobs)
    if report.judge is not None:
        print_judge(console, report.judge)
    print_note(
        f"Wrote {output_options.out / 'report.html'} and, beside it, summary.json and questions.jsonl."
    )


@contextmanager
def _show_progress() -> Iterator[
    tuple[Callable[[str], None], Callable[[str, int], Any], Callable[[str, Any], None]]
]:
    """Show the progress of a run on standard error.

    Yields three functions: print a note, open a bar, update the bar of the data set that is being indexed.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    description_column = TextColumn("{task.description}", markup=False)
    columns = (description_column, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = stderr()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        index_bars: dict[str, Any] = {}

        @contextmanager
        def open_bar(description: str, total: int) -> Iterator[Callable[[], None]]:
            for index_bar in index_bars.values():
                progress.update(index_bar, visible=False)
            bar = progress.add_task(description, total=total)
            yield lambda: progress.advance(bar)
            progress.update(bar, visible=False)

        def show_index(name: str, state: Any) -> None:
            if name not in index_bars:
                index_bars[name] = progress.add_task(f"Indexing {name}", total=state.total)
            progress.update(index_bars[name], completed=state.done, total=state.total)

        yield lambda note: progress.console.print(note, markup=False, soft_wrap=True), open_bar, show_index
