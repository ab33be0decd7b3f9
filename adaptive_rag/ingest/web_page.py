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
_SITE_TAGS = ("nav", "aside", "dialog")
_is_site_role = re.compile(
    "navigation|banner|contentinfo|complementary|search|dialog|alertdialog|menu|menubar"
).fullmatch
# Words in a class or an id that name the kind of a part, such as "cookie-banner" and "site_footer".
_SITE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|sidebar|breadcrumbs?|newsletter|subscribe|share|sharing|social|related"
    r"|advert\w*|ads?|promo\w*|popup|modal|menu|nav|navbar|navigation|header|footer|masthead|toolbar)(?:$|[\s_-])",
    re.IGNORECASE,
)
# A part that is recognised by its name alone is left out only if it has less than this share of the text: the
# "menu" of a restaurant's page stays.
_LARGEST_NAMED_SHARE = 0.25
# A single <main> or <article> is kept as the whole page if it has at least this share of the text.
_SMALLEST_MAIN_SHARE = 0.5


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
    base = next((element.get("href", "") for element in root.iter("base")), "")
    for meta in root.iter("meta"):
        if meta.get("name", "").lower() == "robots" and "nofollow" in meta.get("content", "").lower():
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
    page_length = _text_length(body)
    titles = list(body.iter("h1"))
    # "<div class='page-header'>" and pandoc's "<header>" hold the title of a page.
    title_parts = set(titles[0].iterancestors()) if len(titles) == 1 else set()
    for part in list(body.iter(etree.Element)):
        if part is body or part.getparent() is None:
            continue
        tag, name = str(part.tag), f"{part.get('class', '')} {part.get('id', '')}"
        is_site_edge = (
            tag in ("header", "footer")
            and part not in title_parts
            and next(part.iterancestors("article", "main"), None) is None
        )
        is_site_part = tag in _SITE_TAGS or is_site_edge or _is_site_role(part.get("role", "").lower())
        # Wikipedia hides the pictures of formulas from programs that read aloud.
        is_hidden = tag != "img" and (
            part.get("hidden") is not None or part.get("aria-hidden", "").lower() == "true"
        )
        has_site_name = tag in ("div", "section", "ul", "ol", "p", "table") and _SITE_NAMES.search(name)
        is_named_part = (
            has_site_name
            and part not in title_parts
            and _text_length(part) < _LARGEST_NAMED_SHARE * page_length
        )
        if is_site_part or is_hidden or is_named_part:
            _remove(part)
    mains = [part for part in body.iter(etree.Element) if part.tag == "main" or part.get("role") == "main"]
    mains = mains or list(body.iter("article"))
    if len(mains) == 1 and _text_length(mains[0]) >= _SMALLEST_MAIN_SHARE * _text_length(body):
        body.text = None
        body[:] = mains
        mains[0].tail = None


def _remove(part: etree._Element) -> None:
    """Remove an element, but keep the text that follows it."""
    parent, previous = part.getparent(), part.getprevious()
    assert parent is not None
    if part.tail and previous is not None:
        previous.tail = (previous.tail or "") + part.tail
    elif part.tail:
        parent.text = (parent.text or "") + part.tail
    parent.remove(part)


def _text_length(part: etree._Element) -> int:
    return sum(len(text.strip()) for text in part.itertext(etree.Element))
