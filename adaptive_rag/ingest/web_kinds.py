"""The kind and encoding of a web page, as the server states them, for the loader that reads it."""

from __future__ import annotations

import codecs
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from adaptive_rag.ingest.loaders import find_loader
from adaptive_rag.ingest.text import SLOW_CHARSETS

if TYPE_CHECKING:
    import httpx

# The metadata key for a page's links, until they are taken out.
LINKS = "links"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."
# Suffixes by content type. Other text types, and types without meaning, use the suffix in the address.
_DOCUMENTS = {
    "application/pdf": ".pdf",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
    f"{_OPEN}text": ".odt",
    f"{_OPEN}spreadsheet": ".ods",
    f"{_OPEN}presentation": ".odp",
    "application/epub+zip": ".epub",
    "application/rtf": ".rtf",
}
_TEXTS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "text/vtt": ".vtt",
    "text/rtf": ".rtf",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "message/rfc822": ".eml",
}
_SAYS_NOTHING = ("", "application/octet-stream", "binary/octet-stream")


def suffix_of(kind: str, url: httpx.URL) -> str | None:
    """Return the suffix of files of a content type, which selects the loader; None if none reads it."""
    if known := (_DOCUMENTS | _TEXTS).get(kind):
        return known
    named = PurePosixPath(url.path).suffix.lower()
    if kind.startswith("text/"):
        return named if _is_read(named) and named not in _DOCUMENTS.values() else ".txt"
    return named if kind in _SAYS_NOTHING and _is_read(named) else None


def _is_read(suffix: str) -> bool:
    loader = find_loader(Path(f"page{suffix}"))
    return loader is not None and not loader.function.endswith(":load_archive")


def in_utf8(body: bytes, parameters: str) -> bytes:
    """Encode a text as UTF-8 with a byte order mark, if it is valid in the encoding that its server names."""
    named = re.search(r"charset\s*=\s*[\"']?([\w-]+)", parameters, re.IGNORECASE)
    try:
        if named and codecs.lookup(named[1]).name in SLOW_CHARSETS:
            return body
        return body.decode(named[1]).removeprefix("\ufeff").encode("utf-8-sig") if named else body
    except (LookupError, ValueError):
        return body
