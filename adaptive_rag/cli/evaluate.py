"""`adaptive-rag eval`: measure the arms over labelled questions, and write what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptive_rag.cli.options import ModelOption, SettingOption, knobs

if TYPE_CHECKING:
    from adaptive_rag.evaluation import Dataset
    from adaptive_rag.evaluation.arms import Bench


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
    from adaptive_rag.evaluation import RunSettings, find_arms, limited, load_dataset, run_arms
    from adaptive_rag.evaluation.arms import ARMS
    from adaptive_rag.evaluation.corpora import default_cache
    from adaptive_rag.evaluation.judge import comparison
    from adaptive_rag.evaluation.records import read_questions
    from adaptive_rag.evaluation.report import write_reports
    from adaptive_rag.evaluation.report_terminal import print_against, print_report

    given = knobs(setting, model=model)
    names = (
        list(ARMS) if arms.strip() == "all" else [name.strip() for name in arms.split(",") if name.strip()]
    )
    judged = comparison(judge) if judge else ()
    chosen = find_arms([*names, *judged])
    # Everything that can be wrong with the input is found before the first index is built.
    loaded = [limited(load_dataset(path), limit, seed) for path in datasets]
    earlier = read_questions(against) if against else []
    chat_model = _judge_model(given) if judged else None
    settings = RunSettings(k=k, seed=seed, limit=limit, answers=bool(judged) or answers, knobs=given)
    for note in (note for dataset in loaded for note in dataset.notes):
        stderr().print(note, markup=False)

    with _bars() as (open_bar, show_index):
        run = run_arms(
            loaded,
            chosen,
            _bench_opener(settings, cache or default_cache(), show_index),
            settings,
            out,
            open_bar=open_bar,
            jobs=jobs,
            fresh=fresh,
        )
        written = write_reports(
            run,
            loaded,
            out,
            judge=(chat_model, judged) if chat_model is not None else None,
            earlier=(str(against), earlier) if against else None,
            markdown=markdown,
            command=_command(loaded, list(chosen), settings, markdown),
            open_bar=open_bar,
        )
    print_report(stdout(), written.rows, k=k, routing=written.routing)
    if against:
        print_against(stdout(), written.against, k=k, name=str(against))
    stderr().print(
        f"Wrote {out / 'report.html'} and, beside it, summary.json and questions.jsonl.", markup=False
    )


def _command(datasets: list[Dataset], arms: list[str], settings: Any, markdown: Path | None) -> str:
    """Return the command that makes the same run, with data sets by name, wherever they lie."""
    parts = ["adaptive-rag", "eval", *(dataset.name for dataset in datasets)]
    parts += ["--arms", ",".join(arms), "--k", str(settings.k)]
    parts += ["--limit", str(settings.limit)] if settings.limit else []
    parts += ["--seed", str(settings.seed)] if settings.seed else []
    for name, value in settings.knobs.items():
        parts += ["--model", str(value)] if name == "model" else ["--set", f"{name}={value}"]
    parts += ["--markdown", markdown.as_posix()] if markdown and not markdown.is_absolute() else []
    return " ".join(parts)


def _bench_opener(
    settings: Any, cache: Path, show_index: Callable[[str, Any], None]
) -> Callable[[Dataset], tuple[Dataset, Bench]]:
    from langgraph.graph import END, START, StateGraph

    from adaptive_rag.context import Context, make_context
    from adaptive_rag.evaluation.arms import Bench
    from adaptive_rag.evaluation.corpora import open_corpus
    from adaptive_rag.evaluation.datasets import with_gold
    from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
    from adaptive_rag.nodes import generate
    from adaptive_rag.state import State

    whole, retrieval = build_graph().compile(), build_retrieval_graph().compile()
    last_step: StateGraph[Any, Any, Any, Any] = StateGraph(State, context_schema=Context)
    last_step.add_node("generate", generate)
    last_step.add_edge(START, "generate")
    last_step.add_edge("generate", END)
    answering = last_step.compile()
    embeddings = make_context(**settings.knobs).embeddings

    def open_bench(dataset: Dataset) -> tuple[Dataset, Bench]:
        index = open_corpus(
            dataset,
            cache,
            embeddings=embeddings,
            progress=lambda progress: show_index(dataset.name, progress),
        )
        answers = settings.answers if settings.answers is not None else not dataset.passages
        bench = Bench(
            source=index,
            graph=whole if answers else retrieval,
            answering=answering if answers else None,
            k=settings.k,
            seed=settings.seed,
            knobs=dict(settings.knobs),
        )
        return (dataset if dataset.passages else with_gold(dataset, index.chunks())), bench

    return open_bench


def _judge_model(given: dict[str, Any]) -> Any:
    from adaptive_rag.context import make_context
    from adaptive_rag.errors import ConfigurationError
    from adaptive_rag.models.chat import chat_model_of

    model = chat_model_of(make_context(**given), "answer")
    if model is None:
        raise ConfigurationError("A judge is a chat model: pass one with --model provider:name.")
    return model


@contextmanager
def _bars() -> Iterator[tuple[Callable[[str, int], Any], Callable[[str, Any], None]]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from adaptive_rag.cli.output import stderr

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=stderr(), transient=True) as progress:
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

        yield open_bar, show_index
