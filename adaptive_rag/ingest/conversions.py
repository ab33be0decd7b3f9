"""Commands that convert documents of kinds that no loader reads, by suffix, for error messages."""

from __future__ import annotations

import shlex
from pathlib import Path

from adaptive_rag.ingest.documents import printable

_LIBREOFFICE = "Convert it: soffice --headless --convert-to {to} {name}"
_PANDOC = "Convert it: pandoc {name} -o {stem}.md"
_CALIBRE = "Convert it: ebook-convert {name} {stem}.epub"
_EXPORT = "Export it as {to} from the program that made it"

# By suffix or file name: how to convert the file, and the suffix of the result.
_WAYS: dict[str, tuple[str, str]] = {
    **dict.fromkeys((".sxw", ".wps", ".wpd", ".hwp", ".stw", ".abw"), (_LIBREOFFICE, "docx")),
    **dict.fromkeys((".sxc", ".dif", ".wks", ".wk1", ".wq1", ".wb2", ".dbf", ".slk"), (_LIBREOFFICE, "xlsx")),
    **dict.fromkeys((".sxi", ".sti"), (_LIBREOFFICE, "pptx")),
    **dict.fromkeys((".odg", ".otg", ".vsd", ".vsdx", ".pub", ".cdr"), (_LIBREOFFICE, "pdf")),
    **dict.fromkeys((".typ", ".t2t", ".muse", ".wiki", ".dokuwiki", ".textile"), (_PANDOC, "md")),
    ".mediawiki": ("Convert it: pandoc -f mediawiki {name} -o {stem}.md", "md"),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".prc", ".chm", ".lit", ".lrf"), (_CALIBRE, "epub")),
    **dict.fromkeys((".pages", ".one", ".hwpx", ".mif"), (_EXPORT, "docx")),
    ".numbers": (_EXPORT, "xlsx"),
    ".key": (_EXPORT, "pptx"),
    **dict.fromkeys((".djvu", ".ps", ".eps", ".dwg"), (_EXPORT, "pdf")),
    "winmail.dat": ("Open it in Outlook and save the mail as .msg", "msg"),
    ".p7m": ("Open it in a mail program and save it as .eml", "eml"),
}


def how_to_convert(path: Path) -> str:
    """Return how to convert a file that no loader reads into one that is read, or "" if no way is known."""
    way, to = _WAYS.get(path.name.lower()) or _WAYS.get(path.suffix.lower(), ("", ""))
    target = f".{to}" if way == _EXPORT else to
    return way.format(to=target, name=as_argument(path.name), stem=as_argument(path.stem))


def readable_suffix(suffix: str) -> str:
    """Return the suffix that a document has after it is converted, or "" if no way is known."""
    to = _WAYS.get(suffix, ("", ""))[1]
    return f".{to}" if to else ""


def as_argument(name: str) -> str:
    """Return a file's name quoted for a shell command, so that it is not taken for an option."""
    return shlex.quote(printable(f"./{name}" if name.startswith("-") else name))
