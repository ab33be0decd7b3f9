"""The EPUB loader: a book's chapters in reading order, each read as a web page."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.html import write_page
from adaptive_rag.ingest.package import open_archive, read_xml
from adaptive_rag.ingest.properties import note_properties

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGE_TYPES = ("application/xhtml+xml", "text/html")
_ENCODING = re.compile(rb"""<\?xml[^>]{0,100}encoding\s*=\s*["']([\w.-]+)""")
# Fields of a book that become metadata of the chunks.
_BOOK_FIELDS = ("title", "language", "date")


def load_epub(path: Path, builder: TextBuilder) -> None:
    """Write a book's chapters into `builder`; its title, author and language become metadata.

    A chapter without a heading gets its name from the table of contents.
    """
    with open_archive(path, "an EPUB book") as archive:
        book = read_xml(archive, _CONTAINER).find(".//{*}rootfile").get("full-path")
        package = read_xml(archive, book)
        properties = {name: package.findtext(f"{{*}}metadata/{{*}}{name}") for name in _BOOK_FIELDS}
        authors, tags = (
            [element.text for element in package.iterfind(f"{{*}}metadata/{{*}}{name}")]
            for name in ("creator", "subject")
        )
        note_properties(builder, **properties, author=authors, tags=tags)
        items = {item.get("id"): item for item in package.iterfind("{*}manifest/{*}item")}
        chapters = list(_chapters(package, items, posixpath.dirname(book)))
        names = set(archive.namelist())
        marks = read_xml(archive, _ENCRYPTION).iter("{*}CipherReference") if _ENCRYPTION in names else ()
        encrypted = {unquote(mark.get("URI", "")) for mark in marks}  # without copy protection: fonts at most
        if encrypted.intersection(chapters):
            raise IndexingError("is protected against copying: its chapters are encrypted")
        missing = [chapter for chapter in chapters if chapter not in names]
        labels = _read_labels(archive, names, items.values(), posixpath.dirname(book))
        for chapter in filter(names.__contains__, chapters):
            page, start = archive.read(chapter), builder.length
            declared = _ENCODING.match(page)
            write_page(page, declared[1].decode() if declared else "utf-8", builder)
            if not builder.has_heading_after(start):  # or its heading is a picture
                builder.mark_heading(labels.get(chapter, ""), 1, offset=start)
    builder.metadata.pop("encoding", None)  # it would be the encoding of one chapter only
    if missing:
        builder.notes.append(f"{len(missing)} of {len(chapters)} chapters are missing in the file")


def _chapters(package: Any, items: dict[str, Any], folder: str) -> Iterator[str]:
    """Yield the pages of a book in reading order, without its table of contents."""
    for reference in package.iterfind("{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"), {})
        if item.get("media-type") in _PAGE_TYPES and "nav" not in item.get("properties", "").split():
            yield _resolve(folder, item.get("href"))


def _read_labels(archive: zipfile.ZipFile, names: Set[str], items: Any, folder: str) -> dict[str, str]:
    """Return the name of each page in the table of contents; the first one counts."""
    labels: dict[str, str] = {}
    for item in items:
        part = _resolve(folder, item.get("href", ""))
        is_ncx = item.get("media-type") == "application/x-dtbncx+xml"
        if part not in names or not (is_ncx or "nav" in item.get("properties", "").split()):
            continue
        for entry in read_xml(archive, part, recover=True).iter("{*}a", "{*}navPoint"):
            link = entry.find("{*}content") if is_ncx else entry
            label = entry.find("{*}navLabel") if is_ncx else entry
            if link is not None and label is not None:
                target = _resolve(posixpath.dirname(part), link.get("src" if is_ncx else "href", ""))
                labels.setdefault(target, " ".join("".join(label.itertext()).split()))
    return labels


def _resolve(folder: str, target: str) -> str:
    """Return the archive path that a link in a part of `folder` leads to."""
    return posixpath.normpath(posixpath.join(folder, unquote(target.partition("#")[0])))
