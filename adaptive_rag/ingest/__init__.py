"""Files to text to chunks: discover, read, split."""

from adaptive_rag.ingest.chunking import split
from adaptive_rag.ingest.discovery import SourceFile, discover
from adaptive_rag.ingest.documents import from_langchain, to_document
from adaptive_rag.ingest.read import Failure, extract_text, hash_file, read_source, read_sources
from adaptive_rag.ingest.source_text import SourceText
from adaptive_rag.text.sentences import sentence_spans

__all__ = [
    "Failure",
    "SourceFile",
    "SourceText",
    "discover",
    "extract_text",
    "from_langchain",
    "hash_file",
    "read_source",
    "read_sources",
    "sentence_spans",
    "split",
    "to_document",
]
