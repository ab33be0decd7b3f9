"""Messages between a reader and its worker, sent through pipes; a source's text is sent as one message.

A message has a header, which is JSON, and a body of bytes. Data from a worker is never run as code.
"""

from __future__ import annotations

import json
import struct
from dataclasses import fields
from typing import Any, BinaryIO

from adaptive_rag.ingest.documents import Heading, OcrSpan, Page, Record, SourceText

_LENGTHS = struct.Struct(">QQ")
# The fields of a source's text that are sent besides its characters, and the classes of their items.
_SENT = [field.name for field in fields(SourceText) if field.name not in ("text", "whole")]
_PARTS: dict[str, Any] = {"pages": Page, "headings": Heading, "records": Record, "ocr": OcrSpan}


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
    """Return a source's text as a header and a body."""
    header = {name: getattr(text, name) for name in _SENT}
    for name, kind in _PARTS.items():
        header[name] = [[getattr(part, each.name) for each in fields(kind)] for part in header[name]]
    return header, text.text.encode(errors="surrogatepass")


def unpack(header: dict[str, Any], body: bytes) -> SourceText:
    """Return the text that was given to `pack`."""
    parts = {name: tuple(kind(*part) for part in header[name]) for name, kind in _PARTS.items()}
    known: dict[str, Any] = {
        **header,
        **parts,
        "notes": tuple(header["notes"]),
        "lines": tuple(header["lines"]),
    }
    return SourceText(text=body.decode(errors="surrogatepass"), **known)


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
