"""`adaptive-rag route`: what kind of question it is, how sure the router is, and why; needs no index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptive_rag.cli.options import ContextOption

if TYPE_CHECKING:
    from adaptive_rag.analysis.explain import Reason, WhyNot
    from adaptive_rag.analysis.learning import Lesson
    from adaptive_rag.state import QueryAnalysis

# What a line of `--file --json` holds of each question.
LINE_KEYS = (
    "type",
    "probabilities",
    "confidence",
    "intent",
    "complexity",
    "decided_by",
    "alternatives",
    "reason",
)
BAR_WIDTH = 24
BATCH = 64


def route(
    question: Annotated[
        str | None, typer.Argument(help="The question; - reads it from standard input.")
    ] = None,
    context: ContextOption = "",
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", help="Questions as JSONL: text, user_context, history. - is standard input."
        ),
    ] = None,
    ontology: Annotated[
        Path | None, typer.Option("--ontology", help="Terms of the domain, as YAML: category -> terms.")
    ] = None,
    why_not: Annotated[
        str | None, typer.Option("--why-not", metavar="TYPE", help="Show what would have had to differ.")
    ] = None,
    learn: Annotated[
        Path | None, typer.Option("--learn", help="Learn from labelled questions as JSONL: text, type.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, one line a question, and nothing else.")
    ] = False,
) -> None:
    """Show how a question is routed: type, probabilities, and what spoke for each type."""
    from adaptive_rag.errors import ConfigurationError

    given = [
        name
        for name, value in (("QUESTION", question), ("--file", file), ("--learn", learn))
        if value is not None
    ]
    if len(given) != 1:
        raise ConfigurationError(
            f"Got {' and '.join(given) or 'neither a question nor a file'}; "
            "expected one of QUESTION, --file FILE and --learn FILE."
        )
    if why_not is not None and question is None:
        raise ConfigurationError("--why-not asks about one question; pass it as QUESTION.")
    if learn is not None:
        _learn(learn, as_json)
    elif file is not None:
        _route_file(file, ontology, as_json)
    else:
        assert question is not None
        text = typer.get_text_stream("stdin").read().strip() if question == "-" else question
        _route_one(text, context, ontology, why_not, as_json)


def _route_one(
    question: str, context: str, ontology: Path | None, why_not: str | None, as_json: bool
) -> None:
    from adaptive_rag import analysis as core
    from adaptive_rag.cli.output import print_json

    terms = core.load_ontology(ontology) if ontology else None
    answer = core.analyse(question, user_context=context, ontology=terms)
    reasons = core.explain_contributions(question, user_context=context)
    denied = core.why_not(question, why_not, user_context=context) if why_not else None
    if as_json:
        words = {name: [reason._asdict() for reason in found] for name, found in reasons.items()}
        more = {"why_not": _plain(denied)} if denied else {}
        print_json({"text": question, **answer, "contributions": words, **more})
        return
    _print_analysis(answer, reasons)
    if denied:
        _print_why_not(denied)


def _route_file(file: Path, ontology: Path | None, as_json: bool) -> None:
    from adaptive_rag import analysis as core
    from adaptive_rag.analysis.questions_file import read_questions
    from adaptive_rag.cli.output import print_json

    asked = read_questions(file)
    terms = core.load_ontology(ontology) if ontology else None
    table = None if as_json else _file_table()
    for start in range(0, len(asked), BATCH):
        part = asked[start : start + BATCH]
        answers = core.analyse_batch(
            [one.text for one in part],
            user_contexts=[one.user_context for one in part],
            histories=[one.history for one in part],
            ontology=terms,
        )
        for one, answer in zip(part, answers, strict=True):
            if table is None:
                print_json({"text": one.text, **{key: answer[key] for key in LINE_KEYS}})  # type: ignore[literal-required]
            else:
                _add_row(table, one.text, answer)
    if table is not None:
        from adaptive_rag.cli.output import stdout

        stdout().print(table)


def _learn(file: Path, as_json: bool) -> None:
    from adaptive_rag.analysis import learn
    from adaptive_rag.cli.output import print_json

    lesson = learn(file)
    if as_json:
        print_json(_plain(lesson))
    else:
        _print_lesson(lesson)


def _print_analysis(answer: QueryAnalysis, reasons: Any) -> None:
    from rich.table import Table
    from rich.text import Text

    from adaptive_rag.cli.answers import COLOURS
    from adaptive_rag.cli.output import stdout

    console = stdout()
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="bold")
    for name in ("type", "probability", "", "what spoke for it"):
        table.add_column(name, overflow="fold")
    for name, probability in sorted(answer["probabilities"].items(), key=lambda item: -item[1]):
        chosen = name == answer["type"]
        bar = "█" * round(probability * BAR_WIDTH)
        table.add_row(
            Text(name, style=f"bold {COLOURS[name]}" if chosen else ""),
            Text(bar.ljust(BAR_WIDTH, "·"), style=COLOURS[name]),
            f"{probability:.2f}",
            Text(_list_reasons(reasons[name]), style="" if chosen else "dim"),
        )
    console.print(table)
    facts = {
        "decided by": f"{answer['decided_by']}: {answer['reason']}",
        "confidence": f"{answer['confidence']:.2f} from "
        + ", ".join(f"{name} {value:.2f}" for name, value in answer["factors"].items()),
        "intent": answer["intent"],
        "complexity": answer["complexity"],
        "entities": ", ".join(answer["entities"]) or "none",
        "domain": f"{answer['domain_relevance']:.2f} "
        + ("; ".join(f"{name}: {', '.join(terms)}" for name, terms in answer["ontology_terms"].items())),
    }
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for name, value in facts.items():
        grid.add_row(Text(name, style="bold"), Text(value))
    console.print()
    console.print(grid)


def _list_reasons(reasons: list[Reason]) -> str:
    return ", ".join(f"{reason.what} {reason.weight:+.2f}" for reason in reasons) or "nothing"


def _print_why_not(denied: WhyNot) -> None:
    from rich.table import Table
    from rich.text import Text

    from adaptive_rag.cli.output import stdout

    console = stdout()
    console.print()
    if denied.type == denied.decided:
        console.print(Text(f"  It is {denied.type}, at {denied.probability:.2f}."))
        return
    console.print(
        Text(
            f"  Why not {denied.type} ({denied.probability:.2f})? "
            f"It is {denied.decided} ({denied.decided_probability:.2f}).",
            style="bold",
        )
    )
    console.print(Text(f"  against it: {_list_reasons(denied.against)}"))
    console.print(Text(f"  for it: {_list_reasons(denied.in_favour)}"))
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="bold")
    for name in ("what would have had to differ", "the question then", f"{denied.type} then", ""):
        table.add_column(name, overflow="fold")
    for change in denied.changes:
        table.add_row(
            Text(change.what),
            Text(change.question),
            f"{change.probability:.2f}",
            "decides it" if change.wins else "",
        )
    console.print(table)


def _print_lesson(lesson: Lesson) -> None:
    from rich.table import Table
    from rich.text import Text

    from adaptive_rag.cli.output import stdout

    console = stdout()
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="bold")
    for name in (f"on {lesson.kept_aside} questions kept aside", "accuracy", "log loss"):
        table.add_column(name)
    table.add_row("before", f"{lesson.before.accuracy:.3f}", f"{lesson.before.log_loss:.3f}")
    table.add_row("after", f"{lesson.after.accuracy:.3f}", f"{lesson.after.log_loss:.3f}")
    console.print(table)
    if lesson.file:
        note = f"Learned from {lesson.learned_from} questions. To undo it, remove {lesson.file}"
    else:
        note = f"Nothing was saved: {lesson.learned_from} questions did not help with the others."
    console.print(Text(f"  {note}"), soft_wrap=True)


def _file_table() -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 2), header_style="bold")
    for name in ("type", "probability", "decided by", "intent", "complexity", "question"):
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    return table


def _add_row(table: Any, text: str, answer: QueryAnalysis) -> None:
    from rich.text import Text

    from adaptive_rag.cli.answers import COLOURS

    table.add_row(
        Text(" + ".join([answer["type"], *answer["alternatives"]]), style=COLOURS[answer["type"]]),
        f"{answer['probabilities'][answer['type']]:.2f}",
        answer["decided_by"],
        answer["intent"],
        answer["complexity"],
        Text(" ".join(text.split())[:200]),
    )


def _plain(value: Any) -> Any:
    """Turn nested named tuples into plain data."""
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, Path) else value
