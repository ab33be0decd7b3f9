"""Reads each file of a list with the other readers that are installed, until one gives some of its text.

    VENV/bin/python benchmarks/beside.py < PATHS > LINES

Started by `python -m benchmarks.refusals --beside`. Each line of the answer is the name of the first reader
that gives ten words or more, or empty: PyMuPDF, pdfminer.six, python-docx, python-pptx, openpyxl, xlrd,
pandoc, markitdown, LibreOffice. Each has 20 seconds and 2 GB for a file.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

_SECONDS, _BYTES = 20, 2_000_000_000
_FEWEST_WORDS = 10
_WORD = re.compile(r"[^\W\d_]{2,}")
# a reader that takes anything for text gives these
_NO_TEXT = re.compile(r"[\0-\x08\x0e-\x1f\x7f-\x9f\ufffd]")
_PANDOC = {
    **{f".{kind}": kind for kind in "docx odt epub rtf latex org textile mediawiki dokuwiki fb2".split()},
    ".tex": "latex", ".wiki": "mediawiki", ".htm": "html", ".html": "html", ".typ": "typst",
}  # fmt: skip
_PDFS = (".pdf", ".xps", ".oxps", ".mobi", ".fb2", ".epub", ".svg")


def _pages(library: Any, path: str) -> str:
    return " ".join(page.get_text() for page in library.open(path))


def _cells(sheets: Any, value: Callable[[Any], object]) -> str:
    return " ".join(str(value(cell) or "") for sheet in sheets for row in sheet for cell in row)


def _slides(library: Any, path: str) -> str:
    return " ".join(text for slide in library.Presentation(path).slides for text in slide.element.itertext())


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")


def _pandoc(_: Any, path: str) -> str:
    return _run("pandoc", "-f", _PANDOC[Path(path).suffix.lower()], "-t", "plain", path)


def _libreoffice(_: Any, path: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        user = f"-env:UserInstallation=file://{folder}/user"
        _run("soffice", user, "--headless", "--convert-to", "pdf", "--outdir", folder, path)
        return _pages(import_module("pymupdf"), str(next(Path(folder).glob("*.pdf"))))


# by library or program: the suffixes that it is tried on, "" for all, and what it gives
_Read = Callable[[Any, str], str]
_READERS: dict[str, tuple[tuple[str, ...], _Read]] = {
    "pymupdf": (_PDFS, _pages),
    "pdfminer.high_level": ((".pdf",), lambda library, path: library.extract_text(path)),
    "docx": ((".docx", ".docm"), lambda library, path: " ".join(library.Document(path).element.itertext())),
    "pptx": ((".pptx", ".pptm", ".ppsx"), _slides),
    "openpyxl": (
        (".xlsx", ".xlsm"),
        lambda library, path: _cells(library.load_workbook(path), lambda cell: cell.value),
    ),
    "xlrd": ((".xls",), lambda library, path: _cells(library.open_workbook(path), lambda cell: cell.value)),
    "pandoc": (tuple(_PANDOC), _pandoc),
    "markitdown": (("",), lambda library, path: library.MarkItDown().convert(path).text_content),
    "soffice": (("",), _libreoffice),
}


def find_installed() -> Iterator[tuple[str, Any]]:
    """Yield the names of what is installed, and the libraries among them."""
    for name in _READERS:
        if name in ("pandoc", "soffice"):
            if shutil.which(name):
                yield name, None
        else:
            try:
                yield name, import_module(name)
            except ImportError:
                continue


def gives_text(name: str, library: Any, path: str) -> bool:
    """Tell whether a reader gives text of a file, in a process of its own."""
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            text = _READERS[name][1](library, path)
            enough = len(_WORD.findall(text)) >= _FEWEST_WORDS
            os._exit(0 if enough and len(_NO_TEXT.findall(text)) < len(text) / 100 else 1)
        except BaseException:
            os._exit(1)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(_SECONDS)
    ended = os.waitpid(child, 0)[1]
    signal.alarm(0)
    return ended == 0


def main() -> None:
    """Read what standard input names."""
    installed = list(find_installed())
    for path in sys.stdin.read().splitlines():
        suited = [each for each in installed if path.lower().endswith(_READERS[each[0]][0])]
        found = next((name for name, library in suited if gives_text(name, library, path)), "")
        sys.stdout.write(f"{found}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
