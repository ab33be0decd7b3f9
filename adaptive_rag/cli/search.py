"""`adaptive-rag search`: the chunks that a question finds, without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from adaptive_rag.cli.options import (
    ContextOption,
    IndexOption,
    JsonOption,
    KOption,
    ModelOption,
    ProfileOption,
    RouteOption,
    SettingOption,
    knobs,
)

if TYPE_CHECKING:
    from adaptive_rag.state import Candidate, RetrievalState

MAX_SHOWN = 320


def search(
    question: Annotated[str, typer.Argument(help="What to look for; - reads it from standard input.")],
    index: IndexOption = None,
    context: ContextOption = "",
    route: RouteOption = None,
    profile: ProfileOption = None,
    k: KOption = None,
    model: ModelOption = None,
    settings: SettingOption = None,
    full: Annotated[bool, typer.Option("--full", help="Show the whole text of every chunk.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the passages that a question finds, with their scores."""
    from adaptive_rag.cli.output import print_json
    from adaptive_rag.context import make_context
    from adaptive_rag.graph.builder import build_retrieval_graph
    from adaptive_rag.state import InputState

    given = knobs(settings, index=index, route=route, profile=profile, k=k, model=model)
    if question == "-":
        question = typer.get_text_stream("stdin").read()
    state = InputState(question=question, user_context=context)
    found = cast(
        "RetrievalState", build_retrieval_graph().compile().invoke(state, context=make_context(**given))
    )
    if as_json:
        print_json(found)
    else:
        _print_found(found, full=full)


def _print_found(found: RetrievalState, *, full: bool) -> None:
    from adaptive_rag.cli.answers import heading
    from adaptive_rag.cli.output import stdout

    console = stdout()
    console.print()
    console.print(heading(found["analysis"]), soft_wrap=True)
    console.print()
    if not found["documents"]:
        console.print("  Nothing was found.")
    for rank, document in enumerate(found["documents"], start=1):
        _print_document(rank, document, full=full)


def _print_document(rank: int, document: Candidate, *, full: bool) -> None:
    from rich.text import Text

    from adaptive_rag.cli.output import place_of, print_block, stdout

    console = stdout()
    place = place_of(document["source"], document["page"])
    place += f" · {document['section']}" if document["section"] else ""
    print_block(console, Text.assemble((f"{rank:>2}  ", "bold blue"), (place, "bold")), hanging=4)
    if document["labels"]:
        print_block(console, Text(f"for {'; '.join(document['labels'])}", style="italic dim"), indent=6)
    text = " ".join(document["text"].split())
    if not full and len(text) > MAX_SHOWN:
        text = text[: MAX_SHOWN - 1].rstrip() + "…"
    print_block(console, Text(text), indent=6)
    scores = " · ".join(f"{name} {value:.2f}" for name, value in document["scores"].items())
    print_block(console, Text(scores, style="dim"), indent=6)
    console.print()
