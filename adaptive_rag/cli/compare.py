"""`adaptive-rag compare`: one question answered in several ways, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Annotated

from rich.text import Text
from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.answers import format_certainty, strategy_colour
from adaptive_rag.cli.failures import format_calls, print_failures
from adaptive_rag.cli.output import (
    MEASURE,
    format_count,
    format_source_place,
    print_block,
    print_json,
    print_line,
    snippet,
    stderr,
    stdout,
    with_display_names,
)
from adaptive_rag.cli.session import restrict_to_documents
from adaptive_rag.text.markers import write_marker
from adaptive_rag.text.places import place_at

if TYPE_CHECKING:
    from adaptive_rag.compare import Column, Comparison

BORDER = " │ "
# Narrower columns are hard to read, so the next column goes below instead.
MIN_COLUMN_WIDTH = 34
# The sign before a line that only one column has, and before any other line.
UNIQUE_SIGN, SHARED_SIGN = Text("+ ", "bold green"), Text("  ")
SNIPPET_LENGTH = 120


def compare(
    question: Annotated[str, Argument(help="The question; - reads it from standard input.")],
    ask_options: options.ReadOptions,
    routes: Annotated[
        str, Option("--routes", "-r", help="Strategies to compare, with commas.", metavar="NAMES")
    ] = "",
    recipes: Annotated[
        str, Option("--recipes", help="Recipes to compare, with commas.", metavar="NAMES")
    ] = "",
    docs: options.Docs = None,
    as_json: options.Json = False,
) -> None:
    """Answer a question in several ways and show how the answers differ.

    Without --routes and --recipes: the way that the question takes by itself, and the second likeliest.
    """
    from adaptive_rag.compare import name_columns
    from adaptive_rag.context import make_context
    from adaptive_rag.graph.builder import check_names
    from adaptive_rag.query.history import read_question
    from adaptive_rag.runnable import AdaptiveRAG

    settings = ask_options.settings()
    question = options.read_question_argument(question)
    chosen = {"routes": routes, "recipes": recipes}
    # Reject unusable questions and names before minutes are spent on indexing.
    read_question({"question": question})
    for column_settings in name_columns(**chosen).values():
        check_names(make_context(settings, column_settings))
    rag = AdaptiveRAG(**restrict_to_documents(docs, settings))
    with stderr().status("comparing", spinner="dots"):
        comparison = rag.compare(question, **chosen, user_context=ask_options.context)
    if as_json:
        print_json(comparison)
    else:
        passages = [passage for column in comparison.columns for passage in column.output["documents"]]
        named = iter(with_display_names(passages, rag.context, paths=ask_options.paths))
        for column in comparison.columns:
            column.output["documents"] = list(islice(named, len(column.output["documents"])))
        _print_comparison(comparison)
    for column in comparison.columns:
        trace, abstained = column.output["trace"], column.output["abstained"]
        print_failures(trace, abstained=abstained, label=column.name)


def _print_comparison(comparison: Comparison) -> None:
    columns = comparison.columns
    total_width = stdout().width + len(BORDER)
    per_row = min(len(columns), max(1, total_width // (MIN_COLUMN_WIDTH + len(BORDER))))
    width = min(MEASURE, total_width // per_row - len(BORDER))
    stdout().print()
    for start in range(0, len(columns), per_row):
        row = columns[start : start + per_row]
        for format_part in (_format_heading, _format_answer, _format_passages):
            _print_side_by_side([list(format_part(column, comparison, width)) for column in row], width)
            stdout().print()
    _print_summary(comparison)


def _print_side_by_side(cells: Sequence[Sequence[Text]], width: int) -> None:
    """Print the lines of several cells as columns of one width."""
    for lines in zip_longest(*cells, fillvalue=Text()):
        row = Text()
        for column, line in enumerate(lines):
            if column:
                row.append(" " * (width - lines[column - 1].cell_len)).append(BORDER, "dim")
            row.append_text(line)
        row.rstrip()
        print_line(row)


def _format_heading(column: Column, comparison: Comparison, width: int) -> Iterator[Text]:
    output, route = column.output, " + ".join(column.route)
    name = column.name if column.name == route else f"{column.name}: {route}"
    colour = strategy_colour(column.route[0])
    yield from _wrap(Text(name, f"bold {colour}"), width, Text("● ", colour))
    facts = [
        f"{column.ms / 1000:.2f} s",
        format_calls(output["trace"]),
        format_count(len(output["documents"]), "passage"),
        *format_certainty(output),
    ]
    yield from _wrap(Text(" · ".join(facts), "dim"), width)


def _format_answer(column: Column, comparison: Comparison, width: int) -> Iterator[Text]:
    from adaptive_rag.compare import split_answer, words_of

    unique = comparison.sentences.only[column.name]
    for sentence in split_answer(column.output["answer"]):
        is_unique = words_of(sentence) in unique
        sign, style = (UNIQUE_SIGN, "green") if is_unique else (SHARED_SIGN, "")
        yield from _wrap(Text(sentence, style), width, sign)


def _format_passages(column: Column, comparison: Comparison, width: int) -> Iterator[Text]:
    from adaptive_rag.answer.passages import chunks_of

    unique = comparison.passages.only[column.name]
    for number, passage in enumerate(column.output["documents"], start=1):
        chunks = chunks_of(passage)
        unique_chunks = [chunk for chunk in chunks if chunk["id"] in unique]
        place = place_at(passage, passage["start"], passage["end"])
        label = f"{write_marker(number)} {format_source_place(passage['source'], place)}"
        if not unique_chunks:
            yield from _wrap(Text(label, "bold"), width)
            continue
        label += ", in part" if len(unique_chunks) < len(chunks) else ""
        yield from _wrap(Text(label, "green"), width, UNIQUE_SIGN)
        excerpt = snippet(unique_chunks[0]["text"], passage["source"], SNIPPET_LENGTH)
        yield from _wrap(Text(excerpt, "dim"), width)


def _wrap(text: Text, width: int, sign: Text = SHARED_SIGN) -> Iterator[Text]:
    """Yield the lines of a text; the sign stands before the first one, blanks before the others."""
    for number, line in enumerate(text.wrap(stdout(), width - sign.cell_len)):
        line.rstrip()
        yield Text.assemble(SHARED_SIGN if number else sign, line)


def _print_summary(comparison: Comparison) -> None:
    parts = []
    for noun, overlap in (("chunk", comparison.passages), ("sentence", comparison.sentences)):
        unique = sum(map(len, overlap.only.values()))
        parts.append(f"{format_count(len(overlap.in_all), noun)} in every column, {unique} in one alone")
    print_block(f"{'; '.join(parts)}.", style="dim")
    print_line(("+ ", "bold green"), ("marks what only that column has.", "dim"))
