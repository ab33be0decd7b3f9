"""The Outlook loader: an .msg file, which is an OLE file, becomes an ordinary mail."""

from __future__ import annotations

import email
import struct
from datetime import UTC, datetime, timedelta
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import olefile  # type: ignore[import-untyped]
from compressed_rtf import decompress  # type: ignore[import-untyped]

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.mail import add_mail
from adaptive_rag.ingest.rtf import write_rtf
from adaptive_rag.ingest.text import code_page

# Property numbers, [MS-OXPROPS].
_SUBJECT, _TO, _CC = "0037", "0E04", "0E03"
# The name of a person, the address for mail, and one that inside a company is a directory path.
_SENDER, _RECIPIENT_NAMES = ("0C1A", "5D01", "0C1F"), ("3001", "39FE", "3003")
_BODY, _HTML, _RTF, _HEADERS = "1000", "1013", "1009", "007D"
_DATA, _LONG_NAME, _NAME = "3701", "3707", "3704"
# Numeric properties, which are stored together in one stream.
_PROPERTIES = "__PROPERTIES_VERSION1.0"
_MESSAGE_CODE_PAGE, _BODY_CODE_PAGE, _RECIPIENT, _SENT, _DELIVERED = 0x3FFD, 0x3FDE, 0x0C15, 0x0039, 0x0E06
_MAX_DEPTH = 10
_MOST_RECIPIENTS = 1000
_DAMAGED_RTF = "the text of a mail is compressed RTF that is damaged: save it as .eml or .html"


def load_msg(path: Path, builder: TextBuilder) -> None:
    """Write a mail saved by Outlook into `builder`: its headers, its text and its attachments."""
    if not olefile.isOleFile(path):
        raise IndexingError("is no mail of Outlook. Save it again in Outlook, or as .eml")
    with olefile.OleFileIO(path) as file:
        streams = {tuple(part.upper() for part in name): name for name in file.listdir()}
        reader = _Reader(file, streams)
        message = reader.read(())
    builder.notes += reader.notes
    add_mail(message, builder)


class _Mail(EmailMessage):
    """A mail whose headers are not parsed: Python's parser raises errors of any kind on "Ana <" or "<>"."""

    def get(self, name: str, failobj: Any = None) -> Any:
        """Return a header as it was set."""
        return next((value for key, value in self.raw_items() if key.lower() == name.lower()), failobj)


