"""`adaptive-rag backup` and `adaptive-rag restore`: all data of the web server, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import format_count, print_line

BackupFile = Annotated[Path, Argument(help="The backup.", metavar="FILE", dir_okay=False)]
Key = Annotated[
    Path | None,
    Option(
        "--key",
        help="File with the key that signs the backup; by default backup.key in the data folder.",
        metavar="FILE",
        show_default=False,
    ),
]
Foreign = Annotated[
    bool, Option("--foreign", help="Restore what another server wrote, without its conversations.")
]


def backup(file: BackupFile, data: options.Data = None, key: Key = None) -> None:
    """Write users, threads, jobs, documents and indexes of the web server to a file; it may be running."""
    settings = options.server_settings(data=data, backup_key=key)
    from adaptive_rag.server.backup import back_up

    counts = back_up(settings, file)
    print_line(f"{file} holds {_format(counts)}.")
    print_line(f"Its key is {settings.signing_key}. Keep a copy elsewhere: it is not in the backup.")


def restore(file: BackupFile, data: options.Data = None, key: Key = None, foreign: Foreign = False) -> None:
    """Restore a backup into an empty data folder, and an empty database where one is named."""
    settings = options.server_settings(data=data, backup_key=key)
    from adaptive_rag.server.backup import restore as restore_backup

    counts = restore_backup(settings, file, foreign=foreign)
    print_line(
        f"{settings.data} holds {_format(counts)}. Start the server with: {options.serve_command(data)}"
    )
    if foreign:
        left_out = format_count(counts["left_out"], "conversation")
        print_line(f"Left out, since anybody may have written them: {left_out}.")


def _format(counts: dict[str, int]) -> str:
    kinds = ("user", "collection", "document", "thread", "job")
    return ", ".join(format_count(counts[f"{kind}s"], kind) for kind in kinds)
