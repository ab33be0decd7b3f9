"""The adapter to LangChain's community loaders: the only file that imports langchain-community."""

from __future__ import annotations

from pathlib import Path

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder


def load_srt(path: Path, builder: TextBuilder) -> None:
    """Write the words of a subtitle file into `builder`."""
    from langchain_community.document_loaders import SRTLoader

    try:
        documents = SRTLoader(path).load()
    # what a community loader raises is not documented; one file must not end the whole run
    except Exception as error:
        raise IndexingError(f"cannot be read as subtitles: {error}") from error
    for document in documents:
        lines = (" ".join(line.split()) for line in document.page_content.splitlines())
        if text := "\n".join(filter(None, lines)):
            builder.add_paragraph(text)
