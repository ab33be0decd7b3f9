"""The second step of reading Markdown: replace the marks within the text by what a page shows."""

from __future__ import annotations

import html
import re
from bisect import bisect_right

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.html import write_html
from adaptive_rag.ingest.markup_steps import SIGN, Kept, Step, follow, read_role, without_signs
from adaptive_rag.ingest.templates import TAG, read_tag

# Pieces that later steps must not see: code, formulas, comments, template tags. A piece ends where the next
# of its kind begins, so that one that is never closed is not searched again and again.
_PIECE = re.compile(
    r"(?P<escape>\\.)|(?P<ticks>`+)"
    r"|(?P<formula>\$\$[^$]{1,3000}+\$\$|(?<![\w$])\$(?=[^\s$])[^$\n]{1,300}+\$(?![\d$]))"
    r"|(?P<comment><!--(?:(?!<!--|-->).){0,10000}+-->|(?<!\S)%%(?:(?!%%).){1,1000}+%%|\{/\*(?:(?!/\*|\*/).){0,3000}+\*/\})"
    r"|<(?P<html>pre|code|script|style)\b[^<>]{0,1000}+>(?P<content>(?:(?!<(?P=html)\b).)*?)</(?P=html)\s*+>"
    rf"|{TAG}",
    re.IGNORECASE | re.DOTALL,
)
_BLANK_LINE = re.compile(r"\n[ \t>]*(?=\n)")

_HTML_NAMES = frozenset(
    "a abbr address article aside b big blockquote body br button caption center cite code col colgroup dd "
    "del details dfn div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i "
    "iframe img input ins kbd label legend li link main map mark meta nav ol option p picture pre q rp rt "
    "ruby s samp section select small source span strike strong sub summary sup svg path table tbody td "
    "textarea tfoot th thead time title tr tt u ul var video wbr".split()
)
_HTML_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[A-Za-z][\w.:-]*+)(?P<attributes>(?:\"[^\"]*+\"|'[^']*+'|[^\"'<>]){0,2000}+)>|</?>"
)
_TEXT_ATTRIBUTE = re.compile(
    r"(?<![\w-])(?P<name>alt|caption|label|summary|title)\s*=\s*(?:\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)')", re.I
)
_TABLE = re.compile(r"<table\b(?:(?!<table\b).)*?</table\s*>", re.IGNORECASE | re.DOTALL)
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});")
# Tags that separate words and are replaced by a blank: "one<br>two".
_SEPARATING_TAG = re.compile(r"br|hr|p|div|t[dhr]|d[dt]|li|h[1-6]|summary|option", re.IGNORECASE)

_LABEL = r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.){0,300}+\]){0,600}+"
_TITLE = r"(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|\([^()\n]{0,500}\))"
_ADDRESS = (
    r"\(\s*+(?P<address><[^<>\n]*+>|(?:[^\s()<]|\([^\s()]*+\))*+)"
    rf"(?:[^\n()\"']{{0,300}}+(?:{_TITLE})?\s*+)\)"
)
_ATTRIBUTES = r"(?:\{[:.#\w][^{}\n]{0,200}+\})?"
_IMAGE = re.compile(rf"(?<!\\)!\[(?P<label>{_LABEL})\](?:{_ADDRESS}|\[[^\[\]\n]{{0,300}}+\]){_ATTRIBUTES}")
_LINK = re.compile(rf"(?<![\\!\]])\[(?P<label>{_LABEL})\]{_ADDRESS}{_ATTRIBUTES}")
_REFERENCE = re.compile(
    rf"(?<![\\!\]])\[(?P<label>{_LABEL})\](?: ?\[(?P<name>[^\[\]\n]{{0,300}}+)\])?(?![(:\]])"
)
_DEFINITION = re.compile(
    r"^ {0,3}\[(?P<name>[^\[\]\n^][^\[\]\n]{0,300}+)\]:[ \t]*+"
    rf"(?P<address><[^<>\n]*+>|[^\s\"'(<][^\s]*+)?[ \t]*+(?:{_TITLE})?[ \t]*+$",
    re.MULTILINE,
)
_WEB_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
# "[[Page|label]]" of Obsidian, "[[label|page]]" of Dendron, "[[Page#Heading]]", "![[picture.png|300]]"
_WIKI = re.compile(
    r"(?P<embed>!)?\[\[(?P<inside>[^\s\[\]][^\[\]\n]{0,300}+| [^\[\]|\n]{1,200}+\|[^\[\]\n]{1,300}+)\]\]"
)
_MEDIA_FILE = re.compile(
    r".*\.(?:png|jpe?g|gif|svg|webp|avif|bmp|mp[34]|m4a|mov|webm|wav|ogg|pdf|canvas)", re.I
)
_IMAGE_SIZE = re.compile(r"\s*\d+(?:x\d+)?\s*")
# "dev.setup", "setup-guide", "#windows": an identifier rather than words.
_SLUG = re.compile(r"[\w-]*+(?:[./-][\w-]++)+(?:#.*)?|#.*|[a-z0-9_]+|.*\.md(?:#.*)?")
_ROLE = re.compile(rf"\{{(?P<name>[A-Za-z][\w:+.-]{{0,60}})\}}(?P<sign>{SIGN})")

