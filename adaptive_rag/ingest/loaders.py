"""The table of loaders: which file suffix is read by what; a new format is one file and one line here.

A loader is imported when a file of its kind is met, so no format costs anything to those who do not use
it. LangChain's collection of loaders (langchain-community) is being sunset by its maintainers. It is
used for the formats at the end of the table only, through one adapter, and each of these lines can be
pointed at another loader without touching the others. The formats that most folders hold have
loaders of our own: spans, pages and section headings must be exact, and the community's loaders keep
none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from adaptive_rag.ingest.builder import TextBuilder


@dataclass(frozen=True, slots=True)
class Loader:
    """A function that writes a file's text into a builder, by the module and the name it has there.

    The function raises IndexingError, with a reason that reads on from the file's name, when the file
    cannot be read.
    """

    module: str
    function: str

    def __call__(self, path: Path, builder: TextBuilder) -> None:
        """Import the loader and read a file with it."""
        module = importlib.import_module(f"adaptive_rag.ingest.{self.module}")
        read = cast(Callable[[Path, TextBuilder], None], getattr(module, self.function))
        read(path, builder)


LOADERS: dict[str, Loader] = {
    ".pdf": Loader("pdf", "read_pdf"),
    ".txt": Loader("text", "read_text"),
    ".text": Loader("text", "read_text"),
    ".md": Loader("text", "read_markdown"),
    ".markdown": Loader("text", "read_markdown"),
    ".html": Loader("html", "read_html"),
    ".htm": Loader("html", "read_html"),
    ".docx": Loader("docx", "read_docx"),
    ".csv": Loader("tables", "read_csv"),
    ".tsv": Loader("tables", "read_csv"),
    ".jsonl": Loader("tables", "read_jsonl"),
    ".mhtml": Loader("community", "read_mhtml"),
    ".srt": Loader("community", "read_srt"),
}


def suffixes() -> str:
    """Name the suffixes that are read, for a message."""
    return ", ".join(LOADERS)
