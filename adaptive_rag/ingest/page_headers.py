"""Page headers and footers, for the loaders of Office documents: each text is written once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from adaptive_rag.ingest.documents import TextBuilder

# "Page 3 of 12", "- 3 -", "Seite 3/12", "???" carry no information; "(555) 555-1212" does.
NUMBER_OF_PAGE = re.compile(
    r"\W*(?:page|pg|seite|página|pagina|pág|strana|sida)?\W*\d{0,4}\W*(?:of|von|de|di|sur|av|z)?\W*\d{0,4}\W*",
    re.IGNORECASE,
)


def add_page_edges(builder: TextBuilder, texts: Iterable[str], document: Iterable[str]) -> None:
    """Write the text of headers and footers that the document does not contain, each text once.

    It comes before the document's text, like a letterhead, so the builder has no text yet. `document` has the
    text of the document in pieces.
    """
    for text in tell_apart(texts, " ".join(document)):
        builder.add_paragraph(text)


def tell_apart(texts: Iterable[str], document: str) -> Iterator[str]:
    """Yield each text once, without page numbers and without texts that the document contains."""
    known_text = _normalize(document)
    for text in dict.fromkeys(" ".join(text.split()) for text in texts):
        if not NUMBER_OF_PAGE.fullmatch(text) and _normalize(text) not in known_text:
            yield text


def _normalize(text: str) -> str:
    """Return a text in lower case, without white space."""
    return "".join(text.split()).casefold()
