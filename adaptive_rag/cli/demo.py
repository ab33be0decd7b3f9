"""`adaptive-rag demo`: index the samples and ask one question of each type."""

from __future__ import annotations

import tempfile

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_block, print_note, stdout
from adaptive_rag.cli.session import format_report, index_documents, show_answer


def demo(
    index: options.Index = None,
    recipe: options.Recipe = None,
    model: options.Model = None,
    trace: options.Trace = False,
) -> None:
    """Ask the sample documents a question of each type."""
    from adaptive_rag.samples import SAMPLE_QUESTIONS, samples_path

    with tempfile.TemporaryDirectory(prefix="adaptive-rag-demo-") as folder:
        given = options.given_settings(index=index or f"{folder}/index", recipe=recipe, model=model)
        print_note("Indexing the sample documents of a coastal town")
        print_note(format_report(index_documents([samples_path()], given)))
        for sample in SAMPLE_QUESTIONS:
            stdout().print()
            print_block(f"› {sample.question}", style="bold", indent=0, hanging=2)
            if sample.user_context:
                print_block(f"context: {sample.user_context}", style="dim")
            show_answer(sample.question, sample.user_context or "", given, trace=trace)
    print_note('\nNow yours: adaptive-rag ask "your question" --docs your-folder')