# Markup around paragraphs: callouts, containers, MkDocs titles, targets, tables of contents, and MDX code.
_BLOCK_STEPS: tuple[Step, ...] = (
    (
        r"^(?P<quote>[ \t]*(?:>[ \t]?)+)\[!(?P<kind>[\w-]{1,40})(?:\|[^\]\n]*)?\][+-]?[ \t]*(?P<title>.*)$",
        lambda match: f"{match['quote']}{match['title'] or match['kind'].capitalize()}",
    ),
    (
        r"^(?P<quote>[ \t>]*):{3,}[ \t]*(?P<rest>[^\n]*)$(?P<options>(?:\n[ \t]*:[\w-]+:[^\n]*)*)",
        lambda match: _read_container(match),
    ),
    (
        r"^([ \t]*)(?:!!!|\?\?\?\+?|===\+?)[ \t]+(?:[\w-]++[ \t]*+)*+(?:\"([^\"\n]*)\")?[ \t]*$",
        lambda match: f"{match[1]}{match[2] or ''}",
    ),
    (r"^\([\w.:/ -]{1,100}+\)=[ \t]*$", ""),
    (r"^[ \t]*(?:\[\[?_?(?:TOC|toc)_?\]\]?)[ \t]*$", ""),
    (
        r"^(?:import\s(?:[^\n;'\"]{,2000}|\{[^{};'\"]{,2000}\})?\s?(?:from\s)?['\"][^'\"\n]+['\"];?[ \t]*)++$"
        r"|(?<![^\n;}'\"]\n)^export\s(?:default|const|let|function|async)\b[^\n]*(?:\n(?![ \t]*\n)[^\n]*)*",
        lambda match: "\n" * match[0].count("\n"),
    ),
)
# Markup within a line: attributes, block ids and highlighting.
_INLINE_STEPS: tuple[Step, ...] = (
    (r"(?<!\{)\{:[^{}\n]{0,300}+\}(?!\})|(?<=[\s\])*_`\ufdd1\w.!?])\{[#.][A-Za-z][^{}\n]{0,300}+\}", ""),
    (r"(?:^|(?<=\S)[ \t])[ \t]*+\^(?:[a-z0-9]{6}|[A-Za-z][\w-]{2,60})[ \t]*$", ""),
    (r"(?<![=\w])==(?=[^\s=])([^=\n]{1,500}+)(?<=\S)==(?![=\w])", r"\1"),
)
_NOTE_STEPS: tuple[Step, ...] = (
    (r"^( {0,3})\[\^[^\]\n]{1,100}+\]:[ \t]*", r"\1"),
    (r"\[\^[^\]\n]{1,100}+\]", ""),
    (r"(?<=\S)\^\[([^\[\]]{1,1000}+)\]", r" (\1)"),
)
_AUTOLINK = re.compile(r"<(?:mailto:)?(https?://[^\s<>]{1,2000}+|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)>")


