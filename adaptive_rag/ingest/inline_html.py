"""What a reader sees of HTML that stands in Markdown: the text between tags, and tables row by row."""

from __future__ import annotations

import html
import re

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.html import write_html
from adaptive_rag.ingest.marks import Finder, Kept, without_signs

_NAMES = frozenset(
    "a abbr acronym address article aside audio b bdi bdo big blockquote body br button canvas "
    "caption center cite code col colgroup data dd del details dfn dialog div dl dt em embed "
    "fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img "
    "input ins kbd label legend li link main map mark menu meta nav object ol optgroup option p "
    "param picture pre progress q rp rt ruby s samp section select small source span strike strong "
    "sub summary sup svg path table tbody td template textarea tfoot th thead time title tr track tt "
    "u ul use var video wbr".split()
)
_JSX = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_TAG = re.compile(
    rf"<(?P<end>/?)(?P<name>[A-Za-z][\w.:-]*+)(?P<attributes>(?:\"[^\"]*+\"|'[^']*+'|{_JSX}|[^\"'<>{{}}]){{0,2000}}+)>"
)
_FRAGMENT = re.compile(r"</?>")
_WORDS = re.compile(
    r"(?<![\w-])(?P<name>alt|caption|label|summary|title)\s*=\s*(?:\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)')", re.I
)
_TABLE = re.compile(r"<table\b(?:(?!<table\b).)*?</table\s*>", re.IGNORECASE | re.DOTALL)
_ROW = re.compile(r"<tr\b", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_VERBATIM = re.compile(r"<(?P<name>pre|code|script|style)\b[^<>]{0,1000}+>", re.IGNORECASE)
_HEADING = re.compile(r"h([1-6])", re.IGNORECASE)
# what stands for a tag that parts words: "one<br>two"
_PARTS = re.compile(r"br|hr|p|div|t[dhr]|d[dt]|li|h[1-6]|summary|option", re.IGNORECASE)
_BARE = re.compile(r"[ \t>]*")


def read_verbatim(text: str, start: int, finder: Finder, kept: Kept) -> tuple[int, str] | None:
    """Return where <pre>, <code>, <script> or <style> that opens at a place ends, and what is kept of it."""
    opening = _VERBATIM.match(text, start)
    if opening is None:
        return None
    name = opening["name"].lower()
    close = finder.find(f"</{name}>", opening.end())
    if close < 0 or (name == "code" and "\n\n" in text[opening.end() : close]):
        return None
    end = close + len(name) + 3
    inside = text[opening.end() : close]
    if name in ("script", "style"):
        return end, kept.drop(text[start:end])
    code = unescape_entities(_TAG.sub(lambda found: "" if _is_tag(found) else found[0], inside))
    if name == "code":
        shown = kept.keep(f"`{code}`" if code.strip() and "`" not in code else code)
        return end, kept.put(text[start:end], shown)
    code = code.rstrip(" \t")
    alone = code.startswith("\n") and code.endswith("\n") and code.strip()
    return end, kept.put(text[start:end], kept.keep(f"```{code}```" if alone else code))


def read_html_tags(text: str, kept: Kept) -> str:
    """Return a text without tags, with a mark where a heading or an item begins; tables become rows.

    "<name>" that no page knows is a word for something to be filled in, and stays.
    """
    if "<" not in text:
        return text
    text = _TABLE.sub(lambda found: _read_table(found[0], kept), text)

    def read(found: re.Match[str]) -> str:
        return kept.put(found[0], _read_tag(found)) if _is_tag(found) else found[0]

    return _FRAGMENT.sub("", _TAG.sub(read, text))


def unescape_entities(text: str) -> str:
    """Return a text with characters in the places of entities: "&eacute;" is "é"."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    found = html.unescape(entity[0])
    return " " if found.isspace() else without_signs(found) if found.isprintable() else ""


def _is_tag(found: re.Match[str]) -> bool:
    """Tell whether a page shows nothing of a tag: HTML's own, a component's, or one with attributes."""
    name, attributes = found["name"], found["attributes"]
    if name.lower() in _NAMES:
        return True
    if name.endswith(":") and attributes.startswith("//"):
        return False  # an address: <https://example.org/a?b=c>
    before = found.string[max(0, found.start() - 1) : found.start()]
    return (name[0].isupper() and not before.isalnum()) or "=" in attributes or attributes.endswith("/")


def _read_tag(found: re.Match[str]) -> str:
    name, attributes = found["name"], found["attributes"]
    words = {word["name"].lower(): (word["a"] or word["b"] or "") for word in _WORDS.finditer(attributes)}
    if name.lower() == "img":
        return " ".join(words.get("alt", "").split())
    if name.lower() not in _NAMES:
        shown = [words[key] for key in ("title", "label", "caption", "summary", "alt") if words.get(key)]
        return " ".join(shown[0].split()) if shown else ""
    begins = _BARE.fullmatch(found.string, found.string.rfind("\n", 0, found.start()) + 1, found.start())
    if begins and not found["end"]:
        level = _HEADING.fullmatch(name)
        return f"{'#' * int(level[1])} " if level else "- " if name.lower() == "li" else ""
    return " " if _PARTS.fullmatch(name) else ""


def _read_table(table: str, kept: Kept) -> str:
    """Return the rows of a table, "Hinge | 4.20", each on the line where it begins, as far as there are
    any.
    """
    rows = TextBuilder()
    write_html(table, rows, styled=False)
    read = [row for row in rows.text.split("\n") if row.strip()]
    lines = table.count("\n") + 1
    begins = [table.count("\n", 0, at) for at in (found.start() for found in _ROW.finditer(table))]
    if len(begins) != len(read):
        begins = list(range(len(read)))
    shown, at = [""] * lines, -1
    for row, begin in zip(read, begins, strict=True):
        at = min(max(begin, at + 1), lines - 1)
        shown[at] = f"{shown[at]}; {row}" if shown[at] else row
    return kept.put(table, "\n".join(shown))
