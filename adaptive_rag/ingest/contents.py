"""File kinds by their first bytes, for files whose name is misleading: an older .doc named .docx."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from adaptive_rag.errors import IndexingError

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FIRST = 4096
# Bytes that never occur in text; a .doc file without them is often plain text.
_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1a]")
# Kinds of loaders, by the name of a stream in an OLE file.
_STREAMS = {
    "WordDocument": "older Word",
    "PowerPoint Document": "older PowerPoint",
    "Workbook": "older Excel",
    "Book": "older Excel",
    "__properties_version1.0": "mail of Outlook",
}
_FOLDERS = {"word/": "Word", "ppt/": "PowerPoint", "xl/": "Excel"}
_MIME = "application/vnd.oasis.opendocument."
_OPEN_DOCUMENT = {
    "text": "OpenDocument text",
    "spreadsheet": "OpenDocument spreadsheet",
    "presentation": "OpenDocument presentation",
}
_TEXTS = (
    (re.compile(rb"\{\\rtf"), "rich text"),
    (re.compile(rb"%PDF-"), "PDF"),
    (re.compile(rb"<!doctype html|<html[\s>]", re.IGNORECASE), "HTML"),
    (re.compile(rb"[\w-]+:[^\0]{0,1000}?\nMIME-Version:", re.IGNORECASE), "saved web page"),
    (re.compile(rb"MIME-Version:", re.IGNORECASE), "saved web page"),
    (re.compile(rb"<\?xml"), "XML"),
)


def kind_by_content(path: Path) -> str | None:
    """Return the kind of loader for a file's content; None where its bytes do not tell.

    Raises:
        IndexingError: it is encrypted.
    """
    with path.open("rb") as file:
        first = file.read(_FIRST)
    if first.startswith(_OLE):
        return _kind_of_ole(path)
    # Mail and web servers add lines of their own before the PDF header.
    if path.suffix.lower() == ".pdf" and b"%PDF-" in first:
        return "PDF"
    if first.startswith(b"PK"):
        return _kind_of_package(path)
    begin = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if by_text := next((kind for pattern, kind in _TEXTS if pattern.match(begin)), None):
        return by_text
    named_doc = path.suffix.lower() in (".doc", ".dot")
    return "text" if named_doc and begin and not _CONTROLS.search(begin) else None


def _kind_of_ole(path: Path) -> str | None:
    import olefile  # type: ignore[import-untyped]
    from olefile.olefile import OleFileError  # type: ignore[import-untyped]

    try:
        with olefile.OleFileIO(path) as file:
            if file.exists("EncryptedPackage") or file.exists("EncryptionInfo"):
                raise IndexingError("asks for a password. Save it without one")
            return next((kind for name, kind in _STREAMS.items() if file.exists(name)), None)
    except OleFileError:  # the loader reports what is wrong
        return None


def _kind_of_package(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "mimetype" in names:
                with archive.open("mimetype") as part:
                    mime = part.read(len(_MIME) + 50).decode("latin-1").strip()
                kind = mime.removeprefix(_MIME).removesuffix("-template")
                return "EPUB" if mime == "application/epub+zip" else _OPEN_DOCUMENT.get(kind)
    except (OSError, zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError):
        return None
    if "xl/workbook.bin" in names:
        return "binary Excel"
    kinds = (kind for folder, kind in _FOLDERS.items() if any(name.startswith(folder) for name in names))
    return next(kinds, None) if "[Content_Types].xml" in names else None
