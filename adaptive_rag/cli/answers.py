"""Print an answer, its citations and its trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from adaptive_rag.cli.failures import format_calls, print_failures
from adaptive_rag.cli.output import (
    format_count,
    format_source_place,
    print_block,
    print_line,
    short_source,
    shorten,
    stdout,
    with_display_names,
)
from adaptive_rag.text.languages import label_for
from adaptive_rag.text.markdown import find_in_prose, headings_as_bold, links_as_words
from adaptive_rag.text.markers import MARKER, write_marker
from adaptive_rag.text.ocr import format_confidence
from adaptive_rag.text.places import format_other_names, group_by_place

if TYPE_CHECKING:
    from adaptive_rag.context import Context
    from adaptive_rag.state import Citation, Decision, Outcome, OutputState, QueryAnalysis, TraceRecord

MARKER_STYLE = "bold blue"
STYLES = {"marker": MARKER_STYLE, "bold": "bold", "italic": "italic"}
MAX_QUOTE_LENGTH = 160
# Nothing that is estimated is shown as certain.
MAX_CONFIDENCE = 0.99
# How the confidence is told, by the outcome.
CERTAINTY: Mapping[Outcome, str] = {
    "answer": "answered: {:.0%} sure",
    "closest": "perhaps answered: {:.0%} sure",
    "refusal": "abstained: {:.0%} sure that it is answered",
}

_STYLED_PART = re.compile(
    rf"(?P<marker>{MARKER.pattern})|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|(?<![\w*])\*(?P<italic>(?=\S)[^*\n]+)(?<=\S)\*(?![\w*])"
)


def print_answer(output: OutputState, seconds: float, context: Context, *, paths: bool = False) -> None:
    """Print the route, the answer, its citations, its cost, and where a model failed.

    Documents are shown by their shortest distinct names, or with `paths` by their full paths.
    """
    from adaptive_rag.text.phrases import number_markers  # loads LangGraph

    print_heading(output["analysis"])
    answer, citations = number_markers(output["answer"], output["citations"])
    print_block(_style_answer(answer))
    stdout().print()
    if citations:
        _print_citations(with_display_names(citations, context, paths=paths), answer)
        stdout().print()
    if unsupported := _unsupported(output):
        label = label_for("decision", "unsupported")
        for decision in unsupported:
            print_block((f"{label}: ", "yellow"), f"“{decision['chosen']}” ({decision['why']})", hanging=2)
        stdout().print()
    cost = sum(record.get("cost", 0.0) for record in output["trace"])
    facts = [
        f"{seconds:.2f} s",
        f"{format_count(len(output['documents']), 'passage')} read",
        *format_certainty(output),
        format_calls(output["trace"]),
        *([f"${cost:.4f}"] if cost else []),
    ]
    print_line("  " + " · ".join(facts), style="dim")
    print_failures(output["trace"], abstained=output["abstained"])


def format_certainty(output: OutputState | Mapping[str, Any]) -> Iterator[str]:
    """Yield how likely the question is answered, and what the answer is based on."""
    if output["confidence"] is not None:
        yield CERTAINTY[output["outcome"]].format(min(output["confidence"], MAX_CONFIDENCE))
    elif output["abstained"]:
        yield "abstained"
    if output["abstained"]:
        return
    if basis := _local_basis(output["trace"]):
        yield basis
    elif output["citations"]:
        # In another language than the documents, only claims with numbers are compared.
        was_compared = output["grounding"] or _unsupported(output)
        yield (
            f"{output['grounding']:.0%} of its claims supported"
            if was_compared
            else "its claims could not be compared with the documents"
        )


def _unsupported(output: OutputState | Mapping[str, Any]) -> list[Decision]:
    """Return the decisions about unsupported sentences of the answer; none if it is not a chat model's."""
    if output["abstained"] or _local_basis(output["trace"]):
        return []
    decisions = [d for record in output["trace"] for d in record.get("decisions", ())]
    return [decision for decision in decisions if decision["what"] == "unsupported"]


def _local_basis(trace: Sequence[TraceRecord]) -> str | None:
    """Return what an answer without a chat model's words is based on; None for a chat model's answer."""
    for decision in (d for record in trace for d in record.get("decisions", ())):
        if decision["what"] == "worked out":
            return "worked out from the rows of a table"
        if decision["what"] == "overview" or (
            decision["what"] == "evidence" and decision["chosen"] in ("answer", "closest")
        ):
            return "quoted from the documents"
    return None