class _Reader:
    """Reads the mails in an .msg file, each from the storage that holds its properties."""

    def __init__(self, file: Any, streams: dict[tuple[str, ...], list[str]]) -> None:
        self._file = file
        self._streams = streams
        self._encoding = "cp1252"
        self.notes: list[str] = []

    def read(self, folder: tuple[str, ...], depth: int = 1) -> EmailMessage:
        """Return the mail in a storage."""
        outer_encoding = self._encoding
        numbers = self._numbers(folder, 24 if folder else 32)
        number = numbers.get(_MESSAGE_CODE_PAGE) or numbers.get(_BODY_CODE_PAGE)
        self._encoding = code_page(number) or "cp1252"
        message = _Mail()
        for name, value in self._headers(folder, numbers).items():
            if value := " ".join(value.split()):
                # Added directly: the value may not be valid in a mail header, and a policy would refuse it.
                message._headers.append((name, value))  # type: ignore[attr-defined]
        self._add_body(message, folder, numbers)
        for storage in self._storages(folder, "__ATTACH_VERSION1.0_"):
            self._add_attachment(message, storage, depth)
        self._encoding = outer_encoding
        return message

    def _headers(self, folder: tuple[str, ...], numbers: dict[int, int]) -> dict[str, str]:
        """Return the headers of a mail, as it was sent or as Outlook stores them."""
        transport_headers = email.message_from_string(self._text(folder, _HEADERS), policy=policy.compat32)
        sent = _format_time(numbers.get(_SENT) or numbers.get(_DELIVERED))
        return {
            "Subject": self._text(folder, _SUBJECT),
            "From": str(transport_headers.get("From") or self._person(folder, *_SENDER)),
            "To": self._text(folder, _TO),
            "Cc": self._text(folder, _CC),
            **self._recipients(folder),
            "Date": str(transport_headers.get("Date") or sent),
            **{name: str(transport_headers.get(name) or "") for name in ("Message-ID", "References")},
        }

    def _add_body(self, message: EmailMessage, folder: tuple[str, ...], numbers: dict[int, int]) -> None:
        """Set the text of a mail: plain text, else HTML, else rich text."""
        if body := self._text(folder, _BODY):
            message.set_content(body)
        elif html := self._data(folder, f"{_HTML}0102"):
            charset = code_page(numbers.get(_BODY_CODE_PAGE))
            params = {"charset": charset} if charset else None
            message.set_content(html, maintype="text", subtype="html", disposition="inline", params=params)
        elif text := self._text(folder, _HTML):
            message.set_content(text, subtype="html")
        elif compressed := self._data(folder, f"{_RTF}0102"):
            try:
                message.set_content(_read_rtf(decompress(compressed), self.notes))
            except Exception:  # the library has no exceptions of its own
                self.notes.append(_DAMAGED_RTF)

    def _add_attachment(self, message: EmailMessage, storage: tuple[str, ...], depth: int) -> None:
        """Attach the mail or the file in a storage."""
        mail = (*storage, f"__SUBSTG1.0_{_DATA}000D")
        if depth < _MAX_DEPTH and any(name[: len(mail)] == mail for name in self._streams):
            message.add_attachment(self.read(mail, depth + 1))
            return
        name = self._text(storage, _LONG_NAME) or self._text(storage, _NAME) or "attachment without a name"
        data = self._data(storage, f"{_DATA}0102")
        name = " ".join(name.split())
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)

    def _storages(self, folder: tuple[str, ...], prefix: str) -> list[tuple[str, ...]]:
        """Return the storages in a storage whose names begin with `prefix`."""
        storages = {name[: len(folder) + 1] for name in self._streams if name[: len(folder)] == folder}
        return sorted(name for name in storages if name[-1].startswith(prefix))

    def _text(self, folder: tuple[str, ...], number: str) -> str:
        """Return a text property, stored in Unicode or in the mail's code page; "" if there is none."""
        if data := self._data(folder, f"{number}001F"):
            return data.decode("utf-16-le", errors="replace").rstrip("\0")
        return self._data(folder, f"{number}001E").decode(self._encoding, errors="replace").rstrip("\0")

    def _numbers(self, folder: tuple[str, ...], header_size: int) -> dict[int, int]:
        """Return the properties of a storage that are numbers or times."""
        stream = self._streams.get((*folder, _PROPERTIES))
        data = bytes(self._file.openstream(stream).read()) if stream else b""
        count = (len(data) - header_size) // 16
        entries = struct.iter_unpack("<HHIQ", data[header_size : header_size + count * 16])
        return {
            number: value if kind == 0x40 else value & 0xFFFFFFFF
            for kind, number, _, value in entries
            if kind in (0x03, 0x40)
        }

    def _recipients(self, folder: tuple[str, ...]) -> dict[str, str]:
        """Return the recipients of a mail, with their addresses, by "To" and "Cc"."""
        recipients: dict[str, list[str]] = {}
        for storage in self._storages(folder, "__RECIP_VERSION1.0_")[:_MOST_RECIPIENTS]:
            kind = {1: "To", 2: "Cc"}.get(self._numbers(storage, 8).get(_RECIPIENT, 1))
            person = self._person(storage, *_RECIPIENT_NAMES)
            if kind and person:
                recipients.setdefault(kind, []).append(person)
        return {kind: ", ".join(names) for kind, names in recipients.items()}

    def _person(self, storage: tuple[str, ...], name_number: str, *address_numbers: str) -> str:
        """Return a person as "Ana <ana@example.org>", or the name or the address if that is all there is."""
        name = self._text(storage, name_number)
        addresses = (self._text(storage, number) for number in address_numbers)
        address = next((each for each in addresses if "@" in each), "")
        return f"{name} <{address}>" if name and address and address != name else name or address

    def _data(self, folder: tuple[str, ...], name: str) -> bytes:
        stream = self._streams.get((*folder, f"__SUBSTG1.0_{name}"))
        return bytes(self._file.openstream(stream).read()) if stream else b""


def _read_rtf(data: bytes, notes: list[str]) -> str:
    builder = TextBuilder()
    write_rtf(data, builder)
    notes += builder.notes
    return builder.text


def _format_time(value: int | None) -> str:
    """Return a Windows time, in 100 ns since 1601, in the format of a mail header."""
    if not value:
        return ""
    try:
        return format_datetime(datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=value // 10))
    except OverflowError:
        return ""
