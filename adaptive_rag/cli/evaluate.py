"""`adaptive-rag eval`: measure the arms over labelled questions, and write what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adaptive_rag.cli.options import ModelOption, SettingOption, knobs


def evaluate(
    datasets: Annotated[
        list[Path],
        typer.Argument(
            help="Folders with corpus.jsonl, queries.jsonl and qrels.tsv, or JSON files of questions.",
            metavar="DATASET...",
        ),
    ],
    arms: Annotated[
        str, typer.Option(help="Arms to compare, with commas; 'all' for the whole table.", metavar="NAMES")
    ] = "standard,bm25,fusion,adaptive,oracle",
    k: Annotated[int, typer.Option("--k", "-k", min=1, max=1000, help="Passages that are scored.")] = 10,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("adaptive-rag-eval"),
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask a sample of so many questions a data set.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample, the random arm and the resampling.")] = 0,
    model: ModelOption = None,
    setting: SettingOption = None,
    answers: Annotated[
        bool | None,
        typer.Option(help="Score answers too.", show_default="where the data are documents with questions"),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Let the model compare answers: adaptive-against-standard, vector-bm25-fusion, or 2-3 arms.",
            metavar="COMPARISON",
        ),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Folder of an earlier run to compare with.", metavar="RUN")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the results as Markdown too.")] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder for the indexes.", show_default="~/.cache/adaptive-rag/evaluation"),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, max=64, help="Questions asked at once; times are honest at 1.")
    ] = 1,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Throw away what the folder holds and start over.")
    ] = False,
) -> None:
    """Measure, per question type, what adapting to the question is worth."""
    from adaptive_rag.cli.output import stderr, stdout
    from adaptive_rag.evaluation.experiment import Experiment
    from adaptive_rag.evaluation.experiment import evaluate as run_experiment
    from adaptive_rag.evaluation.provenance import RunSettings
    from adaptive_rag.evaluation.terminal import Bars, print_against, print_report

    experiment = Experiment(
        datasets=datasets,
        out=out,
        settings=RunSettings(k, seed, limit, answers, knobs(setting, model=model)),
        arms=[name.strip() for name in arms.split(",") if name.strip()],
        judge=judge,
        against=against,
        markdown=markdown,
        cache=cache,
        jobs=jobs,
        fresh=fresh,
    )
    with Bars(stderr()) as bars:
        written = run_experiment(experiment, say=bars.say, open_bar=bars.open_bar, show_index=bars.show_index)
    print_report(stdout(), written.rows, k=k, routing=written.routing)
    if against:
        print_against(stdout(), written.against, k=k, name=str(against))
    stderr().print(
        f"Wrote {out / 'report.html'} and, beside it, summary.json and questions.jsonl.", markup=False
    )
