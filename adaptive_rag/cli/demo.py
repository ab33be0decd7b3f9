"""`adaptive-rag demo`: index the samples and ask one question of each type."""

from __future__ import annotations

from typing import Annotated

import typer

from adaptive_rag.cli.options import IndexOption, ModelOption, knobs


def demo(
    index: IndexOption = None,
    model: ModelOption = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show every step and its reasons.")] = False,
) -> None:
    """Ask the sample documents a question of each type."""
    import tempfile
    from pathlib import Path

    from rich.text import Text

    from adaptive_rag.cli.answers import print_trace
    from adaptive_rag.cli.output import print_block, stderr, stdout
    from adaptive_rag.cli.session import format_report, index_documents, show_answer
    from adaptive_rag.samples import SAMPLE_QUESTIONS, samples_path

    with tempfile.TemporaryDirectory(prefix="adaptive-rag-demo-") as folder:
        given = knobs(index=index or str(Path(folder) / "index"), model=model)
        stderr().print("Indexing the sample documents of a coastal town")
        report = index_documents([samples_path()], given)
        stderr().print(format_report(report), markup=False, soft_wrap=True)
        console = stdout()
        for sample in SAMPLE_QUESTIONS:
            console.print()
            print_block(console, Text(f"› {sample.question}", style="bold"), indent=0, hanging=2)
            if sample.user_context:
                print_block(console, Text(f"context: {sample.user_context}", style="dim"))
            output = show_answer(sample.question, sample.user_context or "", given)
            if trace:
                print_trace(output["trace"])
    stderr().print('\nNow yours: adaptive-rag ask "your question" --docs your-folder', markup=False)
