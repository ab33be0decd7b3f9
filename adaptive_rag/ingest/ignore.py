"""The files that are left out when a folder is listed: built-in patterns, `.gitignore` and the caller's."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from adaptive_rag.errors import InputError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Files that programs create: installed packages, caches, lock files. Hidden files are left out as well.
_BUILT_IN_PATTERNS = (
    "node_modules/",
    "bower_components/",
    "__pycache__/",
    "site-packages/",
    "*.egg-info/",
    "package-lock.json",
    "*.min.js",
    "~$*",  # a file that Word keeps beside an open document
)
# Each stands in such a folder: a virtual environment, an index.
_MARKS_OF_MADE_FOLDERS = ("pyvenv.cfg", "manifest.copy.json")
_LONGEST_GITIGNORE = 100_000
# With more stars, matching a long name can take minutes.
_MOST_STARS = 3


@dataclass(frozen=True, slots=True)
class Patterns:
    """The files of a folder to read, as patterns in the form of `.gitignore`: "*.md", "/drafts/"."""

    include: Sequence[str] = ()
    """Read only files that match one of these; empty means all files."""
    exclude: Sequence[str] = ()
    """Leave these out as well. A "!" brings back files that are left out otherwise: "!node_modules/"."""


EVERY_FILE = Patterns()


class Ignored:
    """Decides which paths below a folder are left out.

    `Patterns.exclude` takes precedence, then the `.gitignore` nearest to the file, then the built-in list.

    Raises:
        InputError: a pattern is not valid.
    """

    def __init__(self, root: Path, patterns: Patterns, may_read: Callable[[Path], bool]) -> None:
        self._root = root
        self._may_read = may_read
        self._include = _read_patterns(patterns.include)
        self._exclude = _read_patterns(patterns.exclude)
        self._built_in = _read_patterns(_BUILT_IN_PATTERNS)
        self._gitignore_of = cache(self._read_gitignore)
        self._specs_in = cache(self._find_specs)

    def holds_folder(self, folder: Path) -> bool:
        """Return whether a folder is left out, with everything in it."""
        is_made = any(os.path.isfile(folder / file) for file in _MARKS_OF_MADE_FOLDERS)
        return self._is_ignored(folder, "/", default=is_made)

    def holds_file(self, path: Path) -> bool:
        """Return whether a file is left out, given that its folders are not."""
        if self._include and not self._include.match_file(path.relative_to(self._root).as_posix()):
            return True
        return self._is_ignored(path, "", default=False)

    def holds(self, path: Path) -> bool:
        """Return whether a path is left out, by itself or with a folder above it."""
        folders = [self._root / folder for folder in path.relative_to(self._root).parents if folder.name]
        if any(map(self.holds_folder, reversed(folders))):
            return True
        return self.holds_folder(path) if os.path.isdir(path) else self.holds_file(path)

    def _is_ignored(self, path: Path, suffix: str, *, default: bool) -> bool:
        for inner, spec in self._specs_in(path.parent):
            if (is_ignored := spec.check_file(f"{inner}{path.name}{suffix}").include) is not None:
                return is_ignored
        return default

    def _find_specs(self, parent: Path) -> list[tuple[str, GitIgnoreSpec]]:
        """Return the patterns that apply in a folder, each with the path from its own folder to this one."""
        folders = [folder for folder in (parent, *parent.parents) if folder.is_relative_to(self._root)]
        if not folders:  # the root itself is never left out
            return []
        gitignores = [(folder, self._gitignore_of(folder)) for folder in folders]
        specs = [(self._root, self._exclude), *gitignores, (self._root, self._built_in)]
        relative = [(parent.relative_to(folder).as_posix(), spec) for folder, spec in specs]
        return [("" if path == "." else f"{path}/", spec) for path, spec in relative if spec]

    def _read_gitignore(self, folder: Path) -> GitIgnoreSpec | None:
        """Return the patterns of a folder's `.gitignore`; None if it has none or may not be read."""
        path = folder / ".gitignore"
        if not os.path.isfile(path) or not self._may_read(path):
            return None
        patterns = list[str]()
        with suppress(OSError), path.open("rb") as file:  # an unreadable file adds no patterns
            for line in file.read(_LONGEST_GITIGNORE).decode("utf-8-sig", "replace").splitlines():
                with suppress(InputError):  # git also ignores lines that are not patterns
                    _read_patterns([line])
                    patterns.append(line)
        return _read_patterns(patterns)


def _read_patterns(patterns: Sequence[str]) -> GitIgnoreSpec | None:
    """Parse patterns; None if there are none."""
    for pattern in patterns:
        if any(part.count("*") > _MOST_STARS for part in (*pattern.split("/"), "*" * pattern.count("**"))):
            raise InputError(f"The pattern {pattern!r} has too many stars: at most {_MOST_STARS} in a name.")
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(patterns) if patterns else None
    except (ValueError, re.error) as error:
        raise InputError(f"One of the patterns {list(patterns)} cannot be read: {error}.") from error
