"""Files that are wrong in every way we could think of, made on the fly: a table of names and makers.

    python -m benchmarks.made_badly FOLDER [PART OF A NAME ...]

Each row is a file's name and what writes it there. All are small on the disk; what they unpack to,
claim to be or lead to is another matter.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import socket
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

Maker: TypeAlias = Callable[[Path], object]

WORDS = "Shut the gate before the tide comes in. "
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def holding(content: bytes | str) -> Maker:
    """Make a file of this content."""
    data = content.encode() if isinstance(content, str) else content
    return lambda path: path.write_bytes(data)


def noise(size: int) -> bytes:
    """Return bytes that mean nothing, the same each time."""
    return random.Random(7).randbytes(size)


# Plain text


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(4 << 30)


PLAIN: dict[str, Maker] = {
    "empty.txt": holding(b""),
    "blanks.txt": holding(" \t\n" * 1000),
    "line ends alone.md": holding("\n" * 100_000),
    "zero bytes.txt": holding(b"\0" * 1_000_000),
    "one zero byte.md": holding(WORDS + "\0" + WORDS),
    "compressed.txt": holding(gzip.compress(WORDS.encode() * 1000, mtime=0)),
    "picture.md": holding(b"\x89PNG\r\n\x1a\n" + noise(20_000)),
    "program.txt": holding(b"\x7fELF\x02\x01\x01" + b"\0" * 9 + noise(50_000)),
    "noise.txt": holding(noise(300_000)),
    "wide without a mark.txt": holding((WORDS * 20).encode("utf-16-le")),
    "wide cut in half.txt": holding(b"\xff\xfe" + WORDS.encode("utf-16-le") + b"\x41"),
    "wide half pair.txt": holding(b"\xff\xfe" + WORDS.encode("utf-16-le") + b"\x00\xd8A\0"),
    "utf-32 of noise.txt": holding(b"\xff\xfe\0\0" + noise(4000)),
    "a mark alone.txt": holding(b"\xef\xbb\xbf"),
    "a wide mark alone.txt": holding(b"\xff\xfe"),
    "one long line.txt": holding("tide" * 100_000),
    "single letters.txt": holding("a " * 100_000),
    "full stops.txt": holding("." * 500_000),
    "titles.txt": holding("Mr. " * 250_000),
    "numbers.txt": holding("No. 1 " * 60_000),
    "brackets.txt": holding("(" * 300_000 + "a"),
    "quotes.txt": holding('."' * 200_000 + "a"),
    "blank lines.txt": holding("a" + "\n \n" * 100_000 + "b"),
    "backticks.md": holding("`" * 300_000),
    "fences.md": holding("```\n~~~\n" * 30_000),
    "rules.md": holding("---\n" * 100_000 + "a"),
    "hashes.md": holding("#" * 300_000),
    "blanks in a heading.md": holding("# " + " " * 60_000 + "x\n" + WORDS),
    "hashes in a heading.md": holding("# a" + " #" * 60_000 + " x\n" + WORDS),
    "headings alone.md": holding("# a\n" * 3_000),
    "a long underline.md": holding("a\n" + "=" * 300_000 + "x"),
    "rules.rst": holding("=" * 300_000 + "\na\n" + "=-" * 100_000),
    "underlined alike.rst": holding("a\n=\n\n" * 20_000),
    "blanks.rst": holding("\n\n" + " " * 300_000 + "x\n==="),
    "links.md": holding("[" * 200_000 + "](" * 100_000),
    "control characters.txt": holding(bytes(range(1, 32)) * 300 + WORDS.encode()),
    "escape sequences.txt": holding("\x1b]0;owned\x07\x1b[2J\x1b[31m" + WORDS),
    "overlong utf-8.txt": holding(WORDS.encode() + b"\xc0\xaf" * 2000),
    "surrogates in utf-8.txt": holding(WORDS.encode() + b"\xed\xa0\x80\xed\xbf\xbf" * 500),
    "marks on a letter.txt": holding("a" + "\u0301" * 100_000),
    "joined emoji.txt": holding("\U0001f468\u200d" * 50_000),
    "old line ends.txt": holding((WORDS + "\r") * 100),
    "three encodings.txt": holding("é".encode() * 9 + "é".encode("cp1252") * 9 + "é".encode("utf-16")),
    "four gigabytes of nothing.txt": _sparse,
}

# Web pages

PAGES: dict[str, Maker] = {
    "empty.html": holding(b""),
    "empty body.html": holding("<html><body></body></html>"),
    "only a script.html": holding("<script>document.write('tide')</script>"),
    "only frames.html": holding("<frameset><frame src=a><frame src=b></frameset>"),
    "script left open.html": holding("<p>a</p><script>" + "x=1;" * 200_000),
    "comments left open.html": holding("<p>Tide.</p>" + "<!--" * 200_000),
    "deep drawing.html": holding("<p>Tide.</p>" + "<svg>" * 200_000),
    "links left open.html": holding("<p>Tide.</p>" + "<a href=x" * 100_000),
    "tags left open.html": holding("<p>Tide.</p>" + "<b>" * 100_000 + "</i>" * 100_000),
    "deep blocks.html": holding("<div>" * 100_000 + "Tide."),
    "deep tables.html": holding("<table><tr><td>" * 30_000 + "Tide."),
    "deep lists.html": holding("<ul><li>" * 50_000 + "Tide."),
    "forms in forms.html": holding("<form>" * 50_000 + "Tide."),
    "choices.html": holding("<p>Tide.</p>" + "<select><option>" * 50_000),
    "signs alone.html": holding("<" * 500_000),
    "ampersands.html": holding("&" * 500_000),
    "ends alone.html": holding("</p>" * 200_000),
    "many attributes.html": holding("<p " + " ".join(f"a{i}=1" for i in range(50_000)) + ">Tide."),
    "one long attribute.html": holding(f'<p title="{"a" * 2_000_000}">Tide.'),
    "cut inside a tag.html": holding("<p>Tide.</p><p cla"),
    "long number of a character.html": holding(f"<p>Tide.&#{'1' * 6000};</p>"),
    "long number in hex.html": holding(f"<p>Tide.&#x{'f' * 6000};</p>"),
    "half a character.html": holding("<p>Tide.&#xD800;&#0;&#1114112;</p>"),
    "entities in entities.html": holding(
        '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY {n} "{f"&{p};" * 10}">' for p, n in zip("abcdefghi", "bcdefghij", strict=True))
        + "]><p>Tide. &j;"
    ),
    "a file of the host.html": holding(
        '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>Tide. &x;'
    ),
    "declarations.html": holding("<!DOCTYPE a " * 50_000 + "<p>Tide."),
    "raw data.html": holding("<p>Tide.</p>" + "<![CDATA[" * 100_000),
    "zero bytes.html": holding(b"<p>Ti\0de.</p>" + b"\0" * 1000),
    "compressed.html": holding(gzip.compress(b"<p>Tide.", mtime=0)),
    "wide without a mark.html": holding("<html><body><p>The tide comes in.".encode("utf-16-le")),
    "text to the end.html": holding("<plaintext>" + "<b>" * 100_000),
    "noise.html": holding(noise(200_000)),
    "a quote left open.html": holding('<a href="' + "tide " * 100_000),
} | {
    f"called {name}.html": holding(f'<meta charset="{name}"><p>café tide</p>' + "x" * 20_000)
    for name in (
        "punycode", "idna", "undefined", "x-unknown-9", "utf-7", "unicode_escape", "raw_unicode_escape",
        "hex", "zlib", "bz2", "rot13", "uu", "mbcs", "utf-16", "utf-32", "charmap",
    )
}  # fmt: skip


def _mail(kind: str, body: bytes | str, encoding: str = "8bit") -> bytes:
    head = f"MIME-Version: 1.0\r\nContent-Type: {kind}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    return head.encode() + (body.encode() if isinstance(body, str) else body)


def _nested_mail(depth: int) -> bytes:
    return b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (at, at) for at in range(depth)
    )


SAVED: dict[str, Maker] = {
    "no parts.mhtml": holding(b"MIME-Version: 1.0\r\n\r\n"),
    "parts in parts.mhtml": holding(_nested_mail(3000)),
    "broken base64.mhtml": holding(_mail("text/html", "PGI+?!#tide", "base64")),
    "called punycode.mhtml": holding(_mail("text/html; charset=punycode", "<p>tide" + "x" * 20_000)),
    "no boundary.mhtml": holding(_mail("multipart/related", "<p>tide")),
    "unknown transfer.mht": holding(_mail("text/html", "<p>tide", "x-rot")),
    "long header.mhtml": holding(b"A: " + b"b" * 2_000_000 + b"\r\n" + _mail("text/html", "<p>tide")),
    "half quoted.mhtml": holding(_mail("text/html", "<p>tide =E=ZZ=", "quoted-printable")),
    "noise.mht": holding(noise(100_000)),
    "odd charset.mhtml": holding(_mail("text/html; charset*=x''%ff", "<p>tide")),
}

# Archives


def _zipped(held: dict[str, bytes | str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _tar_header(name: str, kind: bytes, size: int, leads_to: str = "") -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size, entry.linkname = kind, size, leads_to
    return entry.tobuf(tarfile.GNU_FORMAT)


def _too_many(path: Path) -> None:
    path.write_bytes(_zipped({f"{number}.txt": "" for number in range(11_000)}))


def _long_header(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(_tar_header("a", tarfile.XHDTYPE, 600 << 20))
        for _ in range(600):
            file.write(b"\0" * (1 << 20))


_PACKED = _zipped({"tide.txt": WORDS * 100})

ARCHIVES: dict[str, Maker] = {
    "empty.zip": holding(b""),
    "noise.zip": holding(noise(20_000)),
    "cut.zip": holding(_PACKED[: len(_PACKED) // 2]),
    "nothing in it.zip": holding(b"PK\x05\x06" + b"\0" * 18),
    "too many.zip": _too_many,
    "climbing.zip": holding(_zipped({"../../etc/tide.txt": WORDS, "/etc/tide.txt": WORDS})),
    "a bomb.zip": holding(_zipped({"tide.txt": b"\0" * 11_000_000})),
    "archives in archives.zip": holding(_zipped({"a.zip": _PACKED})),
    "claims a terabyte.zip": holding(_PACKED.replace(struct.pack("<L", 4000), b"\xfe\xff\xff\xff")),
    "noise.tar": holding(noise(20_000)),
    "blocks of nothing.tar": holding(b"\0" * 100_000),
    "links alone.tar": holding(
        _tar_header("a.txt", tarfile.SYMTYPE, 0, "/etc/passwd") + _tar_header("b.txt", tarfile.CHRTYPE, 0)
    ),
    "claims eight gigabytes.tar": holding(_tar_header("tide.txt", tarfile.REGTYPE, 8 << 30)),
    "a long header.tar.gz": _long_header,
    "cut.tar.gz": holding(gzip.compress(_tar_header("a.txt", tarfile.REGTYPE, 9), mtime=0)[:-20]),
    "noise.tar.xz": holding(b"\xfd7zXZ\0" + noise(2_000)),
}

# Source code

CODE: dict[str, Maker] = {
    "empty.py": holding(b""),
    "brackets.py": holding("(" * 100_000),
    "deep.py": holding("x = " + "-" * 50_000 + "1"),
    "deep blocks.py": holding("".join(" " * at + "if a:\n" for at in range(90)) + " " * 90 + "tide = 1"),
    "zero bytes.py": holding(b"tide = 1\0"),
    "no python.py": holding(WORDS * 100),
    "half a string.py": holding('"""' + WORDS * 1000),
    "blanks.js": holding(" " * 300_000 + "x"),
    "words.js": holding("export static final " * 20_000 + "tide"),
    "words and brackets.go": holding("func (" * 50_000 + "tide"),
    "video.ts": holding(b"\x47\x40\0\x10" * 5_000),
}

