"""Fetches the public documents of the examples, and stores their passages without the documents' words.

    python -m training.reader.sources FOLDER

fetches each repository of `sources.json` from GitHub at its commit, into FOLDER/OWNER+NAME; existing folders
are not changed. A passage of a public document is stored as pieces: spans in the document's file, and the few
characters between them that are not in the file (a line break, the name of a column before each cell).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "sources.json"
# A shorter piece is stored as text, since a span is two numbers.
_MIN_PIECE = 3
# If a larger share of a passage is not in the file, it is the wrong file.
_MAX_MISSING = 0.25
# The fields of a passage with words of the document, and the fields of an example that quote the passage.
_WORDS = ("text", "title", "section")
_QUOTES = ("a", "s")

Row = dict[str, Any]
Piece = str | list[int]


class MissingSourceError(Exception):
    """A public document is missing, or is not the one from which a passage was taken."""


@cache
def read_sources() -> dict[str, dict[str, str]]:
    """Return the commit and the licence of each public document set."""
    sources: dict[str, dict[str, str]] = json.loads(SOURCES.read_text("utf-8"))
    return sources


def is_public(row: Mapping[str, Any]) -> bool:
    """Return whether a passage is from a public document; other documents were invented."""
    return row["set"] in read_sources()


def replace_words(row: Row, folder: Path) -> Row:
    """Return a row of a public document with spans in place of the document's words.

    Raises:
        MissingSourceError: the document is missing, or does not contain the passage.
    """
    path = row["source"].removeprefix(f"{row['set']}/")
    file = read_file(folder, row["set"], path)
    pieces = {name: list(_cut(row[name], file)) for name in _WORDS}
    missing = sum(len(piece) for piece in pieces["text"] if isinstance(piece, str))
    if missing > _MAX_MISSING * len(row["text"]):
        raise MissingSourceError(f"{row['source']} does not contain the passage {row['id']}.")
    return {**_map_quotes(row, lambda quote: _span_of(row["text"], quote)), **pieces, "source": path}


def restore_words(row: Row, folder: Path) -> Row:
    """Return a row of a public document with the document's words in place of spans.

    Raises:
        MissingSourceError: the document is missing.
    """
    file = read_file(folder, row["set"], row["source"])
    words = {name: _join(row[name], file) for name in _WORDS}
    return {**_map_quotes(row, lambda span: words["text"][slice(*span)]), **words}


def _map_quotes(row: Row, function: Callable[[Any], Any]) -> Row:
    """Return a row with a function applied to everything that it quotes of its passage."""

    def map_part(part: Row) -> Row:
        return {name: function(value) if name in _QUOTES else value for name, value in part.items()}

    lists = {name: [map_part(part) for part in row[name]] for name in ("qa", "sides")}
    return row | lists | {"follow": row["follow"] and map_part(row["follow"])}


def _span_of(text: str, quote: str) -> list[int]:
    start = text.index(quote)
    return [start, start + len(quote)]


def _cut(text: str, file: str) -> Iterator[Piece]:
    """Yield the longest pieces of a text that are in the file, as [start, length], and the text between."""
    position, missing = 0, ""
    while position < len(text):
        # Bisect for the length of the longest piece that begins here.
        length, longest = 0, len(text) - position
        while length < longest:
            middle = (length + longest + 1) // 2
            if text[position : position + middle] in file:
                length = middle
            else:
                longest = middle - 1
        if length < _MIN_PIECE:
            missing += text[position]
            position += 1
            continue
        if missing:
            yield missing
            missing = ""
        yield [file.index(text[position : position + length]), length]
        position += length
    if missing:
        yield missing


def _join(pieces: Iterable[Piece], file: str) -> str:
    return "".join(
        piece if isinstance(piece, str) else file[piece[0] : piece[0] + piece[1]] for piece in pieces
    )


@lru_cache(maxsize=64)
def read_file(folder: Path, name: str, path: str) -> str:
    """Return a file of a public document set at its commit.

    Raises:
        MissingSourceError: the folder lacks the set, or the set lacks the file.
    """
    repository = folder / name
    if not repository.is_dir():
        raise MissingSourceError(
            f"{repository} does not exist: `python -m training.reader.sources {folder}` fetches it."
        )
    result = subprocess.run(
        ["git", "-C", str(repository), "show", f"{read_sources()[name]['commit']}:{path}"],
        capture_output=True,
    )
    if result.returncode:
        raise MissingSourceError(f"{repository} has no {path}: {result.stderr.decode('utf-8', 'replace')}")
    return result.stdout.decode("utf-8", "replace")


def fetch(folder: Path) -> None:
    """Fetch the public repositories, each without its history."""
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
