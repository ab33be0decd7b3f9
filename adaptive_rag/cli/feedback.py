"""`adaptive-rag feedback`: store a question with its right type, for the router to learn from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_json, print_line, print_note
from adaptive_rag.errors import ConfigurationError


def feedback(
    question: Annotated[str, Argument(help="The question; - reads it from standard input.")],
    type: Annotated[
        str, Option("--type", "-t", help="The right type, one of those that `adaptive-rag route` shows.")
    ],
    context: options.UserContext = "",
    history: Annotated[
        str,
        Option(
            help="Earlier turns as JSON: a list of objects with role (user or agent) and text.",
            metavar="JSON",
        ),
    ] = "",
    file: Annotated[
        Path | None,
        Option("--file", "-f", help="File of labelled questions.", show_default="in ADAPTIVE_RAG_HOME"),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Store a question with its correct type, for `adaptive-rag route --learn`."""
    from adaptive_rag.analysis.learning import QuestionLine
    from adaptive_rag.evaluation.labels import append_questions, own_questions
    from adaptive_rag.index.manifest import quoted
    from adaptive_rag.nodes.classify import check_name
    from adaptive_rag.query.history import read_question
    from adaptive_rag.state import ROUTED_TYPES

    check_name("--type", type.lower(), ROUTED_TYPES)
    label = next(name for name in ROUTED_TYPES if name == type.lower())
    try:
        parsed = json.loads(history) if history else []
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"--history is not valid JSON: {error}.") from error
    turns = parsed if isinstance(parsed, list) else [parsed]
    if not all(isinstance(turn, dict) and isinstance(turn.get("text"), str) for turn in turns):
        expected = 'expected a list of turns like {"role": "user", "text": "..."}'
        raise ConfigurationError(f"--history is {history!r}; {expected}.")
    text, turns = read_question({"question": options.read_question_argument(question), "history": turns})
    target = file if file is not None else own_questions()
    appended = append_questions(target, [QuestionLine(text, context, turns, label)])
    if as_json:
        print_json({"file": str(target), "type": label, "written": appended.written})
        return
    print_line(f"{'Kept' if appended.written else 'Already kept'} as {label} in {target}")
    if appended.disputed:
        print_note("The file holds the same question with another type too; remove the line that is wrong.")
    print_note(f"Learn from the file with: adaptive-rag route --learn {quoted(str(target))}")
