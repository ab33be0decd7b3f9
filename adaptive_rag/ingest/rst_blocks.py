"""The blocks of reStructuredText: directives, literal text, tables and fields, as a reader sees them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

from adaptive_rag.ingest.marks import Kept
from adaptive_rag.ingest.rst_tables import read_csv_table, read_list_table, read_tables

_DIRECTIVE = re.compile(
    r"\.\. +(?:\|(?P<sub>[^|]{1,100})\| +)?(?P<name>[A-Za-z][\w:+.-]*?)::(?: +(?P<argument>.*))?"
)
_TARGET = re.compile(
    r"\.\. +_(?P<name>`[^`]+`|(?:[^:\\]|\\.|:(?! |$))+):(?: +(?P<address>\S.*))?|__ +\S.*|\.\. +__:.*"
)
_NOTE = re.compile(r"\.\. +\[(?P<label>[#*]?[\w.-]*)\](?: +(?P<text>.*))?")
_OPTION = re.compile(r" +:[\w-]+:(?: .*)?")
_FIELD = re.compile(r"(?P<indent> *):(?P<name>[A-Za-z](?:[^:\n`\\]|\\.){0,80}):(?: +(?P<value>.*)|(?=$))")
_LITERAL = re.compile(r"(?P<text>.*?)(?P<blank> ?)::")
_TRANSITION = re.compile(r"([!-/:-@\[-`{-~])\1{3,}")
_CODE = frozenset(
    "code code-block sourcecode parsed-literal math productionlist doctest testcode testsetup "
    "testoutput prompt ipython console graphviz digraph graph mermaid uml plantuml code-cell "
    "jupyter-execute plot literal highlight-code".split()
)
_HIDDEN = frozenset(
    "toctree index contents include raw meta highlight default-role role module currentmodule "
    "py:module py:currentmodule "
    "sectionauthor codeauthor moduleauthor tabularcolumns bibliography literalinclude automodule "
    "autoclass autofunction automethod autosummary autoexception autodata autoattribute testcleanup "
    "restructuredtext-test-directive sectnum header footer target-notes title date unicode".split()
)
_PICTURE = frozenset({"image", "figure"})
_CHANGED = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_SIGNATURE = re.compile(
    r"(?:\w+:)?(?:function|method|staticmethod|classmethod|class|attribute|property|data|exception|decorator|macro|"
    r"member|type|struct|enum|var|option|cmdoption|envvar|confval|setting|describe|object)"
)
# what these have behind their name is no text
_NAMED = frozenset(
    {
        "class",
        "container",
        "only",
        "ifconfig",
        "rst-class",
        "tab-set",
        "grid",
        "grid-item",
        "glossary",
        "cssclass",
        "hlist",
    }
)
# of docinfo, what steers the page
_STEERING = frozenset({"orphan", "tocdepth", "nocomments", "nosearch", "hide-toc", "no-toc"})
_DOCINFO = frozenset({"author", "authors", "date", "keywords"})
# How deep directives stand in one another, as far as they are read.
_DEEPEST = 20


@dataclass
class Names:
    """What a text defines: substitutions, targets, and the fields at its beginning."""

    substitutions: dict[str, str] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)


def read_blocks(lines: list[str], kept: Kept, names: Names, depth: int = 0) -> list[str]:
    """Return the lines of a text as a reader sees them, as many as there are."""
    shown: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if (bare.startswith("..") and (len(bare.rstrip()) == 2 or bare[2] == " ")) or bare.startswith("__ "):
            end = _end_of_block(lines, at, indent)
            shown += _read_markup(lines[at:end], indent, kept, names, depth)
        elif (literal := _LITERAL.fullmatch(line.rstrip())) and (
            end := _end_of_literal(lines, at, indent)
        ) > at + 1:
            text = literal["text"]
            shown.append("" if not text.strip() else text if literal["blank"] else f"{text}:")
            shown += _fenced(lines[at + 1 : end], "", kept)
        else:
            end = at + 1
            shown.append(_read_line(line, names, depth))
        at = end
    return read_tables(shown, kept)


def _read_line(line: str, names: Names, depth: int) -> str:
    """Return a line that is no markup block: a field as "name: value", a line block without its bar."""
    if found := _FIELD.fullmatch(line):
        name, value = found["name"], found["value"] or ""
        if name.lower() in _STEERING and depth == 0:
            return ""
        if name.lower() in _DOCINFO and depth == 0 and not found["indent"]:
            names.fields.setdefault(name.lower(), value)
        return f"{found['indent']}{name}: {value}"
    bare = line.strip()
    if _TRANSITION.fullmatch(bare) and bare[0] not in "=+|`" and not line.startswith(" "):
        return ""
    if bare == "|" or (bare.startswith("| ") and not bare.endswith("|")):
        return bare[2:]
    return re.sub(r"^( *)#\. ", r"\1- ", line)


def _end_of_block(lines: list[str], at: int, indent: int) -> int:
    """Return the line behind a block of explicit markup: the first that is neither blank nor indented
    deeper.
    """
    end = last = at + 1
    if lines[at].strip() == ".." and at + 1 < len(lines) and not lines[at + 1].strip():
        return end
    while end < len(lines):
        line = lines[end]
        if line.strip():
            if len(line) - len(line.lstrip(" ")) <= indent:
                break
            last = end + 1
        end += 1
    # the blank line below belongs to it, so that code can be closed there
    return last + (last > at + 1 and last < len(lines) and not lines[last].strip())


def _end_of_literal(lines: list[str], at: int, indent: int) -> int:
    """Return the line behind the literal text below a line that ends with "::"; the next line where there
    is none.
    """
    if at + 1 >= len(lines) or lines[at + 1].strip():
        return at + 1
    return _end_of_block(lines, at, indent)


def _read_markup(block: list[str], indent: int, kept: Kept, names: Names, depth: int) -> list[str]:
    """Return what a reader sees of a block that begins with ".. ", in as many lines."""
    nothing = [""] * len(block)
    first = block[0][indent:].rstrip()
    if directive := _DIRECTIVE.fullmatch(first):
        if directive["sub"]:
            _define(directive, block, names)
            return nothing
        return _read_directive(directive, block, kept, names, depth)
    if target := _TARGET.fullmatch(first):
        if target["name"]:
            names.targets[fold_name(target["name"].strip("`"))] = (target["address"] or "").strip()
        return nothing
    if note := _NOTE.fullmatch(first):
        label = "" if note["label"].startswith(("#", "*")) else f"[{note['label']}] "
        return [f"{label}{note['text'] or ''}", *_content(block[1:], kept, names, depth)]
    return nothing


def _define(directive: re.Match[str], block: list[str], names: Names) -> None:
    options = _options(block[1:])
    value = directive["argument"] or ""
    if directive["name"] == "replace":
        value = " ".join([value, *(line.strip() for line in block[1:])]).strip()
    elif directive["name"] in _PICTURE:
        value = options.get("alt", "")
    else:
        value = ""
    names.substitutions[fold_name(directive["sub"])] = value


def _read_directive(
    directive: re.Match[str], block: list[str], kept: Kept, names: Names, depth: int
) -> list[str]:
    name, argument, below = directive["name"].lower(), (directive["argument"] or "").strip(), block[1:]
    if name in _HIDDEN or name.startswith("auto"):
        return [""] * len(block)
    start = 0
    if below and _OPTION.fullmatch(below[0]):
        start = next((at for at, line in enumerate(below) if not line.strip()), len(below))
    options, content = _options(below[:start]), below[start:]
    lead = [""] * start
    if name in _CODE:
        is_language = name in ("code", "code-block", "sourcecode")
        first = "" if is_language or not argument else kept.keep(argument)
        return _fenced([first, *lead, *content], argument if is_language else "", kept)
    if name in _PICTURE:
        return [options.get("alt", ""), *lead, *_content(content, kept, names, depth)]
    if name == "list-table":
        return [argument, *lead, *read_list_table(content, _number(options, "header-rows"))]
    if name == "csv-table":
        return [
            argument,
            *lead,
            *read_csv_table(content, options.get("header", ""), _number(options, "header-rows")),
        ]
    if name in _CHANGED:
        version, _, text = argument.partition(" ")
        argument = f"{_CHANGED[name]} {version}{': ' if text else '.'}{text}"
    elif name in _NAMED and "(" not in argument:
        argument = ""
    elif _SIGNATURE.fullmatch(name) and argument:
        argument = kept.keep(f"`{argument}`")
    return [argument, *lead, *_content(content, kept, names, depth)]


def _content(lines: list[str], kept: Kept, names: Names, depth: int) -> list[str]:
    """Return the text in a directive, read as that of the page, without its indent."""
    if depth >= _DEEPEST or not lines:
        return [line.lstrip() for line in lines]
    return read_blocks(textwrap.dedent("\n".join(lines)).split("\n"), kept, names, depth + 1)


def _fenced(lines: list[str], language: str, kept: Kept) -> list[str]:
    """Return lines with the code in them as a block of Markdown, where blank lines stand around it."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if not filled:
        return lines
    first, last = filled[0], filled[-1]
    code = textwrap.dedent("\n".join(lines[first : last + 1]))
    if first == 0 or last + 1 == len(lines):
        return [*lines[:first], kept.keep(code), *lines[last + 1 :]]
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", code))])
    block = kept.keep(f"{fence}{language}\n{code}\n{fence}")
    return [*lines[: first - 1], block, *lines[last + 2 :]]


def _options(lines: list[str]) -> dict[str, str]:
    """Return the options of a directive, ":alt: The wall", which may go on over lines."""
    options: dict[str, str] = {}
    name = ""
    for line in lines:
        if _OPTION.fullmatch(line):
            name, _, value = line.strip()[1:].partition(":")
            options[name] = value.strip()
        elif name:
            options[name] = f"{options[name]} {line.strip()}".strip()
    return options


def _number(options: dict[str, str], name: str) -> int:
    return int(options[name]) if re.fullmatch(r"\d{1,3}", options.get(name, "")) else 0


def fold_name(name: str) -> str:
    """Return a name as reStructuredText compares names."""
    return " ".join(name.replace("\\", "").split()).casefold()
