"""The loader of Markdown: what a reader of the page sees, each line where the file has it."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.front_matter import take_front_matter
from adaptive_rag.ingest.markdown_marks import read_marks
from adaptive_rag.ingest.marks import Kept, numbered_lines, same_lines, tidy_lines, without_signs
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.markdown import is_deep

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+([^ \t\n].*)$", re.MULTILINE)
_SETEXT = re.compile(r"^(?! {0,3}(?:[-=#>|*+]|\d+[.)] ))(\S[^\n]*)\n {0,3}(=+|-{3,})[ \t]*$", re.MULTILINE)
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
# "{3,}+" gives nothing back of what it took, so that a long line of backticks is not tried at each of them
_FENCE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
# a longer line is no heading, and would only be cut
_LONGEST_HEADING = 1000
# "```{note} Title" of MyST holds text, but for these
_DIRECTIVE = re.compile(r"\s*\{(?P<name>[\w:+-]+)\}[ \t]*(?P<title>.*)")
_HOLDS_CODE = re.compile(
    r"code|code-?block|code-cell|sourcecode|literalinclude|math|mermaid|raw|parsed-literal|doctest|graphviz|eval-rst|"
    r"(?:auto|py:|c:|cpp:|js:|rst:).*"
)
_HOLDS_NOTHING = re.compile(r"(?:toc|only|index|include|contents|bibliography|tableofcontents).*")
# "```{image} fees.png" names a file, and no title
_IS_TARGET = re.compile(r"\S+[./]\S+")
_OPTION = re.compile(r"[ \t>]*:[\w-]+:.*")
# "!!! note", "??? tip" and "=== "Tab"" of MkDocs stand above text that is indented
_ABOVE_TEXT = re.compile(r"[ \t]*(?:!!!|\?\?\?\+?|===\+?)[ \t]+\S.*")
# HTML goes on behind a blank line, whatever CommonMark makes of its indent: at a tag, or where these are open
_INDENTED_TAG = re.compile(r"\s*</?[A-Za-z]")
_AROUND = re.compile(
    r"<(?P<end>/?)(?:div|table|section|aside|article|details|blockquote|ul|ol|dl|figure)\b", re.I
)
# How deep directives stand in one another, as far as they are read.
_DEEPEST = 5


def load_markdown(path: Path, builder: TextBuilder) -> None:
    """Write what a Markdown file shows into `builder`, and note its headings and front matter."""
    builder.keeps_lines = True
    text = decode(path.read_bytes(), builder)
    start = take_front_matter(text, builder)
    builder.add("\n" * text.count("\n", 0, start))
    add_markdown(text[start:], builder)


def add_markdown(text: str, builder: TextBuilder) -> None:
    """Append what a reader of Markdown sees, line by line, and note its headings; code blocks hold none.

    Headings, lists, tables, emphasis, code and links to the web stay as Markdown has them.
    """
    before_all = builder.length
    kept = Kept()
    text = without_signs(text)
    seen = same_lines(text, kept.restore(read_marks(_keep_code(text, kept), kept, builder)))
    tidied = tidy_lines(text, seen)
    found = [(match.start(), _without_closing(match[2]), len(match[1])) for match in _ATX.finditer(seen)]
    found += [(match.start(), match[1], 1 if match[2][0] == "=" else 2) for match in _SETEXT.finditer(seen)]
    starts, line, last = [at for at, _ in numbered_lines(tidied)], 0, 0
    for offset, title, level in sorted(found):
        line, last = line + seen.count("\n", last, offset), offset
        if not kept.holds(offset):
            builder.mark_heading(
                _EMPHASIS.sub("", title[:_LONGEST_HEADING]), level, offset=before_all + starts[line]
            )
    builder.add(tidied)


def _without_closing(title: str) -> str:
    """Return a heading without the marks that may close it: "Storms ##"."""
    title = title.rstrip()
    bare = title.rstrip("#")
    return bare.rstrip() if bare.endswith((" ", "\t")) else title


def _keep_code(text: str, kept: Kept, depth: int = 0) -> str:
    """Return a text with signs for its blocks of code, and without what frames a directive's text."""
    if is_deep(text):
        return _FENCE.sub(
            lambda block: kept.keep(block[0].rstrip("\n")) + "\n" * block[0].endswith("\n"), text
        )
    lines = text.split("\n")
    parts, done, before, around = list[str](), 0, "", 0
    for token in _parser().parse(text):
        before, previous = token.type, before
        if token.type == "html_block":
            around = max(0, around + _opened(token.content))
        if token.type not in ("fence", "code_block") or token.map is None or token.map[0] < done:
            continue
        first, last = token.map[0], min(token.map[1], len(lines))
        above = next((line for line in reversed(lines[done:first]) if line.strip()), "")
        directive = _DIRECTIVE.fullmatch(token.info) if token.type == "fence" else None
        block = lines[first:last]
        begins_with_tag = previous == "html_block" and _INDENTED_TAG.match(block[0])
        if token.type == "code_block" and (begins_with_tag or (around and "</" in token.content)):
            before, around = "html_block", max(0, around + _opened(token.content))
            continue
        parts += lines[done:first]
        if token.type == "code_block" and _ABOVE_TEXT.fullmatch(above) and depth < _DEEPEST:
            parts.append(_keep_code(textwrap.dedent("\n".join(block)), kept, depth + 1))
        elif directive and not _HOLDS_CODE.fullmatch(directive["name"].lower()) and depth < _DEEPEST:
            parts.append(_read_directive(directive, block, kept, depth))
        else:
            parts.append(kept.keep("\n".join(block)))
        done = last
    return "\n".join([*parts, *lines[done:]])


def _opened(html: str) -> int:
    """Return how many elements that hold paragraphs a piece of HTML opens and leaves open."""
    return sum(-1 if found["end"] else 1 for found in _AROUND.finditer(html))


def _read_directive(directive: re.Match[str], block: list[str], kept: Kept, depth: int) -> str:
    """Return the text in a directive of MyST, with its title for the line that opens it."""
    if _HOLDS_NOTHING.fullmatch(directive["name"].lower()):
        return "\n" * (len(block) - 1)
    closed = len(block) > 1 and not block[-1].strip("`~: \t>")
    inside = block[1:-1] if closed else block[1:]
    for at, line in enumerate(inside):
        if line.strip() and not _OPTION.fullmatch(line):
            break
        inside[at] = ""
    title = "" if _IS_TARGET.fullmatch(directive["title"].strip()) else directive["title"].strip()
    read = [title, _keep_code("\n".join(inside), kept, depth + 1)] if inside else [title]
    return "\n".join([*read, ""] if closed else read)


@cache
def _parser() -> MarkdownIt:
    """Return a parser of CommonMark that finds blocks, and leaves alone what stands in them."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"maxNesting": 100})
    markdown.core.ruler.enableOnly(["block"])
    markdown.block.ruler.disable(["reference"])
    return markdown