# Mails

_FROM = b"From: ana@example.org\r\nSubject: Tide\r\n"
_BEGIN = b"From ana@example.org Tue Mar 12 10:42:00 2024\n"

MAILS: dict[str, Maker] = {
    "empty.eml": holding(b""),
    "no headers.eml": holding("The tide comes in."),
    "noise.eml": holding(noise(200_000)),
    "headers alone.eml": holding(_FROM),
    "parts in parts.eml": holding(_FROM + _nested_mail(3000)),
    "mails in mails.eml": holding(b"From: a\r\nContent-Type: message/rfc822\r\n\r\n" * 3000 + _FROM),
    "quotes in quotes.eml": holding(_FROM + b"\r\nTide.\r\n" + b">" * 300_000),
    "deeper each line.eml": holding(_FROM + b"\r\n" + b"\r\n".join(b">" * at for at in range(1500))),
    "attributions.eml": holding(_FROM + b"\r\n" + b"On Monday Ana wrote:\r\n> a\r\n\r\n" * 20_000),
    "an attribution without an end.eml": holding(_FROM + b"\r\nOn " + b"wrote " * 100_000),
    "many recipients.eml": holding(_FROM + b"To: " + b"a@b.example, " * 200_000 + b"\r\n\r\nTide."),
    "many headers.eml": holding(_FROM + b"X-A: b\r\n" * 200_000 + b"\r\nTide."),
    "encoded words.eml": holding(b"Subject: " + b"=?utf-8?q?" * 50_000 + b"\r\n\r\nTide."),
    "words of hex.eml": holding(b"Subject: =?hex?q?zz?= =?zlib?b?AAAA?= =?idna?q?a?=\r\n\r\nTide."),
    "a year of digits.eml": holding(_FROM + b"Date: Tue, 12 Mar " + b"9" * 6000 + b" 10:42\r\n\r\nTide."),
    "names that climb.eml": holding(
        _FROM + b"Content-Type: text/csv; name*=utf-8''..%2F..%2F%00a.csv\r\n\r\na,b\r\n1,2"
    ),
    "half a document attached.eml": holding(
        _FROM + _mail("application/x; name=a.docx", "UEsDB" * 9, "base64")
    ),
    "called hex.eml": holding(_FROM + _mail("text/plain; charset=hex", "Tide.")),
    "no message.mbox": holding("The tide comes in."),
    "message ends alone.mbox": holding(_BEGIN * 3),
    "many messages.mbox": holding((_BEGIN + b"Subject: a\n\nTide.\n\n") * 5_000),
    "begin lines.mbox": holding(b"\n\nFrom a 2024" * 50_000),
}  # fmt: skip