def read_marks(text: str, kept: Kept) -> str:
    """Return the visible text of Markdown, in as many lines, with placeholders for kept pieces."""
    text = _keep_pieces(text, kept)
    text = _TABLE.sub(lambda match: _read_table(match[0], kept), text)
    text = _HTML_TAG.sub(lambda tag: kept.put(tag[0], _read_tag(tag)) if _is_tag(tag) else tag[0], text)
    text = _ROLE.sub(
        lambda match: kept.keep(read_role(match["name"], kept.plain(match["sign"]).strip("`"))), text
    )
    text = follow(_INLINE_STEPS, _read_links(follow(_BLOCK_STEPS, text), kept))
    return _ENTITY.sub(_decode_entity, text)


def _keep_pieces(text: str, kept: Kept) -> str:
    """Keep code and formulas, and drop comments and template tags, in the order of the text."""
    parts, position = list[str](), 0
    code_ends = _backtick_ends(text)
    while match := _PIECE.search(text, position):
        parts.append(text[position : match.start()])
        position = match.end()
        if match["escape"]:
            parts.append(match[0])
        elif match["ticks"]:
            if end := code_ends.get(match.start()):
                position = end
                parts.append(kept.keep(text[match.start() : end]))
            else:
                parts.append(match[0])
        elif match["formula"]:
            parts.append(kept.keep(match[0]))
        elif match["comment"] or (match["html"] or "").lower() in ("script", "style"):
            parts.append(kept.drop(match[0]))
        elif match["html"]:
            parts.append(_read_html_code(match, kept))
        else:
            parts.append(read_tag(match, kept))
    return "".join([*parts, text[position:]])


def _backtick_ends(text: str) -> dict[int, int]:
    """Map the start of each code span to its end: after the paragraph's next backtick run of equal length."""
    blank_lines = [gap.start() for gap in _BLANK_LINE.finditer(text)]
    later: dict[int, tuple[int, int]] = {}
    ends: dict[int, int] = {}
    for start, end in reversed([run.span() for run in re.finditer("`+", text)]):
        paragraph = bisect_right(blank_lines, start)
        later_paragraph, closing_end = later.get(end - start, (-1, 0))
        if later_paragraph == paragraph:
            ends[start] = closing_end
        later[end - start] = paragraph, end
    return ends


def _read_html_code(match: re.Match[str], kept: Kept) -> str:
    """Keep the content of <pre> or <code>, without the tags in it."""
    code = _ENTITY.sub(
        _decode_entity, _HTML_TAG.sub(lambda tag: "" if _is_tag(tag) else tag[0], match["content"])
    )
    if match["html"].lower() == "code":
        return kept.put(match[0], kept.keep(f"`{code}`" if code.strip() and "`" not in code else code))
    code = code.rstrip(" \t")
    is_block = code.startswith("\n") and code.endswith("\n") and code.strip()
    return kept.put(match[0], kept.keep(f"```{code}```" if is_block else code))


def _decode_entity(entity: re.Match[str]) -> str:
    character = html.unescape(entity[0])
    if character.isspace():
        return " "
    return without_signs(character) if character.isprintable() else ""


def _is_tag(tag: re.Match[str]) -> bool:
    """Return whether a tag is markup, not a word to be filled in, such as "<name>"."""
    name, attributes = tag["name"], tag["attributes"]
    if name is None or name.lower() in _HTML_NAMES:
        return True
    if name.endswith(":") and attributes.startswith("//"):
        return False  # an address: <https://example.org/a?b=c>
    before = tag.string[max(0, tag.start() - 1) : tag.start()]
    return (name[0].isupper() and not before.isalnum()) or "=" in attributes or attributes.endswith("/")


def _read_tag(tag: re.Match[str]) -> str:
    """Return what a page shows of a tag: an image's text, the sign of a heading or list item, or a blank."""
    name = (tag["name"] or "").lower()
    attributes = {
        match["name"].lower(): match["a"] or match["b"]
        for match in _TEXT_ATTRIBUTE.finditer(tag["attributes"] or "")
    }
    if name == "img":
        return " ".join((attributes.get("alt") or "").split())
    if name not in _HTML_NAMES:
        keys = ("title", "label", "caption", "summary", "alt")
        return " ".join(next((attributes[key] for key in keys if attributes.get(key)), "").split())
    text_before = tag.string[tag.string.rfind("\n", 0, tag.start()) + 1 : tag.start()]
    if not text_before.strip(" \t>") and not tag["end"]:
        if re.fullmatch("h[1-6]", name):
            return f"{'#' * int(name[1])} "
        return "- " if name == "li" else ""
    return " " if _SEPARATING_TAG.fullmatch(name) else ""


