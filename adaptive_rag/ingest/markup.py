"""The loader of LaTeX and Org mode: the visible text, each line with its number in the file.

Commands are not executed: the name of a command is dropped, and the text in its braces is kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.markup_steps import Kept, Step, blank, fenced, follow, tidy, without_signs
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.tables import EMPTY_CELL, write_rule

# By level; the last two are slides.
_LATEX_HEADINGS = (
    "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph", "frametitle",
    "begin{frame}",
)  # fmt: skip
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "c": "\u0327", "v": "\u030c",
    ".": "\u0307", "H": "\u030b", "k": "\u0328", "r": "\u030a", "u": "\u0306",
}  # fmt: skip
# The deepest nesting of commands that is read.
_MAX_DEPTH = 8
# Text with groups in braces inside each other.
_BRACED = r"(?:[^{}\n]++|\{(?:[^{}\n]++|\{(?:[^{}\n]++|\{[^{}\n]*+\})*+\})*+\})*+"
_BRACED_LINES = _BRACED.replace(r"\n", "")
# Stands between a title and the text behind it on its line, and occurs in no text (a Unicode noncharacter).
_TITLE_END = "\ufdd2"


class _Markup(NamedTuple):
    """The patterns of one markup language."""

    heading: str
    """A pattern for a heading line, with the groups `sign`, `title` and `rest`, the text behind the title."""
    level: Callable[[str], int]
    """The function that returns a heading's level from its sign."""
    steps: tuple[Step, ...]
    """Patterns and their replacements, applied one after the other."""
    title: str
    """A pattern for the document's title."""
    kept: str
    r"""A pattern for text that is kept: formulas, listings, and the sign in "\&"; and for comments, "% a"."""
    nested: tuple[Step, ...] = ()
    """Steps that are applied before the others, each from the innermost match outwards."""


# Letters and signs that have a command of their own: "S{\o}ren".
_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł",
    "L": "Ł", "S": "§", "pounds": "£", "euro": "€", "texteuro": "€", "textdegree": "°", "copyright": "©",
    "ldots": "…", "dots": "…", "TeX": "TeX", "LaTeX": "LaTeX",
}  # fmt: skip


def _compose_accent(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1]])


def _repeat_cell(match: re.Match[str]) -> str:
    """Return the text of a cell in each column that it spans."""
    return " & ".join([match[2]] * int(match[1]))


def _write_quantity(match: re.Match[str]) -> str:
    r"""Return a number with its unit: "5 kilo metre" for "\SI{5}{\kilo\metre}"."""
    return " ".join([match[1] or "", *match[2].replace("\\", " ").split()]).strip()


