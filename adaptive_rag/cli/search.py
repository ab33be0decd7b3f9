"""`adaptive-rag search`: the chunks that a question finds, without an answer."""

from __future__ import annotations

from typing import Annotated

import typer

from adaptive_rag.cli.options import (
    ContextOption,
    IndexOption,
    JsonOption,
    KOption,
    ModelOption,
    RouteOption,
    SettingOption,
    knobs,
)


def search(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    index: IndexOption = None,
    context: ContextOption = "",
    route: RouteOption = None,
    k: KOption = None,
    model: ModelOption = None,
    settings: SettingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the chunks that the question's strategy keeps, with every score."""
    from adaptive_rag.cli.output import print_json, stdout
    from adaptive_rag.context import make_context
    from adaptive_rag.graph.builder import build_retrieval_graph

    given = knobs(settings, index=index, route=route, k=k, model=model)
    state = {"question": question, "user_context": context}
    found = build_retrieval_graph().compile().invoke(state, context=make_context(**given))
    if as_json:
        print_json(found)
        return
    from rich.padding import Padding
    from rich.text import Text

    console = stdout()
    console.print(f"\n[bold]{found['query_type']}[/]  {len(found['documents'])} chunks\n")
    for rank, document in enumerate(found["documents"], start=1):
        page = f", page {document['page']}" if document["page"] is not None else ""
        scores = "  ".join(f"{name} {value:.2f}" for name, value in document["scores"].items())
        console.print(Text.assemble((f"{rank}. ", "bold"), (f"{document['source']}{page}", "underline")))
        console.print(Text(f"   {scores}", style="dim"))
        if document["labels"]:
            console.print(Text(f"   found for: {'; '.join(document['labels'])}", style="dim"))
        console.print(Padding(Text(" ".join(document["text"].split())), (0, 3, 1, 3)))
