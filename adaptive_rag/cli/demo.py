"""`adaptive-rag demo`: index the sample documents and ask one question of each type, or copy them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from typer import Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_block, print_line, print_note, stdout
from adaptive_rag.cli.session import format_report, index_documents, show_answer
from adaptive_rag.errors import InputError
from adaptive_rag.samples import SAMPLE_QUESTIONS, lend_vectors, samples_path


def demo(
    index: Annotated[
        str | None, Option("--index", "-i", help="Keep the index there.", show_default="a temporary folder")
    ] = None,
    recipe: options.Recipe = None,
    model: options.Model = None,
    trace: options.Trace = False,
    copy: Annotated[
        Path | None, Option("--copy", help="Only copy the sample documents there.", metavar="FOLDER")
    ] = None,
) -> None:
    """Ask the sample documents a question of each type."""
    if copy is not None:
        try:
            _copy_documents(samples_path(), copy)
        except OSError as error:
            raise InputError(f"{str(copy)!r} cannot hold the sample documents: {error.strerror}.") from error
        return
    with tempfile.TemporaryDirectory(prefix="adaptive-rag-demo-") as folder:
        settings = options.collect_settings(index=index or f"{folder}/index", recipe=recipe, model=model)
        if index is None:
            lend_vectors(Path(folder) / "index")
        print_note("Indexing the sample documents of a coastal town")
        print_note(format_report(index_documents([samples_path()], settings)))
        for sample in SAMPLE_QUESTIONS:
            stdout().print()
            print_block(f"› {sample.question}", style="bold", indent=0, hanging=2)
            if sample.user_context:
                print_block(f"context: {sample.user_context}", style="dim")
            show_answer(sample.question, sample.user_context or "", settings, trace=trace)
    print_note('\nNow yours: adaptive-rag ask "your question" --docs your-folder')


def _copy_documents(documents: Path, folder: Path) -> None:
    """Copy the sample documents into a folder, unless it holds other files with their names."""
    files = sorted(path for path in documents.iterdir() if path.is_file())
    for file in files:
        target = folder / file.name
        if target.exists() and (not target.is_file() or target.read_bytes() != file.read_bytes()):
            raise InputError(
                f"{target} exists and is not the sample document of that name. "
                "Move it away, or name another folder."
            )
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)
        print_line(str(folder / file.name))
