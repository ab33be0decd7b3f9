"""The adapter to LangChain's community loaders: the only file that imports langchain-community."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError, import_extra
from adaptive_rag.ingest.builder import TextBuilder


def read_mhtml(path: Path, builder: TextBuilder) -> None:
    """Write a web page saved as one file into `builder`."""
    for module in ("bs4", "lxml"):
        import_extra(module, extra="mhtml", purpose="Reading .mhtml files")
    from langchain_community.document_loaders import MHTMLLoader

    _load(MHTMLLoader(path, open_encoding="utf-8", get_text_separator="\n"), builder)


def read_srt(path: Path, builder: TextBuilder) -> None:
    """Write the words of a subtitle file into `builder`."""
    import_extra("pysrt", extra="srt", purpose="Reading .srt files")
    from langchain_community.document_loaders import SRTLoader

    _load(SRTLoader(path), builder)


def _load(loader: Any, builder: TextBuilder) -> None:
    try:
        documents = loader.load()
    # what a community loader raises is not documented; one file must not end the whole run
    except Exception as error:
        raise IndexingError(f"cannot be read by {type(loader).__name__}: {error}") from error
    for document in documents:
        lines = (" ".join(line.split()) for line in document.page_content.splitlines())
        if text := "\n".join(filter(None, lines)):
            builder.add_paragraph(text)
        if title := document.metadata.get("title"):
            builder.metadata["title"] = title
