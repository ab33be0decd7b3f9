"""The Markdown loader: the text that a reader of the page sees, each line with its number in the file."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.front_matter import take_front_matter
from adaptive_rag.ingest.markdown_marks import read_marks
from adaptive_rag.ingest.markup_steps import Kept, numbered_lines, tidy, without_signs
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.markdown import is_deeply_nested

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_ATX_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+([^ \t\n].*)$", re.MULTILINE)
_SETEXT_HEADING = re.compile(
    r"^(?! {0,3}(?:[-=#>|*+]|\d+[.)] ))(\S[^\n]*)\n {0,3}(=+|-{3,})[ \t]*$", re.MULTILINE
)
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
# The signs after a heading: "Storms ##".
_CLOSING_SIGNS = re.compile(r"(?<=[ \t])#+\s*$")
# "{3,}+" is possessive, so that a long line of backticks is not tried again from each backtick.
_FENCE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
# A longer line is not a heading, and would only be cut.
_LONGEST_HEADING = 1000
# A MyST directive, "```{note} Title", holds text, except for the kinds listed here.
_DIRECTIVE = re.compile(
    r"\s*\{(?!code|source|literal|math|mermaid|raw|parsed|doctest|eval|auto)"
    r"(?P<hidden>toc|only|index|include|contents|bibliography|image|figure)?[\w:+-]*\}(?P<title>.*)"
)
_OPTION = re.compile(r"[ \t>]*:[\w-]+:.*")
# "!!! note", "??? tip" and "=== "Tab"" of MkDocs are followed by indented text.
_INDENTED_BLOCK_START = re.compile(r"[ \t]*(?:!!!|\?\?\?\+?|===\+?)[ \t]+\S.*")
# The deepest nesting of such text that is read.
_DEEPEST = 5


def load_markdown(path: Path, builder: TextBuilder) -> None:
    """Write the visible text of a Markdown file into `builder`, and note its headings and front matter."""
    builder.keeps_lines = True
    text = decode(path.read_bytes(), builder)
    start = take_front_matter(text, builder)
    builder.add("\n" * text.count("\n", 0, start))
    add_markdown(text[start:], builder)


def add_markdown(text: str, builder: TextBuilder) -> None:
    """Append the visible text of Markdown, line by line, and note its headings; code blocks have none.

    Headings, lists, tables, emphasis, code and links to the web keep their Markdown form.
    """
    kept = Kept()
    text = without_signs(text)
    visible = kept.restore(read_marks(_keep_code(text, kept), kept))
    tidied = tidy(text, visible)
    headings = [(match.start(), match[2], len(match[1])) for match in _ATX_HEADING.finditer(visible)]
    headings += [
        (match.start(), match[1], 1 if match[2][0] == "=" else 2)
        for match in _SETEXT_HEADING.finditer(visible)
    ]
    line_starts = [start for start, _ in numbered_lines(tidied)]
    line = last_offset = 0
    for offset, title, level in sorted(headings):
        line += visible.count("\n", last_offset, offset)
        last_offset = offset
        if not kept.holds(offset) and line < len(line_starts):
            title = _EMPHASIS.sub("", _CLOSING_SIGNS.sub("", title[:_LONGEST_HEADING]))
            builder.mark_heading(title, level, offset=builder.length + line_starts[line])
    builder.add(tidied)


def _keep_code(text: str, kept: Kept, depth: int = 0) -> str:
    """Replace code blocks by placeholders, and remove the markup of text that only looks like code."""
    if is_deeply_nested(text) or depth > _DEEPEST:
        return _FENCE.sub(
            lambda block: kept.keep(block[0].rstrip("\n")) + "\n" * block[0].endswith("\n"), text
        )
    lines = text.split("\n")
    result, next_line = list[str](), 0
    for token in _parser().parse(text):
        if token.type not in ("fence", "code_block") or token.map is None or token.map[0] < next_line:
            continue
        first, last = token.map[0], min(token.map[1], len(lines))
        above = next((line for line in reversed(lines[next_line:first]) if line.strip()), "")
        directive = _DIRECTIVE.fullmatch(token.info) if token.type == "fence" else None
        result += lines[next_line:first]
        block = lines[first:last]
        if token.type == "code_block" and _INDENTED_BLOCK_START.fullmatch(above):
            result.append(_keep_code(textwrap.dedent("\n".join(block)), kept, depth + 1))
        elif directive:
            result += _read_directive(directive, block, kept, depth)
        else:
            result.append(kept.keep("\n".join(block)))
        next_line = last
    return "\n".join([*result, *lines[next_line:]])


def _read_directive(directive: re.Match[str], block: list[str], kept: Kept, depth: int) -> list[str]:
    """Return the lines inside a MyST directive, with its title in place of its opening line."""
    if directive["hidden"] or len(block) == 1:
        return [""] * len(block)
    content = ["" if _OPTION.fullmatch(line) else line for line in block[1:]]
    content[-1] = content[-1] if content[-1].strip("`~: \t>") else ""
    return [directive["title"].strip(), _keep_code("\n".join(content), kept, depth + 1)]


@cache
def _parser() -> MarkdownIt:
    """Return a CommonMark parser that finds blocks and does not parse the text inside them."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"maxNesting": 100})
    markdown.core.ruler.enableOnly(["block"])
    markdown.block.ruler.disable(["reference"])
    return markdown
