"""The reStructuredText loader: the text that a reader sees, each line with its number in the file.

docutils is not used: it knows none of the directives and roles of Sphinx, and records the positions of
paragraphs only.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.front_matter import take_front_matter
from adaptive_rag.ingest.markup_steps import Kept, fenced, numbered_lines, tidy, without_signs
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.rst_marks import RstPage, fold_name, read_inline
from adaptive_rag.ingest.rst_tables import read_csv_table, read_list_table, read_tables
from adaptive_rag.ingest.text import decode

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
# A title with a rule below it, or with the same rule above and below, after a blank line.
_TITLE = re.compile(
    rf"(?:\A|(?<=\n\n))(?P<above>(?P<sign>{_PUNCTUATION})(?P=sign)++[ \t]*\n)?(?P<title>[^\n]++)\n"
    rf"(?P<below>(?P<mark>{_PUNCTUATION})(?P=mark)++)[ \t]*$",
    re.MULTILINE,
)
_RULE = re.compile(rf" *({_PUNCTUATION})\1*+[ \t]*")
_DIRECTIVE = re.compile(
    r"\.\. +(?:\|(?P<sub>[^|]{1,100})\| +)?(?P<name>[A-Za-z][\w:+.-]*?)::(?: +(?P<argument>.*))?"
)
_TARGET = re.compile(r"\.\. +_(?P<name>`[^`]+`|(?:[^:\\]|\\.|:(?! |$))+):(?: +(?P<address>\S.*))?")
_NOTE = re.compile(r"\.\. +\[(?P<label>[#*]?[\w.-]*)\](?: +(?P<text>.*))?")
_OPTION = re.compile(r" +:(?P<name>[\w-]+):(?: +(?P<value>.*))?")
_FIELD = re.compile(r"(?P<indent> *):(?P<name>[A-Za-z](?:[^:\n`\\]|\\.){0,80}):(?: +(?P<value>.*)|(?=$))")
_CODE_DIRECTIVE = re.compile(
    r"code|code-block|sourcecode|parsed-literal|math|productionlist|doctest|test(?:code|setup|output)|prompt|"
    r"ipython|console|graphviz|digraph|mermaid|uml|plantuml|code-cell|plot|literal"
)
_HIDDEN_DIRECTIVE = re.compile(
    r"toctree|index|contents|include|raw|meta|highlight|default-role|role|(?:py:)?(?:current)?module|"
    r"\w+author|tabularcolumns|bibliography|literalinclude|auto.*|testcleanup|sectnum|header|footer|target-notes|"
    r"title|date|unicode"
)
# Directives whose argument is a name, not text.
_NAMED_DIRECTIVE = re.compile(
    r"class|container|only|ifconfig|rst-class|tab-set|grid(?:-item)?|glossary|cssclass|hlist"
)
_SIGNATURE_DIRECTIVE = re.compile(
    r"(?:\w+:)?(?:function|method|staticmethod|classmethod|class|attribute|property|data|exception|decorator|"
    r"macro|member|type|struct|enum|var|option|cmdoption|envvar|confval|setting|describe|object)"
)
_VERSION_PHRASES = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
# Fields at the beginning of a page that control Sphinx.
_SPHINX_FIELDS = ("orphan", "tocdepth", "nocomments", "nosearch", "hide-toc", "no-toc")
# The deepest nesting of directives that is read.
_MAX_DEPTH = 20


def load_rst(path: Path, builder: TextBuilder) -> None:
    """Write the visible text of a reStructuredText file into `builder`, and note its headings and fields.

    Each style of title (its sign, and whether it has a rule above) is a level, in order of first appearance.
    """
    builder.keeps_lines = True
    text = without_signs(decode(path.read_bytes(), builder))
    start = take_front_matter(text, builder)
    text = "\n" * text.count("\n", 0, start) + text[start:].expandtabs(8)
    lines = text.split("\n")
    titles = _take_titles(text, lines)
    page = RstPage()
    blocks = "\n".join(_read_blocks(lines, page))
    visible = tidy(text, page.kept.restore(read_inline(blocks, page)))
    numbered = list(numbered_lines(visible))
    for line, level in titles:
        builder.mark_heading(numbered[line][1], level, offset=builder.length + numbered[line][0])
    fields = page.fields
    note_properties(
        builder,
        author=fields.get("author") or fields.get("authors"),
        date=fields.get("date"),
        tags=fields.get("keywords", ""),
    )
    builder.add(visible)


def _take_titles(text: str, lines: list[str]) -> list[tuple[int, int]]:
    """Return the line and level of each title, and blank out the rules around it."""
    levels: list[tuple[bool, str]] = []
    titles: list[tuple[int, int]] = []
    line = last_start = 0
    for match in _TITLE.finditer(text):
        title, has_overline = match["title"], match["above"] is not None
        if (title[:1].isspace() and not has_overline) or not title.strip() or _RULE.fullmatch(title):
            continue
        if len(match["below"]) < len(title.rstrip()) or (has_overline and match["sign"] != match["mark"]):
            continue
        style = (has_overline, match["mark"])
        if style not in levels:
            levels.append(style)
        line += text.count("\n", last_start, match.start("title"))
        last_start = match.start("title")
        titles.append((line, levels.index(style) + 1))
        lines[line : line + 2] = [title.strip(), ""]
        if has_overline:
            lines[line - 1] = ""
    return titles


def _read_blocks(lines: list[str], page: RstPage, depth: int = 0) -> list[str]:
    """Return the lines of a text as a reader sees them; their number stays the same."""
    result: list[str] = []
    index = 0
    while index < len(lines):
        line, end = lines[index], index + 1
        stripped = line.strip()
        if stripped == ".." or stripped.startswith((".. ", "__ ")):
            end = _find_block_end(lines, index)
            result += _read_explicit(lines[index:end], page, depth)
        elif stripped.endswith("::") and end < len(lines) and not lines[end].strip():
            end = _find_block_end(lines, index)
            paragraph = line.rstrip().removesuffix("::")
            result.append(paragraph if not paragraph.strip() or paragraph.endswith(" ") else f"{paragraph}:")
            result += _fence_code(lines[index + 1 : end], "", page.kept)
        else:
            result.append(_read_line(line, page, depth))
        index = end
    return read_tables(result)


def _read_line(line: str, page: RstPage, depth: int) -> str:
    """Return a line outside of blocks: a field becomes "name: value", a line block loses its bar."""
    if match := _FIELD.fullmatch(line):
        name, value = match["name"], match["value"] or ""
        if name.lower() in _SPHINX_FIELDS and depth == 0:
            return ""
        if depth == 0 and not match["indent"]:
            page.fields.setdefault(name.lower(), value)
        return f"{match['indent']}{name}: {value}"
    stripped = line.strip()
    is_rule = len(stripped) > 3 and _RULE.fullmatch(stripped) and stripped[0] not in "=+|`"
    if is_rule and not line.startswith(" "):
        return ""
    if stripped == "|" or (stripped.startswith("| ") and not stripped.endswith("|")):
        return stripped[2:]
    return re.sub(r"^( *)#\. ", r"\1- ", line)


def _find_block_end(lines: list[str], start: int) -> int:
    """Return the index of the line after a block: the first one that is not blank or indented more deeply.

    The blank line below a block belongs to it, so that code can be closed there.
    """
    indent = len(lines[start]) - len(lines[start].lstrip(" "))
    end = last_filled = start + 1
    if lines[start].strip() == ".." and end < len(lines) and not lines[end].strip():
        return end
    while end < len(lines) and (not lines[end].strip() or lines[end][: indent + 1].isspace()):
        end += 1
        last_filled = end if lines[end - 1].strip() else last_filled
    return last_filled + (last_filled > start + 1 and last_filled < len(lines))


def _read_explicit(block: list[str], page: RstPage, depth: int) -> list[str]:
    """Return the visible text of a block that begins with ".. ", with the same number of lines."""
    first = block[0].strip()
    if directive := _DIRECTIVE.fullmatch(first):
        if directive["sub"]:
            further_lines = (line.strip() for line in block[1:])
            values = {
                "replace": " ".join([directive["argument"] or "", *further_lines]).strip(),
                "image": _read_options(block[1:]).get("alt", ""),
            }
            page.substitutions[fold_name(directive["sub"])] = values.get(directive["name"], "")
            return [""] * len(block)
        return _read_directive(directive, block[1:], page, depth)
    if target := _TARGET.fullmatch(first):
        page.targets[fold_name(target["name"].strip("`"))] = (target["address"] or "").strip()
    elif note := _NOTE.fullmatch(first):
        label = "" if note["label"].startswith(("#", "*")) else f"[{note['label']}] "
        return [f"{label}{note['text'] or ''}", *_read_content(block[1:], page, depth)]
    return [""] * len(block)


def _read_directive(directive: re.Match[str], below: list[str], page: RstPage, depth: int) -> list[str]:
    """Return the visible text of a directive and of the lines below it, with the same number of lines."""
    name, argument = directive["name"].lower(), (directive["argument"] or "").strip()
    if _HIDDEN_DIRECTIVE.fullmatch(name):
        return [""] * (len(below) + 1)
    start = 0
    if below and _OPTION.fullmatch(below[0]):
        start = next((index for index, line in enumerate(below) if not line.strip()), len(below))
    options, content = _read_options(below[:start]), below[start:]
    option_lines = [""] * start
    if _CODE_DIRECTIVE.fullmatch(name):
        is_code = name in ("code", "code-block", "sourcecode")
        caption = "" if is_code or not argument else page.kept.keep(argument)
        return _fence_code([caption, *option_lines, *content], argument if is_code else "", page.kept)
    if name in ("image", "figure"):
        argument = options.get("alt", "")
    elif name in ("list-table", "csv-table"):
        header_rows = options.get("header-rows", "")
        headers = int(header_rows) if header_rows.isdecimal() else 0
        if name == "list-table":
            return [argument, *option_lines, *read_list_table(content, headers)]
        return [argument, *read_csv_table([*option_lines, *content], options.get("header", ""), headers)]
    elif name in _VERSION_PHRASES:
        version, _, text = argument.partition(" ")
        argument = f"{_VERSION_PHRASES[name]} {version}{': ' if text else '.'}{text}"
    elif _NAMED_DIRECTIVE.fullmatch(name) and "(" not in argument:
        argument = ""
    elif _SIGNATURE_DIRECTIVE.fullmatch(name) and argument:
        argument = page.kept.keep(f"`{argument}`")
    return [argument, *option_lines, *_read_content(content, page, depth)]


def _read_content(lines: list[str], page: RstPage, depth: int) -> list[str]:
    """Return the text inside a directive, read like that of the page, without its indent."""
    if depth >= _MAX_DEPTH or not lines:
        return [line.lstrip() for line in lines]
    return _read_blocks(textwrap.dedent("\n".join(lines)).split("\n"), page, depth + 1)


def _fence_code(lines: list[str], language: str, kept: Kept) -> list[str]:
    """Return the lines with their code kept, as a Markdown block if blank lines surround it."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    if not filled:
        return lines
    first, last = filled[0], filled[-1]
    code = textwrap.dedent("\n".join(lines[first : last + 1]))
    if first == 0 or last + 1 == len(lines):
        return [*lines[:first], kept.keep(code), *lines[last + 1 :]]
    return [*lines[: first - 1], kept.keep(fenced(code, language)), *lines[last + 2 :]]


def _read_options(lines: list[str]) -> dict[str, str]:
    """Return the options of a directive, ":alt: The wall", which may continue on further lines."""
    options: dict[str, str] = {}
    name = ""
    for line in lines:
        if option := _OPTION.fullmatch(line):
            name = option["name"]
            options[name] = option["value"] or ""
        elif name:
            options[name] = f"{options[name]} {line.strip()}".strip()
    return options
