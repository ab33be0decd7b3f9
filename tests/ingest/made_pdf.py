"""PDFs written by hand, so that the tests need no PDF library of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptive_rag.ingest import SourceText, extract_text

PAGE_HEIGHT = 842
# codes 1 and 2 stand for the ligatures; the rest is Windows' Latin
FI, FL = "\x01", "\x02"
_FONT = (
    b"<< /Type /Font /Subtype /Type1 /BaseFont /%s "
    b"/Encoding << /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [1 /fi /fl] >> >>"
)
_NO_ONE_KNOWS = b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >>"


@dataclass(frozen=True)
class Text:
    """A line at a place; `y` counts from the top of the page."""

    text: str
    x: float = 60
    y: float = 100
    size: float = 11
    bold: bool = False


@dataclass(frozen=True)
class Rule:
    """A drawn line from one place to another; `y` counts from the top of the page."""

    x0: float
    y0: float
    x1: float
    y1: float


def paragraph(lines: Sequence[str], *, y: float = 100, x: float = 60, indent: float = 0) -> list[Text]:
    """Set lines under each other at the usual pitch."""
    return [Text(line, x + (indent if at == 0 else 0), y + 14 * at) for at, line in enumerate(lines)]


def make_pdf(
    path: Path,
    pages: Iterable[Sequence[Text | Rule]],
    *,
    bookmarks: Sequence[tuple[str, int]] = (),
    encrypted: bool = False,
    picture: bool = False,
) -> Path:
    """Write a PDF; `bookmarks` are (title, page), `picture` puts an image on every page."""
    streams = [_stream(page, picture) for page in pages]
    first_page, first_mark = 5, 5 + 2 * len(streams)
    outline = b" /Outlines %d 0 R" % first_mark if bookmarks else b""
    kids = b" ".join(b"%d 0 R" % (first_page + 2 * at) for at in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R%s >>" % outline,
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(streams)),
        _FONT % b"Helvetica",
        _FONT % b"Helvetica-Bold",
    ]
    for at, stream in enumerate(streams):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 %d] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % (PAGE_HEIGHT, first_page + 2 * at + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    if bookmarks:
        last = first_mark + len(bookmarks)
        objects.append(b"<< /First %d 0 R /Last %d 0 R /Count %d >>" % (first_mark + 1, last, len(bookmarks)))
        for at, (title, page) in enumerate(bookmarks, start=first_mark + 1):
            before = b" /Prev %d 0 R" % (at - 1) if at > first_mark + 1 else b""
            after = b" /Next %d 0 R" % (at + 1) if at < last else b""
            objects.append(
                b"<< /Title (%s) /Parent %d 0 R%s%s /Dest [%d 0 R /Fit] >>"
                % (title.encode("cp1252"), first_mark, before, after, first_page + 2 * (page - 1))
            )
    _save(path, objects, _NO_ONE_KNOWS if encrypted else None)
    return path


def _stream(page: Sequence[Text | Rule], picture: bool) -> bytes:
    parts = []
    if picture:
        parts.append(b"q 200 0 0 200 100 300 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q")
    for line in page:
        if isinstance(line, Rule):
            ends = line.x0, PAGE_HEIGHT - line.y0, line.x1, PAGE_HEIGHT - line.y1
            parts.append(b"%g %g m %g %g l S" % ends)
            continue
        shown = line.text.encode("cp1252")
        for mark in (b"\\", b"(", b")"):
            shown = shown.replace(mark, b"\\" + mark)
        font = b"F2" if line.bold else b"F1"
        parts.append(
            b"BT /%s %g Tf %g %g Td (%s) Tj ET" % (font, line.size, line.x, PAGE_HEIGHT - line.y, shown)
        )
    return b"\n".join(parts)


def _save(path: Path, objects: Sequence[bytes], encryption: bytes | None) -> None:
    objects = [*objects, encryption] if encryption else list(objects)
    with path.open("wb") as file:
        file.write(b"%PDF-1.4\n")
        places = []
        for number, content in enumerate(objects, start=1):
            places.append(file.tell())
            file.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
        start = file.tell()
        file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
        file.writelines(b"%010d 00000 n \n" % place for place in places)
        extra = b" /Encrypt %d 0 R /ID [<00> <00>]" % len(objects) if encryption else b""
        file.write(b"trailer\n<< /Size %d /Root 1 0 R%s >>\n" % (len(objects) + 1, extra))
        file.write(b"startxref\n%d\n%%%%EOF\n" % start)


def read_pdf(folder: Path, *pages: Sequence[Text | Rule], **options: Any) -> SourceText:
    """Make a PDF of these pages, and read it."""
    return extract_text(make_pdf(folder / "made.pdf", pages, **options))


def text_of(folder: Path, *pages: Sequence[Text | Rule], **options: Any) -> str:
    """Make a PDF of these pages, and return its text."""
    return read_pdf(folder, *pages, **options).text
