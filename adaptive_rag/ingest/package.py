"""Used by the loaders of documents that are ZIP archives: the parts of one, and what is wrong with it."""

from __future__ import annotations

import errno
import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.properties import note_properties

# what a document's text unpacks to, at most; more is an attack or not a document
_LARGEST = 200_000_000
_TEXTS = (".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm")
_ENCRYPTED = 1  # a flag of a part of an archive
# The namespaces of both forms (ECMA-376, part 1, annex A, and part 4)
_STRICT, _OPENXML = b"http://purl.oclc.org/ooxml/", b"http://schemas.openxmlformats.org/"
_TRANSITIONAL = {
    b"officeDocument/relationships": b"officeDocument/2006/relationships",
    b"officeDocument/math": b"officeDocument/2006/math",
    **{
        kind + b"/main": kind + b"/2006/main"
        for kind in (b"wordprocessingml", b"presentationml", b"spreadsheetml", b"drawingml")
    },
    **{b"drawingml/" + kind: b"drawingml/2006/" + kind for kind in (b"chart", b"diagram", b"picture")},
}
# An element or a part that is not what the format says may fail in any of these ways.
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    LookupError,
    ValueError,
    RuntimeError,
    AttributeError,
    TypeError,
    etree.LxmlError,
)


class Link(NamedTuple):
    """What a part of an Office document leads to: "slide", and "ppt/slides/slide1.xml"."""

    kind: str
    target: str


@contextmanager
def open_archive(path: Path, kind: str, *, older: str = "") -> Iterator[zipfile.ZipFile]:
    """Open a document that is a ZIP archive, and say in plain words what fails while it is read.

    Args:
        path: of the document.
        kind: what it should be, such as "a Word document".
        older: the suffix of the program's older format, which is no archive.

    Raises:
        IndexingError: it is none, is encrypted or damaged, or unpacks to more than 200 MB of text.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            texts = [part for part in archive.infolist() if part.filename.endswith(_TEXTS)]
            if any(part.flag_bits & _ENCRYPTED for part in texts):
                raise IndexingError(f"asks for a password. Save it as {path.suffix.lower()} without one")
            if sum(part.file_size for part in texts) > _LARGEST:
                raise IndexingError(f"unpacks to more than {_LARGEST // 1_000_000} MB of text. Split it")
            yield archive
    except IndexingError:
        raise  # it is a RuntimeError too
    except (OSError, *_DAMAGES) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # which a place before the start is
            raise
        reason = f"is not {kind} or is damaged. Save it again in the program that made it"
        if "XML_PARSE_HUGE" in str(error):
            reason = "is nested too deep, or one of its texts is too long. Save it anew in a simpler form"
        with path.open("rb") as file:
            if older and file.read(4) == b"\xd0\xcf\x11\xe0":
                reason = (
                    f"is encrypted, or is in the older {older} format. "
                    f"Save it as {path.suffix.lower()} without a password"
                )
        raise IndexingError(reason) from error


def read_xml(archive: zipfile.ZipFile, name: str, *, recover: bool = False) -> Any:
    """Return the root element of a part; no entity of its own is put in.

    With `recover` what is no XML in it is passed over.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=recover)
    return etree.fromstring(read_transitional(archive, name), parser)


def read_transitional(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a part; its namespaces are those of transitional Office Open XML, also where it is strict."""
    data = archive.read(name)
    if _STRICT not in data:
        return data
    for strict, transitional in _TRANSITIONAL.items():
        data = data.replace(_STRICT + strict, _OPENXML + transitional)
    return data


def note_core(archive: zipfile.ZipFile, builder: TextBuilder) -> None:
    """Note the properties of an office document, which stand apart from its text."""
    part = next((name for name in ("docProps/core.xml", "meta.xml") if name in archive.namelist()), None)
    if part is None:
        return
    known: dict[str, list[str]] = {}
    for child in read_xml(archive, part).iter("{*}*"):
        known.setdefault(etree.QName(child).localname, []).append(child.text or "")
    note_properties(
        builder,
        title=known.get("title", [""])[0],
        author=(known.get("initial-creator") or known.get("creator") or [""])[0],
        date=(known.get("created") or known.get("creation-date") or [""])[0],
        language=known.get("language", [""])[0],
        tags=known.get("keyword") or known.get("keywords", [""])[0],
    )


def read_links(archive: zipfile.ZipFile, part: str = "") -> dict[str, Link]:
    """Return by id what a part of an Office document leads to within it; by default the document itself."""
    folder, name = posixpath.split(part)
    try:
        found = read_xml(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    except KeyError:  # it leads nowhere
        return {}
    return {
        link.get("Id"): Link(
            link.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, link.get("Target", ""))).lstrip("/"),
        )
        for link in found.iter("{*}Relationship")
        if link.get("TargetMode") != "External"
    }


def open_main(archive: zipfile.ZipFile, name: str) -> tuple[Any, dict[str, Link]]:
    """Return the root of an Office document's main part, and what that part leads to.

    Raises:
        ValueError: the document is of another kind, whose root has another name.
    """
    part = find_part(read_links(archive), "officeDocument") or ""
    root = read_xml(archive, part)
    if local_name(root) != name:
        raise ValueError(f"a {name} was expected")
    return root, read_links(archive, part)


def find_part(links: dict[str, Link], kind: str) -> str | None:
    """Return the first part of a kind that links lead to: the "notesSlide" of a slide."""
    return next((link.target for link in links.values() if link.kind == kind), None)


def linked_id(element: Any, name: str = "id") -> Any:
    """Return the id of the link that an element holds as "r:id", whatever the namespace is called, or ""."""
    return {etree.QName(key).localname: value for key, value in element.items() if key[0] == "{"}.get(
        name, ""
    )


def read_linked(
    archive: zipfile.ZipFile, links: Mapping[str, Link], element: Any, name: str = "id"
) -> Any | None:
    """Return the root of the part that an element leads to; None where there is none."""
    try:
        return read_xml(archive, links[linked_id(element, name)].target)
    except KeyError:
        return None


def local_name(element: Any) -> str:
    """Return an element's name without its namespace, or "" for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
