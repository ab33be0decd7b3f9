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
# The fields of a source's text that are sent in the header, and the classes of their items.
_HEADER_FIELDS = [field.name for field in fields(SourceText) if field.name not in ("text", "whole")]
_ITEM_CLASSES: dict[str, Any] = {"pages": Page, "headings": Heading, "records": Record, "ocr": OcrSpan}


def write_message(stream: BinaryIO, header: Any, body: bytes = b"") -> None:
    """Write one message; an OSError means that the other side is gone."""
    head = json.dumps(header, default=str).encode()
    stream.write(_LENGTHS.pack(len(head), len(body)))
    stream.write(head)
    stream.write(body)
    stream.flush()


def read_message(stream: BinaryIO) -> tuple[Any, bytes]:
    """Wait for one message; an EOFError means that the other side is gone."""
    head, body = _LENGTHS.unpack(_read(stream, _LENGTHS.size))
    return json.loads(_read(stream, head)), _read(stream, body)


def pack(text: SourceText) -> tuple[dict[str, Any], bytes]:
    """Return a source's text as a header and a body."""
    header = {name: getattr(text, name) for name in _HEADER_FIELDS}
    for name, item_class in _ITEM_CLASSES.items():
        names = [field.name for field in fields(item_class)]
        header[name] = [[getattr(item, each) for each in names] for item in header[name]]
    return header, text.text.encode(errors="surrogatepass")


def unpack(header: dict[str, Any], body: bytes) -> SourceText:
    """Return the text that was given to `pack`."""
    values: dict[str, Any] = {**header, "notes": tuple(header["notes"]), "lines": tuple(header["lines"])}
    for name, item_class in _ITEM_CLASSES.items():
        values[name] = tuple(item_class(*item) for item in header[name])
    return SourceText(text=body.decode(errors="surrogatepass"), **values)


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