# Word documents

_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_MAIN}"/></Types>'
)
_ROOT_LINKS = (
    f'<?xml version="1.0"?><Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" '
    f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
)


def _body(inside: str) -> str:
    return f'<?xml version="1.0"?><w:document {_W}><w:body>{inside}</w:body></w:document>'


def _paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def _package(document: str | bytes, more: dict[str, str | bytes] | None = None) -> bytes:
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _ROOT_LINKS,
        "word/document.xml": document,
        **(more or {}),
    }
    return _packed(parts)


def _packed(parts: dict[str, str | bytes]) -> bytes:
    """Put the parts that are not empty into an archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            if content:
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _changed(data: bytes, where: bytes, at: int, by: bytes, *, times: int = 99) -> bytes:
    """Overwrite bytes behind each of the first marks `where`."""
    found, start = bytearray(data), 0
    for _ in range(times):
        place = data.find(where, start)
        if place < 0:
            break
        found[place + at : place + at + len(by)] = by
        start = place + 1
    return bytes(found)


_SOUND = _package(_body(_paragraph(WORDS) * 200))
_LOCAL, _CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
_STREAM = _SOUND.index(b"word/document.xml") + len("word/document.xml")


def _many_entries(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(30_000):
            archive.writestr(f"word/{number}.xml", "")


def _twice(path: Path) -> None:
    path.write_bytes(_SOUND)
    with zipfile.ZipFile(path, "a") as archive:
        archive._didModify = True  # type: ignore[attr-defined]
        archive.NameToInfo.pop("word/document.xml")
        archive.writestr("word/document.xml", "<a/>")


def _empty_paragraphs(size: int) -> bytes:
    return _body(_paragraph("tide " * 10) + "<w:p/>" * (size // 6)).encode()


WORD: dict[str, Maker] = {
    "empty.docx": holding(b""),
    "plain text.docx": holding(WORDS),
    "archive of nothing.docx": holding(b"PK\x05\x06" + b"\0" * 18),
    "cut in half.docx": holding(_SOUND[: len(_SOUND) // 2]),
    "damaged stream.docx": holding(_SOUND[:_STREAM] + b"\xff" * 40 + _SOUND[_STREAM + 40 :]),
    "wrong checksum.docx": holding(
        _changed(_changed(_SOUND, _CENTRAL, 16, b"\1\2\3\4"), _LOCAL, 14, b"\1\2\3\4")
    ),
    "asks for a password.docx": holding(_changed(_changed(_SOUND, _CENTRAL, 8, b"\1"), _LOCAL, 6, b"\1")),
    "unknown packing.docx": holding(_changed(_changed(_SOUND, _CENTRAL, 10, b"\x63"), _LOCAL, 8, b"\x63")),
    "claims little.docx": holding(
        _changed(_package(_empty_paragraphs(40_000_000)), _CENTRAL, 24, struct.pack("<I", 100))
    ),
    "claims four gigabytes.docx": holding(_changed(_SOUND, _CENTRAL, 24, b"\xfe\xff\xff\xff")),
    "unpacks to 90 megabytes.docx": lambda path: path.write_bytes(_package(_empty_paragraphs(90_000_000))),
    "unpacks to one long text.docx": lambda path: path.write_bytes(
        _package(_body(_paragraph("tide " * 15_000_000)))
    ),
    "unpacks to 300 megabytes.docx": lambda path: path.write_bytes(_package(_body(" " * 300_000_000))),
    "a table before its start.docx": holding(_changed(_SOUND, b"PK\x05\x06", 16, b"\xf0\xff\xff\xff")),
    "parts before its start.docx": holding(_changed(_SOUND, b"PK\x05\x06", 12, b"\x80\x00\x00\x00")),
    "old word.docx": holding(_OLE + noise(5000)),
    "encrypted.docx": holding(_OLE + "EncryptedPackage".encode("utf-16-le") + noise(5000)),
    "unknown encoding.docx": holding(
        _package(_body(_paragraph(WORDS)).replace('"1.0"', '"1.0" encoding="x-9"'))
    ),
    "wrong encoding.docx": holding(
        _package(_body(_paragraph(WORDS)).replace('"1.0"', '"1.0" encoding="utf-16"'))
    ),
    "bytes that are no text.docx": holding(
        _package(_body(_paragraph("tide")).encode().replace(b"tide", b"\xff\xfe"))
    ),
    "nested 3000 deep.docx": holding(
        _package(_body("<w:p><w:r>" * 1500 + "<w:t>tide</w:t>" + "</w:r></w:p>" * 1500))
    ),
    "nested 300000 deep.docx": holding(_package(_body("<w:p>" * 300_000 + "</w:p>" * 300_000))),
    "tables in tables.docx": holding(
        _package(_body("<w:tbl><w:tr><w:tc>" * 900 + _paragraph("t") + "</w:tc></w:tr></w:tbl>" * 900))
    ),
    "nested controls.docx": holding(
        _package(_body("<w:sdt><w:sdtContent>" * 800 + _paragraph("t") + "</w:sdtContent></w:sdt>" * 800))
    ),
    "entities in entities.docx": holding(
        _package(
            '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
            + "".join(
                f'<!ENTITY {n} "{f"&{p};" * 10}">' for p, n in zip("abcdefghi", "bcdefghij", strict=True)
            )
            + "]>"
            + _body(_paragraph("&j;")).partition("?>")[2]
        )
    ),
    "a file of the host.docx": holding(
        _package(
            '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
            + _body(_paragraph("tide &x;")).partition("?>")[2]
        )
    ),
    "no document.docx": holding(_package(b"")),
    "no types.docx": holding(_package(_body(_paragraph("t")), {"[Content_Types].xml": b""})),
    "no links.docx": holding(_package(_body(_paragraph("t")), {"_rels/.rels": b""})),
    "a page for a document.docx": holding(_package("<html><body>tide</body></html>")),
    "noise for a document.docx": holding(_package(noise(20_000))),
    "empty body.docx": holding(_package(_body(""))),
    "empty paragraphs.docx": holding(_package(_body("<w:p/>" * 300_000))),
    "a name that climbs.docx": holding(_package(_body(_paragraph("tide")), {"../../../tmp/a.xml": "<a/>"})),
    "30000 parts.docx": _many_entries,
    "two documents.docx": _twice,
    "links without end.docx": holding(
        _package(
            _body(_paragraph("tide")),
            {
                "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELATIONS}">'
                + "".join(
                    f'<Relationship Id="a{i}" Type="{_OFFICE}/styles" Target="s{i}.xml"/>'
                    for i in range(2000)
                )
                + "</Relationships>"
            },
        )
    ),
    "links in a circle.docx": holding(
        _package(
            _body(_paragraph("tide")),
            {
                "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship '
                f'Id="a" Type="{_OFFICE}/officeDocument" Target="document.xml"/></Relationships>'
            },
        )
    ),
    "a style without end.docx": holding(
        _package(
            _body(
                f'<w:p><w:pPr><w:pStyle w:val="{"a" * 1_000_000}"/></w:pPr><w:r><w:t>tide</w:t></w:r></w:p>'
            )
        )
    ),
}

# Workbooks, presentations, OpenDocument and books: archives whose one part holds the text

_R = f'xmlns:r="{_OFFICE}"'
_OPEN = "urn:oasis:names:tc:opendocument:xmlns:"


def _links(kind: str, target: str) -> str:
    link = f'<Relationship Id="r1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_RELATIONS}">{link}</Relationships>'


def _workbook(rows: str, *, head: str = "", more: str = "") -> bytes:
    return _packed(
        {
            "_rels/.rels": _links("officeDocument", "xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook {_R}><sheets><sheet name="A" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _links("worksheet", "worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f"{head}<worksheet><sheetData>{rows}</sheetData>{more}</worksheet>",
        }
    )


def _deck(shapes: str, *, head: str = "") -> bytes:
    return _packed(
        {
            "_rels/.rels": _links("officeDocument", "ppt/presentation.xml"),
            "ppt/presentation.xml": (
                f'<presentation {_R}><sldIdLst><sldId id="256" r:id="r1"/></sldIdLst></presentation>'
            ),
            "ppt/_rels/presentation.xml.rels": _links("slide", "slides/slide1.xml"),
            "ppt/slides/slide1.xml": (
                f"{head}<sld xmlns:a={_DRAWING}><cSld><spTree>{shapes}</spTree></cSld></sld>"
            ),
        }
    )


def _box(text: str) -> str:
    return f"<sp><txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></txBody></sp>"


def _open(kind: str, inside: str, *, head: str = "") -> bytes:
    names = " ".join(f'xmlns:{name}="{_OPEN}{name}:1.0"' for name in ("office", "text", "table"))
    body = f"<office:body><office:{kind}>{inside}</office:{kind}></office:body>"
    return _packed(
        {"content.xml": f"{head}<office:document-content {names}>{body}</office:document-content>"}
    )


def _book(page: str | bytes, *, href: str = "a.xhtml") -> bytes:
    item = f'<item id="a" href="{href}" media-type="application/xhtml+xml"/>'
    return _packed(
        {
            "META-INF/container.xml": '<container><rootfile full-path="a.opf"/></container>',
            "a.opf": f'<package><manifest>{item}</manifest><spine><itemref idref="a"/></spine></package>',
            "a.xhtml": page,
        }
    )


def _cell(text: str, place: str = "A1") -> str:
    return f'<row><c r="{place}" t="inlineStr"><is><t>{text}</t></is></c></row>'


_DRAWING = '"http://schemas.openxmlformats.org/drawingml/2006/main"'
_BOMB = (
    '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {n} "{f"&{p};" * 10}">' for p, n in zip("abcdefghi", "bcdefghij", strict=True))
    + "]>"
)
_HOST = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
_TEXT = "<text:p>tide</text:p>"
_SOUNDS = {
    "xlsx": _workbook(_cell(WORDS) * 200),
    "pptx": _deck(_box(WORDS) * 200),
    "odt": _open("text", f"<text:p>{WORDS}</text:p>" * 200),
    "ods": _open(
        "spreadsheet",
        "<table:table><table:table-row><table:table-cell><text:p>tide</text:p></table:table-cell>"
        "</table:table-row></table:table>",
    ),
    "odp": _open("presentation", f"<page>{_TEXT}</page>"),
    "epub": _book(f"<p>{WORDS}</p>" * 200),
}
OFFICE: dict[str, Maker] = {
    f"{name}.{suffix}": holding(content)
    for suffix, sound in _SOUNDS.items()
    for name, content in {
        "plain text": WORDS.encode(),
        "archive of nothing": b"PK\x05\x06" + b"\0" * 18,
        "cut in half": sound[: len(sound) // 2],
        "asks for a password": _changed(_changed(sound, _CENTRAL, 8, b"\1"), _LOCAL, 6, b"\1"),
        "claims four gigabytes": _changed(sound, _CENTRAL, 24, b"\xfe\xff\xff\xff"),
        "noise": noise(20_000),
        "of another kind": _SOUND,
    }.items()
} | {
    "entities in entities.xlsx": holding(_workbook(_cell("&j;"), head=_BOMB)),
    "a file of the host.xlsx": holding(_workbook(_cell("tide &x;"), head=_HOST)),
    "the last place.xlsx": holding(_workbook(_cell("tide", "XFD1048576"))),
    "a place beyond the last.xlsx": holding(_workbook(_cell("tide", "ZZZZZZ9999999999"))),
    "merged as a whole.xlsx": holding(
        _workbook(_cell("tide") * 2000, more='<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>' * 99)
    ),
    "a text that is not there.xlsx": holding(_workbook('<row><c t="s"><v>7</v></c></row>')),
    "numbers of words.xlsx": holding(_workbook("<row><c><v>tide</v></c></row>")),
    "numbers beyond numbers.xlsx": holding(_workbook("<row><c><v>1e999</v></c><c><v>nan</v></c></row>")),
    "unpacks to 90 megabytes.xlsx": lambda path: path.write_bytes(_workbook("<row/>" * 15_000_000)),
    "entities in entities.pptx": holding(_deck(_box("&j;"), head=_BOMB)),
    "a file of the host.pptx": holding(_deck(_box("tide &x;"), head=_HOST)),
    "groups in groups.pptx": holding(_deck("<grpSp>" * 3000 + "</grpSp>" * 3000)),
    "groups in a few groups.pptx": holding(_deck("<grpSp>" * 200 + _box("tide") + "</grpSp>" * 200)),
    "a chart that is not there.pptx": holding(
        _deck(f'<graphicFrame><chart xmlns:r="{_OFFICE}" r:id="r9"/></graphicFrame>')
    ),
    "entities in entities.odt": holding(_open("text", "<text:p>&j;</text:p>", head=_BOMB)),
    "a file of the host.odt": holding(_open("text", "<text:p>tide &x;</text:p>", head=_HOST)),
    "spans in spans.odt": holding(_open("text", "<text:span>" * 3000 + "</text:span>" * 3000)),
    "a row a billion times.ods": holding(
        _open(
            "spreadsheet",
            '<table:table><table:table-row table:number-rows-repeated="1000000000"><table:table-cell '
            f'table:number-columns-repeated="1000000000">{_TEXT}</table:table-cell></table:table-row></table:table>',
        )
    ),
    "entities in entities.epub": holding(_book(_BOMB + "<p>Tide. &j;</p>")),
    "a file of the host.epub": holding(_book(_HOST + "<p>Tide. &x;</p>")),
    "plain text.rtf": holding(WORDS),
    "braces.rtf": holding("{\\rtf1 tide" + "{" * 300_000),
    "ends alone.rtf": holding("{\\rtf1 tide" + "}" * 300_000),
    "a length beyond the end.rtf": holding("{\\rtf1 tide \\bin9999999999 tide}"),
    "long numbers.rtf": holding("{\\rtf1 tide \\u" + "9" * 6000 + " \\ansicpg9999 \\'e9}"),
    "half a character.rtf": holding("{\\rtf1 tide \\u-10179?}"),
    "noise.rtf": holding(b"{\\rtf1 tide " + noise(100_000)),
    "a chapter that climbs.epub": holding(_book("<p>Tide.</p>", href="../../../../etc/passwd")),
}

# Tables

TABLES: dict[str, Maker] = {
    "empty.csv": holding(b""),
    "names alone.csv": holding("question,answer\n"),
    "commas.csv": holding(",,,\n" * 50_000),
    "one giant field.csv": holding('a,b\n1,"' + "tide " * 60_000 + '"\n'),
    "a quote left open.csv": holding('a,b\n1,"' + "tide\n" * 30_000),
    "quotes.csv": holding("a,b\n" + '"' * 300_001),
    "a zero byte.csv": holding("a,b\n1,\0\n"),
    "100000 columns.csv": holding(",".join(f"c{i}" for i in range(100_000)) + "\n1,2\n"),
    "100000 cells.csv": holding("a,b\n" + "x," * 100_000 + "\n"),
    "the same name.csv": holding("a,a,a\n1,2,3\n"),
    "noise.csv": holding(noise(100_000)),
    "wide.csv": holding("question,answer\nWhen?,At noon.\n".encode("utf-16")),
    "wide without a mark.tsv": holding("question\tanswer\nWhen?\tAt noon.\n".encode("utf-16-le")),
    "book.csv": holding(b"PK\x03\x04" + noise(3000)),
    "empty.json": holding(b""),
    "brackets.json": holding("[" * 100_000),
    "deep objects.json": holding('{"a":' * 90 + '"tide"' + "}" * 90),
    "deeper objects.json": holding('{"a":' * 100_000),
    "long number.json": holding('{"text": "tide", "a": ' + "1" * 6000 + "}"),
    "cut.json": holding('{"text": "tide", "a'),
    "half a character.json": holding('{"tide\\ud800": ["\\udfff", {"a": "\\ud83d"}]}'),
    "many objects.json": holding("[" + '{"a": 1},' * 10_000 + "{}]"),
    "many names.json": holding("{" + ",".join(f'"n{at}": {{"a": 1}}' for at in range(10_000)) + "}"),
    "wide.json": holding('{"text": "The tide comes in."}'.encode("utf-16")),
    "empty.ipynb": holding(b""),
    "no cells.ipynb": holding('{"cells": {"a": 1}}'),
    "a list.ipynb": holding("[1, 2]"),
    "cells of any kind.ipynb": holding(
        '{"cells": [1, null, "a", [], {"cell_type": 5, "source": {"a": 1}}, {"source": [1, null, "Tide."]}, '
        '{"cell_type": "code", "outputs": [3, {"data": [], "text": 7}, {"output_type": "error"}]}]}'
    ),
    "deep.ipynb": holding('{"cells": ' + "[" * 100_000),
    "endless output.ipynb": holding(
        '{"cells": [{"cell_type": "code", "outputs": [{"text": "' + "tide " * 200_000 + '"}]}]}'
    ),
    "empty.jsonl": holding(b""),
    "half a character.jsonl": holding('{"text": "tide \\ud800 comes"}\n'),
    "half a character in a name.jsonl": holding('{"text": "tide", "a\\udfff": ["\\ud800"]}\n'),
    "zero characters.jsonl": holding('{"text": "ti\\u0000de", "a\\u0000": "\\u0000"}\n'),
    "deep.jsonl": holding('{"text": "tide", "a": ' + "[" * 100_000 + "]" * 100_000 + "}\n"),
    "deep enough.jsonl": holding('{"text": "tide", "a": ' + "[" * 900 + "]" * 900 + "}\n"),
    "brackets.jsonl": holding("[" * 100_000),
    "long number.jsonl": holding('{"text": "tide", "a": ' + "1" * 6000 + "}\n"),
    "beyond numbers.jsonl": holding('{"text": "tide", "a": NaN, "b": Infinity, "c": -1e999}\n'),
    "cut.jsonl": holding('{"text": "tide", "a'),
    "a list.jsonl": holding('[{"text": "tide"}]\n'),
    "numbers.jsonl": holding("1\n2\nnull\ntrue\n"),
    "empty objects.jsonl": holding("{}\n" * 10_000),
    "not JSON.jsonl": holding(WORDS * 100),
    "100000 fields.jsonl": holding("{" + ",".join(f'"f{i}": {i}' for i in range(100_000)) + "}\n"),
    "the same name.jsonl": holding('{"text": "a", "text": "tide"}\n'),
    "one long line.jsonl": holding('{"text": "' + "tide " * 60_000 + '"}\n'),
    "noise.jsonl": holding(noise(100_000)),
    "no words.srt": holding("1\n00:00:01,000 --> 00:00:02,000\n\n"),
    "times alone.vtt": holding("00:01.000 --> 00:02.000\n" * 20_000),
    "arrows.vtt": holding("WEBVTT\n\n" + "00:00:01.000 --> " * 30_000),
    "marks left open.vtt": holding("WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<v " * 100_000 + "Tide."),
    "noise.srt": holding(noise(50_000)),
    "times of nonsense.srt": holding("1\n99:99:99,999 --> 00:00:00,-1\ntide\n"),
    "binary.srt": holding(b"\0" * 5000),
}  # fmt: skip

# PDFs


def write_pdf(
    objects: Sequence[bytes], *, trailer: bytes = b"", places: bool = True, version: bytes = b"1.5"
) -> bytes:
    """Put objects into a PDF; the first is its catalogue."""
    out = b"%PDF-" + version + b"\n"
    starts = []
    for number, content in enumerate(objects, start=1):
        starts.append(len(out) if places else 7)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    end = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % start for start in starts)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s>>\n" % (len(objects) + 1, trailer)
    return out + b"startxref\n%d\n%%%%EOF\n" % end


def _flow(content: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s>>\nstream\n%s\nendstream" % (len(content), more, content)


_CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
_PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_SHOWN = b"BT /F1 12 Tf 60 700 Td (Shut the gate before the tide comes in.) Tj ET"


def _page(more: bytes = b"", box: bytes = b"0 0 595 842", resources: bytes = b"") -> bytes:
    return (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 5 0 R "
        b"/Resources << /Font << /F1 4 0 R >> %s >> %s>>" % (box, resources, more)
    )


def _pdf(
    page: bytes | None = None,
    content: bytes | None = None,
    *,
    catalogue: bytes = _CATALOGUE,
    pages: bytes = _PAGES,
    font: bytes = _FONT,
    more: Sequence[bytes] = (),
    trailer: bytes = b"",
    places: bool = True,
) -> bytes:
    flow = _flow(_SHOWN) if content is None else content
    objects = [catalogue, pages, _page() if page is None else page, font, flow, *more]
    return write_pdf(objects, trailer=trailer, places=places)


def _image(width: int, height: int, more: bytes) -> bytes:
    kind = b"/Type /XObject /Subtype /Image /Width %d /Height %d " % (width, height)
    return _flow(b"\0" * 100, kind + b"/ColorSpace /DeviceRGB /BitsPerComponent 8 " + more)


def _shared_pages(levels: int) -> bytes:
    """Return a tree in which each node has ten times the same child."""
    first = 6
    nodes = []
    for at in range(levels):
        child = 3 if at == levels - 1 else first + at + 1
        kids = b" ".join([b"%d 0 R" % child] * 10)
        nodes.append(b"<< /Type /Pages /Parent 2 0 R /Kids [%s] /Count %d >>" % (kids, 10 ** (levels - at)))
    return _pdf(pages=b"<< /Type /Pages /Kids [6 0 R] /Count %d >>" % 10**levels, more=nodes)


def _packed_blanks(megabytes: int) -> bytes:
    packer = zlib.compressobj(1)
    return b"".join(packer.compress(b" " * 1_000_000) for _ in range(megabytes)) + packer.flush()


_UNPACKED = zlib.compress(b"BT /F1 9 Tf (tide) Tj ET " * 40_000, 9)
_DRAWN = _page(resources=b"/XObject << /X 6 0 R >>")
_CIRCLE = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >> "
_LOCKED = b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >>"
_MARKS = b"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 3 >>"
_MARK = b"<< /Title (Tide) /Parent 6 0 R /Next 7 0 R /Prev 7 0 R /Dest [3 0 R /Fit] >>"
_WITH_MARKS = b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>"
_SCRIPT = b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (while \\(1\\) {}) >> >>"

PDFS: dict[str, Maker] = {
    "empty.pdf": holding(b""),
    "plain text.pdf": holding(WORDS),
    "page of the web.pdf": holding("<!doctype html><title>404</title>"),
    "head alone.pdf": holding(b"%PDF-1.7\n"),
    "noise.pdf": holding(b"%PDF-1.7\n" + noise(100_000)),
    "cut in half.pdf": holding(_pdf()[:300]),
    "cut before its table.pdf": holding(_pdf().partition(b"xref")[0]),
    "wrong places.pdf": holding(_pdf(places=False)),
    "table before itself.pdf": holding(_pdf(trailer=b"/Prev 9 ").replace(b"/Prev 9 ", b"/Prev 0 ")),
    "table in a circle.pdf": holding(
        (lambda data: data.replace(b"/Prev 000", b"/Prev %03d" % data.rindex(b"xref\n0")))(
            _pdf(trailer=b"/Prev 000 ")
        )
    ),
    "asks for a password.pdf": holding(
        write_pdf(
            [_CATALOGUE, _PAGES, _page(), _FONT, _flow(_SHOWN), _LOCKED],
            trailer=b"/Encrypt 6 0 R /ID [<00> <00>] ",
        )
    ),
    "unknown lock.pdf": holding(
        write_pdf(
            [_CATALOGUE, _PAGES, _page(), _FONT, _flow(_SHOWN), b"<< /Filter /Nobody /V 99 >>"],
            trailer=b"/Encrypt 6 0 R /ID [<00> <00>] ",
        )
    ),
    "no pages.pdf": holding(_pdf(pages=b"<< /Type /Pages /Kids [] /Count 0 >>")),
    "pages in a circle.pdf": holding(_pdf(pages=b"<< /Type /Pages /Kids [2 0 R] /Count 5 >>")),
    "pages that are their parents.pdf": holding(
        _pdf(b"<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 3 0 R] /Count 9 >>")
    ),
    "100000 pages claimed.pdf": holding(_pdf(pages=b"<< /Type /Pages /Kids [3 0 R] /Count 100000 >>")),
    "pages below zero.pdf": holding(_pdf(pages=b"<< /Type /Pages /Kids [3 0 R] /Count -7 >>")),
    "one page 10000 times.pdf": holding(_shared_pages(4)),
    "one page a billion times.pdf": holding(_shared_pages(9)),
    "a catalogue that is missing.pdf": holding(_pdf(catalogue=b"null")),
    "a catalogue that is a number.pdf": holding(_pdf(catalogue=b"42")),
    "a catalogue that leads to itself.pdf": holding(_pdf(catalogue=b"1 0 R")),
    "a giant page.pdf": holding(_pdf(_page(box=b"0 0 1e38 1e38"))),
    "a page inside out.pdf": holding(_pdf(_page(box=b"9 9 -9999999999 -1"))),
    "a page without size.pdf": holding(_pdf(_page(box=b"0 0 0 0"))),
    "a giant picture.pdf": holding(
        _pdf(_DRAWN, _flow(b"q 100 0 0 100 0 0 cm /X Do Q"), more=[_image(100_000, 100_000, b"")])
    ),
    "a picture that unpacks.pdf": holding(
        _pdf(
            _DRAWN,
            _flow(b"q 100 0 0 100 0 0 cm /X Do Q"),
            more=[_flow(zlib.compress(b"\0" * 100_000_000, 9), b"/Filter /FlateDecode " + _image(9, 9, b""))],
        )
    ),
    "a picture of noise.pdf": holding(
        _pdf(_DRAWN, _flow(b"/X Do"), more=[_image(500, 500, b"/Filter /JPXDecode ")])
    ),
    "only pictures.pdf": holding(_pdf(content=_flow(b"0 0 100 100 re f"))),
    "unpacks to a million words.pdf": holding(_pdf(content=_flow(_UNPACKED, b"/Filter /FlateDecode "))),
    "unpacks to a gigabyte.pdf": lambda path: path.write_bytes(
        _pdf(content=_flow(zlib.compress(_packed_blanks(1000)), b"/Filter [/FlateDecode /FlateDecode] "))
    ),
    "packed a hundred times.pdf": holding(
        _pdf(content=_flow(zlib.compress(_SHOWN), b"/Filter [" + b"/FlateDecode " * 100 + b"] "))
    ),
    "unknown packing.pdf": holding(_pdf(content=_flow(_SHOWN, b"/Filter /Nobody "))),
    "damaged packing.pdf": holding(
        _pdf(content=_flow(zlib.compress(_SHOWN)[:-20] + b"\xff" * 20, b"/Filter /FlateDecode "))
    ),
    "wrong length.pdf": holding(_pdf().replace(b"/Length %d" % len(_SHOWN), b"/Length 9999999")),
    "length that leads to itself.pdf": holding(_pdf().replace(b"/Length %d" % len(_SHOWN), b"/Length 5 0 R")),
    "lists in lists.pdf": holding(_pdf(catalogue=b"<< /Type /Catalog /Pages 2 0 R /X " + b"[" * 200_000)),
    "lists in a page.pdf": holding(_pdf(content=_flow(b"[" * 300_000 + _SHOWN))),
    "states without end.pdf": holding(_pdf(content=_flow(b"q " * 500_000 + _SHOWN))),
    "a form in itself.pdf": holding(
        _pdf(_DRAWN, _flow(b"/X Do " + _SHOWN), more=[_flow(b"/X Do /X Do", _CIRCLE)])
    ),
    "a letter that draws itself.pdf": holding(
        _pdf(
            font=b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] "
            b"/FirstChar 65 /LastChar 65 /Widths [9] /Encoding << /Differences [65 /A] >> "
            b"/CharProcs << /A 6 0 R >> "
            b"/Resources << /Font << /F1 4 0 R >> >> >>",
            content=_flow(b"BT /F1 9 Tf (AAAA) Tj ET"),
            more=[_flow(b"BT /F1 9 Tf (AA) Tj ET")],
        )
    ),
    "no font.pdf": holding(_pdf(font=b"null")),
    "a font of noise.pdf": holding(
        _pdf(
            font=b"<< /Type /Font /Subtype /TrueType /BaseFont /X /FontDescriptor "
            b"<< /Type /FontDescriptor /FontName /X /Flags 4 /FontFile2 6 0 R >> >>",
            more=[_flow(noise(5000))],
        )
    ),
    "letters that mean nothing.pdf": holding(
        _pdf(
            font=_FONT.replace(b" >>", b" /ToUnicode 6 0 R >>"),
            more=[_flow(b"1 begincodespacerange <00> <ff> endcodespacerange beginbfrange <00> <ff> <d800>")],
        )
    ),
    "letters beyond numbers.pdf": holding(
        _pdf(content=_flow(b"BT /F1 1e38 Tf 1e308 -1e308 Td (Tide) Tj ET BT /F1 -9 Tf 0 0 Td (in) Tj ET"))
    ),
    "500000 letters apart.pdf": holding(
        _pdf(content=_flow(zlib.compress(b"BT /F1 9 Tf (a) Tj ET " * 200_000), b"/Filter /FlateDecode "))
    ),
    "letters without size.pdf": holding(
        _pdf(content=_flow(b"BT /F1 0 Tf 60 700 Td (The tide comes in.) Tj 9 -9 Td (It goes out.) Tj ET"))
    ),
    "bookmarks in a circle.pdf": holding(_pdf(catalogue=_WITH_MARKS, more=[_MARKS, _MARK])),
    "a program inside.pdf": holding(_pdf(catalogue=_SCRIPT)),
    "50000 notes.pdf": holding(
        _pdf(_page(b"/Annots [" + b"<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] >> " * 50_000 + b"] "))
    ),
    "two in one.pdf": holding(_pdf() + _pdf()),
    "a title of noise.pdf": holding(
        _pdf(more=[b"<< /Title (\xff\xfe\x00\xd8\x00) >>"], trailer=b"/Info 6 0 R ")
    ),
    "objects in themselves.pdf": holding(
        _pdf(more=[_flow(b"3 0 " + _page(), b"/Type /ObjStm /N 1 /First 4 /Extends 6 0 R ")])
    ),
}  # fmt: skip

# What is no ordinary file, and names that are no ordinary names


def _socket(path: Path) -> None:
    # the name of a socket may have some 100 characters, which a test's folder may be longer than
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


def _unreadable(path: Path) -> None:
    path.write_text(WORDS)
    path.chmod(0)


def _linked(target: str) -> Maker:
    return lambda path: path.symlink_to(target)


ODD: dict[str, Maker] = {
    "a pipe.txt": lambda path: os.mkfifo(path),
    "a socket.txt": _socket,
    "a link to itself.txt": lambda path: path.symlink_to(path.name),
    "a link to nothing.pdf": _linked("nowhere.pdf"),
    "a link to endless zeroes.txt": _linked("/dev/zero"),
    "a link to endless noise.md": _linked("/dev/urandom"),
    "a link to a terminal.txt": _linked("/dev/tty"),
    "a link to memory.txt": _linked("/proc/self/mem"),
    "closed.txt": _unreadable,
    "caf\udce9.txt": holding(WORDS),
    "two\nlines.txt": holding(b""),
    "\x1b[31mred.txt": holding(b""),
    "n" * 251 + ".txt": holding(WORDS),
    "x.pdf": lambda path: path.mkdir(),
}

BAD_FILES: dict[str, Maker] = (
    PLAIN | PAGES | SAVED | ARCHIVES | CODE | MAILS | WORD | OFFICE | TABLES | PDFS | ODD
)


def make_bad_files(folder: Path, parts: Sequence[str] = ()) -> list[Path]:
    """Write the files whose names hold one of these parts, or all of them."""
    made = []
    for name, make in BAD_FILES.items():
        if not parts or any(part in name for part in parts):
            make(folder / name)
            made.append(folder / name)
    return made


if __name__ == "__main__":
    make_bad_files(Path(sys.argv[1]), sys.argv[2:])
