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

# The metadata key for a page's links; the crawl removes it again.
LINKS = "links"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
# Suffixes by content type. Other text types, and unspecific types, use the suffix in the address.
_DOCUMENT_SUFFIXES = {
    "application/pdf": ".pdf",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
    f"{_OPEN_DOCUMENT}text": ".odt",
    f"{_OPEN_DOCUMENT}spreadsheet": ".ods",
    f"{_OPEN_DOCUMENT}presentation": ".odp",
    "application/epub+zip": ".epub",
    "application/rtf": ".rtf",
}
_TEXT_SUFFIXES = {
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
_UNSPECIFIC = ("", "application/octet-stream", "binary/octet-stream")


def suffix_of(kind: str, url: httpx.URL) -> str | None:
    """Return the suffix that selects the loader for a content type; None if no loader reads it."""
    if suffix := (_DOCUMENT_SUFFIXES | _TEXT_SUFFIXES).get(kind):
        return suffix
    from_address = PurePosixPath(url.path).suffix.lower()
    if kind.startswith("text/"):
        is_text = _is_read(from_address) and from_address not in _DOCUMENT_SUFFIXES.values()
        return from_address if is_text else ".txt"
    return from_address if kind in _UNSPECIFIC and _is_read(from_address) else None


def _is_read(suffix: str) -> bool:
    loader = find_loader(Path(f"page{suffix}"))
    return loader is not None and not loader.function.endswith(":load_archive")


def to_utf8(body: bytes, parameters: str) -> bytes:
    """Encode a text as UTF-8 with a byte order mark, if it is valid in the encoding that its server names."""
    charset = re.search(r"charset\s*=\s*[\"']?([\w-]+)", parameters, re.IGNORECASE)
    try:
        if charset and codecs.lookup(charset[1]).name in SLOW_CHARSETS:
            return body
        return body.decode(charset[1]).removeprefix("\ufeff").encode("utf-8-sig") if charset else body
    except (LookupError, ValueError):
        return body
