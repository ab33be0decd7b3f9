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
_OPENING = {")": "(", "]": "[", "}": "{"}
# Tags that only format text: they load nothing and do nothing.
_FORMATTING = re.compile(r"</?(?:b|i|em|strong|sub|sup|br)\s*/?>", re.I)
_IMAGE_START = re.compile(r"!\[")
_LINE_END = re.compile(r"[\n\r]|\Z")
_TAG_OPENS = re.compile(r"<(?=[A-Za-z/!?])")


@dataclass(frozen=True)
class _Change:
    start: int
    end: int
    replacement: str
    removed: str = ""  # the address


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
        changes = list(_find_changes(text, own))
        if not changes:
            decoded = _decode(text)
            if own is None or not any(_is_foreign(match[0], own) for match in _BARE.finditer(decoded)):
                break
            # "&#104;ttps://" and "https\://" become addresses when they are shown.
            if decoded == text:
                break
            text = decoded
            continue
        removed += [change.removed for change in changes if change.removed]
        for change in reversed(changes):
            text = text[: change.start] + change.replacement + text[change.end :]
    else:
        text = _without_markdown(text)
    return text, list(dict.fromkeys(map(_without_query, removed)))


def own_addresses(documents: Iterable[Candidate]) -> set[str]:
    """Return the normalised addresses that occur in documents or are their sources."""
    addresses: set[str] = set()
    for document in documents:
        text = plain(document["text"])
        addresses.update(_trim(match[0]) for match in _BARE.finditer(text))
        if _SUSPECT.search(text) and not is_too_complex(text):
            addresses.update(part.address for part in read_markdown(text) if part.address)
        addresses.add(document["source"])
        values = document["metadata"].values()
        addresses.update(value for value in values if isinstance(value, str) and "://" in value)
    return set(map(_normalise, addresses))


def _find_changes(text: str, own: set[str] | None) -> Iterator[_Change]:
    """Yield the necessary changes in the order of the text, without nested ones."""
    parts = read_markdown(text)
    changes = [change for part in parts if (change := _change_part(part, text, own))]
    # In a table row, a "|" ends the cell and thus also what looks like a code span here.
    cut_spans = [part for part in parts if part.kind == "backticks" and "|" in text[part.start : part.end]]
    code = [(p.start, p.end) for p in parts if p.kind in ("code", "backticks") and p not in cut_spans]
    for part in cut_spans:
        for match in _IMAGE_START.finditer(text, part.start, part.end):
            changes.append(_Change(match.start(), match.end(), "[", "an image"))
    if own is not None:
        code_and_links = [*code, *((part.middle, part.end) for part in parts if part.address)]
        for match in _BARE.finditer(text):
            address = _trim(match[0])
            if _is_foreign(address, own) and not _lies_in(match.start(), code_and_links):
                changes.append(_Change(match.start(), match.start() + len(address), GONE, address))
    # Unclosed tags are escaped too, since a page may close a tag by itself.
    tags = [(part.start, part.end) for part in parts if part.kind in ("html_inline", "autolink")]
    changes += [
        _Change(match.start(), match.end(), "‹")
        for match in _TAG_OPENS.finditer(text)
        if not _lies_in(match.start(), [*code, *tags])
    ]
    end = 0
    for change in sorted(changes, key=lambda change: (change.start, -change.end)):
        if change.start >= end:
            yield change
            end = change.end


def _change_part(part: MarkdownPart, text: str, own: set[str] | None) -> _Change | None:
    """Return the replacement of a link, an image or a tag; None where it may stay."""
    source = text[part.start : part.end]
    if part.kind == "html_inline":
        if _FORMATTING.fullmatch(source) and not _is_alone_on_line(part, text):
            return None
        return _Change(part.start, part.end, f"‹{source[1:-1]}›")
    if part.kind == "image":
        return _Change(part.start, part.end, part.text, part.address or "an image")
    if not part.address or not _is_foreign(part.address, own):
        # "[1]: guide.pdf" would turn the markers [1] into links.
        names_marker = part.kind == "definition" and LOOSE_MARKER.match(source.lstrip())
        return _Change(part.start, part.end, "") if names_marker else None
    replacement = {"definition": "", "autolink": GONE}.get(part.kind, part.text)
    if part.kind == "autolink" and part.address.startswith("mailto:"):
        replacement = source[1:-1]
    # A marker that was written as a link becomes a marker again.
    if part.kind == "link" and LOOSE_MARKER.fullmatch(f"[{part.text}]"):
        replacement = f"[{part.text}]"
    return _Change(part.start, part.end, replacement, part.address)


def _is_alone_on_line(tag: MarkdownPart, text: str) -> bool:
    """Return whether a line has no words besides the tag, which may start an HTML block without Markdown."""
    start = max(text.rfind("\n", 0, tag.start), text.rfind("\r", 0, tag.start)) + 1
    end = _LINE_END.search(text, tag.end)
    assert end is not None
    return re.search(r"\w", text[start : tag.start] + text[tag.end : end.start()]) is None


def _is_foreign(address: str, own: set[str] | None) -> bool:
    if _ACTIVE.match(re.sub(r"\s", "", address)):
        return True
    return own is not None and _normalise(address) not in own


def _normalise(address: str) -> str:
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
    unopened = {last: address.count(last) - address.count(first) for last, first in _OPENING.items()}
    end = len(address)
    while end and (address[end - 1] in _PUNCTUATION or unopened.get(address[end - 1], 0) > 0):
        end -= 1
        if address[end] in unopened:
            unopened[address[end]] -= 1
    return address[:end]


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


def _decode(text: str) -> str:
    from markdown_it.common.utils import unescapeAll

    return unescapeAll(text)