_LATEX = _Markup(
    rf"[ \t]*\\(?P<sign>{'|'.join(map(re.escape, _LATEX_HEADINGS))})\*?(?:\[[^\]\n]*\])?"
    rf"\{{(?P<title>{_BRACED})\}}[ \t]*(?P<rest>.*)",
    lambda sign: min(_LATEX_HEADINGS.index(sign) + 1, 8),
    (
        (r"\\item\b[ \t]*\[([^\]\n]*)\][ \t]*", r"- \1 "),
        (r"\\item\b[ \t]*", "- "),
        (r"\\\\(?:\[[^\]\n]*\])?|\\[a-zA-Z@]+\*?[ \t]?|\\[-,;:!/]|[{}]", ""),
        (r"^[ \t]*&[ \t]*", f"{EMPTY_CELL} | "),
        (r"(?<![ \t])[ \t]*&[ \t]*", " | "),
        (r"~|\\ ", " "),
    ),
    nested=(
        (r"\\([`'^\"~.]|[cvHkru](?=[ {]))[ \t]*\{?\\?([A-Za-z])\}?", _compose_accent),
        (r"\\textsuperscript\{([^{}]*)\}", lambda match: raise_digits(match[1])),
        (rf"\\({'|'.join(_LETTERS)})(?![A-Za-z@])(?:\{{\}}|[ \t]+)?", lambda match: _LETTERS[match[1]]),
        (r"\\(?:label|[vh]space|includegraphics|bibliography(?:style)?|index|input|include|usepackage|setlength|"
         r"documentclass)\b\*?(?:\[[^\]\n]*\])?(?:\{[^{}]*\})+|\\href\{[^{}]*\}|"
         r"\\multirow\{[^{}]*\}\{[^{}]*\}|\\(?:cline|cmidrule(?:\([lr]*\))?)\{[^{}]*\}", blank),
        (rf"\\multicolumn\{{(\d{{1,2}})\}}\{{{_BRACED}\}}\{{({_BRACED})\}}", _repeat_cell),
        (r"\\(?:(?:SI|qty)(?:\[[^\]\n]*\])?\{([^{}]*)\}|si|unit)\{([^{}]*)\}", _write_quantity),
        (r"\\(?:cite\w*|\w*ref)\b\*?(?:\[[^\]\n]*\])*\{([^{}]*)\}", r"[\1]"),
        (rf"\\footnote\{{({_BRACED_LINES})\}}", r" (\1)"),
        (r"\\begin\{(?:alert|example)?block\}\{([^{}]*)\}", r"\1"),
        (r"\\(?:begin|end)\{[^{}\n]*\}(?:\[[^\]\n]*\])?(?:\{(?:[^{}\n]|\{[^{}\n]*\})*\})*", ""),
        (r"\\[a-zA-Z@]+\*?(?:\[[^\[\]\n]*\])?\{([^{}]*)\}", r"\1"),
    ),
    kept=r"\\\\|%[^\n]*|\\(?:verb|lstinline)\*?(?P<mark>[^\w\s{*])(?P<verb>[^\n]*?)(?P=mark)|"
    r"\\(?P<sign>[%&$#_{}])|(?<!\\)\$\$?[^$]{1,3000}\$\$?|\\\[(?:(?!\\[\[\]]).)+\\\]|\\\((?:(?!\\[()]).)+\\\)|"
    r"\\begin\{(?P<block>(?:equation|align|gather|multline|eqnarray|displaymath|verbatim|Verbatim|lstlisting|"
    r"minted|comment)\*?)\}(?:(?!\\begin\{(?P=block)).)*?\\end\{(?P=block)\}",
    title=r"\\title(?:\[[^\]\n]*\])?\{([^{}]*)\}",
)  # fmt: skip
_ORG = _Markup(
    r"(?P<sign>\*+)[ \t]+(?:(?:TODO|DONE)[ \t]+)?(?P<title>\S(?:.*?\S)??)(?:[ \t]+:[\w@:]+:)?[ \t]*"
    r"(?P<rest>)",
    len,
    (
        (r"^[ \t]*(?:#\+.*|# .*|:[\w-]+:.*)$", ""),
        (r"\[\[[^\[\]\n]*\]\[([^\[\]\n]*)\]\]", r"\1"),
        (r"^[ \t]*\|[-+]+\|?[ \t]*$", lambda row: write_rule(row[0].count("+") + 1)),
        (r"^[ \t]*\|[ \t]?|(?<![ \t])[ \t]*\|[ \t]*$", ""),
    ),
    kept=r"(?im)^[ \t]*#\+begin_(?:src|example)\b[ \t]*(?P<language>[\w-]*)[^\n]*\n"
    r"(?P<code>(?:(?!^[ \t]*#\+begin_).)+?)\n[ \t]*#\+end_(?:src|example)[ \t]*$",
    title=r"(?i)^#\+TITLE:[ \t]*(.+)",
)


def load_markup(path: Path, builder: TextBuilder) -> None:
    """Write the visible text of a file into `builder`, and note its headings and title."""
    builder.keeps_lines = True
    markup = _ORG if path.suffix.lower() == ".org" else _LATEX
    text = without_signs(decode(path.read_bytes(), builder)).replace(_TITLE_END, "\ufffd")
    if title := re.search(markup.title, text, re.MULTILINE):
        note_properties(builder, title=title[1])
    kept = Kept()
    visible = re.sub(r"\A.*?\\begin\{document\}|\\end\{document\}.*\Z", blank, text, flags=re.DOTALL)
    visible = re.sub(markup.kept, lambda match: _keep(match, kept), visible, flags=re.DOTALL)
    heading = re.compile(f"^(?:{markup.heading})$", re.MULTILINE)
    signs = [match["sign"] for match in heading.finditer(visible)]
    visible = heading.sub(lambda match: f"{match['title']}{_TITLE_END}{match['rest']}", visible)
    visible = follow(markup.steps, follow(markup.nested, visible, _MAX_DEPTH))
    visible = tidy(text, kept.restore(visible))
    are_found = visible.count(_TITLE_END) == len(signs)
    for number, line in enumerate(visible.split("\n")):
        builder.add("\n" if number else "")
        name, is_title, rest = line.partition(_TITLE_END)
        if is_title and are_found:
            builder.mark_heading(name, min(markup.level(signs.pop(0)), 9))
        builder.add(f"{name} {rest}" if rest.strip() else name)


def _keep(match: re.Match[str], kept: Kept) -> str:
    """Return a placeholder for text that is kept; comments are dropped, and line breaks stay."""
    if match[0] == r"\\":
        return match[0]
    if match[0].startswith(("%", r"\begin{comment}")):
        return kept.drop(match[0])
    groups = match.groupdict()
    if "code" in groups:
        return kept.keep(fenced(groups["code"], groups["language"]))
    return kept.keep(groups["sign"] or groups["verb"] or match[0])
