"""`adaptive-rag show`: a document's text as it is indexed, or a span of it in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import place_of, print_block, print_json, print_line, short_source
from adaptive_rag.text.places import format_other_names, page_at, place_at, section_at

if TYPE_CHECKING:
    from adaptive_rag.state import Chunk

AROUND = 200  # characters that are shown before and after a span


def show(
    document: Annotated[
        str, Argument(help="A document as `list` names it, the path of its file, or the end of either.")
    ],
    span: Annotated[
        str | None,
        Option("--span", help="Show these characters alone, with a little around them.", metavar="START-END"),
    ] = None,
    index: options.Index = None,
    as_json: options.Json = False,
) -> None:
    """Show the text of a document as it is indexed, chunk by chunk, or a citation's span in its place."""
    from adaptive_rag.index.sources import read_chunks

    asked = None if span is None else _read_span(span)
    source, chunks = read_chunks(options.index_of(index), document)
    if not as_json and (others := chunks[0]["metadata"].get("also_as")):
        print_line(f"stored once, {format_other_names([short_source(name) for name in others])}", style="dim")
    if asked is not None:
        _show_span(source, chunks, *asked, as_json=as_json)
    elif as_json:
        print_json({"source": source, "chunks": chunks})
    else:
        for chunk in chunks:
            print_line(_heading(source, chunk, chunk["start"], chunk["end"]), style="bold")
            print_block(chunk["text"])
            print_line()


def _read_span(text: str) -> tuple[int, int]:
    """Parse the start and the end of a span.

    Raises:
        InputError: the text is not a span.
    """
    from adaptive_rag.errors import InputError

    match = re.fullmatch(r"(\d{1,12})[-:](\d{1,12})", text.strip())
    if not match or int(match[1]) >= int(match[2]):
        raise InputError(f"{text!r} is no span: write START-END, as in --span 120-180.")
    return int(match[1]), int(match[2])


def _heading(source: str, chunk: Chunk, start: int, end: int) -> str:
    return f"{place_of(source, place_at(chunk, start, end))} · {start}-{end}"


def _show_span(source: str, chunks: Sequence[Chunk], start: int, end: int, *, as_json: bool) -> None:
    """Print a span with the text before and after it, below its place.

    Raises:
        InputError: the span is outside the text.
    """
    from adaptive_rag.errors import InputError
    from adaptive_rag.index.sources import join_chunks

    last = chunks[-1]["end"]
    if end > last:
        raise InputError(f"The text of {source} ends at {last}: there is no span {start}-{end}.")
    text = join_chunks(chunks, max(0, start - AROUND), min(last, end + AROUND))
    before = min(start, AROUND)
    parts = text[:before], text[before : before + end - start], text[before + end - start :]
    inside = next((chunk for chunk in reversed(chunks) if chunk["start"] <= start), chunks[0])
    if as_json:
        known = {"page": page_at(inside, start), "section": section_at(inside, start)}
        where = {"source": source, **known, "place": place_at(inside, start, end)}
        around = dict(zip(("before", "text", "after"), parts, strict=True))
        print_json({**where, "start": start, "end": end, **around})
        return
    print_line(_heading(source, inside, start, end), style="bold")
    # A word that is cut in two is left out.
    lead = re.sub(r"^\S*\s+", "… ", parts[0]) if start > AROUND else parts[0].lstrip()
    rest = re.sub(r"\s+\S*$", " …", parts[2]) if end + AROUND < last else parts[2].rstrip()
    print_block(lead, (parts[1], "bold reverse"), rest)
