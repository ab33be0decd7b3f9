"""`adaptive-rag index --watch`: index folders again whenever something in them changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from adaptive_rag.cli.output import print_note, short_source
from adaptive_rag.text.redaction import redact

# A run begins when nothing changed for QUIET_MS, and at the latest MOST_MS after the first change.
QUIET_MS, MOST_MS = 500, 10_000
POLL_MS = 500


def watch_folders(folders: Sequence[Path], index: Path | None, run: Callable[[], object]) -> None:
    """Run at once, and again after each change below the folders, until Ctrl-C.

    An error in a later run is printed, and the watch goes on. Changes in the `index` folder are ignored.

    Raises:
        ConfigurationError: a path is not a folder.
        MissingExtraError: the package that watches folders is not installed.
    """
    from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError, import_extra

    for folder in folders:
        if not os.path.isdir(os.path.expanduser(folder)):
            problem = f"--watch takes folders, and {str(folder)!r} is not one."
            raise ConfigurationError(f"{problem} Index a file or an address without --watch.")
    package: Any = import_extra("watchfiles", extra="watch", purpose="index --watch")
    roots = [os.path.realpath(os.path.expanduser(folder)) for folder in folders]
    changes = package.watch(
        *roots,
        watch_filter=_Wanted(roots, os.path.realpath(index) if index else None),
        step=QUIET_MS,
        debounce=MOST_MS,
        # the first result comes as soon as the watch has begun, so no change during the first run is missed
        rust_timeout=POLL_MS,
        yield_on_timeout=True,
    )
    next(changes)
    run()
    names = ", ".join(short_source(root) for root in roots)
    print_note(("Watching", "bold"), f" {names}. Ctrl-C ends it.")
    try:
        while any(changes):
            try:
                run()
            except AdaptiveRAGError as error:
                print_note(("Error: ", "bold red"), redact(str(error)))
    except KeyboardInterrupt as error:
        # also in the middle of a run, whose notes say what of it is kept
        print_note(" ".join(["The watch has ended.", *getattr(error, "__notes__", [])]))


class _Wanted:
    """Filter that tells whether a change makes it necessary to index the folders again."""

    def __init__(self, roots: Sequence[str], index: str | None) -> None:
        self._roots = roots
        self._index = index

    def __call__(self, change: object, path: str) -> bool:
        """Ignore the index, and hidden files except .gitignore."""
        if self._index is not None and Path(path).is_relative_to(self._index):
            return False
        inner = [Path(path).relative_to(root) for root in self._roots if Path(path).is_relative_to(root)]
        hidden = (any(part.startswith(".") for part in each.parts if part != ".gitignore") for each in inner)
        return not all(hidden)
