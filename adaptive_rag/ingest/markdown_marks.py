"""The second step of reading Markdown: what a page makes of the marks within its text, outside blocks of
code.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.inline_html import read_html_tags, read_verbatim, unescape_entities
from adaptive_rag.ingest.marks import SIGN, Finder, Kept, backtick_ends, sub_each
from adaptive_rag.ingest.roles import read_role
from adaptive_rag.ingest.templates import Templates, replace_openings

_OPENING = re.compile(r"\\.|`+|<!--|\{[{%#]|\$|(?<!\S)%%|<(?:pre|code|script|style)\b", re.IGNORECASE)
_FORMULA = re.compile(r"\$\$[^$]{1,3000}+\$\$|(?<![\w$])\$(?=[^\s$])[^$\n]{1,300}+\$(?![\d$])")
# In characters: a longer one is none.
_LONGEST_REMARK = 10_000

_LABEL = r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.){0,300}+\]){0,600}+"
_TITLE = r"(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|\([^()\n]{0,500}\))"
_ADDRESS = (
    r"\(\s*+(?P<address><[^<>\n]*+>|(?:[^\s()<]|\([^\s()]*+\))*+)"
    rf"(?P<rest>[^\n()\"']{{0,300}}+(?:{_TITLE})?\s*+)\)"
)
_IMAGE = re.compile(
    rf"(?<!\\)!\[(?P<label>{_LABEL})\](?:{_ADDRESS}|\[[^\[\]\n]{{0,300}}+\])(?:\{{[^{{}}\n]{{0,200}}+\}})?"
)
_LINK = re.compile(rf"(?<![\\!\]])\[(?P<label>{_LABEL})\]{_ADDRESS}(?:\{{[:.#\w][^{{}}\n]{{0,200}}+\}})?")
_REFERENCE = re.compile(
    rf"(?<![\\!\]])\[(?P<label>{_LABEL})\](?: ?\[(?P<name>[^\[\]\n]{{0,300}}+)\])?(?![(:\]])"
)
_DEFINITION = re.compile(
    r"^ {0,3}\[(?P<name>[^\[\]\n^][^\[\]\n]{0,300}+)\]:[ \t]*+"
    r"(?P<address><[^<>\n]*+>|[^\s\"'(<][^\s]*+)?"
    rf"[ \t]*+(?:{_TITLE})?[ \t]*+$",
    re.MULTILINE,
)
_ABSOLUTE = re.compile(r"https?://\S+", re.IGNORECASE)
_NOTE_DEFINITION = re.compile(r"^( {0,3})\[\^[^\]\n]{1,100}+\]:[ \t]*", re.MULTILINE)
_NOTE_MARK = re.compile(r"\[\^[^\]\n]{1,100}+\]")
_INLINE_NOTE = re.compile(r"(?<=\S)\^\[([^\[\]]{1,1000}+)\]")

_WIKI = re.compile(
    r"(?P<embed>!)?\[\[(?P<inside>[^\s\[\]][^\[\]\n]{0,300}+| [^\[\]|\n]{1,200}+\|[^\[\]\n]{1,300}+)\]\]"
)
# what an embed names may be a picture or another file, of which nothing is seen as text; 300 and 300x200
# are sizes
_FILE = re.compile(
    r".*\.(?:png|jpe?g|gif|svg|webp|avif|bmp|mp[34]|m4a|mov|webm|wav|ogg|pdf|canvas|excalidraw)", re.I
)
_SIZE = re.compile(r"\s*\d+(?:x\d+)?\s*")
# "dev.setup", "setup-guide", "Getting-Started#windows", "#windows": a name that no one reads as words
_SLUG = re.compile(r"[\w-]*+(?:[./-][\w-]++)+(?:#.*)?|#.*|[a-z0-9_]+|dendron://.*|.*\.md(?:#.*)?")

_CALLOUT = re.compile(
    r"^(?P<quote>[ \t]*(?:>[ \t]?)+)\[!(?P<kind>[\w-]{1,40})(?:\|[^\]\n]*)?\][+-]?[ \t]*(?P<title>.*)$", re.M
)
_CONTAINER = re.compile(
    r"^(?P<quote>[ \t>]*):{3,}[ \t]*(?P<rest>[^\n]*)$(?P<options>(?:\n[ \t]*:[\w-]+:[^\n]*)*)", re.MULTILINE
)
_ADMONITION = re.compile(
    r"^([ \t]*)(?:!!!|\?\?\?\+?|===\+?)[ \t]+(?:[\w-]+[ \t]*)*(?:\"([^\"\n]*)\")?[ \t]*$", re.MULTILINE
)
_KIND_OF_CONTAINER = re.compile(r"(?:\{[^{}]*\}|[\w-]+(?=\[|\s|$|\{))[ \t]*")
_ATTRIBUTES = re.compile(
    r"(?<!\{)\{:[^{}\n]{0,300}+\}(?!\})|(?<=[\s\])*_`\ufdd1\w.!?])\{[#.][A-Za-z][^{}\n]{0,300}+\}|\{/\*.{0,3000}?\*/\}",
    re.DOTALL,
)
_BLOCK_ID = re.compile(r"(?:^|(?<=\S))[ \t]*+\^(?:[a-z0-9]{6}|[A-Za-z][\w-]{2,60})[ \t]*$", re.MULTILINE)
_TARGET = re.compile(r"^\([\w.:/ -]{1,100}+\)=[ \t]*$", re.MULTILINE)
_ROLE = re.compile(rf"\{{(?P<name>[A-Za-z][\w:+.-]{{0,60}})\}}(?P<sign>{SIGN})")
# several may share a line: "import A from 'a'; import B from 'b';"
_IMPORT = re.compile(
    r"^(?:import\s(?:[^\n;]{0,2000}|\{[^{};]{0,2000}\})?\s?(?:from\s)?['\"][^'\"\n]+['\"];?[ \t]*)+$",
    re.MULTILINE,
)
_EXPORT = re.compile(
    r"^export\s(?:default|const|let|function|async)\b[^\n]*(?:\n(?![ \t]*\n)[^\n]*)*", re.MULTILINE
)
_CONTENTS = re.compile(r"^[ \t]*(?:\[\[?_?TOC_?\]\]?|\[toc\])[ \t]*$", re.MULTILINE)
_HIGHLIGHT = re.compile(r"(?<![=\w])==(?=[^\s=])([^=\n]{1,500}+)(?<=\S)==(?![=\w])")
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^\s<>]{1,2000}+|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)>")


def read_marks(text: str, kept: Kept, builder: TextBuilder) -> str:
    """Return what a reader sees of a text of Markdown, in as many lines; signs stand for what is kept of
    it.
    """
    text = _set_apart(text, kept, builder)
    text = read_html_tags(text, kept)
    text = _ROLE.sub(lambda found: kept.put(found[0], _read_role(found, kept)), text)
    text = _read_blocks(text, kept)
    text = _read_links(text, kept)
    text = _ATTRIBUTES.sub(lambda found: kept.drop(found[0]), text)
    text = _BLOCK_ID.sub("", text)
    text = _HIGHLIGHT.sub(r"\1", text)
    return unescape_entities(text)


def _set_apart(text: str, kept: Kept, builder: TextBuilder) -> str:
    """Keep code and formulas, and drop comments and the tags of templates, whichever begins first."""
    finder, code = Finder(text), backtick_ends(text)
    templates = Templates(text, kept, finder)

    def read(start: int) -> tuple[int, str] | None:
        mark = text[start : start + 2]
        if mark[0] == "\\":
            return start + 2, mark
        if mark[0] == "`":
            end = code.get(start)
            return (end, kept.keep(text[start:end])) if end else None
        if mark[0] == "$":
            formula = _FORMULA.match(text, start)
            return (formula.end(), kept.keep(formula[0])) if formula else None
        if mark[0] == "{":
            return templates.read(start)
        if mark == "%%" or text.startswith("<!--", start):
            closing = "%%" if mark == "%%" else "-->"
            end = finder.find(closing, start + 2) + len(closing)
            known = len(closing) <= end - start <= _LONGEST_REMARK
            return (end, kept.drop(text[start:end])) if known else None
        return read_verbatim(text, start, finder, kept)

    text = replace_openings(_OPENING, read, text)
    templates.note(builder)
    return text


def _read_role(found: re.Match[str], kept: Kept) -> str:
    return kept.keep(read_role(found["name"], kept.plain(found["sign"]).strip("`")))


def _read_blocks(text: str, kept: Kept) -> str:
    """Read what frames paragraphs: callouts, containers, targets, and the code of MDX between them."""
    text = _CALLOUT.sub(lambda found: f"{found['quote']}{found['title'] or found['kind'].capitalize()}", text)
    text = _CONTAINER.sub(_read_container, text)
    text = _ADMONITION.sub(lambda found: f"{found[1]}{found[2] or ''}", text)
    for pattern in (_TARGET, _CONTENTS):
        text = pattern.sub("", text)
    for pattern in (_IMPORT, _EXPORT):
        text = pattern.sub(lambda found: kept.drop(found[0]), text)
    return text


def _read_container(found: re.Match[str]) -> str:
    title = _KIND_OF_CONTAINER.sub("", found["rest"], count=1).strip().strip('[]"')
    title = "" if "{" in title or PurePath(title).suffix else title
    return found["quote"] + title + "\n" * found["options"].count("\n")


def _read_links(text: str, kept: Kept) -> str:
    """Put the words of links, images and notes in their place; links to the web stay as they are."""
    addresses: dict[str, str] = {}

    def folded(name: str) -> str:
        return " ".join(kept.plain(name).split()).casefold()

    def define(found: re.Match[str]) -> str:
        if not found["address"]:
            # of a template's tag nothing is left: "[page]: {{< ref page >}}"
            addresses.setdefault(folded(found["name"]), "")
            return found[0]
        addresses.setdefault(folded(found["name"]), found["address"].strip("<>"))
        return kept.drop(found[0])

    def link(found: re.Match[str]) -> str:
        address = found["address"].strip("<>")
        if _ABSOLUTE.match(address) and found["label"].strip():
            return kept.put(found[0], f"[{found['label']}]{kept.keep(f'({address})')}")
        return kept.put(found[0], found["label"])

    def reference(found: re.Match[str]) -> str:
        address = addresses.get(folded(found["name"] or found["label"]))
        if address is None:
            return found[0]
        if _ABSOLUTE.match(address):
            return kept.put(found[0], f"[{found['label']}]{kept.keep(f'({address})')}")
        return kept.put(found[0], found["label"])

    text = _NOTE_DEFINITION.sub(r"\1", text)
    text = _NOTE_MARK.sub("", text)
    text = _INLINE_NOTE.sub(r" (\1)", text)
    text = _DEFINITION.sub(define, text)
    text = _WIKI.sub(lambda found: _read_wiki_link(found["inside"], found["embed"] is not None), text)
    text = _IMAGE.sub(lambda found: kept.put(found[0], " ".join(found["label"].split())), text)
    text = sub_each(_LINK, link, text)
    if addresses:
        text = _REFERENCE.sub(reference, text)
    return _AUTOLINK.sub(lambda found: found[1].removeprefix("mailto:"), text)


def _read_wiki_link(inside: str, is_embed: bool) -> str:
    """Return the words of "[[Page|label]]" of Obsidian, "[[label|page]]" of Dendron, or
    "[[Page#Heading]]".
    """
    inside = inside.replace("\\|", "|")
    first, bar, last = inside.partition("|")
    if is_embed and _FILE.fullmatch(first.strip()):
        return "" if _SIZE.fullmatch(last) else last
    if bar and last.strip() and not _SIZE.fullmatch(last):
        reversed_order = _SLUG.fullmatch(last.strip()) and not _SLUG.fullmatch(first.strip())
        return (first if reversed_order else last).strip()
    page, _, heading = first.strip().removesuffix(".md").partition("#")
    parts = [page.rpartition("/")[2], *heading.split("#")]
    return " > ".join(part.strip() for part in parts if part.strip() and not part.startswith("^"))
