"""Between a reader and its worker: messages through pipes, and a source's text as one of them.

A message is a header, which is JSON, and a body of bytes. Nothing that comes from a worker is ever run.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

from adaptive_rag.ingest.documents import Heading, OcrSpan, Page, Record, SourceText

_LENGTHS = struct.Struct(">QQ")


def write_message(stream: BinaryIO, header: Any, body: bytes = b"") -> None:
    """Write one message.

    Raises:
        OSError: the other side is gone.
    """
    head = json.dumps(header, default=str).encode()
    stream.write(_LENGTHS.pack(len(head), len(body)))
    stream.write(head)
    stream.write(body)
    stream.flush()


def read_message(stream: BinaryIO) -> tuple[Any, bytes]:
    """Wait for one message.

    Raises:
        EOFError: the other side is gone.
    """
    head, body = _LENGTHS.unpack(_read(stream, _LENGTHS.size))
    return json.loads(_read(stream, head)), _read(stream, body)


def pack(text: SourceText) -> tuple[dict[str, Any], bytes]:
    """Return a source's text as header and body."""
    header = {
        "source": text.source,
        "content_hash": text.content_hash,
        "pages": [(page.number, page.start) for page in text.pages],
        "headings": [(heading.offset, heading.section) for heading in text.headings],
        "records": [(record.start, record.end, record.metadata, record.page) for record in text.records],
        "metadata": text.metadata,
        "notes": text.notes,
        "lines": text.lines,
        "ocr": [(span.start, span.end, span.confidence) for span in text.ocr],
    }
    return header, text.text.encode(errors="surrogatepass")


def unpack(header: dict[str, Any], body: bytes) -> SourceText:
    """Return the text that `pack` was given."""
    return SourceText(
        source=header["source"],
        text=body.decode(errors="surrogatepass"),
        content_hash=header["content_hash"],
        pages=tuple(Page(*page) for page in header["pages"]),
        headings=tuple(Heading(*heading) for heading in header["headings"]),
        records=tuple(Record(*record) for record in header["records"]),
        metadata=header["metadata"],
        notes=tuple(header["notes"]),
        lines=tuple(header["lines"]),
        ocr=tuple(OcrSpan(*span) for span in header["ocr"]),
    )


def _read(stream: BinaryIO, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found
