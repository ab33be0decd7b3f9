"""`adaptive-rag backup` and `adaptive-rag restore`: everything that the web server keeps, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from adaptive_rag.cli import options
from adaptive_rag.cli.output import count_of, print_line

Kept = Annotated[Path, Argument(help="The backup.", metavar="FILE", dir_okay=False)]


def backup(file: Kept, data: options.Data = None) -> None:
    """Write users, threads, jobs, documents and indexes of the web server into a file, while it runs."""
    settings = options.server_settings(data=data)
    from adaptive_rag.server.backup import back_up

    counts = back_up(settings, file)
    print_line(f"{file} holds {_format(counts)}.")


def restore(file: Kept, data: options.Data = None) -> None:
    """Restore a backup into an empty data folder, and an empty database where one is named."""
    settings = options.server_settings(data=data)
    from adaptive_rag.server.backup import restore as bring_back

    counts = bring_back(settings, file)
    print_line(f"{settings.data} holds {_format(counts)}. Start the server with: adaptive-rag serve")


def _format(counts: dict[str, int]) -> str:
    kinds = ("user", "collection", "document", "thread", "job")
    return ", ".join(count_of(counts[f"{kind}s"], kind) for kind in kinds)
