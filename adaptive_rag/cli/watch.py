"""`adaptive-rag index --watch`: index folders again whenever something in them changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from adaptive_rag.cli.output import print_note, short_source
from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError, import_extra
from adaptive_rag.text.redaction import redact

# A run begins when nothing has changed for QUIET_MS, but at most MAX_DELAY_MS after the first change.
QUIET_MS, MAX_DELAY_MS = 500, 10_000
POLL_MS = 500


def watch_folders(folders: Sequence[Path], index: Path | None, run: Callable[[], object]) -> None:
    """Call `run` at once, and again after each change below the folders, until Ctrl-C.

    An error in a later run is printed, and the watch continues. Changes in the `index` folder are ignored.

    Raises:
        ConfigurationError: a path is not a folder, or the system cannot watch what is in it.
        MissingExtraError: the package that watches folders is not installed.
    """
    for folder in folders:
        if not os.path.isdir(os.path.expanduser(folder)):
            problem = f"--watch takes folders, and {str(folder)!r} is not one."
            raise ConfigurationError(f"{problem} Index a file or an address without --watch.")
    package: Any = import_extra("watchfiles", extra="watch", purpose="index --watch")

    def begin() -> tuple[dict[str, object], Iterator[set[Any]]]:
        known = _identify(folders)
        changes = package.watch(
            *(root for root, identity in known.items() if identity),
            watch_filter=_ChangeFilter([*known], os.path.realpath(index) if index else None),
            step=QUIET_MS,
            debounce=MAX_DELAY_MS,
            # An empty result comes as soon as the watch has begun: no change during the first run is missed.
            rust_timeout=POLL_MS,
            yield_on_timeout=True,
        )
        _wait_for_change(changes)
        return known, changes

    known, changes = begin()
    run()
    print_note(("Watching", "bold"), f" {', '.join(map(short_source, known))}. Ctrl-C ends it.")
    try:
        while True:
            while not (changed := _wait_for_change(changes)) and _identify(folders) == known:
                pass
            # the system no longer follows a folder that was replaced, perhaps by one with its number
            if _identify(folders) != known or any(path in known for _, path in changed):
                known, changes = begin()
            try:
                run()
            except AdaptiveRAGError as error:
                print_note(("Error: ", "bold red"), redact(str(error)))
    except KeyboardInterrupt as error:
        # If it came in the middle of a run, its notes say what of the run was kept.
        print_note(" ".join(["The watch has ended.", *getattr(error, "__notes__", [])]))


def _identify(folders: Sequence[Path]) -> dict[str, object]:
    """Return the real path of each folder, with what tells it from another one there; None if it is gone."""
    identities = dict[str, object]()
    for folder in folders:
        root = os.path.realpath(os.path.expanduser(folder))
        identities[root] = None
        with suppress(OSError):
            status = os.stat(root)
            identities[root] = status.st_dev, status.st_ino
    return identities


def _wait_for_change(changes: Iterator[set[Any]]) -> set[Any]:
    """Return the next changes; the set is empty if there was none for a while."""
    try:
        return next(changes)
    except (OSError, RuntimeError) as error:  # the name of a file is not text, or there are too many folders
        raise ConfigurationError(f"The folders cannot be watched any longer: {error}.") from error


class _ChangeFilter:
    """Decides whether a change makes it necessary to index the folders again."""

    def __init__(self, roots: Sequence[str], index: str | None) -> None:
        self._roots = roots
        self._index = index

    def __call__(self, change: object, path: str) -> bool:
        """Return False for a change in the index, and for hidden files except .gitignore."""
        changed = Path(path)
        if self._index is not None and changed.is_relative_to(self._index):
            return False
        below_roots = [changed.relative_to(root) for root in self._roots if changed.is_relative_to(root)]
        return not all(
            any(part.startswith(".") and part != ".gitignore" for part in below_root.parts)
            for below_root in below_roots
        )
