"""`adaptive-rag route`: what kind of question it is, how sure the router is, and why; needs no index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text
from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.answers import colour_of
from adaptive_rag.cli.output import make_table, print_block, print_json, print_line, stdout

if TYPE_CHECKING:
    from adaptive_rag.analysis.explain import Reason, WhyNot
    from adaptive_rag.state import QueryAnalysis, QueryType

# What `--file --json` prints of each question, beside its text.
LINE_KEYS = (
    "type", "probabilities", "confidence", "intent", "complexity", "decided_by", "alternatives", "reason",
)  # fmt: skip
BAR_WIDTH = 24
BATCH = 64


def route(
    question: Annotated[str | None, Argument(help="The question; - reads it from standard input.")] = None,
    context: options.UserContext = "",
    file: Annotated[
        Path | None,
        Option("--file", "-f", help="Questions as JSONL: text, user_context, history. - is standard input."),
    ] = None,
    ontology: Annotated[
        Path | None, Option("--ontology", help="Terms of the domain, as YAML: category -> terms.")
    ] = None,
    why_not: Annotated[
        str | None, Option("--why-not", metavar="TYPE", help="Show what would have had to differ.")
    ] = None,
    learn: Annotated[
        Path | None, Option("--learn", help="Learn from labelled questions as JSONL: text, type.")
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print JSON, one line a question, and nothing else.")
    ] = False,
) -> None:
    """Show how a question is routed: type, probabilities, and what spoke for each type."""
    from adaptive_rag.errors import ConfigurationError

    sources = {"QUESTION": question, "--file": file, "--learn": learn}
    given = [name for name, value in sources.items() if value is not None]
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
    elif question is not None:
        _route_one(options.read_argument(question), context, ontology, why_not, as_json)


def _route_one(
    question: str, context: str, ontology: Path | None, why_not: str | None, as_json: bool
) -> None:
    from adaptive_rag import analysis

    terms = analysis.load_ontology(ontology) if ontology else None
    answer = analysis.analyse(question, user_context=context, ontology=terms)
    reasons = analysis.explain_contributions(question, user_context=context)
    explained = analysis.why_not(question, why_not, user_context=context) if why_not else None
    if as_json:
        contributions = {name: [asdict(reason) for reason in found] for name, found in reasons.items()}
        more = {"why_not": asdict(explained)} if explained else {}
        print_json({"text": question, **answer, "contributions": contributions, **more})
        return
    _print_types(answer, reasons)
    _print_facts(answer)
    if explained:
        _print_why_not(explained)


def _route_file(file: Path, ontology: Path | None, as_json: bool) -> None:
    from adaptive_rag import analysis
    from adaptive_rag.analysis.learning import read_questions

    questions = read_questions(file)
    terms = analysis.load_ontology(ontology) if ontology else None
    columns = ("type", "probability", "decided by", "intent", "complexity", "question")
    table = make_table(*columns, overflow="ellipsis", no_wrap=True)
    for start in range(0, len(questions), BATCH):
        texts, contexts, histories, _ = zip(*questions[start : start + BATCH], strict=True)
        answers = analysis.analyse_batch(texts, user_contexts=contexts, histories=histories, ontology=terms)
        for text, answer in zip(texts, answers, strict=True):
            if as_json:
                print_json({"text": text, **{key: answer[key] for key in LINE_KEYS}})  # type: ignore[literal-required]
                continue
            table.add_row(
                Text(" + ".join([answer["type"], *answer["alternatives"]]), style=colour_of(answer["type"])),
                f"{answer['probabilities'][answer['type']]:.2f}",
                answer["decided_by"],
                answer["intent"],
                answer["complexity"],
                Text(" ".join(text.split())[:200]),
            )
    if not as_json:
        stdout().print(table)


def _learn(file: Path, as_json: bool) -> None:
    from adaptive_rag.analysis import learn

    result = learn(file)
    if as_json:
        print_json(asdict(result))
        return
    table = make_table(f"on {result.kept_aside} questions kept aside", "accuracy", "log loss")
    for when, quality in (("before", result.before), ("after", result.after)):
        table.add_row(when, f"{quality.accuracy:.3f}", f"{quality.log_loss:.3f}")
    stdout().print(table)
    if result.file:
        print_line(f"  Learned from {result.learned_from} questions. To undo it, remove {result.file}")
    else:
        print_line(f"  Nothing was saved: {result.learned_from} questions did not help with the others.")


def _print_types(answer: QueryAnalysis, reasons: dict[QueryType, list[Reason]]) -> None:
    """Print each type with its probability as a bar, and with what spoke for it."""
    table = make_table("type", "probability", "", "what spoke for it")
    for name in sorted(reasons, key=lambda name: -answer["probabilities"][name]):
        probability = answer["probabilities"][name]
        chosen = name == answer["type"]
        bar = "█" * round(probability * BAR_WIDTH)
        table.add_row(
            Text(name, style=f"bold {colour_of(name)}" if chosen else ""),
            Text(bar.ljust(BAR_WIDTH, "·"), style=colour_of(name)),
            f"{probability:.2f}",
            Text(_list_reasons(reasons[name]), style="" if chosen else "dim"),
        )
    stdout().print(table)


def _print_facts(answer: QueryAnalysis) -> None:
    """Print who decided the type, and what else was found in the question."""
    factors = ", ".join(f"{name} {value:.2f}" for name, value in answer["factors"].items())
    terms = "; ".join(f"{name}: {', '.join(terms)}" for name, terms in answer["ontology_terms"].items())
    facts = {
        "decided by": f"{answer['decided_by']}: {answer['reason']}",
        "confidence": f"{answer['confidence']:.2f} from {factors}",
        "intent": answer["intent"],
        "complexity": answer["complexity"],
        "entities": ", ".join(answer["entities"]) or "none",
        "domain": f"{answer['domain_relevance']:.2f} {terms}",
    }
    grid = make_table("", "", header=False)
    for label, value in facts.items():
        grid.add_row(Text(label, style="bold"), Text(value))
    stdout().print()
    stdout().print(grid)


def _print_why_not(explained: WhyNot) -> None:
    name, decided = explained.type, explained.decided
    stdout().print()
    if name == decided:
        print_line(f"  It is {name}, at {explained.probability:.2f}.")
        return
    question = f"  Why not {name} ({explained.probability:.2f})?"
    print_line(f"{question} It is {decided} ({explained.decided_probability:.2f}).", style="bold")
    print_block(f"against it: {_list_reasons(explained.against)}")
    print_block(f"for it: {_list_reasons(explained.in_favour)}")
    table = make_table("what would have had to differ", "the question then", f"{name} then", "")
    for change in explained.changes:
        wins = "decides it" if change.wins else ""
        table.add_row(Text(change.what), Text(change.question), f"{change.probability:.2f}", wins)
    stdout().print(table)


def _list_reasons(reasons: list[Reason]) -> str:
    return ", ".join(f"{reason.what} {reason.weight:+.2f}" for reason in reasons) or "nothing"
