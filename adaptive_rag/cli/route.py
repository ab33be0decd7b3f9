"""`adaptive-rag route`: what kind of question it is, how sure the router is, and why; needs no index."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.answers import colour_of
from adaptive_rag.cli.output import Part, print_block, print_json, print_line, print_table, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptive_rag.analysis import Ontology
    from adaptive_rag.analysis.explain import Reason, WhyNot
    from adaptive_rag.state import QueryAnalysis, QueryType, Turn

# The fields that `--file --json` prints for each question, besides its text.
LINE_KEYS = (
    "type", "probabilities", "confidence", "intent", "complexity", "decided_by", "alternatives", "reason",
)  # fmt: skip
BAR_WIDTH = 24
# Width of a terminal that has room for full bars.
WIDE = 80
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
    forget: Annotated[
        bool, Option("--forget", help="Take back what was learned: route as shipped again.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print JSON, one line a question, and nothing else.")
    ] = False,
) -> None:
    """Show how a question is routed: type, probabilities, and what spoke for each type."""
    from adaptive_rag.analysis import load_ontology
    from adaptive_rag.context import make_context
    from adaptive_rag.errors import ConfigurationError

    sources = {"QUESTION": question, "--file": file, "--learn": learn, "--forget": forget or None}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "neither a question nor a file"
        expected = "expected one of QUESTION, --file FILE, --learn FILE and --forget"
        raise ConfigurationError(f"Got {got}; {expected}.")
    if why_not is not None and question is None:
        raise ConfigurationError("--why-not asks about one question; pass it as QUESTION.")
    if context and question is None:
        raise ConfigurationError("--context goes with QUESTION; a line of a file has its own user_context.")
    if forget:
        _forget(as_json)
        return
    if learn is not None:
        _learn(learn, as_json)
        return
    place = ontology or make_context().ontology
    terms = load_ontology(place) if place else None
    if file is not None:
        _route_file(file, terms, as_json)
    elif question is not None:
        _route_one(options.read_argument(question), context, terms, why_not, as_json)


def _route_one(
    question: str, context: str, terms: Ontology | None, why_not: str | None, as_json: bool
) -> None:
    from adaptive_rag import analysis

    [answer] = _analyse([question], [context], [()], terms)
    reasons = analysis.explain_contributions(question, user_context=context)
    explained = analysis.why_not(question, why_not, user_context=context) if why_not else None
    if as_json:
        more = {"why_not": explained} if explained else {}
        explanation = {**answer, "contributions": reasons, "routing": routing_in_force()}
        print_json({"text": question, **explanation, **more})
        return
    _print_types(answer, reasons)
    _print_facts(answer)
    if explained:
        _print_why_not(explained)


def _route_file(file: Path, terms: Ontology | None, as_json: bool) -> None:
    from adaptive_rag.analysis.learning import read_questions

    questions = read_questions(file)
    rows: list[tuple[Part, ...]] = []
    for start in range(0, len(questions), BATCH):
        texts, contexts, histories, _ = zip(*questions[start : start + BATCH], strict=True)
        answers = _analyse(texts, contexts, histories, terms)
        for text, answer in zip(texts, answers, strict=True):
            if as_json:
                print_json({"text": text, **{key: answer[key] for key in LINE_KEYS}})  # type: ignore[literal-required]
                continue
            types = " + ".join([answer["type"], *answer["alternatives"]]), colour_of(answer["type"])
            probability = f"{answer['probabilities'][answer['type']]:.2f}"
            facts = answer["decided_by"], answer["intent"], answer["complexity"]
            rows.append((types, probability, *facts, " ".join(text.split())[:200]))
    if not as_json:
        columns = ("type", "probability", "decided by", "intent", "complexity", "question")
        print_table(columns, rows, wrap=False)


def _analyse(
    texts: Sequence[str],
    contexts: Sequence[str],
    histories: Sequence[Sequence[Turn]],
    terms: Ontology | None,
) -> list[QueryAnalysis]:
    """Analyse questions as `ask` does, with the thresholds from the environment and the config file."""
    from adaptive_rag.analysis import analyse_batch
    from adaptive_rag.analysis.wording import adjust_by_wording
    from adaptive_rag.context import make_context

    routing = make_context().routing
    found = analyse_batch(
        texts,
        user_contexts=contexts,
        histories=histories,
        ontology=terms,
        threshold=routing.threshold,
        low_confidence=routing.low_confidence,
    )
    asked = zip(found, texts, contexts, histories, strict=True)
    return [adjust_by_wording(*question, routing, situated=bool(question[2])) for question in asked]


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
    of = f"of {others.questions} questions of other kinds"
    print_line(f"  Right {of}: {others.before:.3f} before, {others.after:.3f} after.")
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

    kept = forget()
    if as_json:
        print_json({"forgotten": kept is not None, "kept": kept})
    elif kept is None:
        print_line("Nothing was learned; the router is as shipped.")
    else:
        print_line(f"The router is as shipped again. What it had learned is kept in {kept}")
        print_line(f"To take it up again, rename that file to {router.learned_file().name}.", style="dim")


def routing_in_force() -> dict[str, Any]:
    """Return which routing is used and, if it was learned, from how many questions, when, and its file.

    Raises:
        ConfigurationError: the file with the learned routing cannot be used.
    """
    from adaptive_rag.analysis import router

    if router.load_learned() is None:
        return {"routing": "shipped"}
    file = router.learned_file()
    date = datetime.fromtimestamp(file.stat().st_mtime).date().isoformat()
    questions = json.loads(file.read_text(encoding="utf-8")).get("learned_from")
    return {"routing": "learned", "questions": questions, "date": date, "file": str(file)}


def format_routing() -> str:
    """Describe which routing is used."""
    routing = routing_in_force()
    if routing["routing"] == "shipped":
        return "as shipped"
    questions = "questions of yours" if routing["questions"] is None else f"{routing['questions']} questions"
    return f"learned from {questions} on {routing['date']} (route --forget undoes it)"


def _print_types(answer: QueryAnalysis, reasons: dict[QueryType, list[Reason]]) -> None:
    """Print each type with its probability as a bar, and with the reasons for it."""
    rows, full = [], BAR_WIDTH if stdout().width >= WIDE else BAR_WIDTH // 3
    for name in sorted(reasons, key=lambda name: -answer["probabilities"][name]):
        probability = answer["probabilities"][name]
        chosen = name == answer["type"]
        bar = ("█" * round(probability * full)).ljust(full, "·"), colour_of(name)
        label = name, f"bold {colour_of(name)}" if chosen else ""
        rows.append((label, bar, f"{probability:.2f}", (_listed(reasons[name]), "" if chosen else "dim")))
    print_table(("type", "probability", "", "what spoke for it"), rows)


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
        "router": format_routing(),
    }
    stdout().print()
    print_table(("", ""), [((label, "bold"), value) for label, value in facts.items()])


def _print_why_not(explained: WhyNot) -> None:
    name, decided = explained.type, explained.decided
    stdout().print()
    if name == decided:
        print_line(f"  It is {name}, at {explained.probability:.2f}.")
        return
    question = f"  Why not {name} ({explained.probability:.2f})?"
    print_line(f"{question} It is {decided} ({explained.decided_probability:.2f}).", style="bold")
    print_block(f"against it: {_listed(explained.against)}")
    print_block(f"for it: {_listed(explained.in_favour)}")
    rows = [
        (change.what, change.question, f"{change.probability:.2f}", "decides it" if change.wins else "")
        for change in explained.changes
    ]
    print_table(("what would have had to differ", "the question then", f"{name} then", ""), rows)


def _listed(reasons: list[Reason]) -> str:
    return ", ".join(f"{reason.what} {reason.weight:+.2f}" for reason in reasons) or "nothing"
