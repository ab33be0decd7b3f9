"""The first step of indexing: turn paths, folders and patterns into the list of files to read."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adaptive_rag.errors import ConfigurationError, InputError
from adaptive_rag.ingest.conversions import how_to_convert
from adaptive_rag.ingest.documents import SourceFile, printable
from adaptive_rag.ingest.ignore import EVERY_FILE, Ignored, Patterns
from adaptive_rag.ingest.loaders import find_loader, list_kinds
from adaptive_rag.text.redaction import redact

_OnError = Callable[[OSError], object]


@dataclass(frozen=True)
class Confined:
    """Paths from a caller who may index files under `roots` only, and at most `most` of them in one run."""

    paths: Sequence[str]
    roots: Collection[str]
    most: int

    def check_number(self, number: int) -> None:
        """Check that a run does not cover too many files.

        Raises:
            InputError: more than `most` files were found.
        """
        if number > self.most:
            most = f"one call may index at most {self.most:,} (serving.max_documents)"
            raise InputError(f"{number:,} files were found; {most}.")


def discover(
    paths: str | Path | Sequence[str | Path | SourceFile] | Confined,
    *,
    index: Path | None = None,
    patterns: Patterns = EVERY_FILE,
    unknown: list[str] | None = None,
) -> list[SourceFile]:
    """List the readable files under paths, folders and glob patterns, each once, in a stable order.

    A source is named by its path as POSIX text: relative to the working directory if it lies below it, else
    absolute; a `SourceFile` has a name of its own. In folders, these are skipped: hidden files, the `index`
    folder, and whatever `patterns`, a `.gitignore` or our built-in list leaves out. A file that is given by
    its path is never skipped. A folder that cannot be listed appears in the result itself, so that reading it
    reports why. If `unknown` is given, the files in folders that no loader reads are added to it. For
    confined paths nothing outside the roots is read, wherever links lead.

    Raises:
        InputError: a path does not exist or is outside the roots, a file's suffix is not supported, no file
            or too many files were found, or a pattern is invalid.
        ConfigurationError: a folder cannot be read.
    """
    roots: list[str] | None = None
    confined = paths if isinstance(paths, Confined) else None
    if isinstance(paths, Confined):
        roots = [os.path.realpath(os.path.expanduser(root)) for root in paths.roots]
        for confined_path in paths.paths:
            _refuse_outside(confined_path, roots)
        paths = paths.paths
    requested = [paths] if isinstance(paths, str | Path) else list(paths)
    if not requested:
        raise InputError("No path was given. Give a file, a folder or a pattern: 'docs/*.pdf'.")
    walk = _Walk(os.path.realpath(index) if index else None, patterns, roots, unknown)
    files: dict[str, SourceFile] = {}
    for path in requested:
        if isinstance(path, SourceFile):
            files.setdefault(os.path.realpath(path.path), path)
            continue
        if (
            path == ""
        ):  # a variable of the shell that is not set; `Path` would make the working directory of it
            raise InputError("A path is empty. Give a file, a folder or a pattern; this folder is '.'.")
        if "://" in str(path):
            raise InputError(
                f"{redact(str(path))!r} is not a file, a folder or a page at http:// or https://. To store "
                "the index at an address, use --index, or in Python the second argument of Index.build."
            )
        # unlike the methods of Path, these functions raise no error where a path cannot be looked up
        for file in _find(Path(os.path.expanduser(path)), walk):
            real = file.real or os.path.realpath(file.path)
            if roots is None:
                files.setdefault(real, file)
            elif _is_below(real, roots):
                # Read the real path, so that a link that is changed in the meantime cannot lead elsewhere.
                files.setdefault(real, replace(file, path=Path(real)))
    if not files:
        searched = ", ".join(repr(str(path)) for path in requested)
        raise InputError(f"No file to read was found in {searched}. These kinds are read: {list_kinds()}.")
    if confined:
        confined.check_number(len(files))
    return list(files.values())


def name_source(path: Path) -> str:
    """Return a file's source name: relative to the working directory if it lies below it, else absolute."""
    here, absolute = Path.cwd(), Path(os.path.abspath(path))
    name = absolute.relative_to(here) if absolute.is_relative_to(here) else absolute
    return printable(name.as_posix())


def holds_documents(folder: Path) -> bool:
    """Return whether a folder holds a readable file, at any depth.

    Raises:
        ConfigurationError: a folder cannot be read.
    """
    walk = _Walk()
    return next(walk.files(folder, _refuse, walk.ignored_below(folder), set()), None) is not None


def _is_below(real: str, roots: Sequence[str]) -> bool:
    return any(Path(real).is_relative_to(root) for root in roots)


def _refuse_outside(path: str, roots: Sequence[str]) -> None:
    """Raise InputError for a path outside the roots, with the same message whether it exists or not."""
    parts = Path(path).parts
    # A pattern searches below the parts before its first wildcard.
    fixed_parts = _before_wildcard(Path(path))
    leads_away = path.startswith("~") or ".." in parts or "\0" in path
    real = Path(os.sep) if leads_away else Path(os.path.realpath(Path(*fixed_parts)))
    root = next((root for root in roots if real.is_relative_to(root)), None)
    below = () if root is None else (*real.relative_to(root).parts, *parts[len(fixed_parts) :])
    if leads_away or root is None or any(part.startswith(".") for part in below):
        raise InputError(f"{path!r} is not in a folder that callers may index (serving.roots).")


