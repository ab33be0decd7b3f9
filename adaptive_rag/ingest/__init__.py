"""Ingestion: discover files, read them to text, and split the text into chunks."""

from adaptive_rag.ingest.chunking import split
from adaptive_rag.ingest.discovery import Confined, discover
from adaptive_rag.ingest.documents import Failure, Note, SourceFile, SourceText
from adaptive_rag.ingest.file import hash_file
from adaptive_rag.ingest.ignore import Patterns
from adaptive_rag.ingest.langchain import from_langchain, to_document
from adaptive_rag.ingest.read import extract_text, read_source
from adaptive_rag.ingest.web import Site

__all__ = [
    "Confined",
    "Failure",
    "Note",
    "Patterns",
    "Site",
    "SourceFile",
    "SourceText",
    "discover",
    "extract_text",
    "from_langchain",
    "hash_file",
    "read_source",
    "split",
    "to_document",
]
