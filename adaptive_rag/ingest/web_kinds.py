"""The kind and encoding of a web page, as the server states them, for the loader that reads it."""

from __future__ import annotations

import codecs
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from adaptive_rag.ingest.loaders import SUFFIX_BY_TYPE, find_loader
from adaptive_rag.ingest.text import SLOW_CHARSETS

if TYPE_CHECKING:
    import httpx

# The metadata key for a page's links; the crawl removes it again.
LINKS = "links"
# Suffixes of files that are no text, even if the server says so.
_DOCUMENT_SUFFIXES = {
    suffix
    for kind, suffix in SUFFIX_BY_TYPE.items()
    if kind.startswith("application/") and not kind.endswith(("+xml", "json"))
}
_UNSPECIFIC = ("", "application/octet-stream", "binary/octet-stream")


def suffix_of(kind: str, url: httpx.URL) -> str | None:
    """Return the suffix that selects the loader for a content type; None if no loader reads it.

    Unspecific types, and text types that no loader names, use the suffix in the address.
    """
    if suffix := SUFFIX_BY_TYPE.get(kind):
        return suffix
    from_address = PurePosixPath(url.path).suffix.lower()
    if kind.startswith("text/"):
        is_text = _is_read(from_address) and from_address not in _DOCUMENT_SUFFIXES
        return from_address if is_text else ".txt"
    return from_address if kind in _UNSPECIFIC and _is_read(from_address) else None


def _is_read(suffix: str) -> bool:
    loader = find_loader(Path(f"page{suffix}"))
    return loader is not None and not loader.function.endswith(":load_archive")


def to_utf8(body: bytes, parameters: str) -> bytes:
    """Encode a text as UTF-8 with a byte order mark, if it is valid in the encoding that its server names."""
    charset = re.search(r"charset\s*=\s*[\"']?([\w-]+)", parameters, re.IGNORECASE)
    try:
        codec = codecs.lookup(charset[1]).name if charset else None
        if codec is None or codec in SLOW_CHARSETS:
            return body
        # Browsers read ISO 8859-1 as Windows-1252, as `decode` does.
        text = body.decode("cp1252" if codec == "iso8859-1" else codec)
        return text.removeprefix("\ufeff").encode("utf-8-sig")
    except (LookupError, ValueError):
        return body
