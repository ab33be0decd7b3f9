"""`adaptive-rag eval`: measure the arms over labelled questions, and write what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_note, stderr, stdout


def evaluate(
    datasets: Annotated[
        list[Path],
        Argument(
            help="Folders with corpus.jsonl, queries.jsonl and qrels.tsv, or JSON files of questions.",
            metavar="DATASET...",
        ),
    ],
    arms: Annotated[
        str, Option(help="Arms to compare, with commas; 'all' for the whole table.", metavar="NAMES")
    ] = "standard,bm25,fusion,adaptive,oracle",
    k: Annotated[int, Option("--k", "-k", min=1, max=1000, help="Passages that are scored.")] = 10,
    out: Annotated[Path, Option(help="Folder for the results.")] = Path("adaptive-rag-eval"),
    limit: Annotated[int | None, Option(min=1, help="Ask a sample of so many questions a data set.")] = None,
    seed: Annotated[int, Option(help="Seed of the sample, the random arm and the resampling.")] = 0,
    recipe: options.Recipe = None,
    model: options.Model = None,
    setting: options.Settings = None,
    replies: Annotated[
        Path | None,
        Option(help="Folder of recorded replies, DATASET.jsonl, in place of a model.", metavar="FOLDER"),
    ] = None,
    answers: Annotated[
        bool | None,
        Option(help="Score answers too.", show_default="where the data are documents with questions"),
    ] = None,
    judge: Annotated[
        str | None,
        Option(
            help="Let the model compare answers: adaptive-against-standard, vector-bm25-fusion, or 2-3 arms.",
            metavar="COMPARISON",
        ),
    ] = None,
    against: Annotated[
        Path | None, Option(help="Folder of an earlier run to compare with.", metavar="RUN")
    ] = None,
    collect: Annotated[
        Path | None,
        Option(help="Append the labelled questions to this file, for `route --learn`.", metavar="FILE"),
    ] = None,
    markdown: Annotated[Path | None, Option(help="Write the results as Markdown too.")] = None,
    cache: Annotated[
        Path | None, Option(help="Folder for the indexes.", show_default="~/.cache/adaptive-rag/evaluation")
    ] = None,
    jobs: Annotated[int, Option(min=1, max=64, help="Questions asked at once; times are honest at 1.")] = 1,
    fresh: Annotated[
        bool, Option("--fresh", help="Throw away what the folder holds and start over.")
    ] = False,
    verbose: options.Verbose = 0,
) -> None:
    """Measure, per question type, what adapting to the question is worth."""
    from adaptive_rag.context.groups import listed
    from adaptive_rag.evaluation.experiment import Experiment
    from adaptive_rag.evaluation.experiment import evaluate as run_experiment
    from adaptive_rag.evaluation.provenance import RunSettings
    from adaptive_rag.evaluation.terminal import print_against, print_judge, print_report

    given = options.given_settings(setting, recipe=recipe, model=model)
    settings = RunSettings(k, seed, limit, answers, given, str(replies) if replies else None)
    experiment = Experiment(
        datasets,
        out,
        settings,
        listed(arms),
        judge,
        against,
        markdown,
        collect=collect,
        cache=cache,
        jobs=jobs,
        fresh=fresh,
    )
    with _bars() as (say, open_bar, show_index):
        written = run_experiment(experiment, say=say, open_bar=open_bar, show_index=show_index)
    print_report(stdout(), written.rows, k=k, routing=written.routing)
    if written.judge is not None:
        print_judge(stdout(), written.judge)
    if against:
        print_against(stdout(), written.against, k=k, name=str(against))
    print_note(f"Wrote {out / 'report.html'} and, beside it, summary.json and questions.jsonl.")


@contextmanager
def _bars() -> Iterator[tuple[Callable[[str], None], Callable[[str, int], Any], Callable[[str, Any], None]]]:
    """Show how far a run is. Yield three functions: print a note, open a bar, show an index."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    described = TextColumn("{task.description}", markup=False)
    columns = (described, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = stderr()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        indexing: dict[str, Any] = {}

        @contextmanager
        def open_bar(description: str, total: int) -> Iterator[Callable[[], None]]:
            for task in indexing.values():
                progress.update(task, visible=False)
            task = progress.add_task(description, total=total)
            yield lambda: progress.advance(task)
            progress.update(task, visible=False)

        def show_index(name: str, state: Any) -> None:
            if name not in indexing:
                indexing[name] = progress.add_task(f"Indexing {name}", total=state.total)
            progress.update(indexing[name], completed=state.done, total=state.total)

        yield lambda note: progress.console.print(note, markup=False, soft_wrap=True), open_bar, show_index
