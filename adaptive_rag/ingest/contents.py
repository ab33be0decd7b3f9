"""File kinds by their first bytes, for files whose name is misleading: an older .doc named .docx."""

from __future__ import annotations

import re
import zipfile
from typing import BinaryIO

from adaptive_rag.errors import IndexingError

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FIRST_BYTES = 4096
# Bytes that never occur in text, and the kinds of text that programs give the suffixes of Office.
_CONTROL_BYTES = re.compile(rb"[\0-\x08\x0e-\x1a]")
_TEXT_KINDS = {".doc": "text", ".dot": "text", ".xls": "CSV"}
# Kinds of loaders, by the name of a stream in an OLE file.
_OLE_STREAMS = {
    "WordDocument": "older Word",
    "PowerPoint Document": "older PowerPoint",
    "Workbook": "older Excel",
    "Book": "older Excel",
    "__properties_version1.0": "mail of Outlook",
}
_OFFICE_FOLDERS = {"word/": "Word", "ppt/": "PowerPoint", "xl/": "Excel"}
_OPEN_DOCUMENT_MIME = "application/vnd.oasis.opendocument."
_OPEN_DOCUMENT_KINDS = {
    "text": "OpenDocument text",
    "spreadsheet": "OpenDocument spreadsheet",
    "presentation": "OpenDocument presentation",
}
_TEXT_STARTS = (
    (re.compile(rb"\{\\rtf"), "rich text"),
    (re.compile(rb"%PDF-"), "PDF"),
    (re.compile(rb"<!doctype html|<(?:html|table)[\s>]", re.IGNORECASE), "HTML"),
    (re.compile(rb"[\w-]+:[^\0]{0,1000}?\nMIME-Version:", re.IGNORECASE), "saved web page"),
    (re.compile(rb"MIME-Version:", re.IGNORECASE), "saved web page"),
    (re.compile(rb"<\?xml"), "XML"),
)


def kind_by_content(file: BinaryIO, suffix: str = "") -> str | None:
    """Return the kind of loader for a file's content; None if its bytes do not show it.

    Raises:
        IndexingError: it is encrypted.
    """
    first = file.read(_FIRST_BYTES)
    if first.startswith(_OLE):
        return _kind_of_ole(file)
    # Mail and web servers add lines of their own before the PDF header.
    if suffix == ".pdf" and b"%PDF-" in first:
        return "PDF"
    if first.startswith(b"PK"):
        return _kind_of_package(file)
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if kind := next((kind for pattern, kind in _TEXT_STARTS if pattern.match(text)), None):
        return kind
    return _TEXT_KINDS.get(suffix) if text and not _CONTROL_BYTES.search(text) else None


def _kind_of_ole(file: BinaryIO) -> str | None:
    """Return the kind of an OLE file by its streams; None if none is known."""
    import olefile  # type: ignore[import-untyped]
    from olefile.olefile import OleFileError  # type: ignore[import-untyped]

    try:
        with olefile.OleFileIO(file) as container:
            if container.exists("EncryptedPackage") or container.exists("EncryptionInfo"):
                raise IndexingError("asks for a password. Save it without one")
            return next((kind for name, kind in _OLE_STREAMS.items() if container.exists(name)), None)
    except OleFileError:  # the loader reports what is wrong
        return None


def _kind_of_package(file: BinaryIO) -> str | None:
    """Return the kind of a ZIP-based document by its parts; None if none is known."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if "mimetype" in names:
                with archive.open("mimetype") as part:
                    mime = part.read(len(_OPEN_DOCUMENT_MIME) + 50).decode("latin-1").strip()
                kind = mime.removeprefix(_OPEN_DOCUMENT_MIME).removesuffix("-template")
                return "EPUB" if mime == "application/epub+zip" else _OPEN_DOCUMENT_KINDS.get(kind)
    except (OSError, zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError):
        return None
    if "xl/workbook.bin" in names:
        return "binary Excel"
    kinds = (
        kind for folder, kind in _OFFICE_FOLDERS.items() if any(name.startswith(folder) for name in names)
    )
    return next(kinds, None) if "[Content_Types].xml" in names else None
