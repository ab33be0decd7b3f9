"""Document properties: title, author, date, language, tags; metadata filters can refer to them."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime
from typing import Any

from adaptive_rag.ingest.documents import TextBuilder

# In characters: a longer value is left out.
LONGEST = 300
# The most authors or tags of a document.
MOST = 50
# What programs write if nothing is stated: python-docx, python-pptx (the dates of their templates), openpyxl,
# ReportLab.
_DEFAULTS = {
    "title": ("untitled", "(untitled)"),
    "author": ("python-docx", "openpyxl", "anonymous", "(anonymous)"),
    "date": ("2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z"),
}
# "D:20240301120000+01'00'", the date format of PDF.
_PDF_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")


def note_properties(
    builder: TextBuilder,
    *,
    title: Any = "",
    author: Any = "",
    date: Any = "",
    language: Any = "",
    tags: Iterable[Any] | str = (),
    url: Any = "",
) -> None:
    """Note the properties that a document states, unless they were noted before.

    Defaults of the program that wrote it are no statement. `author` is a name or a list of names, and `tags`
    a list, or text with commas or semicolons. `date` is a date or datetime, or text in the format of ISO
    8601, PDF or e-mail; any other value is left out.
    """
    title, author, date = (
        "" if value in _DEFAULTS[name] else value
        for name, value in (("title", title), ("author", author), ("date", date))
    )
    properties = {"title": title, "language": language, "url": url, "date": read_date(date)}
    for name, value in properties.items():
        if texts := _to_texts([value]):
            builder.metadata.setdefault(name, texts[0])
    if authors := _to_texts(author if isinstance(author, list) else [author]):
        builder.metadata.setdefault("author", authors if len(authors) > 1 else authors[0])
    if tag_texts := _to_texts(re.split(r"[,;]", tags) if isinstance(tags, str) else tags):
        builder.metadata.setdefault("tags", tag_texts)


def _to_texts(values: Iterable[Any]) -> list[str]:
    """Return the values as text, each once, without empty and overlong ones."""
    texts = (" ".join(str(value or "").split()) for value in values)
    return list(dict.fromkeys(text for text in texts if 0 < len(text) <= LONGEST))[:MOST]


def read_date(value: Any) -> str:
    """Return a date in ISO 8601 form; "" if none can be read."""
    if isinstance(value, date):  # a datetime is also a date
        return value.isoformat()[:10]
    text = str(value or "").strip()
    if match := _PDF_DATE.match(text):
        text = "-".join(part for part in match.groups() if part)
    elif re.match(r"[A-Za-z]{3},? \d|\d{1,2} [A-Za-z]{3} \d{4}", text):
        with suppress(ValueError, TypeError, IndexError):
            return email.utils.parsedate_to_datetime(text).date().isoformat()
    with suppress(ValueError):
        return datetime.fromisoformat(text).date().isoformat()
    return text if re.fullmatch(r"\d{4}(-(0[1-9]|1[0-2]))?", text) else ""