def print_heading(analysis: QueryAnalysis | None) -> None:
    """Print the route, and who decided it."""
    stdout().print()
    if analysis is None:
        return
    colour = strategy_colour(analysis["type"])
    print_line(
        ("● ", colour),
        (" + ".join([analysis["type"], *analysis["alternatives"]]), f"bold {colour}"),
        (f"  {label_for('chosen_by', analysis['decided_by'])}", "dim"),
    )
    stdout().print()


def strategy_colour(strategy: str) -> str:
    """Return the colour that every view uses for a strategy."""
    from adaptive_rag.graph.strategies import STRATEGIES

    return STRATEGIES[strategy].colour


def print_trace(trace: Sequence[TraceRecord]) -> None:
    """Print every step with its time, its queries, its decisions, and what was done without the model."""
    stdout().print()
    for record in trace:
        print_line(f"  {record['step']:<14}", (f"{record.get('ms', 0):>8.1f} ms", "dim"), style="bold")
        for line in _format_record(record):
            print_block(line, style="dim", indent=4, hanging=2)


def _format_record(record: TraceRecord) -> list[str]:
    lines = [f'query "{query}"' for query in record.get("queries", [])]
    for decision in record.get("decisions", []):
        label = label_for("decision", decision["what"])
        lines.append(f"{label}: {_join_values(decision['chosen'])} ({decision['why']})")
    lines += [f"{s['skill']} done locally: {s['reason']}" for s in record.get("stand_ins", [])]
    if record.get("calls"):
        tokens = ", ".join(f"{count} {kind}" for kind, count in record.get("tokens", {}).items())
        lines.append(
            f"{format_count(record['calls'], 'model call')}{f' ({tokens} tokens)' if tokens else ''}"
        )
    if "candidates" in record:
        lines.append(format_count(len(record["candidates"]), "candidate"))
    return lines


def _join_values(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _style_answer(answer: str) -> Text:
    """Render the Markdown of an answer: headings and emphasis in bold, markers in their colour."""
    answer = links_as_words(headings_as_bold(answer))
    text, end = Text(), 0
    for part in find_in_prose(_STYLED_PART, answer):
        kind = part.lastgroup or ""
        text.append(answer[end : part.start()])
        text.append(part[kind], style=STYLES[kind])
        end = part.end()
    return text.append(answer[end:])


def _print_citations(citations: Sequence[Citation], answer: str) -> None:
    """Print one line for each cited place, and each quote that the answer does not contain word for word."""
    answer_words = _without_stars(answer)
    # Two cells of a row are quoted with the same span.
    distinct = {(c["marker"], c["source"], c["start"], c["end"]): c for c in citations}
    groups = group_by_place([*distinct.values()])
    places = [
        format_source_place(group[0]["source"], *(citation["place"] for citation in group))
        for group in groups
    ]
    width = min(60, max(map(len, places)))
    for place, group in zip(places, groups, strict=True):
        marker = group[0]["marker"]
        spans = ", ".join(f"{citation['start']}-{citation['end']}" for citation in group)
        other_names = format_other_names([short_source(name) for name in group[0].get("also_as", ())])
        details = f"  {spans}{_ocr_note(group)}{f' ({other_names})' if other_names else ''}"
        print_block((write_marker(marker), MARKER_STYLE), f" {place:<{width}}", (details, "dim"), hanging=4)
        for citation in group:
            if _without_stars(citation["quote"]) not in answer_words:
                quote = shorten(citation["quote"], MAX_QUOTE_LENGTH)
                print_block(f"“{quote}”", style="italic dim", indent=6)


def _without_stars(text: str) -> str:
    """Return a text on one line without the marks of emphasis, which an answer may have left out."""
    return " ".join(text.replace("*", "").split())


def _ocr_note(citations: Sequence[Citation]) -> str:
    """Return a note with the lowest OCR confidence of the quotes; "" if none was read from an image."""
    scores = [citation["ocr_confidence"] for citation in citations if "ocr_confidence" in citation]
    return f" ({format_confidence(min(scores))})" if scores else ""
