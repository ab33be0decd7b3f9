"""Prints an answer, its citations and its trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from adaptive_rag.cli.failures import format_calls, print_failures
from adaptive_rag.cli.output import (
    count_of,
    named_briefly,
    place_of,
    print_block,
    print_line,
    short_source,
    shorten,
    stdout,
)
from adaptive_rag.text.markdown import headings_as_bold, links_as_words
from adaptive_rag.text.markers import MARKER, iter_markers, write_marker
from adaptive_rag.text.ocr import format_confidence
from adaptive_rag.text.places import format_other_names, group_by_place

if TYPE_CHECKING:
    from adaptive_rag.context import Context
    from adaptive_rag.state import Citation, OutputState, QueryAnalysis, TraceRecord

DECIDED = {
    "local": "decided locally",
    "hedge": "unsure, so both were run",
    "model": "decided by the model",
    "caller": "fixed by you",
}
MARKER_STYLE = "bold blue"
MAX_QUOTE = 160

_BOLD = re.compile(r"\*\*[^*\n]+\*\*")
_SPECIAL = re.compile(rf"({MARKER.pattern}|{_BOLD.pattern})")


def print_answer(output: OutputState, seconds: float, context: Context, *, paths: bool = False) -> None:
    """Print the route, the answer, its citations, its cost, and where a model failed.

    Documents are shown by the shortest distinct names, or with `paths` by their full paths.
    """
    print_heading(output["analysis"])
    print_block(_styled(output["answer"]))
    stdout().print()
    if output["citations"]:
        _print_citations(named_briefly(output["citations"], context, paths=paths), output["answer"])
        stdout().print()
    cost = sum(record.get("cost", 0.0) for record in output["trace"])
    facts = [
        f"{seconds:.2f} s",
        f"{count_of(len(output['documents']), 'passage')} read",
        *how_sure(output),
        format_calls(output["trace"]),
        *([f"${cost:.4f}"] if cost else []),
    ]
    print_line("  " + " · ".join(facts), style="dim")
    print_failures(output["trace"], abstained=output["abstained"])


def how_sure(output: OutputState | Mapping[str, Any]) -> Iterator[str]:
    """Yield how likely the question is answered, and what the answer is based on."""
    if output["confidence"] is not None:
        yield f"answered: {output['confidence']:.0%} sure"
    if output["abstained"]:
        yield "abstained"
    elif is_quoted(output["trace"]):
        yield "quoted from the documents"
    elif output["citations"]:
        yield f"{output['grounding']:.0%} of its claims supported"


def is_quoted(trace: Sequence[TraceRecord]) -> bool:
    """Tell whether an answer is made of the documents' own sentences, not written by a chat model."""
    decisions = [d for record in trace for d in record.get("decisions", ())]
    return any(d["what"] == "evidence" and d["chosen"] in ("answer", "closest") for d in decisions)


def print_heading(analysis: QueryAnalysis | None) -> None:
    """Print the route, and who decided it."""
    stdout().print()
    if analysis is None:
        return
    colour = colour_of(analysis["type"])
    print_line(
        ("● ", colour),
        (" + ".join([analysis["type"], *analysis["alternatives"]]), f"bold {colour}"),
        (f"  {DECIDED[analysis['decided_by']]}", "dim"),
    )
    stdout().print()


def colour_of(strategy: str) -> str:
    """Return the colour in which a strategy is shown everywhere."""
    from adaptive_rag.graph.strategies import STRATEGIES

    return STRATEGIES[strategy].colour


def print_trace(trace: Sequence[TraceRecord]) -> None:
    """Print every step with its time, queries, decisions and what was done locally."""
    stdout().print()
    for record in trace:
        print_line(f"  {record['step']:<14}", (f"{record.get('ms', 0):>8.1f} ms", "dim"), style="bold")
        for line in _lines(record):
            print_block(line, style="dim", indent=4, hanging=2)


def _lines(record: TraceRecord) -> list[str]:
    lines = [f'query "{query}"' for query in record.get("queries", [])]
    lines += [f"{d['what']}: {_listed(d['chosen'])} ({d['why']})" for d in record.get("decisions", [])]
    lines += [f"{s['skill']} done locally: {s['reason']}" for s in record.get("stand_ins", [])]
    if record.get("calls"):
        tokens = ", ".join(f"{count} {kind}" for kind, count in record.get("tokens", {}).items())
        lines.append(f"{count_of(record['calls'], 'model call')}{f' ({tokens} tokens)' if tokens else ''}")
    if "candidates" in record:
        lines.append(count_of(len(record["candidates"]), "candidate"))
    return lines


def _listed(chosen: object) -> str:
    return ", ".join(map(str, chosen)) if isinstance(chosen, list) else str(chosen)


def _styled(answer: str) -> Text:
    answer = links_as_words(headings_as_bold(answer))
    text, at = Text(), 0
    marks = {mark.start() for mark in iter_markers(answer)}
    for part in _SPECIAL.split(answer):
        if _BOLD.fullmatch(part):
            text.append(part[2:-2], style="bold")
        else:
            text.append(part, style=MARKER_STYLE if at in marks and MARKER.fullmatch(part) else "")
        at += len(part)
    return text


def _print_citations(citations: Sequence[Citation], answer: str) -> None:
    """Print one line for each place; print a quote only if the answer does not contain it word for word."""
    said = " ".join(answer.split())
    groups = group_by_place(citations)
    places = [place_of(cited[0]["source"], *(each["place"] for each in cited)) for cited in groups]
    width = min(60, max(map(len, places)))
    for place, cited in zip(places, groups, strict=True):
        marker = cited[0]["marker"]
        spans = ", ".join(f"{citation['start']}-{citation['end']}" for citation in cited)
        others = format_other_names([short_source(name) for name in cited[0].get("also_as", ())])
        where = f"  {spans}{_reading(cited)}{f' ({others})' if others else ''}"
        print_block((write_marker(marker), MARKER_STYLE), f" {place:<{width}}", (where, "dim"), hanging=4)
        for citation in cited:
            if " ".join(citation["quote"].split()) not in said:
                quote = shorten(citation["quote"], MAX_QUOTE)
                print_block(f"“{quote}”", style="italic dim", indent=6)


def _reading(citations: Sequence[Citation]) -> str:
    """Return a note with the lowest OCR confidence, if some quotes were read from an image."""
    sure = [citation["ocr_confidence"] for citation in citations if "ocr_confidence" in citation]
    return f" ({format_confidence(min(sure))})" if sure else ""
