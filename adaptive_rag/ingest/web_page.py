"""The loader of pages fetched from the web: the main part of a page, and its links.

trafilatura, which was made for this, lost replies in forums and a tenth of the text of manuals (docs/web.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

from lxml import etree

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.html import decode_page, write_html
from adaptive_rag.ingest.web_kinds import LINKS

_MOST_LINKS = 2_000
_FURNITURE = ("nav", "aside", "dialog")
_ROLES = re.compile(
    "navigation|banner|contentinfo|complementary|search|dialog|alertdialog|menu|menubar"
).fullmatch
# Words in a class or an id that name the kind of a part, such as "cookie-banner" and "site_footer".
_NAMED = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|sidebar|breadcrumbs?|newsletter|subscribe|share|sharing|social|related"
    r"|advert\w*|ads?|promo\w*|popup|modal|menu|nav|navbar|navigation|header|footer|masthead|toolbar)(?:$|[\s_-])",
    re.IGNORECASE,
)
# A part that only its name gives away is left out if it is small: the "menu" of a restaurant's page stays.
_MOST_OF_PAGE = 0.25
# A single <main> or <article> is kept as the whole page if it has at least this share of the text.
_LEAST_OF_PAGE = 0.5


def load_web_page(path: Path, builder: TextBuilder) -> None:
    """Write the main part of a page into `builder`; its links go to the metadata, as they are written."""
    page = decode_page(path.read_bytes(), None, builder)
    try:
        # lxml refuses a string that declares an encoding.
        root = etree.HTML(page.encode(), etree.HTMLParser(encoding="utf-8", huge_tree=True))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise IndexingError("is no page of HTML") from error
    if root is None:
        raise IndexingError("holds no text")
    if links := list(_links(root)):
        builder.metadata[LINKS] = links
    if (body := root.find("body")) is not None:
        _keep_main_part(body)
    write_html(etree.tostring(root, encoding="unicode", method="html"), builder)


def _links(root: etree._Element) -> Iterator[str]:
    """Yield the addresses that a page links to, each once, except those marked not to be followed."""
    base = next((each.get("href", "") for each in root.iter("base")), "")
    robots = (
        each.get("content", "") for each in root.iter("meta") if each.get("name", "").lower() == "robots"
    )
    if any("nofollow" in content.lower() for content in robots):
        return
    seen = set[str]()
    for link in root.iter("a", "area"):
        address = link.get("href", "").strip().partition("#")[0]
        if address and "nofollow" not in link.get("rel", "").lower() and address not in seen:
            seen.add(address)
            try:
                yield urljoin(base, address)
            except ValueError:  # "http://[" is not an address
                continue
            if len(seen) >= _MOST_LINKS:
                return


def _keep_main_part(body: etree._Element) -> None:
    """Remove from a page what is on each page of its site: menus, banners, footers."""
    whole = _length(body)
    for part in list(body.iter(etree.Element)):
        if part is body or part.getparent() is None:
            continue
        tag, name = str(part.tag), f"{part.get('class', '')} {part.get('id', '')}"
        of_site = tag in ("header", "footer") and not any(True for _ in part.iterancestors("article", "main"))
        known = tag in _FURNITURE or of_site or _ROLES(part.get("role", "").lower())
        unseen = part.get("hidden") is not None or part.get("aria-hidden", "").lower() == "true"
        named = tag in ("div", "section", "ul", "ol", "p", "table") and _NAMED.search(name)
        if known or unseen or (named and _length(part) < _MOST_OF_PAGE * whole):
            _drop(part)
    main = [part for part in body.iter(etree.Element) if part.tag == "main" or part.get("role") == "main"]
    main = main or list(body.iter("article"))
    if len(main) == 1 and _length(main[0]) >= _LEAST_OF_PAGE * _length(body):
        body.text = None
        body[:] = main
        main[0].tail = None


def _drop(part: etree._Element) -> None:
    """Remove an element, but keep the text that follows it."""
    parent, before = part.getparent(), part.getprevious()
    assert parent is not None
    if part.tail and before is not None:
        before.tail = (before.tail or "") + part.tail
    elif part.tail:
        parent.text = (parent.text or "") + part.tail
    parent.remove(part)


def _length(part: etree._Element) -> int:
    return sum(len(text.strip()) for text in part.itertext(etree.Element))
