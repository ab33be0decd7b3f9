"""`adaptive-rag search`: show the passages that a question finds, without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.answers import print_heading
from adaptive_rag.cli.output import (
    format_source_place,
    print_block,
    print_json,
    short_source,
    snippet,
    stdout,
    with_display_names,
)
from adaptive_rag.cli.session import restrict_to_documents
from adaptive_rag.text.places import format_other_names, place_at

if TYPE_CHECKING:
    from adaptive_rag.state import Candidate, RetrievalState

EXCERPT_LENGTH = 320


def search(
    question: Annotated[str, Argument(help="What to look for; - reads it from standard input.")],
    ask_options: options.RouteOptions,
    docs: options.Docs = None,
    full: Annotated[bool, Option("--full", help="Show the whole text of every chunk.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show the passages that a question finds, with their scores."""
    from adaptive_rag.context import make_context
    from adaptive_rag.graph.builder import build_retrieval_graph
    from adaptive_rag.state import InputState

    state = InputState(question=options.read_question_argument(question), user_context=ask_options.context)
    context = make_context(restrict_to_documents(docs, ask_options.settings()))
    result = build_retrieval_graph().compile().invoke(state, context=context)
    retrieved = cast("RetrievalState", result)
    if as_json:
        print_json(retrieved)
        return
    print_heading(retrieved["analysis"])
    if not retrieved["documents"]:
        stdout().print("  Nothing was found.")
    for rank, document in enumerate(
        with_display_names(retrieved["documents"], context, paths=ask_options.paths), start=1
    ):
        _print_document(rank, document, len(document["text"]) if full else EXCERPT_LENGTH)


def _print_document(rank: int, document: Candidate, length: int) -> None:
    section = document["section"]
    place = format_source_place(document["source"], place_at(document, document["start"], document["end"]))
    place += f" · {section}" if section and section not in place else ""
    other_names = format_other_names([short_source(name) for name in document["metadata"].get("also_as", ())])
    heading = (place, "bold"), (f"  ({other_names})" if other_names else "", "dim")
    print_block((f"{rank:>2}  ", "bold blue"), *heading, hanging=4)
    if document["labels"]:
        print_block(f"for {'; '.join(document['labels'])}", style="italic dim", indent=6)
    print_block(snippet(document["text"], document["source"], length), indent=6)
    scores = " · ".join(f"{name} {value:.2f}" for name, value in document["scores"].items())
    print_block(scores, style="dim", indent=6)
    stdout().print()
