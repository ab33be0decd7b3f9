"""Finds the parts of a Markdown text that are not plain text: links, images, tags and code, with spans."""

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

    InlineRule = Callable[[StateInline, bool], bool]

_LINE_END = re.compile(r"\r\n?|\n")
# The parser's time grows with the square of the brackets that are never closed: 1,000 take 0.1 seconds.
MAX_OPENINGS = 1000
_OPENINGS = re.compile(r"[\[<]")
# Quotes and lists that are nested 50 deep, which is deeper than the parser should follow.
_DEEP = re.compile(r"^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){50}", re.M)
# "$a[1]$", "$$x$$", "\(x\)", "\[x\]"; not "$5 and $6", where a blank or a digit is on the wrong side, nor
# "$5 [1], in US$", where a blank precedes the bracket.
_FORMULA = re.compile(
    r"\$\$.{1,2000}?\$\$|\\\[.{1,2000}?\\\]|\\\(.{1,500}?\\\)"
    r"|(?<![\\$\w])\$(?=[^\s$])(?:(?!\s\[)[^$\n]){1,200}(?<=[^\s\\])\$(?![\d$])",
    re.S,
)
# The "- " or "2) " before a list item.
LIST_SIGN = re.compile(r"^[ \t]*(?:[-*•]|\d{1,3}[.)])\s+", re.M)
# "## Effects", "**no** dredging"; not "#1 of 3", nor "2 ** 3 ** 4".
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*)$", re.M)
_BOLD = re.compile(r"\*\*(?=\S)((?:[^*\n]|\n(?!\n))+?)(?<=\S)\*\*")
# "*Ask at the desk." and "They are shut.*", the two halves of one emphasis; not "* a list item", "4* hotel".
_OPENED = re.compile(r"(?P<mark>\*{1,3}|_)(?=[\"“(]?[^\W\d_a-z])")
_CLOSED = re.compile(r"(?<=[^\s\d*_])(?P<mark>\*{1,3}|(?<=[.!?…])_)$")
# A text without any of these contains no code, formula or address.
_NOT_PROSE = re.compile(r"[`$\\<]|~~~|\][(:]|^(?: {4}|\t)", re.M)


@dataclass(frozen=True)
class MarkdownPart:
    """A part that a page does not render as plain text; the offsets refer to the Markdown text."""

    kind: str  # the parser's rule: link, image, autolink, html_inline, backticks; or definition, code
    start: int
    end: int
    address: str = ""
    text: str = ""  # the text of a link, or the description of an image
    # the offset at which a link's text ends and its address begins
    middle: int = 0


def is_too_complex(text: str) -> bool:
    """Return whether a text has more open brackets, quotes or lists than the parser can handle quickly."""
    return len(_OPENINGS.findall(text)) > MAX_OPENINGS or is_deeply_nested(text)


def is_deeply_nested(text: str) -> bool:
    """Return whether a text nests quotes or lists deeper than the parser should follow."""
    return _DEEP.search(text) is not None


def verbatim_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of code, formulas and addresses, in which "[1]" or "**" has another meaning.

    None are returned for a text that is too complex to parse (`is_too_complex`).
    """
    if _NOT_PROSE.search(text) is None or is_too_complex(text):
        return []
    parts = read_markdown(text, indented_code=True)
    spans = [(_address_start(part, text), part.end) for part in parts]
    # Code is blanked out, since a dollar sign in it does not open a formula.
    prose = text
    for start, end in spans:
        prose = f"{prose[:start]}{' ' * (end - start)}{prose[end:]}"
    return sorted([*spans, *(match.span() for match in _FORMULA.finditer(prose))])


def find_in_prose(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Return the matches of a pattern that do not end in code, a formula or an address."""
    matches = list(pattern.finditer(text))
    verbatim = verbatim_spans(text) if matches else []
    return [match for match in matches if not any(start < match.end() <= end for start, end in verbatim)]