def _read_table(table: str, kept: Kept) -> str:
    """Return the rows of a table, "Hinge | 4.20", each on the line where it begins."""
    builder = TextBuilder()
    write_html(table, builder, styled=False)
    rows = [row for row in builder.text.split("\n") if row.strip()]
    row_lines = [table.count("\n", 0, row.start()) for row in re.finditer(r"<tr\b", table, re.IGNORECASE)]
    if len(row_lines) != len(rows):
        row_lines = list(range(len(rows)))
    lines, line = [""] * (table.count("\n") + 1), -1
    for row_line, row in zip(row_lines, rows, strict=True):
        line = min(max(row_line, line + 1), len(lines) - 1)
        lines[line] = f"{lines[line]}; {row}" if lines[line] else row
    return kept.put(table, "\n".join(lines))


def _read_container(match: re.Match[str]) -> str:
    """Return the title of ":::note Title", unless it is the name of a file or a component."""
    kind = r"(?:\{[^{}]*\}|[\w-]+(?=\[|\s|$|\{))[ \t]*"
    title = re.sub(kind, "", match["rest"], count=1).strip().strip('[]"')
    is_name = "{" in title or re.search(r"\.\w+$", title)
    return match["quote"] + ("" if is_name else title) + "\n" * match["options"].count("\n")


def _read_links(text: str, kept: Kept) -> str:
    """Replace links, images and notes by their words; links to the web keep their address."""
    addresses: dict[str, str] = {}

    def fold(name: str) -> str:
        return " ".join(kept.plain(name).split()).casefold()

    def define(match: re.Match[str]) -> str:
        # Nothing is left of an address that was a template tag: "[page]: {{< ref page >}}".
        addresses.setdefault(fold(match["name"]), match["address"] or "")
        return kept.drop(match[0]) if match["address"] else match[0]

    def link(match: re.Match[str], address: str) -> str:
        address = address.strip("<>")
        if _WEB_ADDRESS.match(address) and match["label"].strip():
            return kept.put(match[0], f"[{match['label']}]{kept.keep(f'({address})')}")
        return kept.put(match[0], match["label"])

    def reference(match: re.Match[str]) -> str:
        address = addresses.get(fold(match["name"] or match["label"]))
        return match[0] if address is None else link(match, address)

    text = _DEFINITION.sub(define, follow(_NOTE_STEPS, text))
    text = _WIKI.sub(lambda match: _read_wiki_link(match["inside"], match["embed"] is not None), text)
    text = _IMAGE.sub(lambda match: kept.put(match[0], " ".join(match["label"].split())), text)
    text = _LINK.sub(lambda match: link(match, match["address"]), text)
    text = _REFERENCE.sub(reference, text) if addresses else text
    return _AUTOLINK.sub(r"\1", text)


def _read_wiki_link(inside: str, is_embed: bool) -> str:
    """Return the words of "[[inside]]": the label if there is one, else "Page > Heading"."""
    first, bar, last = inside.replace("\\|", "|").partition("|")
    if is_embed and _MEDIA_FILE.fullmatch(first.strip()):
        return "" if _IMAGE_SIZE.fullmatch(last) else last
    if bar and last.strip() and not _IMAGE_SIZE.fullmatch(last):
        is_reversed = _SLUG.fullmatch(last.strip()) and not _SLUG.fullmatch(first.strip())
        return (first if is_reversed else last).strip()
    page, _, heading = first.strip().removesuffix(".md").partition("#")
    parts = [page.rpartition("/")[2], *heading.split("#")]
    return " > ".join(part.strip() for part in parts if part.strip() and not part.startswith("^"))