def _find(requested: Path, walk: _Walk) -> Iterator[SourceFile]:
    """Yield the files that a path, a folder or a pattern stands for."""
    is_folder = os.path.isdir(requested)
    if not is_folder and os.path.exists(requested):
        if not find_loader(requested):
            hint = how_to_convert(requested)
            raise InputError(
                f"{str(requested)!r} is not of a kind that is read: its suffix is {requested.suffix!r}, and "
                f"these kinds are read: {list_kinds()}.{f' {hint}.' if hint else ''}"
            )
        yield _name_file(requested)
        return
    # The rules of the folder that was named hold for all folders in it that match a pattern.
    ignored = walk.ignored_below(requested if is_folder else Path(*_before_wildcard(requested)))
    unlisted, visited = list[OSError](), set[str]()
    paths = [requested] if is_folder else _match_pattern(requested, walk, ignored, unlisted.append)
    for path in paths:
        if os.path.isdir(path):
            yield from walk.files(path, unlisted.append, ignored, visited)
        elif find_loader(path):
            yield _name_file(path)
    yield from (_name_file(Path(error.filename)) for error in unlisted)


def _match_pattern(pattern: Path, walk: _Walk, ignored: Ignored, on_error: _OnError) -> list[Path]:
    """Return the paths that match a glob pattern and are not ignored, in order; there is at least one."""
    if not glob.has_magic(str(pattern)):
        raise InputError(f"{str(pattern)!r} does not exist. Give a file, a folder or a pattern.")
    paths = [path for path in sorted(_expand(pattern, walk, ignored, on_error)) if not ignored.holds(path)]
    if not paths:
        raise InputError(f"No file matches the pattern {str(pattern)!r}.")
    return paths


def _expand(pattern: Path, walk: _Walk, ignored: Ignored, on_error: _OnError) -> set[Path]:
    """Return the paths that match a glob pattern; "**" visits each folder once, as links may lead back."""
    if "**" not in pattern.parts:
        return set(map(Path, glob.glob(str(pattern))))
    at = pattern.parts.index("**")
    rest = tuple(itertools.dropwhile("**".__eq__, pattern.parts[at:])) or ("*",)
    matches: set[Path] = set()
    for top in glob.glob(os.path.join(*pattern.parts[:at], "")) if at else [""]:
        for folder, _, _ in walk.folders(Path(top), on_error, ignored, set()):
            matches |= _expand(Path(glob.escape(str(folder)), *rest), walk, ignored, on_error)
    return matches


def _name_file(path: Path) -> SourceFile:
    return SourceFile(path, name_source(path))


def _before_wildcard(path: Path) -> list[str]:
    return list(itertools.takewhile(lambda part: not glob.has_magic(part), path.parts))


@dataclass(frozen=True)
class _Walk:
    """The rules for listing folders: skip the index folder and ignored files, and stay inside the roots."""

    index: str | None = None
    patterns: Patterns = EVERY_FILE
    roots: Sequence[str] | None = None
    unknown: list[str] | None = None

    def ignored_below(self, folder: Path) -> Ignored:
        return Ignored(folder, self.patterns, may_read=lambda path: self._is_inside(os.path.realpath(path)))

    def files(
        self, root: Path, on_error: _OnError, ignored: Ignored, visited: set[str]
    ) -> Iterator[SourceFile]:
        """Yield the readable files below a folder; `on_error` gets the errors of folders not listed."""
        for folder, real, files in self.folders(root, on_error, ignored, visited):
            folder_name = name_source(folder)
            prefix = "" if folder_name == "." else folder_name.rstrip("/") + "/"
            for name in sorted(files):
                path = folder / name
                # Broken links, pipes and the like are listed too: reading them reports what they are.
                if name.startswith(".") or ignored.holds_file(path):
                    continue
                source = prefix + printable(name)
                if find_loader(path):
                    resolved = os.path.realpath(path) if os.path.islink(path) else os.path.join(real, name)
                    yield SourceFile(path, source, resolved)
                elif self.unknown is not None and os.path.isfile(path):
                    self.unknown.append(source)

    def folders(
        self, root: Path, on_error: _OnError, ignored: Ignored, visited: set[str]
    ) -> Iterator[tuple[Path, str, list[str]]]:
        """Yield the folders not in `visited`, from the root down: path, real path, names of the files."""
        for parent, folders, files in os.walk(root, followlinks=True, onerror=on_error):
            real, folder = os.path.realpath(parent), Path(parent)
            # a link to a parent folder, a folder already visited, or one outside the roots
            if real in visited or real == self.index or not self._is_inside(real):
                folders.clear()
                continue
            visited.add(real)
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith(".") and not ignored.holds_folder(folder / name)
            )
            yield folder, real, files

    def _is_inside(self, real: str) -> bool:
        return self.roots is None or _is_below(real, self.roots)


def _refuse(error: OSError) -> None:
    raise ConfigurationError(f"The folder {error.filename!r} cannot be read: {error.strerror}.") from error