def sub_in_prose(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace the matches of a pattern that `find_in_prose` returns."""
    pieces, last = [], 0
    for match in find_in_prose(pattern, text):
        pieces += [text[last : match.start()], replace(match)]
        last = match.end()
    return "".join([*pieces, text[last:]])


def without_emphasis(text: str) -> str:
    """Remove the marks of headings and bold words from a text, except in code."""
    for pattern in (_HEADING, _BOLD):
        text = sub_in_prose(pattern, lambda match: match[1], text)
    return text


def without_open_emphasis(text: str) -> str:
    """Remove from a sentence the mark of an emphasis that begins or ends in another sentence."""
    marks = re.findall(r"[*_]+", text)
    for match in (_OPENED.match(text), _CLOSED.search(text)):
        if match and marks.count(match["mark"]) == 1:
            text = text.removeprefix(match["mark"]) if match.start() == 0 else text[: match.start()]
    return text


def headings_as_bold(text: str) -> str:
    """Replace each heading of a text by a bold line."""
    return sub_in_prose(_HEADING, lambda match: f"**{match[1].replace('**', '')}**", text)


def links_as_words(text: str) -> str:
    """Replace each link of a text by its text and its address in brackets."""
    if "](" not in text or is_too_complex(text):
        return text
    pieces, last = [], 0
    for part in sorted(read_markdown(text), key=lambda part: part.start):
        if part.kind == "link" and part.start >= last and text.startswith("](", part.middle):
            label = " ".join(part.text.split())
            link = label if label == part.address else f"{label} ({part.address})"
            pieces += [text[last : part.start], link]
            last = part.end
    return "".join([*pieces, text[last:]])


def _address_start(part: MarkdownPart, text: str) -> int:
    """Return the start of the address of a link or definition; for other parts, their own start."""
    if part.kind == "definition":
        return text.index("]:", part.start) + 1
    if part.kind != "link":
        return part.start
    return part.middle + 1 if text.startswith("](", part.middle) else part.end


def read_markdown(text: str, *, indented_code: bool = False) -> list[MarkdownPart]:
    """Return the parts of a text that a Markdown page does not render as plain text.

    With `indented_code`, an indented block is code, as on a page. Without, it is read as prose, since a text
    that was assembled from parts may have lost or gained indents.
    """
    markdown = _parser(indented_code)
    env: dict[str, Any] = {}
    line_starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    parts: list[MarkdownPart] = []
    for token in markdown.parse(text, env):
        if token.map is None:
            continue
        first_line, last_line = token.map
        start, end = line_starts[first_line], line_starts[min(last_line, len(line_starts) - 1)]
        if token.type in ("fence", "code_block"):
            parts.append(MarkdownPart("code", start, end))
        elif token.type == "definition":
            parts.append(MarkdownPart("definition", start, end, token.meta["url"], middle=start))
        elif token.type == "inline":
            content = token.content
            env["content"], env["matches"] = content, []
            markdown.inline.parse(content, markdown, env, [])
            to_text = _offset_mapping(content, text, line_starts, first_line)
            for kind, start, end, address, label in env["matches"]:
                label_text = text[to_text(label[0]) : to_text(label[1])] if label else ""
                middle = to_text(label[1] if label else start)
                parts.append(MarkdownPart(kind, to_text(start), to_text(end), address, label_text, middle))
    return parts


def _offset_mapping(
    content: str, text: str, line_starts: Sequence[int], first_line: int
) -> Callable[[int], int]:
    """Return a function that maps an offset in a block's content to one in the text.

    The content of a quote, for example, lacks the "> " at the start of each line.
    """
    content_lines = content.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in content_lines)]
    shifts = []
    for number, line in enumerate(content_lines):
        line_start = line_starts[min(first_line + number, len(line_starts) - 1)]
        stripped = line.lstrip()
        shifts.append(text.find(stripped, line_start) - (len(line) - len(stripped)) - starts[number])

    def to_text(offset: int) -> int:
        return offset + shifts[min(bisect_right(starts, offset), len(content_lines)) - 1]

    return to_text


@cache
def _parser(indented_code: bool) -> MarkdownIt:
    """Return a CommonMark parser that records the spans of links, images, tags and inline code in `env`."""
    from markdown_it import MarkdownIt, rules_inline

    class Parser(MarkdownIt):
        # Accept every address, even javascript: and data:, and leave it as written.
        def validateLink(self, url: str) -> bool:
            return True

        def normalizeLink(self, url: str) -> str:
            return url

    markdown = Parser("commonmark", {"inline_definitions": True, "maxNesting": 100})
    # Match tags one by one, not as HTML blocks.
    markdown.disable(["html_block"] if indented_code else ["html_block", "code"])
    # Parse only blocks here; `read_markdown` then parses the inside of each.
    markdown.core.ruler.enableOnly(["normalize", "block"])
    rules = {
        "link": rules_inline.link,
        "image": rules_inline.image,
        "autolink": rules_inline.autolink,
        "html_inline": rules_inline.html_inline,
        "backticks": rules_inline.backtick,
    }
    for name, rule in rules.items():
        markdown.inline.ruler.at(name, _recording(name, rule))
    return markdown


def _recording(name: str, rule: InlineRule) -> InlineRule:
    """Return a parser rule that also appends its match to `env["matches"]`."""

    def record(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        # The description of an image is parsed separately, with other offsets.
        if silent or state.src != state.env.get("content"):
            return True
        new_tokens = {token.type: token for token in reversed(state.tokens[before:])}
        if name == "backticks" and "code_inline" not in new_tokens:
            return True
        token = new_tokens.get("link_open" if name in ("link", "autolink") else "image")
        address = str(token.attrGet("href") or token.attrGet("src") or "") if token else ""
        label = None
        if name in ("link", "image"):
            bracket = start + (name == "image")
            label = (bracket + 1, state.md.helpers.parseLinkLabel(state, bracket, name == "link"))
        state.env["matches"].append((name, start, state.pos, address, label))
        return True

    return record
