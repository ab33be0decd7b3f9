"""Reads each file of a list with one reader, and says what it took: a process of its own for each reader.

    python benchmarks/readers.py pymupdf < PATHS > LINES

Started by `python -m benchmarks.reading`, with the Python that has the reader installed. Each line of the
answer is JSON: the text or the error, the seconds, and by how many bytes the memory grew at its peak.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def read_adaptive() -> Callable[[str], dict[str, Any]]:
    """Return this project's reader, which gives the chunks too."""
    from adaptive_rag.ingest import split
    from adaptive_rag.ingest.documents import SourceFile
    from adaptive_rag.ingest.file import read_file
    from adaptive_rag.ingest.loaders import find_loader

    def read(path: str) -> dict[str, Any]:
        loader = find_loader(Path(path))
        if loader is None:
            raise ValueError("is of no kind that is read")
        source = read_file(SourceFile(Path(path), Path(path).name), loader)
        return {"text": source.text, "chunks": list(split(source))}

    return read


def read_markitdown() -> Callable[[str], dict[str, Any]]:
    """Return markitdown's reader."""
    from markitdown import MarkItDown  # type: ignore[import-not-found]

    converter = MarkItDown()
    return lambda path: {"text": converter.convert(path).text_content}


def read_pymupdf() -> Callable[[str], dict[str, Any]]:
    """Return the text of PyMuPDF's pages, as most examples take it."""
    import pymupdf

    def read(path: str) -> dict[str, Any]:
        with pymupdf.open(path) as document:
            return {"text": "\n\n".join(page.get_text() for page in document)}

    return read


READERS = {"adaptive": read_adaptive, "markitdown": read_markitdown, "pymupdf": read_pymupdf}


def memory(name: str) -> int:
    """Return a line of /proc/self/status in bytes; 0 where there is none, as outside Linux."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":")), 0)


def _take(read: Callable[[str], dict[str, Any]], path: str) -> dict[str, Any]:
    try:
        return read(path)
    except Exception as error:  # what a reader raises on a file is its result
        return {"text": "", "error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Read what standard input names."""
    read = READERS[sys.argv[1]]()
    paths = sys.stdin.read().splitlines()
    for path in {Path(path).suffix: path for path in paths}.values():
        _take(read, path)  # what is imported with the first file of a kind is no cost of a page
    for path in paths:
        peak = Path("/proc/self/clear_refs")
        if peak.exists():
            peak.write_text("5")  # the peak begins anew, see proc(5)
        before, start = memory("VmRSS"), time.perf_counter()
        found = _take(read, path)
        taken = {"seconds": time.perf_counter() - start, "memory": max(0, memory("VmHWM") - before)}
        sys.stdout.write(json.dumps({**found, **taken}) + "\n")


if __name__ == "__main__":
    main()
