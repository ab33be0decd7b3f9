"""`adaptive-rag show`: show a document's text as it is indexed, or one span of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import (
    format_source_place,
    print_block,
    print_json,
    print_line,
    short_source,
    stdout,
)
from adaptive_rag.errors import InputError
from adaptive_rag.text.places import format_other_names, page_at, place_at, section_at

if TYPE_CHECKING:
    from adaptive_rag.state import Chunk

CONTEXT_LENGTH = 200  # characters that are shown before and after a span


def show(
    document: Annotated[
        str,
        Argument(
            help="A document as `list` names it, the path of its file, or the start or end of its name."
        ),
    ],
    span: Annotated[
        str | None,
        Option("--span", help="Show only these characters, with a little around them.", metavar="START-END"),
    ] = None,
    index: options.Index = None,
    as_json: options.Json = False,
) -> None:
    """Show the text of a document as it is indexed, chunk by chunk, or a citation's span in its context."""
    from adaptive_rag.index.sources import read_chunks

    bounds = None if span is None else _parse_span(span)
    source, chunks = read_chunks(options.index_address(index), document)
    if not chunks:
        raise InputError(f"The document {source} has no text.")
    if not as_json and (others := chunks[0]["metadata"].get("also_as")):
        print_line(f"stored once, {format_other_names([short_source(name) for name in others])}", style="dim")
    if bounds is not None:
        _show_span(source, chunks, *bounds, as_json=as_json)
    elif as_json:
        print_json({"source": source, "chunks": chunks})
    else:
        for chunk in chunks:
            print_line(_heading(source, chunk, chunk["start"], chunk["end"]), style="bold")
            print_block(chunk["text"])
            print_line()


def _parse_span(text: str) -> tuple[int, int]:
    """Parse START-END."""
    match = re.fullmatch(r"(\d{1,12})[-:](\d{1,12})", text.strip())
    if not match or int(match[1]) >= int(match[2]):
        raise InputError(f"{text!r} is not a span: write START-END, as in --span 120-180.")
    return int(match[1]), int(match[2])


def _heading(source: str, chunk: Chunk, start: int, end: int) -> str:
    place = format_source_place(source, place_at(chunk, start, end))
    # A chunk may hold several slides: "slide 1-3".
    last_page = page_at(chunk, end - 1)
    pages = f"-{last_page}" if last_page != page_at(chunk, start) else ""
    return f"{place}{pages} · {start}-{end}"


def _show_span(source: str, chunks: Sequence[Chunk], start: int, end: int, *, as_json: bool) -> None:
    """Print a span with the text before and after it, below a line with its place."""
    from adaptive_rag.index.sources import join_chunks

    text_end = chunks[-1]["end"]
    if end > text_end:
        raise InputError(f"The text of {source} ends at {text_end}: there is no span {start}-{end}.")
    text = join_chunks(chunks, max(0, start - CONTEXT_LENGTH), min(text_end, end + CONTEXT_LENGTH))
    span_start = min(start, CONTEXT_LENGTH)  # within `text`
    span_end = span_start + end - start
    before, span, after = text[:span_start], text[span_start:span_end], text[span_end:]
    chunk = next((chunk for chunk in reversed(chunks) if chunk["start"] <= start), chunks[0])
    if as_json:
        print_json({
            "source": source, "page": page_at(chunk, start), "section": section_at(chunk, start),
            "place": place_at(chunk, start, end), "start": start, "end": end,
            "before": before, "text": span, "after": after,
        })  # fmt: skip
        return
    print_line(_heading(source, chunk, start, end), style="bold")
    # Leave out a word that the limit cuts in two.
    if start > CONTEXT_LENGTH:
        before = re.sub(r"^\S*\s+", "… ", before)
    if end + CONTEXT_LENGTH < text_end:
        after = re.sub(r"\s+\S*$", " …", after)
    # Where no style is shown, as in a pipe, signs mark the span.
    marked = (span, "bold reverse") if stdout().color_system else f"«{span}»"
    print_block(before.lstrip(), marked, after.rstrip())
