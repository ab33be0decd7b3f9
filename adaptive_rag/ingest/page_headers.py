"""Page headers and footers, for the loaders of Office documents: each text is written once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from adaptive_rag.ingest.documents import TextBuilder

# "Page 3 of 12", "- 3 -", "Seite 3/12", "???" carry no information; "(555) 555-1212" does.
NUMBER_OF_PAGE = re.compile(
    r"\W*+(?:page|pg|seite|página|pagina|pág|strana|sida)?\W*+\d{0,4}\W*+(?:of|von|de|di|sur|av|z)?\W*+"
    r"\d{0,4}\W*+",
    re.IGNORECASE,
)


def add_page_edges(builder: TextBuilder, texts: Iterable[str], document: Iterable[str]) -> None:
    """Write the text of headers and footers that the document does not contain, each text once.

    It comes before the document's text, like a letterhead, so the builder has no text yet. `document` has the
    text of the document in pieces.
    """
    for text in select_edges(texts, set(), lambda: " ".join(document)):
        builder.add_paragraph(text)


def select_edges(texts: Iterable[str], known: set[str], document: Callable[[], str] = str) -> list[str]:
    """Return each text that is not in `known`, is no page number, and is not in the document.

    All texts are added to `known`. Most slides repeat the footer of the slide before them; then the document,
    which may be long, is not searched again.
    """
    new = [text for text in dict.fromkeys(" ".join(text.split()) for text in texts) if text not in known]
    known.update(new)
    document_text = _normalize(document()) if new else ""
    return [
        text for text in new if not NUMBER_OF_PAGE.fullmatch(text) and _normalize(text) not in document_text
    ]


def _normalize(text: str) -> str:
    """Return a text in lower case, without white space."""
    return "".join(text.split()).casefold()
