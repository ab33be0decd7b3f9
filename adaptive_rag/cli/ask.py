"""`adaptive-rag ask`: a question in, an answer with citations out."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from adaptive_rag.cli import options
from adaptive_rag.cli.failures import print_failures
from adaptive_rag.cli.output import print_json
from adaptive_rag.cli.session import narrow_index, show_answer


def ask(
    question: Annotated[str, Argument(help="The question; - reads it from standard input.")],
    asked: options.RouteOptions,
    docs: options.Docs = None,
    as_json: options.Json = False,
    trace: options.Trace = False,
) -> None:
    """Ask a question and get an answer with citations."""
    from adaptive_rag.query.history import read_question
    from adaptive_rag.runnable import AdaptiveRAG

    question = options.read_argument(question)
    # Check the question before minutes are spent on indexing.
    read_question({"question": question})
    given = narrow_index(docs, asked.given())
    if as_json:
        output = AdaptiveRAG(**given).invoke({"question": question, "user_context": asked.context})
        print_json({key: value for key, value in output.items() if key != "messages"})
        print_failures(output["trace"], abstained=output["abstained"])
    else:
        show_answer(question, asked.context, given, trace=trace, paths=asked.paths)
