"""Finds what a Markdown page renders as more than text: links, images, tags and code, with their spans."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_LINE_END = re.compile(r"\r\n?|\n")
# The parser's time grows with the square of the openings that are never closed; this many take a tenth of a
# second.
MOST_OPENINGS = 1000
_OPENINGS = re.compile(r"[\[<]")
# Quotes and lists that are nested deeper than the parser goes.
_DEEP = re.compile(r"^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){50}", re.M)
# "$a[1]$", "$$x$$", "\(x\)", "\[x\]"; not "$5 and $6", where a blank or a digit is on the wrong side, nor
# "$5 [1], in US$", where a blank precedes the bracket.
_FORMULA = re.compile(
    r"\$\$.{1,2000}?\$\$|\\\[.{1,2000}?\\\]|\\\(.{1,500}?\\\)"
    r"|(?<![\\$\w])\$(?=[^\s$])(?:(?!\s\[)[^$\n]){1,200}(?<=[^\s\\])\$(?![\d$])",
    re.S,
)
# "- ", "2) " before a list item.
LIST_SIGN = re.compile(r"^[ \t]*(?:[-*•]|\d{1,3}[.)])\s+", re.M)
# "## Effects", "**no** dredging"; not "#1 of 3", nor "2 ** 3 ** 4".
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*)$", re.M)
_BOLD = re.compile(r"\*\*(?=\S)((?:[^*\n]|\n(?!\n))+?)(?<=\S)\*\*")
# A text without any of these contains no code, formula or address.
_NOT_PROSE = re.compile(r"[`$\\<]|~~~|\][(:]|^(?: {4}|\t)", re.M)


@dataclass(frozen=True)
class MarkdownPart:
    """Something that a page renders as more than text; the offsets refer to the text."""

    kind: str  # the parser's rule: link, image, autolink, html_inline, backticks; or definition, code
    start: int
    end: int
    address: str = ""
    text: str = ""  # the text of a link, or the description of an image
    # where a link's text ends and its address begins
    middle: int = 0


def is_maze(text: str) -> bool:
    """Tell whether a text opens more brackets, quotes or lists than the parser should be given."""
    return len(_OPENINGS.findall(text)) > MOST_OPENINGS or is_deep(text)


def is_deep(text: str) -> bool:
    """Tell whether a text nests quotes or lists deeper than the parser should follow."""
    return _DEEP.search(text) is not None


def verbatim_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of code, formulas and addresses, where characters do not mean what they do in prose.

    A text that is a maze (`is_maze`) has no such spans.
    """
    if _NOT_PROSE.search(text) is None or is_maze(text):
        return []
    parts = read_markdown(text, indented_code=True)
    spans = [(_address_start(one, text), one.end) for one in parts]
    # A dollar sign in code opens no formula.
    prose = text
    for start, end in spans:
        prose = f"{prose[:start]}{' ' * (end - start)}{prose[end:]}"
    return sorted([*spans, *(match.span() for match in _FORMULA.finditer(prose))])


