"""The loader of mails that Outlook saved, .msg: an OLE file, whose properties make an ordinary mail."""

from __future__ import annotations

import email
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import olefile  # type: ignore[import-untyped]

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.mail import add_mail

# numbers of properties, [MS-OXPROPS]
_SUBJECT, _SENDER, _ADDRESS, _TO, _CC = "0037", "0C1A", "0C1F", "0E04", "0E03"
_BODY, _HTML, _RTF, _HEADERS = "1000", "1013", "1009", "007D"
_DATA, _LONG_NAME, _NAME = "3701", "3707", "3704"
_DEEPEST = 10


def load_msg(path: Path, builder: TextBuilder) -> None:
    """Write a mail that Outlook saved into `builder`: its headers and text, and what is attached to it."""
    if not olefile.isOleFile(path):
        raise IndexingError("is no mail of Outlook. Save it again in Outlook, or as .eml")
    with olefile.OleFileIO(path) as file:
        streams = {tuple(part.upper() for part in name): name for name in file.listdir()}
        reader = _Reader(file, streams)
        message = reader.read(())
    builder.notes += reader.notes
    add_mail(message, builder)


class _Reader:
    def __init__(self, file: Any, streams: dict[tuple[str, ...], list[str]]) -> None:
        self._file = file
        self._streams = streams
        self.notes: list[str] = []

    def read(self, folder: tuple[str, ...], depth: int = 1) -> EmailMessage:
        """Return the mail that lies in a storage."""
        known = email.message_from_string(self._text(folder, _HEADERS), policy=policy.compat32)
        message = EmailMessage()
        sender, address = self._text(folder, _SENDER), self._text(folder, _ADDRESS)
        if "@" in address:  # within a firm it is a path in its directory
            sender = f"{sender} <{address}>"
        found = {
            "Subject": self._text(folder, _SUBJECT),
            "From": str(known.get("From") or sender),
            "To": self._text(folder, _TO),
            "Cc": self._text(folder, _CC),
            **{name: str(known.get(name) or "") for name in ("Date", "Message-ID", "References")},
        }
        for name, value in found.items():
            if value := " ".join(value.split()):
                # as it stands: the header may be no header of a mail, which a policy would refuse
                message._headers.append((name, value))  # type: ignore[attr-defined]
        if body := self._text(folder, _BODY):
            message.set_content(body)
        elif html := self._data(folder, f"{_HTML}0102") or self._text(folder, _HTML).encode():
            message.set_content(html, maintype="text", subtype="html", disposition="inline")
        elif self._data(folder, f"{_RTF}0102"):
            self.notes.append(
                "the text of a mail is compressed RTF, which is not read: save it as .eml or .html"
            )
        for storage in self._attachments(folder):
            inner = (*storage, f"__SUBSTG1.0_{_DATA}000D")
            if depth < _DEEPEST and any(name[: len(inner)] == inner for name in self._streams):
                message.add_attachment(self.read(inner, depth + 1))
                continue
            name = (
                self._text(storage, _LONG_NAME) or self._text(storage, _NAME) or "attachment without a name"
            )
            data = self._data(storage, f"{_DATA}0102")
            message.add_attachment(
                data, maintype="application", subtype="octet-stream", filename=" ".join(name.split())
            )
        return message

    def _attachments(self, folder: tuple[str, ...]) -> list[tuple[str, ...]]:
        found = {name[: len(folder) + 1] for name in self._streams if name[: len(folder)] == folder}
        return sorted(name for name in found if name[-1].startswith("__ATTACH_VERSION1.0_"))

    def _text(self, folder: tuple[str, ...], number: str) -> str:
        if data := self._data(folder, f"{number}001F"):
            return data.decode("utf-16-le", errors="replace").rstrip("\0")
        return self._data(folder, f"{number}001E").decode("cp1252", errors="replace").rstrip("\0")

    def _data(self, folder: tuple[str, ...], name: str) -> bytes:
        stream = self._streams.get((*folder, f"__SUBSTG1.0_{name}"))
        return bytes(self._file.openstream(stream).read()) if stream else b""
