"""Threads as files: Markdown, Word and PDF. HTML in their texts is not interpreted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any

from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.server.conversations import TurnShown
from adaptive_rag.server.pdf import render_pdf
from adaptive_rag.server.tables import now
from adaptive_rag.text.languages import label_for
from adaptive_rag.text.markdown import is_too_complex
from adaptive_rag.text.markers import write_marker
from adaptive_rag.text.phrases import number_markers
from adaptive_rag.text.places import format_place
from adaptive_rag.text.visible import visible

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Limit of the characters of the longest cell times the number of cells, as a measure of a row's height. A
# page has about 5,000 characters.
MOST_CHARACTERS_OF_ROW = 2500
# A word that may be longer than a line, and a piece that fits into a line even of a heading.
_LONG_WORD, _LINE_PIECE = re.compile(r"[^ \t\r\n\f\v]{60,}"), re.compile(r"[^ \t\r\n\f\v]{30}")


@dataclass(frozen=True)
class FileKind:
    """A kind of file, with the function that writes a thread as one."""

    ending: str
    media_type: str
    write: Callable[[str, Sequence[TurnShown]], bytes]


def format_markdown(title: str, turns: Sequence[TurnShown]) -> str:
    """Return a thread as Markdown, each answer with its citations.

    The markers of each answer are numbered from 1, in the order of the text. Images and tags in the other
    texts become words, as they do in answers.
    """
    lines = [_to_line(f"# {title}")]
    for turn in turns:
        answer, sources = _renumber_markers(turn)
        items = (_to_line(f"- {source}") for source in sources)
        lines += ["", _to_line(f"## {turn.question}"), "", answer + _missing_fence(answer), "", *items]
    return "\n".join(lines) + "\n"


def _missing_fence(answer: str) -> str:
    """Return the end of a code block that an answer leaves open, as one does that a token limit cut off."""
    tokens = _parse(answer)
    if not tokens or tokens[-1].type != "fence":
        return ""
    opening, lines = tokens[-1], answer.rstrip().splitlines()
    first, _ = opening.map or (0, 0)
    is_closed = len(lines) > first + 1 and re.fullmatch(rf" *{opening.markup}+ *", lines[-1])
    return "" if is_closed else f"\n{opening.markup}"


def _to_line(markdown: str) -> str:
    """Return a heading or a list item without images and tags, on one line, where no code block can begin."""
    return keep_own_links(" ".join(markdown.split()), None)[0]


def _renumber_markers(turn: TurnShown) -> tuple[str, list[str]]:
    """Return an answer with its markers numbered from 1, and its sources with their quotes in this order."""
    answer, citations = number_markers(turn.answer, turn.citations)
    sources = []
    for citation in citations:
        page = label_for("place", "page", page=citation["page"]) if citation["page"] is not None else ""
        location = ", ".join(filter(None, (citation["source"], format_place(citation["place"]) or page)))
        sources.append(f"{write_marker(citation['marker'])} {location}: “{citation['quote']}”")
    return answer, sources


@cache
def _parser(*, tables: bool = True) -> MarkdownIt:
    """Return a parser of Markdown that treats HTML tags as text."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table"] * tables + ["strikethrough"])


def _parse(text: str) -> list[Token]:
    """Parse an answer. Links and images become their texts; the address of a link follows in brackets."""
    if is_too_complex(text):
        return _parser().parse("    " + text.replace("\n", "\n    "))  # as a code block
    tokens = _parser().parse(text)
    if _has_long_row(tokens):
        tokens = _parser(tables=False).parse(text)
    for token in tokens:
        token.children = list(_without_links(token.children or ()))
        for child in token.children:
            child.content = visible(child.content)  # "&#12;" has become a character that Word does not take
    return tokens


def _has_long_row(tokens: Sequence[Token]) -> bool:
    """Return whether a row of a table may be higher than a page: MuPDF would cut it off at the page's end."""
    cells: list[int] = []
    for token in tokens:
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline":
            cells.append(len(token.content))
        elif token.type == "tr_close" and max(cells, default=0) * len(cells) > MOST_CHARACTERS_OF_ROW:
            return True
    return False


def _without_links(tokens: Sequence[Token]) -> Iterator[Token]:
    address, text = "", ""
    for token in tokens:
        if token.type == "link_open":
            address, text = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            if address and address != text:
                yield _make_text_token(f" ({address})")
        elif token.type == "image":
            yield _make_text_token(token.content)
        else:
            text += token.content
            yield token


def _make_text_token(content: str) -> Token:
    from markdown_it.token import Token

    return Token("text", "", 0, content=content)


