"""ZIP-based documents, for their loaders: access to the parts, and messages for what is wrong with them."""

from __future__ import annotations

import errno
import posixpath
import re
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

# In bytes: the most that a document's text may unpack to; anything larger is an attack or not a document.
_LARGEST = 200_000_000
_TEXT_SUFFIXES = (".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm")
_ENCRYPTED = 1  # flag of a part in the archive
# The namespaces of the strict and the transitional form (ECMA-376, part 1, annex A, and part 4).
_STRICT, _TRANSITIONAL = (
    re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/"),
    rb"http://schemas.openxmlformats.org/\1/2006/",
)
# Any of these may be raised for an element or a part that does not follow the format.
_DAMAGE_ERRORS = (
    zipfile.BadZipFile, zlib.error, etree.LxmlError, EOFError, LookupError, ValueError, RuntimeError,
    AttributeError, TypeError,
)  # fmt: skip


class Link(NamedTuple):
    """A relationship of a part of an Office document: "slide", and "ppt/slides/slide1.xml"."""

    kind: str
    target: str


@contextmanager
def open_archive(path: Path, kind: str, *, older: str = "") -> Iterator[zipfile.ZipFile]:
    """Open a document that is a ZIP archive, and translate the errors that occur while it is read.

    `kind` is what it should be, "a Word document", and `older` the suffix of the program's older format,
    which is not an archive.

    Raises:
        IndexingError: it is not such a document, is encrypted or damaged, or unpacks to more than 200 MB of
            text.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            texts = [part for part in archive.infolist() if part.filename.endswith(_TEXT_SUFFIXES)]
            if any(part.flag_bits & _ENCRYPTED for part in texts):
                raise IndexingError(f"asks for a password. Save it as {path.suffix.lower()} without one")
            if sum(part.file_size for part in texts) > _LARGEST:
                raise IndexingError(f"unpacks to more than {_LARGEST // 1_000_000} MB of text. Split it")
            yield archive
    except IndexingError:
        raise  # it is also a RuntimeError
    except (OSError, *_DAMAGE_ERRORS) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # EINVAL: an offset before the start
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
    """Return the root element of a part; entities that it defines are not expanded.

    With `recover`, invalid XML in it is skipped.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=recover)
    return etree.fromstring(read_transitional(archive, name), parser)


def read_transitional(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a part with the namespaces of transitional Office Open XML, even if the document is strict."""
    return _STRICT.sub(_TRANSITIONAL, archive.read(name))


def note_core(archive: zipfile.ZipFile, builder: TextBuilder) -> None:
    """Note the properties of an Office document, which are stored apart from its text."""
    part = next((name for name in ("docProps/core.xml", "meta.xml") if name in archive.namelist()), None)
    if part is None:
        return
    values: dict[str, list[str]] = {}
    for child in read_xml(archive, part).iter("{*}*"):
        values.setdefault(etree.QName(child).localname, []).append(child.text or "")
    note_properties(
        builder,
        title=values.get("title", [""])[0],
        author=(values.get("initial-creator") or values.get("creator") or [""])[0],
        date=(values.get("created") or values.get("creation-date") or [""])[0],
        language=values.get("language", [""])[0],
        tags=values.get("keyword") or values.get("keywords", [""])[0],
    )


def read_links(archive: zipfile.ZipFile, part: str = "") -> dict[str, Link]:
    """Return a part's relationships within an Office document, by id; by default the document's own."""
    folder, name = posixpath.split(part)
    try:
        relationships = read_xml(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    except KeyError:  # the part has no relationships
        return {}
    return {
        link.get("Id"): Link(
            link.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, link.get("Target", ""))).lstrip("/"),
        )
        for link in relationships.iter("{*}Relationship")
        if link.get("TargetMode") != "External"
    }


def open_main(archive: zipfile.ZipFile, name: str) -> tuple[Any, dict[str, Link]]:
    """Return the root of an Office document's main part, and the relationships of that part.

    Raises:
        ValueError: the document is of another kind, so its root has another name.
    """
    part = find_part(read_links(archive), "officeDocument") or ""
    root = read_xml(archive, part)
    if local_name(root) != name:
        raise ValueError(f"a {name} was expected")
    return root, read_links(archive, part)


def find_part(links: dict[str, Link], kind: str) -> str | None:
    """Return the first linked part of a kind, such as the "notesSlide" of a slide."""
    return next((link.target for link in links.values() if link.kind == kind), None)


def linked_id(element: Any, name: str = "id") -> Any:
    """Return the link id in an element's "r:id" attribute, in any namespace, or ""."""
    ids = {etree.QName(key).localname: value for key, value in element.items() if key[0] == "{"}
    return ids.get(name, "")


def read_linked(
    archive: zipfile.ZipFile, links: Mapping[str, Link], element: Any, name: str = "id"
) -> Any | None:
    """Return the root of the part that an element refers to; None if there is no such part."""
    try:
        return read_xml(archive, links[linked_id(element, name)].target)
    except KeyError:
        return None


def read_attribute(element: Any, name: str, default: str = "") -> str:
    """Return an attribute by its name without the namespace, or the default if it is missing."""
    values = (str(value) for key, value in element.items() if key.rpartition("}")[2] == name)
    return next(values, default)


def local_name(element: Any) -> str:
    """Return an element's name without its namespace, or "" for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
