"""Compare the five recipes with the default settings: quality, chat calls and time, by type of question.

    python -m benchmarks.recipes DATASET... [--replies FOLDER] [--plot docs/recipes.png]

Rankings are measured without a chat model and, if `--replies` is given, with a strong model's recorded plans.
(Its scores and selections are not recorded: these steps work locally or, if a recipe has no local way, keep
the order of the search.) The calls are counted on the sample documents, with a scripted model that answers
every step. The script prints Markdown tables.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from adaptive_rag import AdaptiveRAG
from adaptive_rag.evaluation.experiment import Experiment, evaluate
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.records import QuestionRecord, read_records
from adaptive_rag.recipes import NAMES
from adaptive_rag.samples import samples_path
from adaptive_rag.state import ROUTED_TYPES
from adaptive_rag.testing import ScriptedChatModel

DEFAULT = "adaptive"
ARMS = ("standard", DEFAULT, *(f"recipe-{name}" for name in NAMES))
# The k of the published systems. Three viewpoints of two passages each could not fill a greater one.
K = 4
# One question of each type about the sample documents, to count the calls.
SAMPLE_QUESTIONS = {
    "factual": "How high is the Long Wall?",
    "analytical": "How does dredging the harbour affect the marsh?",
    "opinion": "What are the different views on raising the sea wall?",
    "contextual": "How should I prepare for a flood?",
}
Figures = dict[str, dict[str, float]]  # arm -> type, or "all" -> mean


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the arms, count the calls, print the tables, and draw them if a file is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--replies", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--limit", type=int, help="ask a sample of so many questions a data set")
    parser.add_argument("--cache", type=Path, help="folder for the indexes")
    options = parser.parse_args(arguments)
    calls = {arm: count_calls(arm) for arm in ARMS if arm != "standard"}
    local = run(options.datasets, None, options.limit, options.cache)
    quality = compute_means(local, f"ndcg@{K}")
    print(f"Without a chat model, nDCG@{K}:\n\n{format_figures(quality)}\n")
    print(f"The same, milliseconds:\n\n{format_figures(compute_means(local, 'ms'), digits=0)}\n")
    if options.replies:
        with_plans = run(options.datasets, options.replies, options.limit, options.cache)
        quality = compute_means(with_plans, f"ndcg@{K}")
        note = "other questions: compare within the table"
        print(f"With a strong model's plans, nDCG@{K} ({note}):\n\n{format_figures(quality)}\n")
        for measure in (f"aspects@{K}", f"both@{K}"):
            if figures := compute_means(with_plans, measure):
                print(f"The same, {measure}:\n\n{format_figures(figures)}\n")
    print(f"Chat calls per question, if a model answers every step:\n\n{format_figures(calls, digits=0)}")
    if options.plot:
        draw(quality, calls, options.plot)


def count_calls(arm: str) -> dict[str, float]:
    """Return the number of calls for one question of each type, and their mean as "all"."""
    calls: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, question in SAMPLE_QUESTIONS.items():
            model = ScriptedChatModel(script={"classify": {"type": kind}})
            recipe = {} if arm == DEFAULT else {"recipe": arm.removeprefix("recipe-")}
            rag = AdaptiveRAG.from_documents(samples_path(), index=folder, model=model, k=4, **recipe)
            rag.invoke(question)
            calls[kind] = len(model.asked)
    return {**calls, "all": fmean(calls.values())}


def run(
    datasets: Sequence[Path], replies: Path | None, limit: int | None, cache: Path | None
) -> list[QuestionRecord]:
    """Ask every arm every question or, with replies, every question that has one."""
    with tempfile.TemporaryDirectory() as folder:
        settings = RunSettings(
            k=K,
            limit=limit,
            answers=False,
            replies=str(replies) if replies else None,
            # The recorded replies have three of each.
            settings={"retrieval.sub_questions": 3, "retrieval.viewpoints": 3} if replies else {},
        )
        evaluate(Experiment(datasets, Path(folder) / "run", settings, ARMS, cache=cache))
        return read_records(Path(folder) / "run")


def compute_means(records: Sequence[QuestionRecord], measure: str) -> Figures:
    """Return the mean of a measure for each arm, by type and over all questions."""
    values: dict[str, dict[str, list[float]]] = {arm: defaultdict(list) for arm in ARMS}
    for record in records:
        for arm in ARMS:
            result = record["arms"][arm]
            value = result["ms"] if measure == "ms" else result["metrics"].get(measure)
            if value is not None:
                for kind in (record["type"] or "", "all"):
                    values[arm][kind].append(value)
    return {
        arm: {kind: fmean(of_kind) for kind, of_kind in by_type.items()}
        for arm, by_type in values.items()
        if by_type
    }


def format_figures(figures: Mapping[str, Mapping[str, float]], digits: int = 3) -> str:
    """Return the figures as a Markdown table, with one line per arm."""
    kinds = [kind for kind in (*ROUTED_TYPES, "all") if any(kind in by_type for by_type in figures.values())]
    lines = [f"| | {' | '.join(kinds)} |", f"|---|{'--:|' * len(kinds)}"]
    for arm, by_type in figures.items():
        cells = (f"{by_type[kind]:.{digits}f}" if kind in by_type else "" for kind in kinds)
        lines.append(f"| {arm.removeprefix('recipe-')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(quality: Figures, calls: Figures, file: Path) -> None:
    """Draw quality over calls, in one panel for each type and one for all."""
    from matplotlib import pyplot as plt

    from adaptive_rag.evaluation import plots

    kinds = ("all", *ROUTED_TYPES)
    markers = dict(zip(calls, "oXsDP^v", strict=False))
    with plt.style.context(str(plots.STYLE)):
        figure, panels = plt.subplots(1, len(kinds), figsize=(12.5, 3.4), layout="constrained")
        for kind, panel in zip(kinds, panels, strict=True):
            for number, arm in enumerate(calls):
                if kind in quality[arm]:
                    x, y = calls[arm][kind], quality[arm][kind]
                    name = "default" if arm == DEFAULT else arm.removeprefix("recipe-")
                    size = 9 if arm == DEFAULT else 7
                    panel.plot(x, y, markers[arm], color=f"C{number}", ms=size, label=name)
            panel.set_title("all questions" if kind == "all" else kind, fontsize=10)
            panel.set_xlabel("chat calls a question", fontsize=8)
            panel.set_xlim(0, 13)
            panel.margins(y=0.2)
        panels[0].set_ylabel(f"nDCG@{K}")
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=8)
        figure.savefig(file, dpi=150)
        plt.close(figure)


if __name__ == "__main__":
    main()
