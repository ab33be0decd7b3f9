"""Draws an answer, its citations and its trace for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adaptive_rag.cli.output import place_of, print_block, stdout

if TYPE_CHECKING:
    from rich.text import Text

    from adaptive_rag.state import Citation, OutputState, QueryAnalysis, TraceRecord

DECIDED = {
    "local": "decided locally",
    "hedge": "unsure, so both were run",
    "model": "decided by the model",
    "caller": "fixed by you",
}
MARKER_STYLE = "bold blue"
MAX_QUOTE = 160

_SPECIAL = re.compile(r"(\[\d+\]|\*\*[^*\n]+\*\*)")


def print_answer(output: OutputState, seconds: float) -> None:
    """Print route and confidence, the answer, the citations and the time."""
    console = stdout()
    console.print()
    console.print(heading(output["analysis"]), soft_wrap=True)
    console.print()
    print_block(console, _styled(output["answer"]))
    console.print()
    print_citations_and_facts(output, seconds)


def print_citations_and_facts(output: OutputState, seconds: float) -> None:
    """Print what stands below an answer: the citations, and what it took."""
    from rich.text import Text

    console = stdout()
    if output["citations"]:
        _print_citations(output["citations"], output["answer"])
        console.print()
    calls = sum(record.get("calls", 0) for record in output["trace"])
    cost = sum(record.get("cost", 0.0) for record in output["trace"])
    facts = [
        f"{seconds:.2f} s",
        f"{len(output['documents'])} passages read",
        "abstained" if output["abstained"] else f"grounding {output['grounding']:.0%}",
        f"{calls} model call{'s' * (calls != 1)}" if calls else "no chat model",
        *([f"${cost:.4f}"] if cost else []),
    ]
    console.print(Text("  " + " · ".join(facts), style="dim"), soft_wrap=True)


def heading(analysis: QueryAnalysis) -> Text:
    """Name the route, how sure it is, and who decided it."""
    from rich.text import Text

    colour = colour_of(analysis["type"])
    return Text.assemble(
        ("● ", colour),
        (" + ".join([analysis["type"], *analysis["alternatives"]]), f"bold {colour}"),
        (f"  confidence {analysis['confidence']:.2f} · {DECIDED[analysis['decided_by']]}", "dim"),
    )


def colour_of(strategy: str) -> str:
    """Return the colour in which a strategy is shown everywhere."""
    from adaptive_rag.graph.strategies import STRATEGIES

    return STRATEGIES[strategy].colour


def print_trace(trace: Sequence[TraceRecord]) -> None:
    """Print every step with its time, queries, decisions and stand-ins."""
    from rich.text import Text

    console = stdout()
    console.print()
    for record in trace:
        console.print(
            Text.assemble(
                f"  {record['step']:<14}", (f"{record.get('ms', 0):>8.1f} ms", "dim"), style="bold"
            ),
            soft_wrap=True,
        )
        for line in _lines(record):
            print_block(console, Text(line, style="dim"), indent=4, hanging=2)


def _lines(record: TraceRecord) -> list[str]:
    lines = [f'query "{query}"' for query in record.get("queries", [])]
    lines += [f"{d['what']}: {_shown(d['chosen'])} ({d['why']})" for d in record.get("decisions", [])]
    lines += [f"stand-in for {s['skill']}: {s['reason']}" for s in record.get("stand_ins", [])]
    if record.get("calls"):
        tokens = ", ".join(f"{count} {kind}" for kind, count in record.get("tokens", {}).items())
        lines.append(f"{record['calls']} model calls{f' ({tokens} tokens)' if tokens else ''}")
    if "candidates" in record:
        lines.append(f"{len(record['candidates'])} candidates")
    return lines


def _shown(chosen: object) -> str:
    return ", ".join(map(str, chosen)) if isinstance(chosen, list) else str(chosen)


def _styled(answer: str) -> Text:
    from rich.text import Text

    text = Text()
    for part in _SPECIAL.split(answer):
        if part.startswith("**"):
            text.append(part[2:-2], style="bold")
        else:
            text.append(part, style=MARKER_STYLE if part.startswith("[") and part[1:-1].isdigit() else "")
    return text


def _print_citations(citations: Sequence[Citation], answer: str) -> None:
    """Print one line a source passage; a quote only where the answer does not hold it word for word."""
    from rich.text import Text

    console = stdout()
    said = " ".join(answer.split())
    passages: dict[tuple[int, str, int | None], list[Citation]] = {}
    for citation in sorted(citations, key=lambda c: (c["marker"], c["start"])):
        passages.setdefault((citation["marker"], citation["source"], citation["page"]), []).append(citation)
    places = {key: place_of(*key[1:]) for key in passages}
    width = min(60, max(map(len, places.values())))
    for key, cited in passages.items():
        spans = ", ".join(f"{citation['start']}-{citation['end']}" for citation in cited)
        line = Text.assemble(
            (f"[{key[0]}]", MARKER_STYLE), f" {places[key]:<{width}}", (f"  {spans}", "dim"), end=""
        )
        print_block(console, line, hanging=4)
        for citation in cited:
            quote = " ".join(citation["quote"].split())
            if quote not in said:
                shown = quote if len(quote) <= MAX_QUOTE else quote[: MAX_QUOTE - 1].rstrip() + "…"
                print_block(console, Text(f"“{shown}”", style="italic dim"), indent=6)