def find_in_prose(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Return the matches of a pattern in a text, without those that end in code, a formula or an address."""
    matches = list(pattern.finditer(text))
    verbatim = verbatim_spans(text) if matches else []
    return [match for match in matches if not any(start < match.end() <= end for start, end in verbatim)]


def sub_in_prose(pattern: re.Pattern[str], write: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace a pattern in a text wherever `find_in_prose` finds it."""
    pieces, last = [], 0
    for match in find_in_prose(pattern, text):
        pieces += [text[last : match.start()], write(match)]
        last = match.end()
    return "".join([*pieces, text[last:]])


def without_emphasis(text: str) -> str:
    """Remove the signs of headings and bold words from a text, except in code."""
    for pattern in (_HEADING, _BOLD):
        text = sub_in_prose(pattern, lambda match: match[1], text)
    return text


def headings_as_bold(text: str) -> str:
    """Return a text with each heading as a bold line."""
    return sub_in_prose(_HEADING, lambda match: f"**{match[1].replace('**', '')}**", text)


def links_as_words(text: str) -> str:
    """Return a text with each link replaced by its text and its address in brackets."""
    if "](" not in text or is_maze(text):
        return text
    pieces, last = [], 0
    for part in sorted(read_markdown(text), key=lambda part: part.start):
        if part.kind == "link" and part.start >= last and text.startswith("](", part.middle):
            shown = " ".join(part.text.split())
            pieces += [
                text[last : part.start],
                shown if shown == part.address else f"{shown} ({part.address})",
            ]
            last = part.end
    return "".join([*pieces, text[last:]])


def _address_start(part: MarkdownPart, text: str) -> int:
    """Return where the address of a link or definition begins; for other parts, where they begin."""
    if part.kind == "definition":
        return text.index("]:", part.start) + 1
    if part.kind != "link":
        return part.start
    return part.middle + 1 if text.startswith("](", part.middle) else part.end


def read_markdown(text: str, *, indented_code: bool = False) -> list[MarkdownPart]:
    """Return what a Markdown page would render as more than text, with spans.

    An indented block is code on a page. Unless `indented_code` is set, it is read as prose, since a text
    that is assembled from parts may lose its indents.
    """
    markdown = _parser(indented_code)
    env: dict[str, Any] = {}
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    tokens = markdown.parse(text, env)
    parts: list[MarkdownPart] = []
    for token in tokens:
        if token.map is None:
            continue
        first, last = token.map
        if token.type in ("fence", "code_block"):
            parts.append(MarkdownPart("code", lines[first], lines[min(last, len(lines) - 1)]))
        elif token.type == "definition":
            end = lines[min(last, len(lines) - 1)]
            parts.append(
                MarkdownPart("definition", lines[first], end, token.meta["url"], middle=lines[first])
            )
        elif token.type == "inline":
            content = token.content
            env["inside"], env["found"] = content, []
            markdown.inline.parse(content, markdown, env, [])
            place = _places(content, text, lines, first)
            for kind, start, end, address, label in env["found"]:
                shown = text[place(label[0]) : place(label[1])] if label else ""
                middle = place(label[1]) if label else place(start)
                parts.append(MarkdownPart(kind, place(start), place(end), address, shown, middle))
    return parts


def _places(content: str, text: str, lines: Sequence[int], first: int) -> Callable[[int], int]:
    """Return a function that maps offsets in a block's content, without its "> ", to offsets in the text."""
    own = content.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in own)]
    shifts = []
    for number, line in enumerate(own):
        begin = lines[min(first + number, len(lines) - 1)]
        stripped = line.lstrip()
        at = text.find(stripped, begin)
        shifts.append(at - (len(line) - len(stripped)) - starts[number])

    def place(offset: int) -> int:
        return offset + shifts[min(bisect_right(starts, offset), len(own)) - 1]

    return place


@cache
def _parser(indented_code: bool) -> MarkdownIt:
    """Return a CommonMark parser that records the span of each link, image, tag and code span."""
    from markdown_it import MarkdownIt, rules_inline

    class Reader(MarkdownIt):
        # Every address is accepted, javascript: and data: too, and is kept as written.
        def validateLink(self, url: str) -> bool:
            return True

        def normalizeLink(self, url: str) -> str:
            return url

    markdown = Reader("commonmark", {"inline_definitions": True, "maxNesting": 100})
    # Tags are matched one by one, not as HTML blocks.
    markdown.disable(["html_block"] if indented_code else ["html_block", "code"])
    # Only blocks are parsed here; `read_markdown` then parses the inside of each.
    markdown.core.ruler.enableOnly(["normalize", "block"])
    rules = {
        "link": rules_inline.link,
        "image": rules_inline.image,
        "autolink": rules_inline.autolink,
        "html_inline": rules_inline.html_inline,
        "backticks": rules_inline.backtick,
    }
    for name, rule in rules.items():
        markdown.inline.ruler.at(name, _noting(name, rule))
    return markdown


def _noting(name: str, rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return a parser rule that records in `env` what it finds."""

    def noting(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        # The description of an image is parsed separately, with other offsets.
        if silent or state.src != state.env.get("inside"):
            return True
        made = {token.type: token for token in reversed(state.tokens[before:])}
        if name == "backticks" and "code_inline" not in made:
            return True
        token = made.get("link_open" if name in ("link", "autolink") else "image")
        address = str(token.attrGet("href") or token.attrGet("src") or "") if token else ""
        label = None
        if name in ("link", "image"):
            opens = start + (name == "image")
            label = (opens + 1, state.md.helpers.parseLinkLabel(state, opens, name == "link"))
        state.env["found"].append((name, start, state.pos, address, label))
        return True

    return noting
