"""The public documents that passages were taken from, and how a passage is written down without its words.

    python -m training.reader.sources FOLDER

fetches each repository of `sources.json` from GitHub at its commit, into FOLDER/OWNER+NAME; what is there is
left as it is. A passage of a public document is kept as pieces: places in the document's file, and the few
characters between them that the file has not (a line break, the name of a column before each cell).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "sources.json"
# A piece of fewer characters than this is not worth the two numbers that name its place.
_LEAST_PIECE = 3
# Of a passage of which more is not in its file, the file is another one.
_MOST_ADDED = 0.25
_WORDS = ("text", "title", "section")
_QUOTES = ("a", "s")

Row = dict[str, Any]
Piece = str | list[int]


class MissingSourceError(Exception):
    """A public document is not there, or not the one that a passage was taken from."""


def read_sources() -> dict[str, dict[str, str]]:
    """Return the commit and the licence of each public document set."""
    sources: dict[str, dict[str, str]] = json.loads(SOURCES.read_text("utf-8"))
    return sources


def is_public(row: Mapping[str, Any]) -> bool:
    """Tell whether a passage is of a public document; the others were invented."""
    return row["set"] in _known()


def write_down(row: Row, folder: Path) -> Row:
    """Return a row of a public document without the document's words.

    Raises:
        MissingSourceError: the document is not there, or holds less of the passage than it should.
    """
    path = row["source"].removeprefix(f"{row['set']}/")
    file = read_file(folder, row["set"], path)
    pieces = {name: list(_cut(row[name], file)) for name in _WORDS}
    added = sum(len(piece) for piece in pieces["text"] if isinstance(piece, str))
    if added > _MOST_ADDED * len(row["text"]):
        raise MissingSourceError(f"{row['source']} does not hold the passage {row['id']}.")
    return {**_map_quotes(row, lambda quote: _place(row["text"], quote)), **pieces, "source": path}


def read_back(row: Row, folder: Path) -> Row:
    """Return a row of a public document with the document's words.

    Raises:
        MissingSourceError: the document is not there.
    """
    file = read_file(folder, row["set"], row["source"])
    words = {name: _join(row[name], file) for name in _WORDS}
    return {**_map_quotes(row, lambda place: words["text"][slice(*place)]), **words}


def _map_quotes(row: Row, mapped: Any) -> Row:
    """Return a row with all that it quotes of its passage mapped."""

    def quoting(part: Row) -> Row:
        return {name: mapped(value) if name in _QUOTES else value for name, value in part.items()}

    follow = row["follow"] and quoting(row["follow"])
    return (
        row | {"follow": follow} | {name: [quoting(part) for part in row[name]] for name in ("qa", "sides")}
    )


def _place(text: str, quote: str) -> list[int]:
    start = text.index(quote)
    return [start, start + len(quote)]


def _cut(text: str, file: str) -> Iterator[Piece]:
    """Yield the longest pieces of the text that stand in the file, and what stands between them."""
    at, added = 0, ""
    while at < len(text):
        least, most = 0, len(text) - at
        while least < most:
            middle = (least + most + 1) // 2
            least, most = (middle, most) if text[at : at + middle] in file else (least, middle - 1)
        if least < _LEAST_PIECE:
            added += text[at]
            at += 1
            continue
        if added:
            yield added
            added = ""
        yield [file.index(text[at : at + least]), least]
        at += least
    if added:
        yield added


def _join(pieces: Iterable[Piece], file: str) -> str:
    return "".join(
        piece if isinstance(piece, str) else file[piece[0] : piece[0] + piece[1]] for piece in pieces
    )


@lru_cache(maxsize=1)
def _known() -> dict[str, dict[str, str]]:
    return read_sources()


@lru_cache(maxsize=64)
def read_file(folder: Path, name: str, path: str) -> str:
    """Return a file of a public document set, at its commit.

    Raises:
        MissingSourceError: the folder lacks the set, or the set the file.
    """
    repository = folder / name
    if not repository.is_dir():
        raise MissingSourceError(
            f"{repository} is not there: `python -m training.reader.sources {folder}` fetches it."
        )
    shown = subprocess.run(
        ["git", "-C", str(repository), "show", f"{_known()[name]['commit']}:{path}"], capture_output=True
    )
    if shown.returncode:
        raise MissingSourceError(f"{repository} has no {path}: {shown.stderr.decode('utf-8', 'replace')}")
    return shown.stdout.decode("utf-8", "replace")


def fetch(folder: Path) -> None:
    """Fetch the public repositories, each at its commit alone."""
    for name, source in read_sources().items():
        repository = folder / name
        if repository.exists():
            continue
        sys.stdout.write(f"{name}\n")
        repository.mkdir(parents=True)
        address = f"https://github.com/{name.replace('+', '/')}"
        for command in (["init", "-q"], ["fetch", "-q", "--depth", "1", address, source["commit"]]):
            subprocess.run(["git", "-C", str(repository), *command], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    fetch(parser.parse_args().folder)
