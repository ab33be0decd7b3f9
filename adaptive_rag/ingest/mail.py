"""The mail loaders: records for a mail's new text, for the messages it quotes, and for its attachments."""

from __future__ import annotations

import binascii
import email
import quopri
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.attachments import add_attachment
from adaptive_rag.ingest.documents import TextBuilder, attachment_name
from adaptive_rag.ingest.html import read_page
from adaptive_rag.ingest.loaders import SUFFIX_BY_TYPE
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.sentences import iter_sentences

# The deepest nesting of mails in mails, and of quotes in quotes.
_MAX_DEPTH = 10
_LONGEST_HEADER = 300
_HEADER_NAMES = ("Subject", "From", "To", "Cc")
# How mbox separates messages: "From ana@example.org Tue Mar 12 10:42:00 2024", after a blank line.
_MESSAGE_START = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]{3,200}\d{4}[^\n]{0,40}\n")
_ESCAPED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
# "On Tue, 12 Mar 2024, Ana wrote:", which may continue on a second line.
_ATTRIBUTION = re.compile(
    r"^(?:On|Am|Le|El|Il|Op|Em) [^\n]{5,200}(?:\n[^\n]{0,100})?"
    r"\b(?:wrote|writes|schrieb|écrit|escribió|scritto|schreef|escreveu)\b[^\n]{0,80}:[ \t]*$",
    re.MULTILINE,
)
# The lines that Outlook and other programs put above a quoted or forwarded message.
_QUOTE_HEADER = re.compile(
    r"^[ \t]*-{2,} ?(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|"
    r"message d'origine|mensaje original)[^\n]{0,40}$|"
    r"^\*?(?:From|Von|De|Da|Van)[ \xa0]?:\*?[^\n]+\n(?:\*?[^\W\d_][\w \xa0]{0,20}:\*?[^\n]+\n){2,}",
    re.MULTILINE | re.IGNORECASE,
)
# A signature of a few lines, which Gmail puts below the quoted message.
_SIGNATURE = re.compile(r"^-- ?\n(?:(?!>)[^\n]*\n){0,10}(?!>)[^\n]*\Z", re.MULTILINE)


class _AnyBytes(Compat32):
    """Reads headers with bytes beyond ASCII, against the standard, as UTF-8 or Windows-1252."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        """Return a header, whose parser has escaped such bytes."""
        data = value.encode(errors="surrogateescape")
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("cp1252", "replace")


_parse = partial(email.message_from_bytes, policy=_AnyBytes())


def load_eml(path: Path, builder: TextBuilder) -> None:
    """Write a mail into `builder`: its headers and text, the messages it quotes, and its attachments."""
    message = _parse(path.read_bytes())
    if not any(name in message for name in ("From", "Subject", "Date", "To", "Received")):
        raise IndexingError("is no mail: it begins with no line such as From: or Subject:")
    add_mail(message, builder)


def add_mail(message: Message, builder: TextBuilder) -> None:
    """Write a whole mail into `builder`, and use its subject as the document's title."""
    _add_message(message, builder, set())
    if subject := _header(message, "Subject"):
        builder.metadata["title"] = subject


def load_mbox(path: Path, builder: TextBuilder) -> None:
    """Write the mails of a mailbox into `builder`, in the mailbox's order."""
    data = path.read_bytes()
    starts = list(_MESSAGE_START.finditer(data))
    if not starts:
        raise IndexingError(
            "is no mailbox: no line in it begins a message, as 'From ana@example.org Tue ...'"
        )
    ends = [match.start() for match in starts[1:]] + [len(data)]
    texts_read = set[str]()
    for match, end in zip(starts, ends, strict=True):
        message = _parse(_ESCAPED_FROM.sub(rb"\1", data[match.end() : end]))
        _add_message(message, builder, texts_read)


