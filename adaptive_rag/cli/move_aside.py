"""`adaptive-rag move-aside`: move documents that the server's database does not know to another folder."""

from __future__ import annotations

from adaptive_rag.cli import options
from adaptive_rag.cli.output import format_count, print_line


def move_aside(data: options.Data = None) -> None:
    """Move documents that the server's database does not know to the folder `aside`; delete nothing.

    Use it when the server does not start because its data folder and its database do not belong together,
    or to clear what an interruption left. Stop the server and its workers first.
    """
    settings = options.existing_server_settings(data)
    from adaptive_rag.server.database import use_database
    from adaptive_rag.server.pairing import collections_without_files
    from adaptive_rag.server.pairing import move_aside as move
    from adaptive_rag.server.process import lock_data_folder

    with lock_data_folder(settings), use_database(settings) as engine:
        moved, empty = move(settings, engine), collections_without_files(settings, engine)
    for folder in moved:
        print_line(f"{folder.source}: {format_count(folder.files, 'file')}, now at {folder.target}")
    for name in empty:
        print_line(
            f"The collection {name} has no files in this folder; its documents must be uploaded again."
        )
    print_line(
        f"{format_count(len(moved), 'folder')} moved. Start the server with: {options.serve_command(data)}"
    )
