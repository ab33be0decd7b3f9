"""`adaptive-rag ask`: answer one question, with citations."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from adaptive_rag.cli import options
from adaptive_rag.cli.failures import print_failures
from adaptive_rag.cli.output import print_json
from adaptive_rag.cli.session import restrict_to_documents, show_answer


def ask(
    question: Annotated[str, Argument(help="The question; - reads it from standard input.")],
    ask_options: options.RouteOptions,
    docs: options.Docs = None,
    as_json: options.Json = False,
    trace: options.Trace = False,
) -> None:
    """Ask a question and get an answer with citations."""
    from adaptive_rag.query.history import read_question
    from adaptive_rag.runnable import AdaptiveRAG

    question = options.read_question_argument(question)
    # Reject an unusable question before minutes are spent on indexing.
    read_question({"question": question})
    settings = restrict_to_documents(docs, ask_options.settings())
    if as_json:
        output = AdaptiveRAG(**settings).invoke({"question": question, "user_context": ask_options.context})
        print_json({key: value for key, value in output.items() if key != "messages"})
        print_failures(output["trace"], abstained=output["abstained"])
    else:
        show_answer(question, ask_options.context, settings, trace=trace, paths=ask_options.paths)