def _add_message(message: Message, builder: TextBuilder, texts_read: set[str], depth: int = 1) -> None:
    """Add a message's headers and new text as one record, and its other contents as further records.

    A quote is left out if all its lines or all its sentences, which mail programs wrap anew, are in
    `texts_read`, those of the messages read before.
    """
    texts: list[str] = []
    attachments: list[Message] = []
    mails: list[Message] = []
    record = TextBuilder()
    for part in _parts(message):
        if part.get_content_type() == "message/rfc822":
            mails += _attached_mails(part)
        elif part.get_filename() or part.get_content_maintype() != "text":
            attachments.append(part)
        else:
            texts.append(_read_part(part, record))
    names = [_name_attachment(part) for part in attachments]
    metadata = _metadata(message)
    new_text, quotes = split_quotes("\n\n".join(filter(None, texts)))
    headers = "\n".join(_header_lines(message, names))
    record.add(f"{headers}\n\n{new_text}" if new_text else headers)
    builder.add_part(record, metadata.get("subject", "Mail"), depth, metadata)
    for attribution, quote in quotes:
        sentences = _sentences(quote)  # none in "???"
        if not (_lines(quote) <= texts_read or (sentences and sentences <= texts_read)):
            quoted = TextBuilder()
            quoted.add("\n\n".join(filter(None, (attribution, quote))))
            builder.add_part(quoted, "quoted", depth + 1, {**metadata, "quoted": True})
    for part, name in zip(attachments, names, strict=True):
        if name:
            data = part.get_payload(decode=True)
            content = data if isinstance(data, bytes) else None
            add_attachment(content, name, builder, depth + 1, metadata)
    if mails and depth == _MAX_DEPTH:
        builder.notes.append(f"mails that lie more than {_MAX_DEPTH} deep in others were not read")
        mails = []
    for mail in mails:
        _add_message(mail, builder, texts_read, depth + 1)
    texts_read |= _lines(new_text) | _sentences(new_text)


def _name_attachment(part: Message) -> str:
    """Return the name of an attachment, or one by its kind if it has none; "" if the kind is not read."""
    if name := part.get_filename():
        return attachment_name(_plain(name))
    suffix = SUFFIX_BY_TYPE.get(part.get_content_type())
    return f"attachment{suffix}" if suffix else ""


def _header_lines(message: Message, attachments: list[str]) -> Iterator[str]:
    """Yield the headers of a mail as a reader sees them, with its date and the names of its attachments."""
    for name in _HEADER_NAMES:
        if value := _header(message, name):
            yield f"{name}: {value}"
    if date := _date(message):
        yield f"Date: {date:%A}, {date.day} {date:%B %Y, %H:%M}"
    if any(attachments):
        yield f"Attachments: {', '.join(filter(None, attachments))}"


def _attached_mails(part: Message) -> list[Message]:
    """Return the mails in a message/rfc822 part; some are base64-encoded, against the standard."""
    mails = [each for each in part.get_payload() if isinstance(each, Message)]
    encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if encoding not in ("base64", "quoted-printable"):
        return mails
    # The parser took the encoded text for the body of a mail without headers.
    encoded = "".join(str(each.get_payload()) for each in mails if not each.keys())
    decode_bytes = binascii.a2b_base64 if encoding == "base64" else quopri.decodestring
    try:
        return [_parse(decode_bytes(encoded.encode()))] if encoded else mails
    except binascii.Error:
        return mails


def _parts(message: Message, depth: int = 0) -> Iterator[Message]:
    """Yield the parts to read; of alternatives, the first that has plain text, else the last.

    Apple Mail puts the attachments into the alternative that is HTML; they are read with either text.
    """
    if not message.is_multipart() or message.get_content_type() == "message/rfc822":
        yield message
        return
    if depth > 10 * _MAX_DEPTH:
        raise RecursionError
    children = [list(_parts(part, depth + 1)) for part in message.get_payload() if isinstance(part, Message)]
    if message.get_content_type() == "multipart/alternative":
        with_plain_text = (parts for parts in children if any(_is_plain(part) for part in parts))
        chosen = next(with_plain_text, children[-1] if children else [])
        others = (part for parts in children if parts is not chosen for part in parts)
        children = [chosen, [part for part in others if _is_attached(part)]]
    for parts in children:
        yield from parts


def _is_attached(part: Message) -> bool:
    """Return whether a part is a file with a name, and not a picture, which is mostly part of the page."""
    return bool(part.get_filename()) and part.get_content_maintype() != "image"


def _is_plain(part: Message) -> bool:
    payload = part.get_payload(decode=True)
    return part.get_content_type() == "text/plain" and isinstance(payload, bytes) and bool(payload.strip())


