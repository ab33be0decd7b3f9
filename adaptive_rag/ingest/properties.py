"""What a document says of itself: title, author, date, language, tags; a condition can name them."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime
from typing import Any

from adaptive_rag.ingest.documents import TextBuilder

# Characters of a property that are kept; a longer one is no name.
LONGEST = 300
MOST = 50
# "D:20240301120000+01'00'", as PDF writes it
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
    """Note what a document says of itself, where it says something; what was noted before stands.

    Args:
        builder: where it is noted.
        title: of the document.
        author: a name, or a list of them.
        date: a date or datetime, or text in ISO 8601, of PDF or of e-mail; what is none of them is left out.
        language: as "en" or "en-GB".
        tags: a list, or text with commas or semicolons.
        url: where the document stands on the web.
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
    """Return what can be shown of some values, each once."""
    shown = (" ".join(str(value or "").split()) for value in values)
    return list(dict.fromkeys(text for text in shown if 0 < len(text) <= LONGEST))[:MOST]


def read_date(value: Any) -> str:
    """Return a day as ISO 8601 writes it; "" where there is none to be read."""
    if isinstance(value, date):  # a datetime is one too
        return value.isoformat()[:10]
    text = str(value or "").strip()
    if found := _PDF_DATE.match(text):
        text = "-".join(part for part in found.groups() if part)
    elif re.match(r"[A-Za-z]{3},? \d|\d{1,2} [A-Za-z]{3} \d{4}", text):
        with suppress(ValueError, TypeError, IndexError):
            return email.utils.parsedate_to_datetime(text).date().isoformat()
    with suppress(ValueError):
        return datetime.fromisoformat(text).date().isoformat()
    return text if re.fullmatch(r"\d{4}(-(0[1-9]|1[0-2]))?", text) else ""
