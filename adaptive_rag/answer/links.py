"""Removes images, tags and foreign links from an answer; links to the documents' own addresses stay.

A page that shows an answer loads its images at once, so an image's address could leak the words of the
question. A Markdown parser (CommonMark) finds the links, images and tags that a page would show; the rest of
the text stays byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from adaptive_rag.state import Candidate
from adaptive_rag.text.markdown import MarkdownPart, is_too_complex, read_markdown
from adaptive_rag.text.markers import LOOSE_MARKER, MARKER
from adaptive_rag.text.visible import plain

GONE = "(link removed)"
# "[![a](b)](c)" takes two rounds; a text that is nested deeper than this loses all of its Markdown.
ROUNDS = 8

# An address in running text: with a scheme, or starting with "www.", as programs that turn addresses into
# links accept it.
_BARE = re.compile(r"(?:\b[a-z][a-z0-9+.-]{1,20}://|\bwww\.)[^\s<>‹›\]]+", re.I)
# Schemes that a page would run or draw; they are never accepted as a document's own address.
_ACTIVE = re.compile(r"(?:javascript|vbscript|data|blob):", re.I)
# An answer without a match contains no link, image or tag.
_SUSPECT = re.compile(rf"\]\s*[(\[:]|!\[|<[a-z/!?]|&#?\w+;|\\|{_BARE.pattern}", re.I)
_PUNCTUATION = ".,;:!?'\"”’*_~`"
# Tags that only format text: they load nothing and do nothing.
_FORMATTING = re.compile(r"</?(?:b|i|em|strong|sub|sup|br)\s*/?>", re.I)
_TAG_OPENS = re.compile(r"<(?=[A-Za-z/!?])")


@dataclass(frozen=True)
class _Change:
    start: int
    end: int
    instead: str
    removed: str = ""


def keep_own_links(text: str, own: set[str] | None) -> tuple[str, list[str]]:
    """Return an answer without images, tags, and links to addresses that are not the documents' own.

    An image becomes its description, a link its text, a bare address "(link removed)", and the brackets of a
    tag become ‹ and ›. Fenced code, code spans, and the markers [n] stay as they are. The second result lists
    the removed addresses, without their queries.

    Args:
        text: a model's text, or sentences of documents.
        own: the result of `own_addresses`; None for an answer of the documents' own sentences.
    """
    removed: list[str] = []
    if is_too_complex(text):
        return _without_markdown(text), ["brackets in great number"]
    for _ in range(ROUNDS):
        if _SUSPECT.search(text) is None:
            break
        changes = list(_changes(text, own))
        if not changes:
            decoded = _decoded(text)
            if own is None or not any(_is_foreign(match[0], own) for match in _BARE.finditer(decoded)):
                break
            # "&#104;ttps://" and "https\://" become addresses when they are shown.
            if decoded == text:
                break
            text = decoded
            continue
        removed += [change.removed for change in changes if change.removed]
        for change in reversed(changes):
            text = text[: change.start] + change.instead + text[change.end :]
    else:
        text = _without_markdown(text)
    return text, list(dict.fromkeys(map(_without_query, removed)))


def own_addresses(documents: Iterable[Candidate]) -> set[str]:
    """Return the normalised addresses that occur in documents or are their sources."""
    found: set[str] = set()
    for document in documents:
        text = plain(document["text"])
        found.update(_trim(match[0]) for match in _BARE.finditer(text))
        if _SUSPECT.search(text) and not is_too_complex(text):
            found.update(one.address for one in read_markdown(text) if one.address)
        found.add(document["source"])
        found.update(value for value in document["metadata"].values() if _is_address(value))
    return {_one_form(address) for address in found}


def _changes(text: str, own: set[str] | None) -> Iterator[_Change]:
    """Yield the necessary changes in the order of the text, without nested ones."""
    found = read_markdown(text)
    changes = [change for one in found if (change := _change(one, text, own))]
    # In a table row, a "|" ends the cell and thus also what looks like a code span here.
    cells = [one for one in found if one.kind == "backticks" and "|" in text[one.start : one.end]]
    code = [(one.start, one.end) for one in found if one.kind in ("code", "backticks") and one not in cells]
    for one in cells:
        for match in re.compile(r"!\[").finditer(text, one.start, one.end):
            changes.append(_Change(match.start(), match.end(), "[", "an image"))
    # Code, and the address part of links.
    known = [*code, *((one.middle, one.end) for one in found if one.address)]
    if own is not None:
        for match in _BARE.finditer(text):
            address = _trim(match[0])
            if _is_foreign(address, own) and not _lies_in(match.start(), known):
                changes.append(_Change(match.start(), match.start() + len(address), GONE, address))
    # Escape unclosed tags too, since a page may close a tag by itself.
    known = [*code, *((one.start, one.end) for one in found if one.kind in ("html_inline", "autolink"))]
    changes += [
        _Change(match.start(), match.end(), "‹")
        for match in _TAG_OPENS.finditer(text)
        if not _lies_in(match.start(), known)
    ]
    end = 0
    for change in sorted(changes, key=lambda change: (change.start, -change.end)):
        if change.start >= end:
            yield change
            end = change.end


def _change(one: MarkdownPart, text: str, own: set[str] | None) -> _Change | None:
    """Return the replacement of a link, an image or a tag; None where it may stay."""
    whole = text[one.start : one.end]
    if one.kind == "html_inline":
        if _FORMATTING.fullmatch(whole) and not _stands_alone(one, text):
            return None
        return _Change(one.start, one.end, f"‹{whole[1:-1]}›")
    if one.kind == "image":
        return _Change(one.start, one.end, one.text, one.address or "an image")
    if not one.address or not _is_foreign(one.address, own):
        # "[1]: guide.pdf" would turn the markers [1] into links.
        names_marker = one.kind == "definition" and LOOSE_MARKER.match(whole.lstrip())
        return _Change(one.start, one.end, "") if names_marker else None
    instead = {"definition": "", "autolink": GONE}.get(one.kind, one.text)
    if one.kind == "autolink" and one.address.startswith("mailto:"):
        instead = whole[1:-1]
    # A marker that was written as a link becomes a marker again.
    if one.kind == "link" and LOOSE_MARKER.fullmatch(f"[{one.text}]"):
        instead = f"[{one.text}]"
    return _Change(one.start, one.end, instead, one.address)


def _stands_alone(tag: MarkdownPart, text: str) -> bool:
    """Tell whether a line has no words besides the tag, which may start an HTML block without Markdown."""
    before = max(text.rfind("\n", 0, tag.start), text.rfind("\r", 0, tag.start)) + 1
    after = re.compile(r"[\n\r]|\Z").search(text, tag.end)
    assert after is not None
    return re.search(r"\w", text[before : tag.start] + text[tag.end : after.start()]) is None


def _is_foreign(address: str, own: set[str] | None) -> bool:
    if _ACTIVE.match(re.sub(r"\s", "", address)):
        return True
    return own is not None and _one_form(address) not in own


def _one_form(address: str) -> str:
    """Normalise an address for comparison: no http(s) scheme, no fragment, the host in lower case."""
    address = _trim(address.strip())
    try:
        parts = urlsplit(address if "://" in address or ":" in address else f"https://{address}")
    except ValueError:  # brackets that are no IPv6 address
        return address
    if parts.scheme.lower() not in ("http", "https"):
        return address
    return parts._replace(scheme="", netloc=parts.netloc.lower(), fragment="").geturl().rstrip("/")


def _trim(address: str) -> str:
    """Remove final punctuation, and a closing bracket that was opened before the address."""
    while address:
        last = address[-1]
        opens = {")": "(", "]": "[", "}": "{"}.get(last, "")
        if last not in _PUNCTUATION and not (opens and address.count(last) > address.count(opens)):
            break
        address = address[:-1]
    return address


def _is_address(value: object) -> bool:
    return isinstance(value, str) and "://" in value


def _without_query(address: str) -> str:
    return re.split(r"[?#]", address, maxsplit=1)[0][:120]


def _lies_in(position: int, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in ranges)


def _without_markdown(text: str) -> str:
    """Return a text without its Markdown, brackets and addresses; its words and markers stay."""
    parts = re.split(f"({MARKER.pattern})", _BARE.sub(GONE, text))
    # Parts with odd indices are the markers; the text after a marker must not turn it into a link.
    parts[::2] = [re.sub(r"^[(:]|[][<>!&\\]", " ", part) for part in parts[::2]]
    return "".join(parts)


def _decoded(text: str) -> str:
    from markdown_it.common.utils import unescapeAll

    return unescapeAll(text)
