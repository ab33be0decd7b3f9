"""`adaptive-rag ask`: a question in, an answer with citations out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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


def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads it from standard input.")],
    docs: Annotated[
        list[Path] | None,
        typer.Option("--docs", "-d", help="Answer from these files or folders; indexes what is new in them."),
    ] = None,
    index: IndexOption = None,
    context: ContextOption = "",
    route: RouteOption = None,
    profile: ProfileOption = None,
    k: KOption = None,
    model: ModelOption = None,
    settings: SettingOption = None,
    as_json: JsonOption = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show every step and its reasons.")] = False,
) -> None:
    """Ask a question and get an answer with citations."""
    from adaptive_rag.cli.answers import print_trace
    from adaptive_rag.cli.output import print_json
    from adaptive_rag.cli.session import answer, index_named, show_answer
    from adaptive_rag.query.history import read_question

    given = knobs(settings, index=index, route=route, profile=profile, k=k, model=model)
    if question == "-":
        question = typer.get_text_stream("stdin").read()
    # What is wrong with the question shows before minutes go into indexing.
    read_question({"question": question})
    if docs:
        given["index"] = index_named(docs, given)
    if as_json:
        output, _ = answer(question, context, given)
        print_json({key: value for key, value in output.items() if key != "messages"})
        return
    output = show_answer(question, context, given)
    if trace:
        print_trace(output["trace"])
