"""Document properties: title, author, date, language, tags; conditions can refer to them."""

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
MOST = 50
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

    Args:
        builder: the builder in which they are noted.
        title: the document's title.
        author: a name, or a list of names.
        date: a date or datetime, or text in the format of ISO 8601, PDF or e-mail; any other value is left
            out.
        language: such as "en" or "en-GB".
        tags: a list, or text with commas or semicolons.
        url: the document's address on the web.
    """
    several = re.split(r"[,;]", tags) if isinstance(tags, str) else tags
    authors = author if isinstance(author, list) else [author]
    texts = {"title": title, "language": language, "url": url, "date": read_date(date)}
    for name, value in texts.items():
        if kept := _kept([value]):
            builder.metadata.setdefault(name, kept[0])
    for name, values in {"author": authors, "tags": several}.items():
        if kept := _kept(values):
            alone = name == "author" and len(kept) == 1
            builder.metadata.setdefault(name, kept[0] if alone else kept)


def _kept(values: Iterable[Any]) -> list[str]:
    """Return the values as text, each once, without empty and overlong ones."""
    shown = (" ".join(str(value or "").split()) for value in values)
    return list(dict.fromkeys(text for text in shown if 0 < len(text) <= LONGEST))[:MOST]


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
