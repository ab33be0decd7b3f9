"""`adaptive-rag compare`: one question answered in several ways, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

from rich.text import Text
from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.answers import colour_of, how_sure
from adaptive_rag.cli.failures import format_calls, print_failures
from adaptive_rag.cli.output import (
    MEASURE,
    count_of,
    named_briefly,
    place_of,
    print_block,
    print_json,
    print_line,
    snippet,
    stderr,
    stdout,
)
from adaptive_rag.cli.session import narrow_index
from adaptive_rag.text.markers import write_marker
from adaptive_rag.text.places import place_at

if TYPE_CHECKING:
    from adaptive_rag.compare import Column, Comparison

BORDER = " │ "
# Narrower columns are hard to read, so the next column goes below instead.
NARROWEST = 34
# The signs before what only one column has, and before the rest.
ONLY, SHARED = Text("+ ", "bold green"), Text("  ")
SNIPPET = 120


def compare(
    question: Annotated[str, Argument(help="The question; - reads it from standard input.")],
    asked: options.ReadOptions,
    routes: Annotated[
        str, Option("--routes", "-r", help="Strategies to compare, with commas.", metavar="NAMES")
    ] = "",
    recipes: Annotated[
        str, Option("--recipes", help="Recipes to compare, with commas.", metavar="NAMES")
    ] = "",
    docs: options.Docs = None,
    as_json: options.Json = False,
) -> None:
    """Answer a question in several ways and show in what they differ.

    Without --routes and --recipes: the way that the question takes by itself, and the second likeliest.
    """
    from adaptive_rag.compare import name_columns
    from adaptive_rag.context import make_context
    from adaptive_rag.context.groups import split_list
    from adaptive_rag.graph.builder import check_names
    from adaptive_rag.query.history import read_question
    from adaptive_rag.runnable import AdaptiveRAG

    given = asked.given()
    question = options.read_argument(question)
    named = {"routes": split_list(routes), "recipes": split_list(recipes)}
    # Check the question and the names before minutes are spent on indexing.
    read_question({"question": question})
    for own in name_columns(**named).values():
        check_names(make_context(given, own))
    rag = AdaptiveRAG(**narrow_index(docs, given))
    with stderr().status("comparing", spinner="dots"):
        comparison = rag.compare(question, **named, user_context=asked.context)
    if as_json:
        print_json(comparison)
    else:
        for column in comparison.columns:
            column.output["documents"] = named_briefly(
                column.output["documents"], rag.context, paths=asked.paths
            )
        _print_comparison(comparison)
    for column in comparison.columns:
        trace, abstained = column.output["trace"], column.output["abstained"]
        print_failures(trace, abstained=abstained, of=column.name)


def _print_comparison(comparison: Comparison) -> None:
    columns = comparison.columns
    room = stdout().width + len(BORDER)
    beside = min(len(columns), max(1, room // (NARROWEST + len(BORDER))))
    width = min(MEASURE, room // beside - len(BORDER))
    stdout().print()
    for start in range(0, len(columns), beside):
        group = columns[start : start + beside]
        for part in (_heading, _answer, _passages):
            _print_beside([list(part(column, comparison, width)) for column in group], width)
            stdout().print()
    _print_summary(comparison)


def _print_beside(cells: Sequence[Sequence[Text]], width: int) -> None:
    for lines in zip_longest(*cells, fillvalue=Text()):
        row = Text()
        for number, line in enumerate(lines):
            if number:
                row.append(" " * (width - lines[number - 1].cell_len)).append(BORDER, "dim")
            row.append_text(line)
        row.rstrip()
        print_line(row)


def _heading(column: Column, comparison: Comparison, width: int) -> Iterator[Text]:
    output, route = column.output, " + ".join(column.route)
    name = column.name if column.name == route else f"{column.name}: {route}"
    yield from _wrapped(
        Text(name, f"bold {colour_of(column.route[0])}"), width, Text("● ", colour_of(column.route[0]))
    )
    facts = [
        f"{column.ms / 1000:.2f} s",
        format_calls(column.output["trace"]),
        count_of(len(output["documents"]), "passage"),
        *how_sure(output),
    ]
    yield from _wrapped(Text(" · ".join(facts), "dim"), width)


def _answer(column: Column, comparison: Comparison, width: int) -> Iterator[Text]:
    from adaptive_rag.compare import split_answer, words_of

    only = comparison.sentences.only[column.name]
    for sentence in split_answer(column.output["answer"]):
        alone = words_of(sentence) in only
        yield from _wrapped(Text(sentence, "green" if alone else ""), width, ONLY if alone else SHARED)


def _passages(column: Column, comparison: Comparison, width: int) -> Iterator[Text]:
    from adaptive_rag.answer.passages import chunks_of

    only = comparison.passages.only[column.name]
    for number, passage in enumerate(column.output["documents"], start=1):
        chunks = chunks_of(passage)
        alone = [chunk for chunk in chunks if chunk["id"] in only]
        where = place_at(passage, passage["start"], passage["end"])
        place = f"{write_marker(number)} {place_of(passage['source'], where)}"
        place += ", in part" if 0 < len(alone) < len(chunks) else ""
        yield from _wrapped(Text(place, "green" if alone else "bold"), width, ONLY if alone else SHARED)
        if alone:
            yield from _wrapped(Text(snippet(alone[0]["text"], passage["source"], SNIPPET), "dim"), width)


def _wrapped(text: Text, width: int, sign: Text = SHARED) -> Iterator[Text]:
    """Yield the lines of a text, the sign before the first one."""
    for number, line in enumerate(text.wrap(stdout(), width - sign.cell_len)):
        line.rstrip()
        yield Text.assemble(SHARED if number else sign, line)


def _print_summary(comparison: Comparison) -> None:
    parts = []
    for what, overlap in (("chunk", comparison.passages), ("sentence", comparison.sentences)):
        alone = sum(map(len, overlap.only.values()))
        parts.append(f"{count_of(len(overlap.in_all), what)} in every column, {alone} in one alone")
    print_block(f"{'; '.join(parts)}.", style="dim")
    print_line(("+ ", "bold green"), ("marks what only that column has.", "dim"))