def write_pdf(title: str, turns: Sequence[TurnShown]) -> bytes:
    """Return a thread as a PDF. It must not run in two threads at a time."""
    parts = [f"<h1>{_escape(title)}</h1>"]
    for turn in turns:
        answer, sources = _renumber_markers(turn)
        tokens = _parse(visible(answer))
        for token in chain(tokens, *(token.children or () for token in tokens)):
            token.content = _allow_breaks(token.content)
            if token.type.startswith("heading"):  # a lower level than the question
                token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        items = "".join(f"<li>{_escape(source)}</li>" for source in sources)
        parts.append(f"<h2>{_escape(turn.question)}</h2>")
        parts.append(_parser().renderer.render(tokens, _parser().options, {}))
        parts.append(f'<ul class="sources">{items}</ul>' if items else "")
    return render_pdf(visible(title), "".join(parts))


def _escape(text: str) -> str:
    return escape(_allow_breaks(visible(text)))


def _allow_breaks(text: str) -> str:
    """Insert break points into long words. MuPDF would cut them off, in a time quadratic in their length."""
    return _LONG_WORD.sub(lambda word: _LINE_PIECE.sub("\\g<0>\u200b", word[0]), text)


def write_docx(title: str, turns: Sequence[TurnShown]) -> bytes:
    """Return a thread as a Word document."""
    from docx import Document

    document = Document()
    document.core_properties.title, document.core_properties.author = visible(title)[:255], ""
    document.core_properties.comments, document.core_properties.created = "", now()
    document.add_heading(visible(title), 0)
    for turn in turns:
        answer, sources = _renumber_markers(turn)
        document.add_heading(visible(turn.question), 1)
        _add_markdown(document, _parse(visible(answer)))
        for source in sources:
            document.add_paragraph(visible(source), "List Bullet")
    output = BytesIO()
    document.save(output)
    return output.getvalue()


def _add_markdown(document: Document, tokens: Sequence[Token]) -> None:
    """Add the blocks of a Markdown text: headings, paragraphs, lists, code and tables."""
    from docx.shared import Pt

    # The number of the next item of each open list; None for a list without numbers.
    lists: list[int | None] = []
    bullet, level = "", 0
    rows: list[list[Sequence[Token]]] | None = None
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            lists.append(int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif token.type == "list_item_open":
            number = lists[-1]
            bullet = "•\t" if number is None else f"{number}.\t"
            lists[-1] = None if number is None else number + 1
        elif token.type == "list_item_close":
            bullet = ""  # an empty item never used it
        elif token.type == "heading_open":
            level = min(9, int(token.tag[1]) + 1)
        elif token.type == "table_open":
            rows = []
        elif token.type == "tr_open" and rows is not None:
            rows.append([])
        elif token.type == "table_close" and rows is not None:
            _add_table(document, rows)
            rows = None
        elif token.type == "inline" and rows is not None:
            rows[-1].append(token.children or ())
        elif token.type == "inline":
            paragraph = document.add_heading("", level) if level else document.add_paragraph(bullet)
            if lists:
                paragraph.paragraph_format.left_indent = Pt(18 * len(lists))
                paragraph.paragraph_format.first_line_indent = Pt(-18) if bullet else None
            _add_runs(paragraph, token.children or ())
            bullet, level = "", 0
        elif token.type in ("fence", "code_block"):
            document.add_paragraph(bullet).add_run(token.content.rstrip("\n")).font.name = "Courier New"
            bullet = ""


def _add_table(document: Document, rows: Sequence[Sequence[Sequence[Token]]]) -> None:
    table = document.add_table(0, max(map(len, rows), default=1) or 1, "Table Grid")
    for row in rows:
        for cell, tokens in zip(table.add_row().cells, row, strict=False):
            _add_runs(cell.paragraphs[0], tokens)


def _add_runs(paragraph: Paragraph, tokens: Sequence[Token]) -> None:
    is_active: dict[str, Any] = {}
    for token in tokens:
        kind, _, side = token.type.rpartition("_")
        if side in ("open", "close"):
            is_active[kind] = side == "open"
        elif token.type in ("softbreak", "hardbreak"):
            paragraph.add_run("\n" if token.type == "hardbreak" else " ")
        else:
            run = paragraph.add_run(token.content)
            run.bold, run.italic, run.font.strike = (is_active.get(kind) for kind in ("strong", "em", "s"))
            if token.type == "code_inline":
                run.font.name = "Courier New"


FILE_KINDS: Mapping[str, FileKind] = {
    "markdown": FileKind("md", "text/markdown", lambda *thread: format_markdown(*thread).encode()),
    "docx": FileKind(
        "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", write_docx
    ),
    "pdf": FileKind("pdf", "application/pdf", write_pdf),
}