def _read_part(part: Message, builder: TextBuilder) -> str:
    """Return the text of a text part; notes on its encoding and hidden words go to `builder`."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes) or not data.strip():
        return ""
    if part.get_content_type() == "text/html":
        return read_page(data, part.get_content_charset(), builder).strip()
    return decode(data, builder, part.get_content_charset()).strip()


def _lines(text: str) -> set[str]:
    """Return the different lines of a text, without blank ones."""
    return {" ".join(line.split()) for line in text.splitlines() if line.strip()}


def _sentences(text: str) -> set[str]:
    """Return the different sentences of a text, however its lines are wrapped."""
    return {" ".join(text[start:end].split()) for start, end in iter_sentences(text)}


def split_quotes(text: str, depth: int = 0) -> tuple[str, list[tuple[str, str]]]:
    """Split a mail's new text from the older messages below it, each as its attribution and its text.

    Quotes between the lines of a reply stay in it, each line after its ">", since the reply refers to them. A
    signature below a quote is part of the new text.
    """
    signature = ""
    if (match := _SIGNATURE.search(text)) and _find_trailing_quotes(text[: match.start()]):
        text, signature = text[: match.start()], f"\n\n{match[0]}"
    headers = [match for pattern in (_ATTRIBUTION, _QUOTE_HEADER) if (match := pattern.search(text))]
    starts = [match.start() for match in headers if _reaches_end(text[match.end() :])]
    start = min([*starts, *_find_trailing_quotes(text)], default=None)
    if start is None or depth == _MAX_DEPTH:
        return f"{text}{signature}".strip(), []
    quoted_text = text[start:]
    header_end = _measure_header(quoted_text)
    if all(_find_marks(quoted_text[header_end:])):
        quoted_text = re.sub(r"^> ?", "", quoted_text, flags=re.MULTILINE)
        header_end = _measure_header(quoted_text)
    older_text, older_quotes = split_quotes(quoted_text[header_end:], depth + 1)
    quote = (quoted_text[:header_end].strip(), older_text)
    return f"{text[:start].strip()}{signature}".strip(), [*([quote] if any(quote) else []), *older_quotes]


def _find_trailing_quotes(text: str) -> list[int]:
    """Return the start of each line that is marked as quoted and followed only by such and blank lines."""
    starts, position = list[int](), len(text)
    for line in reversed(text.split("\n")):
        position -= len(line)
        if line.startswith(">"):
            starts.append(position)
        elif line.strip(" \t"):
            break
        position -= 1
    return starts


def _reaches_end(text: str) -> bool:
    """Return whether the text after an attribution is entirely marked as quoted, or begins unmarked.

    Unmarked text may itself quote older messages: a forwarded reply.
    """
    marks = _find_marks(text)
    return all(marks) or not marks[0]


def _find_marks(text: str) -> list[bool]:
    """Return whether each line that is not blank is marked as quoted."""
    return [line.startswith(">") for line in text.splitlines() if line.strip()]


def _measure_header(text: str) -> int:
    """Return the length of the attribution or the header lines with which a quote begins."""
    header = _ATTRIBUTION.match(text) or _QUOTE_HEADER.match(text)
    return header.end() if header else 0


def _metadata(message: Message) -> dict[str, Any]:
    """Return the headers that people filter by, and the id of the message that began the thread."""
    metadata = {name.lower(): value for name in _HEADER_NAMES if (value := _header(message, name))}
    for name in ("Message-ID", "In-Reply-To"):
        if value := _header(message, name):
            metadata[name.lower().replace("-", "_")] = value
    ids = re.findall(r"<[^<>\s]+>", _header(message, "References")) or [
        metadata.get("in_reply_to") or metadata.get("message_id") or ""
    ]
    if ids[0]:
        metadata["thread"] = ids[0]
    if date := _date(message):
        metadata["date"] = date.isoformat()
    return metadata


def _header(message: Message, name: str) -> str:
    """Return a header as readable text, on one line and cut to a maximum length."""
    value = message.get(name)
    # An encoded header is a few times as long as its text.
    return _plain(str(value)[: 8 * _LONGEST_HEADER])[:_LONGEST_HEADER] if value is not None else ""


def _plain(value: str) -> str:
    """Decode a header: "café" for "=?utf-8?q?caf=C3=A9?="; invalid parts stay as they are."""
    # unknown encodings, bytes that are invalid in theirs, and damaged base64
    with suppress(LookupError, ValueError, HeaderParseError):
        value = str(make_header(decode_header(value)))
    return " ".join(value.split())


def _date(message: Message) -> datetime | None:
    with suppress(TypeError, ValueError, OverflowError):
        return parsedate_to_datetime(str(message["Date"]))
    return None
