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
    """Index the sample documents of a coastal town and ask a question of each type."""
    import tempfile
    from pathlib import Path

    from adaptive_rag.cli.answers import print_answer, print_trace
    from adaptive_rag.cli.output import stderr, stdout
    from adaptive_rag.cli.session import answer, index_documents
    from adaptive_rag.samples import SAMPLE_QUESTIONS, samples_path

    with tempfile.TemporaryDirectory(prefix="adaptive-rag-demo-") as folder:
        given = knobs(index=index or str(Path(folder) / "index"), model=model)
        report = index_documents([samples_path()], given)
        stderr().print(str(report), markup=False)
        for sample in SAMPLE_QUESTIONS:
            asker = f"  ({sample.user_context})" if sample.user_context else ""
            stdout().rule(f"[bold]{sample.question}[/]{asker}", align="left", style="dim")
            output, seconds = answer(sample.question, sample.user_context, given)
            print_answer(output, seconds)
            if trace:
                print_trace(output["trace"])
