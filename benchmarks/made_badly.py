"""Write files that are broken in many ways: a table of file names and the functions that write them.

    python -m benchmarks.made_badly FOLDER [PART OF A NAME ...]

All files are small on the disk, but some unpack to gigabytes, claim to, or link to endless data.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import socket
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

Maker: TypeAlias = Callable[[Path], object]

WORDS = "Shut the gate before the tide comes in. "
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"

_BOMB = (
    '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {n} "{f"&{p};" * 10}">' for p, n in zip("abcdefghi", "bcdefghij", strict=True))
    + "]>"
)
_HOST = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


def with_content(content: bytes | str) -> Maker:
    """Return a function that writes this content to a file."""
    data = content.encode() if isinstance(content, str) else content
    return lambda path: path.write_bytes(data)


def noise(size: int) -> bytes:
    """Return random bytes, the same each time."""
    return random.Random(7).randbytes(size)


# Plain text


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(4 << 30)


PLAIN: dict[str, Maker] = {
    "empty.txt": with_content(b""),
    "blanks.txt": with_content(" \t\n" * 1000),
    "zero bytes.txt": with_content(b"\0" * 1_000_000),
    "program.txt": with_content(b"\x7fELF\x02\x01\x01" + b"\0" * 9 + noise(50_000)),
    "noise.txt": with_content(noise(300_000)),
    "wide without a mark.txt": with_content((WORDS * 20).encode("utf-16-le")),
    "wide half pair.txt": with_content(b"\xff\xfe" + WORDS.encode("utf-16-le") + b"\x00\xd8A\0"),
    "titles.txt": with_content("Mr. " * 250_000),
    "fences.md": with_content("```\n~~~\n" * 30_000),
    "hashes in a heading.md": with_content("# a" + " #" * 60_000 + " x\n" + WORDS),
    "links.md": with_content("[" * 200_000 + "](" * 100_000),
    "surrogates in utf-8.txt": with_content(WORDS.encode() + b"\xed\xa0\x80\xed\xbf\xbf" * 500),
    "four gigabytes of nothing.txt": _sparse,
}

# Web pages

PAGES: dict[str, Maker] = {
    "empty.html": with_content(b""),
    "comments left open.html": with_content("<p>Tide.</p>" + "<!--" * 200_000),
    "tags left open.html": with_content("<p>Tide.</p>" + "<b>" * 100_000 + "</i>" * 100_000),
    "deep blocks.html": with_content("<div>" * 100_000 + "Tide."),
    "long number of a character.html": with_content(f"<p>Tide.&#{'1' * 6000};</p>"),
    "half a character.html": with_content("<p>Tide.&#xD800;&#0;&#1114112;</p>"),
    "entities in entities.html": with_content(_BOMB + "<p>Tide. &j;"),
    "a file of the host.html": with_content(_HOST + "<p>Tide. &x;"),
    "zero bytes.html": with_content(b"<p>Ti\0de.</p>" + b"\0" * 1000),
} | {
    f"called {name}.html": with_content(f'<meta charset="{name}"><p>café tide</p>' + "x" * 20_000)
    for name in (
        "punycode", "undefined", "x-unknown-9", "utf-7", "unicode_escape", "hex", "zlib", "utf-16",
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
    "parts in parts.mhtml": with_content(_nested_mail(3000)),
    "broken base64.mhtml": with_content(_mail("text/html", "PGI+?!#tide", "base64")),
    "odd charset.mhtml": with_content(_mail("text/html; charset*=x''%ff", "<p>tide")),
}

# Archives


def _zip(parts: Mapping[str, bytes | str]) -> bytes:
    """Return an archive of these parts; without dates, so that it is the same each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _tar_header(name: str, kind: bytes, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def _too_many(path: Path) -> None:
    path.write_bytes(_zip({f"{number}.txt": "" for number in range(11_000)}))


def _long_header(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(_tar_header("a", tarfile.XHDTYPE, 600 << 20))
        for _ in range(600):
            file.write(b"\0" * (1 << 20))


_PACKED = _zip({"tide.txt": WORDS * 100})

ARCHIVES: dict[str, Maker] = {
    "empty.zip": with_content(b""),
    "cut.zip": with_content(_PACKED[: len(_PACKED) // 2]),
    "too many.zip": _too_many,
    "climbing.zip": with_content(_zip({"../../etc/tide.txt": WORDS, "/etc/tide.txt": WORDS})),
    "a bomb.zip": with_content(_zip({"tide.txt": b"\0" * 11_000_000})),
    "archives in archives.zip": with_content(_zip({"a.zip": _PACKED})),
    "claims a terabyte.zip": with_content(_PACKED.replace(struct.pack("<L", 4000), b"\xfe\xff\xff\xff")),
    "claims eight gigabytes.tar": with_content(_tar_header("tide.txt", tarfile.REGTYPE, 8 << 30)),
    "a long header.tar.gz": _long_header,
    "noise.tar.xz": with_content(b"\xfd7zXZ\0" + noise(2_000)),
}

# Source code

CODE: dict[str, Maker] = {
    "brackets.py": with_content("(" * 100_000),
    "words and brackets.go": with_content("func (" * 50_000 + "tide"),
}

# Mails

_FROM = b"From: ana@example.org\r\nSubject: Tide\r\n"

MAILS: dict[str, Maker] = {
    "empty.eml": with_content(b""),
    "noise.eml": with_content(noise(200_000)),
    "parts in parts.eml": with_content(_FROM + _nested_mail(3000)),
    "mails in mails.eml": with_content(b"From: a\r\nContent-Type: message/rfc822\r\n\r\n" * 3000 + _FROM),
    "many recipients.eml": with_content(_FROM + b"To: " + b"a@b.example, " * 200_000 + b"\r\n\r\nTide."),
    "words of hex.eml": with_content(b"Subject: =?hex?q?zz?= =?zlib?b?AAAA?= =?idna?q?a?=\r\n\r\nTide."),
}  # fmt: skip

# Word documents

_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_MAIN}"/></Types>'
)


def _links(kind: str, target: str) -> str:
    link = f'<Relationship Id="r1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_RELATIONS}">{link}</Relationships>'


_ROOT_LINKS = _links("officeDocument", "word/document.xml")


def _body(inside: str) -> str:
    return f'<?xml version="1.0"?><w:document {_W}><w:body>{inside}</w:body></w:document>'


def _paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def _word_file(document: str | bytes | None, **more_parts: str) -> bytes:
    parts = {"[Content_Types].xml": _TYPES, "_rels/.rels": _ROOT_LINKS, **more_parts}
    return _zip(parts if document is None else {**parts, "word/document.xml": document})


def _overwrite(data: bytes, mark: bytes, offset: int, replacement: bytes) -> bytes:
    """Return the data with the bytes at an offset from each mark overwritten."""
    changed = bytearray(data)
    for match in re.finditer(re.escape(mark), data):
        start = match.start() + offset
        changed[start : start + len(replacement)] = replacement
    return bytes(changed)


_GOOD_WORD_FILE = _word_file(_body(_paragraph(WORDS) * 200))
_LOCAL, _CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
_STREAM = _GOOD_WORD_FILE.index(b"word/document.xml") + len("word/document.xml")


def _many_entries(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(30_000):
            archive.writestr(f"word/{number}.xml", "")


def _empty_paragraphs(size: int) -> bytes:
    return _body(_paragraph("tide " * 10) + "<w:p/>" * (size // 6)).encode()


WORD: dict[str, Maker] = {
    "empty.docx": with_content(b""),
    "cut in half.docx": with_content(_GOOD_WORD_FILE[: len(_GOOD_WORD_FILE) // 2]),
    "damaged stream.docx": with_content(
        _GOOD_WORD_FILE[:_STREAM] + b"\xff" * 40 + _GOOD_WORD_FILE[_STREAM + 40 :]
    ),
    "asks for a password.docx": with_content(
        _overwrite(_overwrite(_GOOD_WORD_FILE, _CENTRAL, 8, b"\1"), _LOCAL, 6, b"\1")
    ),
    "claims four gigabytes.docx": with_content(
        _overwrite(_GOOD_WORD_FILE, _CENTRAL, 24, b"\xfe\xff\xff\xff")
    ),
    "unpacks to 90 megabytes.docx": lambda path: path.write_bytes(_word_file(_empty_paragraphs(90_000_000))),
    "unpacks to 300 megabytes.docx": lambda path: path.write_bytes(_word_file(_body(" " * 300_000_000))),
    "nested 300000 deep.docx": with_content(_word_file(_body("<w:p>" * 300_000 + "</w:p>" * 300_000))),
    "entities in entities.docx": with_content(
        _word_file(_BOMB + _body(_paragraph("&j;")).partition("?>")[2])
    ),
    "a file of the host.docx": with_content(
        _word_file(_HOST + _body(_paragraph("tide &x;")).partition("?>")[2])
    ),
    "no document.docx": with_content(_word_file(None)),
    "30000 parts.docx": _many_entries,
    "links in a circle.docx": with_content(
        _word_file(
            _body(_paragraph("tide")),
            **{"word/_rels/document.xml.rels": _links("officeDocument", "document.xml")},
        )
    ),
}

# Workbooks, presentations, OpenDocument and books: archives whose one part holds the text

_R = f'xmlns:r="{_OFFICE}"'
_OPEN = "urn:oasis:names:tc:opendocument:xmlns:"


def _workbook(rows: str, *, head: str = "", more: str = "") -> bytes:
    return _zip(
        {
            "_rels/.rels": _links("officeDocument", "xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook {_R}><sheets><sheet name="A" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _links("worksheet", "worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f"{head}<worksheet><sheetData>{rows}</sheetData>{more}</worksheet>",
        }
    )


def _deck(shapes: str, *, head: str = "") -> bytes:
    return _zip(
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
    return _zip({"content.xml": f"{head}<office:document-content {names}>{body}</office:document-content>"})


def _book(page: str | bytes, *, href: str = "a.xhtml") -> bytes:
    item = f'<item id="a" href="{href}" media-type="application/xhtml+xml"/>'
    return _zip(
        {
            "META-INF/container.xml": '<container><rootfile full-path="a.opf"/></container>',
            "a.opf": f'<package><manifest>{item}</manifest><spine><itemref idref="a"/></spine></package>',
            "a.xhtml": page,
        }
    )


def _cell(text: str, place: str = "A1") -> str:
    return f'<row><c r="{place}" t="inlineStr"><is><t>{text}</t></is></c></row>'


_DRAWING = '"http://schemas.openxmlformats.org/drawingml/2006/main"'
_TEXT = "<text:p>tide</text:p>"
_GOOD_FILES = {
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
    f"{name}.{suffix}": with_content(content)
    for suffix, good in _GOOD_FILES.items()
    for name, content in {
        "plain text": WORDS.encode(),
        "cut in half": good[: len(good) // 2],
        "asks for a password": _overwrite(_overwrite(good, _CENTRAL, 8, b"\1"), _LOCAL, 6, b"\1"),
        "claims four gigabytes": _overwrite(good, _CENTRAL, 24, b"\xfe\xff\xff\xff"),
        "noise": noise(20_000),
        "of another kind": _GOOD_WORD_FILE,
    }.items()
} | {
    "entities in entities.xlsx": with_content(_workbook(_cell("&j;"), head=_BOMB)),
    "a file of the host.xlsx": with_content(_workbook(_cell("tide &x;"), head=_HOST)),
    "merged as a whole.xlsx": with_content(
        _workbook(_cell("tide") * 2000, more='<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>' * 99)
    ),
    "groups in groups.pptx": with_content(_deck("<grpSp>" * 3000 + "</grpSp>" * 3000)),
    "entities in entities.odt": with_content(_open("text", "<text:p>&j;</text:p>", head=_BOMB)),
    "a row a billion times.ods": with_content(
        _open(
            "spreadsheet",
            '<table:table><table:table-row table:number-rows-repeated="1000000000"><table:table-cell '
            f'table:number-columns-repeated="1000000000">{_TEXT}</table:table-cell></table:table-row></table:table>',
        )
    ),
    "a file of the host.epub": with_content(_book(_HOST + "<p>Tide. &x;</p>")),
    "braces.rtf": with_content("{\\rtf1 tide" + "{" * 300_000),
    "a chapter that climbs.epub": with_content(_book("<p>Tide.</p>", href="../../../../etc/passwd")),
}

# Tables

TABLES: dict[str, Maker] = {
    "empty.csv": with_content(b""),
    "100000 columns.csv": with_content(",".join(f"c{i}" for i in range(100_000)) + "\n1,2\n"),
    "half a character.json": with_content('{"tide\\ud800": ["\\udfff", {"a": "\\ud83d"}]}'),
    "half a character.jsonl": with_content('{"text": "tide \\ud800 comes"}\n'),
    "zero characters.jsonl": with_content('{"text": "ti\\u0000de", "a\\u0000": "\\u0000"}\n'),
    "times of nonsense.srt": with_content("1\n99:99:99,999 --> 00:00:00,-1\ntide\n"),
}  # fmt: skip

# PDFs


def write_pdf(
    objects: Sequence[bytes], *, trailer: bytes = b"", places: bool = True, version: bytes = b"1.5"
) -> bytes:
    """Return a PDF of these objects, the first of them the catalogue.

    Without `places`, its table of objects has wrong positions.
    """
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


def _stream(content: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s>>\nstream\n%s\nendstream" % (len(content), more, content)


_CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
_PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_TEXT_CONTENT = b"BT /F1 12 Tf 60 700 Td (Shut the gate before the tide comes in.) Tj ET"


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
    flow = _stream(_TEXT_CONTENT) if content is None else content
    objects = [catalogue, pages, _page() if page is None else page, font, flow, *more]
    return write_pdf(objects, trailer=trailer, places=places)


def _image(width: int, height: int, more: bytes) -> bytes:
    kind = b"/Type /XObject /Subtype /Image /Width %d /Height %d " % (width, height)
    return _stream(b"\0" * 100, kind + b"/ColorSpace /DeviceRGB /BitsPerComponent 8 " + more)


def _shared_pages(levels: int) -> bytes:
    """Return a PDF whose page tree has, at each level, the same child ten times."""
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


_DRAWN = _page(resources=b"/XObject << /X 6 0 R >>")
_CIRCLE = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >> "
_LOCKED = b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >>"

PDFS: dict[str, Maker] = {
    "empty.pdf": with_content(b""),
    "noise.pdf": with_content(b"%PDF-1.7\n" + noise(100_000)),
    "cut in half.pdf": with_content(_pdf()[:300]),
    "wrong places.pdf": with_content(_pdf(places=False)),
    "table in a circle.pdf": with_content(
        (lambda data: data.replace(b"/Prev 000", b"/Prev %03d" % data.rindex(b"xref\n0")))(
            _pdf(trailer=b"/Prev 000 ")
        )
    ),
    "asks for a password.pdf": with_content(
        write_pdf(
            [_CATALOGUE, _PAGES, _page(), _FONT, _stream(_TEXT_CONTENT), _LOCKED],
            trailer=b"/Encrypt 6 0 R /ID [<00> <00>] ",
        )
    ),
    "pages in a circle.pdf": with_content(_pdf(pages=b"<< /Type /Pages /Kids [2 0 R] /Count 5 >>")),
    "one page a billion times.pdf": with_content(_shared_pages(9)),
    "a giant picture.pdf": with_content(
        _pdf(_DRAWN, _stream(b"q 100 0 0 100 0 0 cm /X Do Q"), more=[_image(100_000, 100_000, b"")])
    ),
    "a picture that unpacks.pdf": with_content(
        _pdf(
            _DRAWN,
            _stream(b"q 100 0 0 100 0 0 cm /X Do Q"),
            more=[
                _stream(zlib.compress(b"\0" * 100_000_000, 9), b"/Filter /FlateDecode " + _image(9, 9, b""))
            ],
        )
    ),
    "only pictures.pdf": with_content(_pdf(content=_stream(b"0 0 100 100 re f"))),
    "unpacks to a gigabyte.pdf": lambda path: path.write_bytes(
        _pdf(content=_stream(zlib.compress(_packed_blanks(1000)), b"/Filter [/FlateDecode /FlateDecode] "))
    ),
    "a form in itself.pdf": with_content(
        _pdf(_DRAWN, _stream(b"/X Do " + _TEXT_CONTENT), more=[_stream(b"/X Do /X Do", _CIRCLE)])
    ),
    "a letter that draws itself.pdf": with_content(
        _pdf(
            font=b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] "
            b"/FirstChar 65 /LastChar 65 /Widths [9] /Encoding << /Differences [65 /A] >> "
            b"/CharProcs << /A 6 0 R >> "
            b"/Resources << /Font << /F1 4 0 R >> >> >>",
            content=_stream(b"BT /F1 9 Tf (AAAA) Tj ET"),
            more=[_stream(b"BT /F1 9 Tf (AA) Tj ET")],
        )
    ),
}  # fmt: skip

# Special files, links and strange names


def _socket(path: Path) -> None:
    # By a relative name: the path of a socket may have only about 100 characters.
    working_folder = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as endpoint:
            endpoint.bind(path.name)
    finally:
        os.fchdir(working_folder)
        os.close(working_folder)


def _unreadable(path: Path) -> None:
    path.write_text(WORDS)
    path.chmod(0)


def _link_to(target: str) -> Maker:
    return lambda path: path.symlink_to(target)


ODD: dict[str, Maker] = {
    "a pipe.txt": lambda path: os.mkfifo(path),
    "a socket.txt": _socket,
    "a link to itself.txt": lambda path: path.symlink_to(path.name),
    "a link to nothing.pdf": _link_to("nowhere.pdf"),
    "a link to endless zeroes.txt": _link_to("/dev/zero"),
    "closed.txt": _unreadable,
    "caf\udce9.txt": with_content(WORDS),
    "two\nlines.txt": with_content(b""),
    "\x1b[31mred.txt": with_content(b""),
    "n" * 251 + ".txt": with_content(WORDS),
    "x.pdf": lambda path: path.mkdir(),
}

BAD_FILES: dict[str, Maker] = (
    PLAIN | PAGES | SAVED | ARCHIVES | CODE | MAILS | WORD | OFFICE | TABLES | PDFS | ODD
)


def make_bad_files(folder: Path, parts: Sequence[str] = ()) -> list[Path]:
    """Write the files whose names contain one of these parts, or all files; return their paths."""
    paths = []
    for name, write_file in BAD_FILES.items():
        if not parts or any(part in name for part in parts):
            write_file(folder / name)
            paths.append(folder / name)
    return paths


if __name__ == "__main__":
    make_bad_files(Path(sys.argv[1]), sys.argv[2:])
