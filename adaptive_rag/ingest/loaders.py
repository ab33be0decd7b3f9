"""The table of loaders by kind of file. To add a format, add one file and one row here.

A loader is imported when the first file of its kind is read, so formats that are not used cost nothing. All
loaders are our own: spans, pages and section headings must be exact, and LangChain's collection of loaders
(langchain-community) keeps none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from adaptive_rag.errors import import_extra
from adaptive_rag.ingest import archives
from adaptive_rag.ingest.contents import kind_by_content
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.text.suffixes import SUFFIXES


@dataclass(frozen=True, slots=True)
class Loader:
    """A row of the table: the suffixes of a kind of file, and the function that writes its text to a builder.

    If the function cannot read the file, it raises IndexingError with a reason that continues from the file's
    name: "is encrypted". It adds a note to the builder for what it could read only in part. It runs in a
    worker: any other error or crash affects only this file.
    """

    suffixes: tuple[str, ...]
    function: str
    """The function as "module:name", or ".module:name" for a module beside this one."""
    extra: str | None = None
    """The extra of adaptive-rag that installs `package`, if the loader needs one."""
    package: str | None = None
    by_content: bool = False
    """Whether a file whose content is of another kind than its suffix is read by the loader of that kind."""
    mime: Mapping[str, str] = field(default_factory=dict)
    """Content types of web servers and mails, each with the suffix as which such a file is read."""

    def __call__(self, path: Path, builder: TextBuilder) -> None:
        """Import the loader and read a file with it."""
        if self.by_content:
            with path.open("rb") as file:
                kind = kind_by_content(file, path.suffix.lower())
            if kind and LOADERS[kind].function != self.function:
                LOADERS[kind](path, builder)
                return
        if self.extra and self.package:
            import_extra(self.package, extra=self.extra, purpose=f"Reading {path.suffix.lower()} files")
        module, _, name = self.function.partition(":")
        load = cast(
            Callable[[Path, TextBuilder], None], getattr(importlib.import_module(module, __package__), name)
        )
        load(path, builder)


_CODE = ".py .js .mjs .cjs .jsx .ts .tsx .java .kt .scala .c .h .cc .cpp .hpp .cs .go .rs .rb .php .swift"
_CODE += " .lua .r .jl .sh .sql"
_SETTINGS = ".yaml .yml .toml .ini .cfg .conf .properties"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
_IMAGES = ".png .jpg .jpeg .tif .tiff .webp"
_XML = ".xml .docbook .dbk .jats .nxml .tei .rss .atom .opml .fb2 .xhtml .fodt .fods .fodp"


def _document(kind: str, function: str, *types: str) -> Loader:
    """Return the row of a kind whose files may be of another; pages of these types get its first suffix."""
    return Loader(SUFFIXES[kind], function, by_content=True, mime=dict.fromkeys(types, SUFFIXES[kind][0]))


# By kind of file.
LOADERS: dict[str, Loader] = {
    "PDF": _document("PDF", ".pdf:load_pdf", "application/pdf"),
    "text": Loader((".txt", ".text", ".prn"), ".text:load_text"),
    "Markdown": Loader(
        (".md", ".markdown", ".mdx"), ".markdown:load_markdown", mime={"text/markdown": ".md"}
    ),
    "reStructuredText": Loader((".rst",), ".rst:load_rst"),
    "AsciiDoc": Loader((".adoc", ".asciidoc"), ".asciidoc:load_asciidoc"),
    "markup": Loader((".tex", ".latex", ".org"), ".markup:load_markup"),
    "XML": Loader(tuple(_XML.split()), ".xml:load_xml"),
    "HTML": Loader(
        (".html", ".htm"), ".html:load_html", mime={"text/html": ".html", "application/xhtml+xml": ".html"}
    ),
    "saved web page": Loader((".mhtml", ".mht"), ".html:load_mhtml"),
    "Word": _document("Word", ".docx:load_docx", f"{_OFFICE}wordprocessingml.document"),
    "older Word": Loader(
        (".doc", ".dot"), ".word97:load_doc", by_content=True, mime={"application/msword": ".doc"}
    ),
    "PowerPoint": _document("PowerPoint", ".powerpoint:load_pptx", f"{_OFFICE}presentationml.presentation"),
    "older PowerPoint": _document(
        "older PowerPoint", ".powerpoint97:load_ppt", "application/vnd.ms-powerpoint"
    ),
    "Excel": _document("Excel", ".excel:load_xlsx", f"{_OFFICE}spreadsheetml.sheet"),
    "older Excel": _document("older Excel", ".xls:load_xls", "application/vnd.ms-excel"),
    "binary Excel": _document("binary Excel", ".binary_sheets:load_workbook"),
    "OpenDocument text": _document("OpenDocument text", ".opendocument:load_odt", f"{_OPEN_DOCUMENT}text"),
    "OpenDocument spreadsheet": _document(
        "OpenDocument spreadsheet", ".ods:load_ods", f"{_OPEN_DOCUMENT}spreadsheet"
    ),
    "OpenDocument presentation": _document(
        "OpenDocument presentation", ".opendocument:load_odp", f"{_OPEN_DOCUMENT}presentation"
    ),
    "rich text": Loader(
        (".rtf",), ".rtf:load_rtf", by_content=True, mime={"application/rtf": ".rtf", "text/rtf": ".rtf"}
    ),
    "EPUB": Loader((".epub",), ".epub:load_epub", mime={"application/epub+zip": ".epub"}),
    "CSV": Loader(
        SUFFIXES["CSV"], ".tables:load_csv", mime={"text/csv": ".csv", "text/tab-separated-values": ".tsv"}
    ),
    "JSON lines": Loader(
        SUFFIXES["JSON lines"], ".tables:load_jsonl", mime={"application/x-ndjson": ".jsonl"}
    ),
    "JSON": Loader(SUFFIXES["JSON"], ".tables:load_json", mime={"application/json": ".json"}),
    "archive": Loader(archives.SUFFIXES, ".archives:load_archive"),
    "notebook": Loader((".ipynb",), ".notebook:load_notebook"),
    "source code": Loader(tuple(_CODE.split()), ".code:load_code"),
    "settings": Loader(tuple(_SETTINGS.split()), ".code:load_code"),
    "mail": Loader(SUFFIXES["mail"], ".mail:load_eml", mime={"message/rfc822": ".eml"}),
    "mail of Outlook": Loader(SUFFIXES["mail of Outlook"], ".outlook:load_msg"),
    "mailbox": Loader(SUFFIXES["mailbox"], ".mail:load_mbox"),
    "image": Loader(tuple(_IMAGES.split()), ".images:load_image", extra="ocr", package="rapidocr"),
    "subtitles": Loader(SUFFIXES["subtitles"], ".subtitles:load_subtitles", mime={"text/vtt": ".vtt"}),
}
# The suffix as which a file of a content type is read.
SUFFIX_BY_TYPE = {kind: suffix for loader in LOADERS.values() for kind, suffix in loader.mime.items()}


def find_loader(path: Path) -> Loader | None:
    """Return the loader that reads files of this suffix, or None."""
    name = path.name.lower()
    return next((loader for loader in LOADERS.values() if name.endswith(loader.suffixes)), None)


def list_kinds() -> str:
    """Return the kinds of files that are read as text for a message: "PDF, text, Markdown"."""
    return ", ".join(LOADERS)


def list_suffixes() -> str:
    """Return the supported suffixes as text for a message: ".pdf, .txt, .text"."""
    return ", ".join(suffix for loader in LOADERS.values() for suffix in loader.suffixes)
