"""`adaptive-rag route`: show a question's type, how sure the router is, and why; needs no index."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.answers import strategy_colour
from adaptive_rag.cli.output import Part, print_json, print_line, print_table, stdout
from adaptive_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptive_rag.analysis import Ontology
    from adaptive_rag.analysis.explain import Reason
    from adaptive_rag.state import QueryAnalysis, RoutedType, Turn

# The fields that `--file --json` prints for each question, besides its text.
LINE_KEYS = (
    "type", "probabilities", "confidence", "intent", "complexity", "decided_by", "alternatives", "reason",
)  # fmt: skip
BAR_WIDTH = 24
# A terminal of at least this width has room for full bars.
WIDE_TERMINAL = 80
# Questions of a file that are analysed together.
BATCH_SIZE = 64


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
    learn: Annotated[
        Path | None, Option("--learn", help="Learn from labelled questions as JSONL: text, type.")
    ] = None,
    forget: Annotated[
        bool, Option("--forget", help="Undo what was learned: route as shipped again.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print JSON, one line a question, and nothing else.")
    ] = False,
) -> None:
    """Show how a question is routed: type, probabilities, and the reasons for each type."""
    from adaptive_rag.analysis import load_ontology
    from adaptive_rag.context import make_context

    requests = {"QUESTION": question, "--file": file, "--learn": learn, "--forget": forget or None}
    names = [name for name, value in requests.items() if value is not None]
    if len(names) != 1:
        got = " and ".join(names) or "neither a question nor a file"
        expected = "expected one of QUESTION, --file FILE, --learn FILE and --forget"
        raise ConfigurationError(f"Got {got}; {expected}.")
    if context and question is None:
        raise ConfigurationError("--context goes with QUESTION; a line of a file has its own user_context.")
    if forget:
        _forget(as_json)
        return
    if learn is not None:
        _learn(learn, as_json)
        return
    ontology_file = ontology or make_context().ontology
    terms = load_ontology(ontology_file) if ontology_file else None
    if file is not None:
        _route_file(file, terms, as_json)
    elif question is not None:
        _route_one(options.read_question_argument(question), context, terms, as_json)


def _route_one(question: str, context: str, terms: Ontology | None, as_json: bool) -> None:
    from adaptive_rag import analysis

    [result] = _analyse([question], [context], [()], terms)
    reasons = analysis.explain_contributions(question, user_context=context)
    if as_json:
        print_json({"text": question, **result, "contributions": reasons, "routing": active_routing()})
        return
    _print_types(result, reasons)
    _print_facts(result)


def _route_file(file: Path, terms: Ontology | None, as_json: bool) -> None:
    from adaptive_rag.analysis.learning import read_questions

    questions = read_questions(file)
    rows: list[tuple[Part, ...]] = []
    for start in range(0, len(questions), BATCH_SIZE):
        texts, contexts, histories, _ = zip(*questions[start : start + BATCH_SIZE], strict=True)
        results = _analyse(texts, contexts, histories, terms)
        for text, result in zip(texts, results, strict=True):
            if as_json:
                print_json({"text": text, **{key: result[key] for key in LINE_KEYS}})  # type: ignore[literal-required]
                continue
            types = " + ".join([result["type"], *result["alternatives"]]), strategy_colour(result["type"])
            probability = f"{result['probabilities'][result['type']]:.2f}"
            rows.append((types, probability, result["decided_by"], " ".join(text.split())))
    if not as_json:
        print_table(("type", "probability", "decided by", "question"), rows, unbroken=True)


def _analyse(
    texts: Sequence[str], contexts: Sequence[str], histories: Sequence[Sequence[Turn]], terms: Ontology | None
) -> list[QueryAnalysis]:
    """Analyse questions as `ask` does, with the thresholds from the environment and the config file."""
    from adaptive_rag.analysis import analyse_batch
    from adaptive_rag.analysis.wording import adjust_by_wording
    from adaptive_rag.context import make_context

    routing = make_context().routing
    results = analyse_batch(
        texts,
        user_contexts=contexts,
        histories=histories,
        ontology=terms,
        threshold=routing.threshold,
        low_confidence=routing.low_confidence,
    )
    return [
        adjust_by_wording(result, text, context, history, routing)
        for result, text, context, history in zip(results, texts, contexts, histories, strict=True)
    ]


def _learn(file: Path, as_json: bool) -> None:
    from adaptive_rag.analysis import learn

    result = learn(file)
    if as_json:
        print_json(result)
        return
    qualities = {"before": result.before, "after": result.after}
    rows = [(when, f"{q.accuracy:.3f}", f"{q.log_loss:.3f}") for when, q in qualities.items()]
    print_table((f"on {result.kept_aside} questions kept aside", "accuracy", "log loss"), rows)
    others = result.built_in
    print_line(
        f"  Right of {others.questions} questions of other kinds: {others.before:.3f} before, "
        f"{others.after:.3f} after."
    )
    if result.harms:
        print_line("  Nothing was saved: what was learned would misroute too many other questions.")
    elif result.file:
        print_line(f"  Learned from {result.learned_from} questions, kept in {result.file}")
        print_line("  To undo it: adaptive-rag route --forget", style="dim")
    else:
        print_line(f"  Nothing was saved: {result.learned_from} questions did not help with the others.")


def _forget(as_json: bool) -> None:
    from adaptive_rag.analysis import router
    from adaptive_rag.analysis.learning import forget

    backup = forget()
    if as_json:
        print_json({"forgotten": backup is not None, "kept": backup})
    elif backup is None:
        print_line("Nothing was learned; the router is as shipped.")
    else:
        print_line(f"The router is as shipped again. What it had learned is kept in {backup}")
        print_line(f"To use it again, rename that file to {router.learned_file().name}.", style="dim")


def active_routing() -> dict[str, Any]:
    """Return which routing is used and, if it was learned: from how many questions, when, and its file."""
    from adaptive_rag.analysis import router

    if router.load_learned() is None:
        return {"routing": "shipped"}
    file = router.learned_file()
    date = datetime.fromtimestamp(file.stat().st_mtime).date().isoformat()
    questions = json.loads(file.read_text(encoding="utf-8")).get("learned_from")
    return {"routing": "learned", "questions": questions, "date": date, "file": str(file)}


def format_routing() -> str:
    """Return a description of the routing that is used."""
    routing = active_routing()
    if routing["routing"] == "shipped":
        return "as shipped"
    questions = "questions of yours" if routing["questions"] is None else f"{routing['questions']} questions"
    return f"learned from {questions} on {routing['date']} (route --forget undoes it)"


def _print_types(analysis: QueryAnalysis, reasons: dict[RoutedType, list[Reason]]) -> None:
    """Print each type with its probability as a bar, and with the reasons for it."""
    rows, full_bar = [], BAR_WIDTH if stdout().width >= WIDE_TERMINAL else BAR_WIDTH // 3
    for name in sorted(reasons, key=lambda name: -analysis["probabilities"][name]):
        probability = analysis["probabilities"][name]
        is_chosen = name == analysis["type"]
        bar = ("█" * round(probability * full_bar)).ljust(full_bar, "·"), strategy_colour(name)
        label = name, f"bold {strategy_colour(name)}" if is_chosen else ""
        explanation = _format_reasons(reasons[name]), "" if is_chosen else "dim"
        rows.append((label, bar, f"{probability:.2f}", explanation))
    print_table(("type", "probability", "", "what spoke for it"), rows)


def _print_facts(analysis: QueryAnalysis) -> None:
    """Print who decided the type, and what else was found in the question."""
    factors = ", ".join(f"{name} {value:.2f}" for name, value in analysis["factors"].items())
    terms = "; ".join(f"{name}: {', '.join(terms)}" for name, terms in analysis["ontology_terms"].items())
    facts = {
        "decided by": f"{analysis['decided_by']}: {analysis['reason']}",
        "confidence": f"{analysis['confidence']:.2f} from {factors}",
        "intent": analysis["intent"],
        "complexity": analysis["complexity"],
        "entities": ", ".join(analysis["entities"]) or "none",
        "domain": f"{analysis['domain_relevance']:.2f} {terms}",
        "router": format_routing(),
    }
    stdout().print()
    print_table(("", ""), [((label, "bold"), value) for label, value in facts.items()])


def _format_reasons(reasons: list[Reason]) -> str:
    return ", ".join(f"{reason.what} {reason.weight:+.2f}" for reason in reasons) or "nothing"
